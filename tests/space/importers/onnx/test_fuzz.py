"""Damaged ONNX files give a network or one clear error, and never a traceback or a hang."""

from pathlib import Path
from random import Random

import pytest

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.onnx.reader import read_onnx
from archloom.space.workload.network import Network

from ....cases.limits import work_limit
from ....cases.onnx_models import SEEDS
from ....cases.onnx_mutations import mutated

FILES = 2000
#: Seconds of this process's own work for one file; the slowest takes a few tenths of one.
MOST_SECONDS = 20


def outcome(path: Path) -> Network | ImportProblem:
    try:
        return read_onnx(path)
    except ImportProblem as problem:
        return problem


def is_read(found: Network | ImportProblem, path: Path) -> bool:
    if isinstance(found, Network):
        assert found.layers
        return True
    assert found.source == str(path)
    assert found.problems
    assert all(found.problems)
    # a message, and no dump
    assert len(str(found)) < 10_000
    return False


def forever() -> None:
    while True:
        pass


@pytest.mark.parametrize("quarter", range(4))
def test_damaged_files_give_a_network_or_a_clear_error(tmp_path: Path, quarter: int) -> None:
    seeds = [build().SerializeToString() for build in SEEDS.values()]
    path = tmp_path / "net.onnx"
    found = []
    for number in range(quarter * FILES // 4, (quarter + 1) * FILES // 4):
        path.write_bytes(mutated(Random(number), seeds))
        with work_limit(MOST_SECONDS):
            try:
                found.append(is_read(outcome(path), path))
            except Exception as error:
                raise AssertionError(f"file {number} is not told what is wrong") from error
    # edits that a model survives are as telling as those that it does not
    assert found.count(True) > len(found) // 20
    assert found.count(False) > len(found) // 2


def test_the_limit_of_work_ends_a_hang() -> None:
    with pytest.raises(AssertionError, match="s of work"), work_limit(0.05):
        forever()
