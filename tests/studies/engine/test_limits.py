"""Limits of a round, and workers that stand still: through real processes and the command line."""

import logging
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archloom.search.hardware.protocol import Observation
from archloom.search.seeds import derived_seed
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.config.errors import ConfigError
from archloom.studies.engine.executors import limited_process
from archloom.studies.engine.executors.limited_process import Stillness
from archloom.studies.engine.executors.ray_executor import RayExecutor
from archloom.studies.engine.executors.ray_session import RaySession
from archloom.studies.engine.study import prepare
from archloom.studies.engine.trial_task import TaskContext, TaskLimits, TrialTask, perform
from archloom.studies.storage.event_log import heard
from archloom.studies.storage.history import TaskResult
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import BASELINE_FILE, JOURNAL, TRIALS
from archloom.studies.storage.records import read_trials, read_validation
from archloom.studies.storage.trial import OverLimit, Trial

from ...cases.studies import TINY, archloom, run_here, tiny_config
from ...contracts.executor import CONTEXT, SETTINGS, WORK

RAY = ("--executor", "ray", "--workers", "1")

#: of the tasks below, by what they do
SEEDS = {
    name: 100 + n for n, name in enumerate(("burn", "hog", "stop", "stand", "heir", "fine", "last"))
}


def misbehave(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
    """Search software, after something that only the worker's process can be ended for."""
    marks = Path(os.environ["MARKS"])
    what = next((name for name, seed in SEEDS.items() if seed == task.seed), "other")
    with (marks / what).open("a") as file:
        file.write(f"{os.getpid()} {os.getppid()}\n")
    first = len((marks / what).read_text().splitlines()) == 1
    held: list[bytearray] = []
    if what == "burn":
        while True:
            pass
    if what == "hog" or (what == "heir" and first):
        while True:
            # written to, for what is not does not count
            held.append(bytearray(b"x") * 2**23)
    if what == "stop" and first:
        # the worker itself stands still, not the process that searches
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(60)
    if what == "stand" and first:
        time.sleep(60)
    return search_software(task, state, budget)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RaySession]:
    """Ray for the two tests that need its workers; they leave marks in one place."""
    with pytest.MonkeyPatch.context() as patch, RaySession() as shared:
        patch.setenv("MARKS", str(tmp_path_factory.mktemp("marks")))
        yield shared


def task(name: str) -> TrialTask:
    return replace(WORK[0], seed=SEEDS[name])


def processes(marks: Path, name: str) -> list[list[int]]:
    """Return, for each time that a task was begun, its process and the one that watches it."""
    return [[int(n) for n in line.split()] for line in (marks / name).read_text().splitlines()]


class Heard(logging.Handler):
    """Why workers were replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.died: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", "") == "worker_died":
            self.died.append(getattr(record, "fields")["why"])  # noqa: B009


def runs(process: int) -> bool:
    """Return whether there is a process that has not ended."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_what_breaks_a_limit_is_ended_alone_and_told_with_numbers(session: RaySession) -> None:
    import ray

    marks = Path(os.environ["MARKS"])
    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))
    limits = TaskLimits(cpu_s=3.0, memory_mb=600.0)
    context = TaskContext(CONTEXT.networks, SETTINGS, misbehave, limits=limits)
    names = ["fine", "heir", "burn", "hog"]
    tasks = [*map(task, names), WORK[1]]
    with RayExecutor(context, workers=1, session=session) as executor:
        outcomes = dict(executor.run(tasks))
    burnt, hog = outcomes[2], outcomes[3]
    assert isinstance(burnt, OverLimit)
    assert (burnt.resource, burnt.limit, burnt.reproducible) == ("cpu_s", 3.0, False)
    assert burnt.spent > 3.0
    assert burnt.message == f"needed more than 3 s of CPU time; it used {burnt.spent:.2f}"
    assert isinstance(hog, OverLimit)
    assert (hog.resource, hog.limit) == ("memory_mb", 600.0)
    assert hog.spent > 600.0
    assert hog.message == f"needed more than 600 MB of memory; it used {hog.spent:.0f} MB"
    # a process that remembers other trials is no proof: the heir had one of its own, too
    begun = {name: processes(marks, name) for name in names}
    assert {name: len({process for process, _ in found}) for name, found in begun.items()} == {
        **dict.fromkeys(names, 1),
        "heir": 2,
    }
    # the worker stays, its process does not
    assert len({watcher for found in begun.values() for _, watcher in found}) == 1
    for n in (0, 1, 4):
        outcome, alone = outcomes[n], perform(CONTEXT, tasks[n])
        assert isinstance(outcome, TaskResult)
        assert isinstance(alone, TaskResult)
        assert outcome.payload == alone.payload


