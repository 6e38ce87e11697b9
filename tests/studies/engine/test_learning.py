"""Whoever goes on with a study has learned what it had learned, however it comes by it."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from archloom.search.hardware.certify import LastEffort
from archloom.studies.engine import learning as module, proposals
from archloom.studies.engine.learning import Learning, Snapshot
from archloom.studies.engine.study import Study, prepare
from archloom.studies.engine.trial_task import TrialTask, perform
from archloom.studies.storage.history import Asked, TaskResult, decode
from archloom.studies.storage.parts import LEARNED
from archloom.studies.storage.records import CERTIFICATE, TRIALS
from archloom.studies.storage.trial import Trial

from ...cases.studies import TINY, run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE

#: a space that is followed in boxes, one that is enumerated, and one whose boxes are followed down
STUDIES = {
    "boxes": TINY.replace("{name: random}", "{name: mobo, initial: 4}"),
    "whole": TINY.replace("casco_edge", "./small.yaml").replace("random}", "mobo, initial: 4}"),
    "exact": """\
seed: 5
workloads: [tiny_cnn]
space: ./small.yaml
mode: exact
enumerate: 1
optimizer: {name: random}
trials: 48
batch_size: 8
software: {fusion: none, mapping: exact}
executor: {name: inline}
""",
}


def prepared(folder: Path, name: str) -> Study:
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    config = tiny_config(folder, STUDIES[name])
    return prepare(config, config.space)


def trials_of(study: Study, first: int, asked: Asked) -> list[Trial]:
    """Return the trials of a batch, each searched once."""
    trials = []
    for number, point in enumerate(asked.points, first):
        hardware = study.hardware(point)
        result = perform(study.context, TrialTask(hardware, number, None, 2))
        assert isinstance(result, TaskResult)
        trials.append(study.trial(number, 0, point, hardware, [decode(result.payload)] * 3))
    return trials


def searched(
    study: Study, batches: int
) -> tuple[Learning, list[Asked], list[list[Trial]], list[Snapshot]]:
    """Propose and search so many batches; return what was learned, and everything on the way."""
    learning = Learning(study.proposals)
    asked: list[Asked] = []
    ended: list[list[Trial]] = []
    snapshots = []
    for _ in range(batches):
        proposed = learning.propose(4, (), (), certify=True)
        asked.append(proposed.asked)
        ended.append(trials_of(study, sum(map(len, ended)), proposed.asked))
        learning.ended(ended[-1])
        if proposed.snapshot is not None:
            snapshots.append(proposed.snapshot)
    return learning, asked, ended, snapshots


def gone_on(
    study: Study,
    asked: list[Asked],
    ended: list[list[Trial]],
    newest: Callable[[], Snapshot | None] = lambda: None,
) -> dict[str, Any]:
    """Return what a process has learned that goes on with a study."""
    learning = Learning(study.proposals, newest)
    for proposal, trials in zip(asked, ended, strict=True):
        learning.asked_before(4, (), proposal)
        learning.ended(trials)
    return state_of(learning)


def state_of(learning: Learning) -> dict[str, Any]:
    learning.certificate(LastEffort())
    state: dict[str, Any] = json.loads(json.dumps(learning._proposals.state()))
    return state


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_that_goes_on_has_learned_the_same(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORTH_KEEPING_S", 0.0)
    if name == "exact":  # boxes that are cut so little have parts that are found on the way down
        monkeypatch.setattr(proposals, "TIGHTENED", 4)
    study = prepared(tmp_path, name)
    batches = 14 if name == "exact" else 4
    learning, asked, ended, snapshots = searched(study, batches)
    learned = state_of(learning)
    assert len(snapshots) == batches
    if name == "exact":
        assert any(proposal.followed for proposal in asked)
    assert gone_on(study, asked, ended) == learned
    for snapshot in (snapshots[0], snapshots[-2]):
        kept = Snapshot(**json.loads(json.dumps(asdict(snapshot))))
        assert gone_on(study, asked, ended, lambda kept=kept: kept) == learned  # type: ignore[misc]


@pytest.mark.parametrize(
    "damage", [{}, {"front": 3}, {"boxes": {"heap": [[0, 1, [[], [], [], 1]]]}}]
)
def test_a_snapshot_that_is_none_is_not_used(tmp_path: Path, damage: dict[str, Any]) -> None:
    study = prepared(tmp_path, "boxes")
    learning, asked, ended, _ = searched(study, 2)
    assert gone_on(study, asked, ended, lambda: Snapshot(1, damage)) == state_of(learning)


def test_a_study_keeps_snapshots_and_goes_on_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORTH_KEEPING_S", 0.0)
    config = tiny_config(tmp_path, STUDIES["boxes"])
    run_here(config, tmp_path / "run")
    assert (tmp_path / "run" / LEARNED).exists()
    certificate = (tmp_path / "run" / CERTIFICATE).read_bytes()
    for unreadable in (None, b"", b"x\x9c+", b"[]"):
        if unreadable is not None:
            (tmp_path / "run" / LEARNED).write_bytes(unreadable)
        (tmp_path / "run" / CERTIFICATE).unlink()
        trials = (tmp_path / "run" / TRIALS).read_bytes()
        run_here(config, tmp_path / "run")
        assert (tmp_path / "run" / CERTIFICATE).read_bytes() == certificate
        assert (tmp_path / "run" / TRIALS).read_bytes() == trials
