"""Before a study begins, it says if most workers would wait."""

from dataclasses import replace
from pathlib import Path

import pytest

from archloom.studies.commands.study.run import _advice
from archloom.studies.config.study_config import ExecutorChoice

from ...cases.studies import TINY, tiny_config


@pytest.mark.parametrize(
    ("workers", "logical", "said"),
    [(2, 1, False), (8, 1, True), (8, 15, True), (8, 16, False), (1, 1, False)],
)
def test_workers_that_would_wait(tmp_path: Path, workers: int, logical: int, said: bool) -> None:
    config = tiny_config(tmp_path, f"{TINY}logical_workers: {logical}\n")
    assert _advice(config) == [], "inline has one worker"
    choice = ExecutorChoice(name="ray", workers=workers)
    advice = _advice(replace(config, executor=choice))
    assert bool(advice) == said
    if said:
        assert f"logical_workers: {4 * workers} in the study file" in advice[0]