def test_workers_that_stand_still_are_replaced_and_their_tasks_done_again(
    session: RaySession,
) -> None:
    """One stands still as it searches; of the next the process that watches it is stopped."""
    import ray

    marks = Path(os.environ["MARKS"])
    ray.cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["_"]))
    limits = TaskLimits(stall_s=4.0)
    context = TaskContext(CONTEXT.networks, SETTINGS, misbehave, limits=limits)
    names, handler = ["stand", "stop", "last"], Heard()
    with heard(handler), RayExecutor(context, workers=1, session=session) as executor:
        outcomes = dict(executor.run([*map(task, names)]))
    session.close()
    begun = {name: processes(marks, name) for name in names}
    every = [one for found in begun.values() for pair in found for one in pair]
    while any(map(runs, every)):
        time.sleep(0.1)
    for n, name in enumerate(names):
        outcome, alone = outcomes[n], perform(CONTEXT, task(name))
        assert isinstance(outcome, TaskResult)
        assert isinstance(alone, TaskResult)
        assert outcome.payload == alone.payload
    assert [len(found) for found in begun.values()] == [2, 2, 1]
    silent, still = sorted(handler.died)
    assert silent == "did not answer for 4 s"
    assert still.startswith("made no progress for 4 s, after ")


def test_a_machine_that_slept_makes_nobody_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.5, 5000.0, 5000.5, 5001.0, 5001.1])
    monkeypatch.setattr(limited_process, "monotonic", lambda: next(times))
    stillness = Stillness()
    assert [stillness.look(alive=False) for _ in range(4)] == [0.5, 1.5, 2.0, 2.5]
    assert stillness.look(alive=True) == 0.0


#: a process is ended for each trial, and another one starts
FEW = TINY.replace("trials: 10", "trials: 4").replace("batch_size: 6", "batch_size: 3")
LIMITED = FEW + "round_limits: {cpu_s: 0.0001, memory_mb: 4000}\n"


