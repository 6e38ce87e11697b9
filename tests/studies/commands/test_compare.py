"""``archloom compare``: studies side by side."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from archloom.search.pareto import hypervolume, non_dominated
from archloom.studies.analysis.comparison import Course, band, compare, results
from archloom.studies.analysis.excluded_designs import exclusions
from archloom.studies.analysis.parameter_importance import importances
from archloom.studies.analysis.study_runs import Run, arms_of, read_run
from archloom.studies.commands.cli import app
from archloom.studies.commands.compare.command import findings
from archloom.studies.commands.compare.tables import page, to_json
from archloom.studies.errors import UserError
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import JOURNAL

from ...cases.studies import TINY, run_here, tiny_config


def _study(folder: Path, name: str, text: str) -> Path:
    folder = folder / name
    folder.mkdir()
    run_here(tiny_config(folder, text), folder / "study")
    return folder / "study"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of random search, and one of the default."""
    folder = tmp_path_factory.mktemp("compared")
    mobo = TINY.replace("{name: random}", "{name: mobo, initial: 4, pool: 40}")
    texts = {"one": TINY, "two": TINY.replace("seed: 5", "seed: 6"), "mobo": mobo}
    return [_study(folder, name, text) for name, text in texts.items()]


@pytest.fixture(scope="module")
def runs(studies: list[Path]) -> list[Run]:
    return [read_run(folder) for folder in studies]


def test_runs_that_differ_in_the_seed_alone_are_one_arm(runs: list[Run]) -> None:
    arms = arms_of(runs)
    assert [(arm.label, len(arm.runs)) for arm in arms] == [("random", 2), ("mobo", 1)]
    assert [arm.label for arm in arms_of(runs[:2])] == ["random"]
    assert [arm.label for arm in arms_of(runs[:1])] == ["tiny"]


def test_arms_are_named_by_what_tells_them_apart(runs: list[Run]) -> None:
    config = runs[0].header.config
    more = config | {"trials": 20, "software": config["software"] | {"population": 6}}
    other = replace(runs[0], header=replace(runs[0].header, config=more))
    assert [arm.label for arm in arms_of([runs[0], other])] == [
        "trials=10, software.population=4",
        "trials=20, software.population=6",
    ]


def test_what_cannot_be_compared_is_refused_by_name(runs: list[Run], tmp_path: Path) -> None:
    other = runs[1].header.config | {"workloads": ["tiny_mobile"]}
    alien = replace(runs[1], header=replace(runs[1].header, config=other))
    with pytest.raises(UserError, match="workloads differ"):
        arms_of([runs[0], alien])
    with pytest.raises(UserError, match="same settings and seed"):
        arms_of([runs[0], runs[0]])
    with pytest.raises(UserError, match="no such directory"):
        read_run(tmp_path / "nothing")


def test_what_was_spent_adds_up_to_what_the_journal_says(runs: list[Run]) -> None:
    for run in runs:
        events = read_events(run.location / JOURNAL)
        seconds = sum(e.get("cpu_seconds", 0.0) for e in events if e.get("trial") != -1)
        last = run.steps[-1]
        assert last.cpu_seconds == pytest.approx(seconds)
        assert last.evaluations == sum(step.trial.evaluations for step in run.steps)
        walls = [step.wall_seconds for step in run.steps]
        assert walls == sorted(walls)
        assert 0 < walls[-1] <= events[-1]["at"] - events[0]["at"]


def test_time_between_two_processes_does_not_count(runs: list[Run], tmp_path: Path) -> None:
    """As if the second half of the study had been searched a day later."""
    from shutil import copytree

    from archloom.studies.storage import journal

    copytree(runs[0].location, tmp_path / "late")
    path = tmp_path / "late" / JOURNAL
    events = read_events(path)
    half = len(events) // 2
    late = [e | {"at": e["at"] + 86400} for e in events[half:]]
    opened = {"event": "opened", "at": late[0]["at"], "executor": "inline"}
    path.unlink()
    written = journal.Journal(path)
    for event in [*events[:half], opened, *late]:
        written.append(event)
    written.close()
    gap = events[half]["at"] - events[half - 1]["at"]
    before, after = (r.steps[-1].wall_seconds for r in (runs[0], read_run(tmp_path / "late")))
    assert after == pytest.approx(before - gap, abs=0.01)


def test_a_journal_without_times_has_no_times(runs: list[Run], tmp_path: Path) -> None:
    from shutil import copytree

    from archloom.studies.storage import journal

    copytree(runs[0].location, tmp_path / "old")
    path = tmp_path / "old" / JOURNAL
    events = read_events(path)
    path.unlink()
    written = journal.Journal(path)
    for event in events:
        written.append({k: v for k, v in event.items() if k not in ("at", "cpu_seconds")})
    written.close()
    old = read_run(tmp_path / "old")
    assert {step.cpu_seconds for step in old.steps} == {None}
    comparison = compare(arms_of([old]))
    assert comparison is not None
    assert comparison.kinds() == ["trials", "evaluations"]


