"""The cache of compiled kernels must never serve code that was edited since."""

from pathlib import Path

import pytest

from archloom.evaluators import compiled as module
from archloom.evaluators import kernel, lane_prices, lane_tiles, lanes, words
from archloom.search import draws


def test_the_cache_is_named_after_every_file_that_kernels_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = {Path(str(m.__file__)) for m in (kernel, words, lanes, lane_tiles, lane_prices, draws)}
    assert shared <= set(module._SHARED)
    source = tmp_path / "words.py"
    monkeypatch.setattr(module, "_SHARED", (source,))
    monkeypatch.setattr(module, "_HERE", tmp_path)
    folders = []
    for text in ("one", "two", "one"):
        source.write_text(text)
        folders.append(module._folder.__wrapped__())
    assert folders[0] == folders[2] != folders[1]
    assert all(Path(folder).is_dir() for folder in folders)


def test_a_package_that_cannot_be_written_leaves_the_choice_to_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__pycache__").write_text("a file where the folder should be")
    monkeypatch.setattr(module, "_HERE", tmp_path)
    assert module._folder.__wrapped__() == ""