def test_a_study_says_what_broke_its_limits_keeps_it_and_does_it_again(tmp_path: Path) -> None:
    """Through the command line, on Ray, then here, with other limits."""
    run_here(tiny_config(tmp_path, FEW), tmp_path / "undisturbed")
    (tmp_path / "limited.yaml").write_text(LIMITED)
    over = archloom("run", "limited.yaml", "--out", "run", *RAY, cwd=tmp_path)
    assert over.returncode == 1, over.stderr
    text = " ".join(over.stdout.split())
    assert "4 of 4 trials exceeded round_limits: trial 0, round 1, needed more than " in text
    assert "archloom resume run --retry-failed --cpu-s S --memory-mb MB" in text
    trials = read_trials(tmp_path / "run")
    assert {trial.state for trial in trials} == {"over_limit"}
    crash = trials[0].crash
    assert isinstance(crash, OverLimit)
    assert crash.spent > crash.limit == 0.0001
    assert Trial.from_dict(trials[0].to_dict()) == trials[0]
    before = (tmp_path / "run" / TRIALS).read_bytes()
    again = archloom("resume", "run", "--executor", "inline", cwd=tmp_path)
    assert again.returncode == 1
    assert "inline does not enforce round_limits.memory_mb" in again.stdout
    assert (tmp_path / "run" / TRIALS).read_bytes() == before
    status = archloom("status", "run", cwd=tmp_path).stdout
    assert "(4 over_limit)" in status
    assert (
        "over limit: trial 0, round 1: OverLimit: needed more than 0.0001 s of CPU time" in status
    )
    retry = ("resume", "run", "--executor", "inline", "--retry-failed")
    refused = archloom(*retry, "--cpu-s", "0", "--memory-mb", "-1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "cpu_s is 0, must be above 0; round_limits.memory_mb is -1" in refused.stderr
    done = archloom(*retry, "--cpu-s", "3600", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ended by round_limits" not in done.stdout
    undisturbed = (tmp_path / "undisturbed" / TRIALS).read_bytes()
    assert (tmp_path / "run" / TRIALS).read_bytes() == undisturbed


def slow(seed: int, in_round: int) -> Any:
    """Return a software search that takes half a CPU-second more for one trial in a round."""

    def search(one: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        if one.seed == seed and (state is not None) == bool(in_round):
            began = time.process_time()
            while time.process_time() - began < 0.6:
                pass
        return search_software(one, state, budget)

    return search


HALF_A_SECOND = "round_limits: {cpu_s: 0.5}\n"


def test_one_trial_over_a_limit_is_no_failure_and_keeps_what_it_had(tmp_path: Path) -> None:
    run_here(tiny_config(tmp_path), tmp_path / "undisturbed")
    survivor = next(r for r in read_trials(tmp_path / "undisturbed") if r.rounds == 3).number
    config = tiny_config(tmp_path, TINY + HALF_A_SECOND)
    trials = run_here(config, tmp_path / "run", slow(derived_seed(5, survivor, "software"), 1))
    assert [t.number for t in trials if t.state == "over_limit"] == [survivor]
    over = trials[survivor]
    assert (over.rounds, over.curve.evaluations[-1]) == (2, 2)
    assert over.edp_js is not None
    (event,) = [e for e in read_events(tmp_path / "run" / JOURNAL) if e["event"] == "over_limit"]
    assert event["crash"] == over.to_dict()["crash"]
    done = archloom("resume", "run", "--executor", "inline", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"1 of 10 trials exceeded round_limits: trial {survivor}, round 2" in done.stdout


def test_a_validation_over_a_limit_is_taken_up(tmp_path: Path) -> None:
    text = TINY + "validation: {workloads: [tiny_mlp], evaluations: 2}\n"
    run_here(tiny_config(tmp_path, text), tmp_path / "undisturbed")
    config, folder = tiny_config(tmp_path, text + HALF_A_SECOND), tmp_path / "run"
    run_here(config, folder, slow(derived_seed(5, -1, "validation"), 0))
    (why,) = read_validation(folder)[-1].missing.values()
    assert isinstance(why, OverLimit)
    assert "over_limit" in [event["event"] for event in read_events(folder / JOURNAL)]
    run_here(config, folder, retry=True)
    found, wanted = (read_validation(tmp_path / name) for name in ("run", "undisturbed"))
    assert found == wanted


def test_what_was_found_before_a_limit_is_learned_and_nothing_else(tmp_path: Path) -> None:
    """What has no figures is told to the optimizer as a design that is not run."""
    run_here(tiny_config(tmp_path), tmp_path / "run")
    config = tiny_config(tmp_path)
    proposals = prepare(config, config.space).proposals()
    told: list[Observation] = []
    proposals._optimizer.tell = told.extend  # type: ignore[method-assign]
    some, none = read_trials(tmp_path / "run")[:2]
    proposals.tell(
        [replace(some, state="over_limit"), replace(none, state="over_limit", edp_js=None)]
    )
    assert [(one.point, one.values is None) for one in told] == [
        (none.point, True),
        (some.point, False),
    ]


#: of the designs that the seed proposes, some need more and some less
COUNTED = {"deepfrack": (2050, "tiny_cnn", 10), "optimus": (2000, "resnet18", 4)}


@pytest.mark.parametrize("planner", COUNTED)
def test_counted_work_is_over_its_limit_on_every_machine(tmp_path: Path, planner: str) -> None:
    limit, net, count = COUNTED[planner]
    part = f"{{name: {planner}, work_limit: {limit}}}"
    text = TINY.replace("fusion: casco, population: 4", f"fusion: {part}")
    text = text.replace("tiny_cnn", net).replace("trials: 10", f"trials: {count}")
    config = tiny_config(tmp_path, text)
    # this process knows the network from other designs and limits, the other one nothing
    other = text.replace("seed: 5", "seed: 6").replace(f"trials: {count}", "trials: 2")
    run_here(tiny_config(tmp_path, other), tmp_path / "other")
    trials = run_here(config, tmp_path / "here")
    (tmp_path / "tiny.yaml").write_text(text)
    done = archloom("run", "tiny.yaml", "--out", "there", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    here, there = tmp_path / "here", tmp_path / "there"
    for name in (TRIALS, BASELINE_FILE):
        assert (there / name).read_bytes() == (here / name).read_bytes()
    over = [trial for trial in trials if isinstance(trial.crash, OverLimit)]
    assert 0 < len(over) < len(trials)
    for crash in (trial.crash for trial in over):
        assert isinstance(crash, OverLimit)
        assert (crash.resource, crash.limit) == ("work_limit", limit)
        assert crash.spent > crash.limit
        assert crash.reproducible
        assert (crash.seconds, crash.cpu_seconds) == (0.0, 0.0), "no two machines agree in them"
    text = " ".join(done.stdout.split())
    assert f"{len(over)} of {count} trials exceeded software.fusion.work_limit: trial" in text
    assert "to change it, start a new study" in text
    assert "--cpu-s" not in text
    (event, *_) = [e for e in read_events(there / JOURNAL) if e["event"] == "over_limit"]
    assert event["cpu_seconds"] > 0
    shown = archloom("show", "there", str(over[0].number), cwd=tmp_path).stdout
    assert "exceeded software.fusion.work_limit: it needed more than" in " ".join(shown.split())
    # half of it, and on from there
    whole = (there / JOURNAL).read_bytes()
    (there / JOURNAL).write_bytes(whole[: len(whole) // 2])
    for name in (TRIALS, BASELINE_FILE):
        (there / name).unlink()
    run_here(config, there)
    for name in (TRIALS, BASELINE_FILE):
        assert (there / name).read_bytes() == (here / name).read_bytes()


def test_a_limit_of_counted_work_is_at_least_one(tmp_path: Path) -> None:
    text = TINY.replace("fusion: casco, population: 4", "fusion: {name: optimus, work_limit: 0}")
    with pytest.raises(ConfigError, match=r"software\.fusion\.work_limit: 0 must be at least 1"):
        tiny_config(tmp_path, text)