def test_hypervolumes_are_shares_of_the_front_of_all(runs: list[Run]) -> None:
    comparison = compare(arms_of(runs))
    assert comparison is not None
    every = [v for run in runs for step in run.steps if (v := step.costs) is not None]
    whole = hypervolume(every, comparison.reference)
    assert comparison.volume == pytest.approx(whole)
    assert len(comparison.front) == int(non_dominated(every).sum())
    for arm, courses in zip(comparison.arms, comparison.courses, strict=True):
        for run, course in zip(arm.runs, courses, strict=True):
            mine = [v for step in run.steps if (v := step.costs) is not None]
            share = 100 * hypervolume(mine, comparison.reference) / whole
            assert course.percent[-1] == pytest.approx(share)
            assert (np.diff(course.percent) >= 0).all()
    assert sum(one.members for one in results(comparison)) == len(comparison.front)


def test_a_band_has_the_median_and_the_range_as_far_as_all_runs_go() -> None:
    fast = Course(np.array([50.0, 90.0]), {"trials": np.array([1.0, 2.0])})
    slow = Course(np.array([10.0, 20.0, 95.0]), {"trials": np.array([1.0, 2.0, 3.0])})
    found = band([fast, slow], "trials")
    assert found.spent.tolist() == [1.0, 2.0]
    assert found.median.tolist() == [30.0, 55.0]
    assert found.low.tolist() == [10.0, 20.0]
    assert found.high.tolist() == [50.0, 90.0]
    assert fast.reached(90) == 2
    assert fast.reached(91) is None


def test_a_parameter_that_decides_all_is_said_to(runs: list[Run]) -> None:
    assert importances(runs[:1], 0) is None  # ten trials tell nothing
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(80):
        point = {"pes": int(2 ** rng.integers(4)), "kind": ["a", "b"][rng.integers(2)], "one": 1}
        edp = 4.0 ** np.log2(point["pes"]) * (1.1 if point["kind"] == "a" else 1.0)
        trial = replace(runs[0].steps[0].trial, point=point)
        steps.append(replace(runs[0].steps[0], trial=trial, costs=(edp, 1.0, 1.0)))
    shares = importances([replace(runs[0], steps=tuple(steps))], 0)
    assert shares is not None
    assert list(shares) == ["pes", "kind"]
    assert shares["pes"] > 0.95
    assert sum(shares.values()) == pytest.approx(1.0)


def test_every_design_is_excluded_once_or_open(tmp_path: Path) -> None:
    from archloom.search.hardware.problem import Candidate, DesignProblem
    from archloom.space.networks.registry import network

    from ...contracts.problems import small_space

    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")], area_cap_mm2=0.9)
    nothing = exclusions(problem, [])
    assert nothing.seen == nothing.points == problem.space.cardinality
    assert nothing.dominated == 0
    assert nothing.open + sum(nothing.rules.values()) == nothing.seen
    assert nothing.rules["area_cap"] > 0
    best = min(problem.feasible(), key=lambda c: c.values)
    found = exclusions(problem, [best.values])
    everywhere = [problem.assess(p) for p in problem.space.enumerate()]
    beaten = [
        c
        for c in everywhere
        if isinstance(c, Candidate)
        and all(mine <= its for mine, its in zip(best.values, c.values, strict=True))
    ]
    tight = [
        c.key
        for c in map(problem.tightened, problem.feasible())
        if all(mine <= its for mine, its in zip(best.values, c.values, strict=True))
    ]
    # tight bounds exclude what loose ones do, or more
    assert found.dominated == len(tight) >= len(beaten) > 0
    assert {c.key for c in beaten} <= set(tight)
    assert (found.open, found.measured) == (nothing.open - len(tight), 0)
    ran = exclusions(problem, [best.values], [best.point])
    assert (ran.measured, ran.open + ran.dominated) == (1, found.open + found.dominated - 1)


def test_everything_is_shown(studies: list[Path], tmp_path: Path) -> None:
    runner = CliRunner()
    picture = tmp_path / "compared.png"
    shown = runner.invoke(app, ["compare", *map(str, studies), "--out", str(picture)])
    assert shown.exit_code == 0, shown.output
    for text in (
        "random",
        "mobo",
        "infeasible: max_pes",
        "lower bounds exclude it from the front",
        str(picture),
    ):
        assert text in shown.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = findings(studies)
    asked = runner.invoke(app, ["compare", *map(str, studies), "--json"])
    assert json.loads(asked.output) == json.loads(json.dumps(to_json(found)))
    html = page(found)
    assert 'src="http' not in html
    assert html == page(findings(studies))


def test_a_picture_of_an_unknown_kind_is_refused(studies: list[Path]) -> None:
    refused = CliRunner().invoke(app, ["compare", str(studies[0]), "--out", "front.pdf"])
    assert isinstance(refused.exception, UserError)
    assert ".html or .png or .svg" in str(refused.exception)
