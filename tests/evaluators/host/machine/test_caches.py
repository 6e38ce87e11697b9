"""Sizes of caches from files as Linux writes them."""

import os
from pathlib import Path

import pytest

from archloom.evaluators.host.machine.caches import Cache, data_caches


def written(folder: Path, *caches: tuple[str, str, str, str]) -> Path:
    """Write caches of every core: type, level, size, shared cores."""
    for core in sorted(os.sched_getaffinity(0)):
        for number, values in enumerate(caches):
            entry = folder / f"cpu{core}" / "cache" / f"index{number}"
            entry.mkdir(parents=True)
            names = ("type", "level", "size", "shared_cpu_list")
            for name, value in zip(names, values, strict=True):
                (entry / name).write_text(value + "\n")
    return folder


def test_data_and_unified_caches_are_read_the_innermost_first(tmp_path: Path) -> None:
    first = min(os.sched_getaffinity(0))
    everyone = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    folder = written(
        tmp_path,
        ("Unified", "3", "32M", f"{everyone},998-999"),
        ("Instruction", "1", "32K", str(first)),
        ("Data", "1", "48K", str(first)),
        ("Unified", "2", "1280K", str(first)),
    )
    assert data_caches(folder) == [
        Cache(1, 48 * 1024, 1),
        Cache(2, 1280 * 1024, 1),
        Cache(3, 32 * 2**20, len(os.sched_getaffinity(0))),
    ]


@pytest.mark.parametrize("size", ["", "many", "32Q"])
def test_what_cannot_be_read_is_left_out(tmp_path: Path, size: str) -> None:
    first = str(min(os.sched_getaffinity(0)))
    folder = written(tmp_path, ("Data", "1", size, first), ("Unified", "2", "1M", first))
    assert data_caches(folder) == [Cache(2, 2**20, 1)]


def test_a_system_that_tells_nothing_has_none(tmp_path: Path) -> None:
    assert data_caches(tmp_path) == []
