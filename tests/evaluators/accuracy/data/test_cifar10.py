"""CIFAR-10 in both versions, and files that are something else."""

import os
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.accuracy.data import DatasetError, ImageArray, load_dataset
from archloom.evaluators.accuracy.data.cifar10 import cropped_and_flipped

NAMES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


COUNT = 100
"""Images of a file here; 10,000 in CIFAR-10."""


def test_both_versions_are_the_same_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        import_module("archloom.evaluators.accuracy.data.cifar10"), "_IMAGES", COUNT
    )
    inner = tmp_path / "py" / "cifar-10-batches-py"
    inner.mkdir(parents=True)
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (len(NAMES), COUNT, 3072), dtype=np.uint8)
    labels = random.integers(0, 10, (len(NAMES), COUNT))
    for name, some, classes in zip(NAMES, pixels, labels, strict=True):
        held: dict[bytes, Any] = {b"labels": classes.tolist(), b"data": some}
        (inner / name).write_bytes(pickle.dumps(held, protocol=2))
        records = np.concatenate([classes.astype(np.uint8)[:, None], some], axis=1)
        (tmp_path / f"{name}.bin").write_bytes(records.tobytes())
    for folder in (tmp_path, tmp_path / "py"):
        data = load_dataset("cifar10", folder)
        assert isinstance(data.train, ImageArray)
        assert isinstance(data.test, ImageArray)
        assert (data.train.pixels == pixels[:5].reshape(-1, 3, 32, 32)).all()
        assert (data.test.pixels == pixels[5].reshape(-1, 3, 32, 32)).all()
        assert (data.train.labels == labels[:5].ravel()).all()
        assert (data.test.labels == labels[5]).all()
        assert (data.image, data.classes) == ((3, 32, 32), 10)
        # images to test with are never varied
        assert data.train.vary is cropped_and_flipped
        assert data.test.vary is None


def files_with(first: bytes, folder: Path) -> None:
    """Write a first batch; the others are there, and are not read where it is wrong."""
    for name in NAMES:
        (folder / name).touch()
    (folder / "data_batch_1").write_bytes(first)


class Harm:
    """Runs a command when an ordinary unpickler reads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.mark}",))


def test_a_hostile_pickle_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    files_with(pickle.dumps({b"data": Harm(mark), b"labels": []}), tmp_path)
    with pytest.raises(DatasetError, match=r"data_batch_1 is not a batch.*asks for .*system"):
        load_dataset("cifar10", tmp_path)
    assert not mark.exists()
    pickle.loads((tmp_path / "data_batch_1").read_bytes())
    assert mark.exists(), "the file would have done harm elsewhere"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]}),
        pickle.dumps({b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [11] * 10_000}),
        pickle.dumps({b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [-1] * 10_000}),
        pickle.dumps({b"data": np.zeros((10_000, 3072), np.uint8), b"labels": ["a"] * 10_000}),
    ],
)
def test_another_file_is_named(content: bytes, tmp_path: Path) -> None:
    files_with(content, tmp_path)
    with pytest.raises(DatasetError, match="data_batch_1"):
        load_dataset("cifar10", tmp_path)


def test_a_missing_file_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"expected are data_batch_1 to data_batch_5"):
        load_dataset("cifar10", tmp_path)


def test_varied_images_are_moved_and_mirrored_ones() -> None:
    pixels = np.random.default_rng(1).integers(1, 256, (12, 3, 32, 32), dtype=np.uint8)
    varied = cropped_and_flipped(pixels, np.random.default_rng(2))
    padded = np.pad(pixels, ((0, 0), (0, 0), (4, 4), (4, 4)))
    for image, whole in zip(varied, padded, strict=True):
        candidates = [
            part
            for down in range(9)
            for right in range(9)
            for part in (whole[:, down : down + 32, right : right + 32],)
        ]
        assert any((image == c).all() or (image == c[:, :, ::-1]).all() for c in candidates)
    assert len({image.tobytes() for image in varied}) == 12
