"""Decisions do not depend on who does the rounds, on how many do, or on which of them end first."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from archloom.studies.config.study_config import StudyConfig
from archloom.studies.engine.executors.executor import InlineExecutor, Key, Outcome
from archloom.studies.engine.interrupt import Stopped
from archloom.studies.engine.logical_order import Job, LogicalOrder
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.engine.trial_task import TaskContext
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import JOURNAL
from archloom.studies.storage.records import BASELINE_FILE, CERTIFICATE, TRIALS, read_trials
from archloom.studies.storage.store import Store

from ...cases.studies import TINY, run_here, tiny_config
from ...cases.sweeps import sweep

#: certificates and a model of the results; halving in brackets decides with others' costs
MODEL = (
    TINY.replace("{name: random}", "{name: mobo, initial: 4}")
    .replace("trials: 10", "trials: 12")
    .replace("batch_size: 6", "batch_size: 4")
)
BRACKETS = MODEL.replace("name: msh", "name: brackets")
HELD_OUT = "validation: {workloads: [tiny_mlp], evaluations: 2}\n"


class AnyOrder(InlineExecutor):
    """Does what waits in an order of its own, as workers of unlike speed do."""

    def __init__(self, context: TaskContext, seed: int, check: Callable[[], None]) -> None:
        super().__init__(context, check)
        self._rng = random.Random(seed)

    def poll(self) -> list[tuple[Key, Outcome]]:
        everything = self._waiting
        if not everything:
            return []
        chosen = self._rng.choice(sorted(everything))
        self._waiting = {chosen: everything.pop(chosen)}
        ended = super().poll()
        self._waiting = everything
        return ended


def run_in_any_order(config: StudyConfig, folder: Path, seed: int, tasks: int = 10**9) -> None:
    """Go on with a study, and stop it after so many rounds."""
    study = prepare(config, config.space)
    left = tasks

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stopped

    with (
        Store.create(folder, header_of(config)) as store,
        AnyOrder(study.context, seed, check) as executor,
        suppress(Stopped),
    ):
        run_study(study, store, executor, Unwatched())


def files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in (TRIALS, BASELINE_FILE, CERTIFICATE)]


@pytest.mark.parametrize(("text", "width"), sweep([(MODEL, 40), (BRACKETS, 3), (MODEL, 1)], 2))
def test_neither_the_order_of_results_nor_interruptions_change_a_byte(
    tmp_path: Path, text: str, width: int
) -> None:
    config = tiny_config(tmp_path, f"{text}logical_workers: {width}\n")
    run_here(config, tmp_path / "run")
    run_in_any_order(config, tmp_path / "shuffled", seed=1)
    # each time that it goes on, it proves and learns again: a few stops, and then to the end
    for attempt, tasks in enumerate((3, 15, 10**9)):
        run_in_any_order(config, tmp_path / "stopped", seed=attempt, tasks=tasks)
    assert len(read_trials(tmp_path / "stopped")) == 12, "it has ended by now"
    assert files(tmp_path / "shuffled") == files(tmp_path / "run")
    assert files(tmp_path / "stopped") == files(tmp_path / "run")


@pytest.mark.parametrize(("width", "overlap"), [(1, False), (12, True)])
def test_batches_overlap_and_none_is_proposed_twice(
    tmp_path: Path, width: int, overlap: bool
) -> None:
    run_here(tiny_config(tmp_path, f"{MODEL}logical_workers: {width}\n"), tmp_path / "run")
    first, late = 0, False
    for event in read_events(tmp_path / "run" / JOURNAL):
        if event["event"] == "asked":
            first = 4 * event["batch"]
        if event["event"] == "advanced":
            late |= 0 <= event["trial"] < first
    assert late == overlap
    trials = read_trials(tmp_path / "run")
    points = {str(sorted(trial.point.items())) for trial in trials if trial.point}
    assert len(points) == len(trials) == 12


@given(st.integers(1, 9), st.lists(st.integers(1, 6), max_size=8))
def test_rounds_are_closed_in_the_order_in_which_they_were_opened(
    width: int, sizes: list[int]
) -> None:
    order, closed, expected = LogicalOrder(width), [], []
    order.ended(width)
    jobs = iter(Job(trial, 0) for trial in range(100))
    for size in sizes:
        if order.has_room:
            added = [next(jobs) for _ in range(size)]
            order.add(added)
            expected += added
        closed += [order.close()]
    while (job := order.close()) is not None:
        closed.append(job)
    assert [job for job in closed if job is not None] == expected


def test_a_later_round_of_an_early_trial_goes_first() -> None:
    order = LogicalOrder(1)
    order.add([Job(0, 0), Job(1, 0), Job(2, 0)])
    assert order.close() == (0, 0)
    order.add([Job(0, 1)])
    assert [order.close() for _ in range(4)] == [(1, 0), (0, 1), (2, 0), None]


def test_no_more_rounds_are_open_than_trials_have_ended() -> None:
    order = LogicalOrder(3)
    order.add([Job(trial, 0) for trial in range(3)])
    for ended, room in ((0, False), (3, False), (1, False)):
        order.ended(ended)
        assert order.has_room is room
    order.close()
    assert order.has_room, "three may be open, two are"


def test_a_width_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="the width is 0, must be at least 1"):
        LogicalOrder(0)


class Noting(InlineExecutor):
    """Stands for one whose workers are apart; notes how many trials had ended when they were to
    come and to go."""

    apart = True

    def __init__(self, context: TaskContext, folder: Path) -> None:
        super().__init__(context)
        self._trials = folder / TRIALS
        self.came: list[int] = []
        self.went: list[int] = []

    def _ended(self) -> int:
        return len(self._trials.read_bytes().splitlines()) if self._trials.exists() else 0

    def get_ready(self) -> None:
        self.came.append(self._ended())

    def let_go(self) -> None:
        assert not self._waiting, "no work is left"
        self.went.append(self._ended())


@pytest.mark.parametrize("validation", ["", HELD_OUT])
def test_workers_come_while_designs_are_proposed_and_go_before_the_last_proof(
    tmp_path: Path, validation: str
) -> None:
    config, folder = tiny_config(tmp_path, MODEL + validation), tmp_path / "run"
    study = prepare(config, config.space)
    with (
        Store.create(folder, header_of(config)) as store,
        Noting(study.context, folder) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    assert executor.came[0] == 0
    # held-out networks are work as well
    assert executor.went == ([] if validation else [12])
    run_here(config, tmp_path / "alone")
    assert files(folder) == files(tmp_path / "alone")
