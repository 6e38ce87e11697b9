import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isclose, prod
from pathlib import Path
from typing import Any

import pytest
import yaml

from archloom.search.budget.protocol import Curve
from archloom.search.hardware.protocol import Observation
from archloom.search.seeds import derived_seed
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.space.errors import Infeasible
from archloom.studies.config.space_reference import space_text
from archloom.studies.engine.progress.watch import Status
from archloom.studies.engine.proposals import Proposals
from archloom.studies.engine.study import header_of, prepare, stored_config
from archloom.studies.errors import UserError
from archloom.studies.storage.header import read_header
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import CERTIFICATE, JOURNAL, TRIALS
from archloom.studies.storage.records import read_baseline, read_trials
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

from ...cases.studies import TINY, run_here, tiny_config
from ...cases.sweeps import sweep

MOBO = TINY.replace("{name: random}", "{name: mobo, initial: 4, pool: 50}")

Change = Callable[[SoftwareTask, dict[str, Any] | None], SoftwareResult | None]


class Counted:
    """The real software search, with a count of its calls and exceptions to the rule."""

    def __init__(self, change: Change = lambda *_: None) -> None:
        self.calls = 0
        self._change = change

    def __call__(
        self, task: SoftwareTask, state: dict[str, Any] | None, budget: int
    ) -> SoftwareResult:
        self.calls += 1
        return self._change(task, state) or search_software(task, state, budget)


def seed_of(trial: int) -> int:
    return derived_seed(5, trial, "software")


def advanced(folder: Path) -> int:
    """Return the rounds of trials that the journal holds."""
    return sum(event["event"] == "advanced" for event in read_events(folder / JOURNAL))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run of the tiny study."""
    tmp_path = tmp_path_factory.mktemp("finished")
    run_here(tiny_config(tmp_path), tmp_path / "run")
    return tmp_path / "run"


def test_every_trial_ends_with_what_halving_gave_it(finished: Path) -> None:
    records = read_trials(finished)
    assert [r.number for r in records] == list(range(10))
    assert [r.batch for r in records] == [0] * 6 + [1] * 4
    # ceil(P / 2) go on after each round, and the budget of 2 doubles
    assert sorted(r.rounds for r in records[:6]) == [1, 1, 1, 2, 3, 3]
    assert sorted(r.rounds for r in records[6:]) == [1, 1, 2, 3]
    for r in records:
        assert r.state == ("complete" if r.rounds == 3 else "stopped")
        assert r.evaluations == {1: 2, 2: 6, 3: 14}[r.rounds]
        assert r.curve.evaluations[-1] == r.evaluations
        assert r.curve.edp[-1] == r.edp_js
        assert r.crash is None
        assert r.reason is None


def test_edp_is_the_geometric_mean_over_the_networks(tmp_path: Path) -> None:
    text = TINY.replace("[tiny_cnn]", "[tiny_cnn, tiny_mlp]").replace("trials: 10", "trials: 2")
    for r in run_here(tiny_config(tmp_path, text), tmp_path / "run"):
        assert r.networks.keys() == {"tiny_cnn", "tiny_mlp"}
        product = prod(n.edp_js for n in r.networks.values())
        assert isclose(r.edp_js, product**0.5, rel_tol=1e-12)


def test_the_baseline_gets_what_a_winner_gets(finished: Path) -> None:
    baseline = read_baseline(finished)
    assert baseline is not None
    assert baseline.hardware == "eyeriss"
    assert baseline.state == "complete"
    assert baseline.evaluations == 14


def test_caps_hold(tmp_path: Path) -> None:
    text = TINY + "constraints: {area_mm2: 6, tdp_w: 1.2}\n"
    records = run_here(tiny_config(tmp_path, text), tmp_path / "run")
    assert len(records) == 10
    assert all(r.area_mm2 <= 6 and r.tdp_w <= 1.2 for r in records)


CUTS = [(text, part) for part in range(2) for text in ("random", "mobo")]


@pytest.mark.parametrize(("optimizer", "part"), sweep(CUTS, 2))
def test_a_journal_cut_anywhere_ends_in_the_same_bytes(
    tmp_path: Path, optimizer: str, part: int
) -> None:
    text = {"random": TINY, "mobo": MOBO}[optimizer]
    config, folder = tiny_config(tmp_path, text), tmp_path / "run"
    run_here(config, folder)
    whole, trials = (folder / JOURNAL).read_bytes(), (folder / TRIALS).read_bytes()
    for i in range(part, 6, 2):
        (folder / JOURNAL).write_bytes(whole[: len(whole) * i // 6])
        (folder / TRIALS).write_bytes(trials[: len(trials) * i // 7])
        done = advanced(folder)
        counted = Counted()
        run_here(config, folder, counted)
        assert (folder / TRIALS).read_bytes() == trials
        assert counted.calls == advanced(folder) - done


def test_a_finished_study_is_not_searched_again(finished: Path, tmp_path: Path) -> None:
    before = (finished / TRIALS).read_bytes()
    again = Counted()
    run_here(tiny_config(tmp_path), finished, again)
    assert again.calls == 0
    assert (finished / TRIALS).read_bytes() == before


def test_another_seed_is_another_result(finished: Path, tmp_path: Path) -> None:
    text = TINY.replace("seed: 5", "seed: 6").replace("trials: 10", "trials: 2")
    records = run_here(tiny_config(tmp_path, text), tmp_path / "run")
    assert records != read_trials(finished)[:2]


def test_a_crash_is_recorded_and_the_study_goes_on(finished: Path, tmp_path: Path) -> None:
    survivor = next(r.number for r in read_trials(finished) if r.rounds == 3)
    doomed = next(r.number for r in read_trials(finished) if r.rounds == 1)

    def crash(task: SoftwareTask, state: dict[str, Any] | None) -> None:
        if task.seed == seed_of(doomed):
            raise ZeroDivisionError("at the start")
        if task.seed == seed_of(survivor) and state is not None:
            raise KeyError("later")

    config = tiny_config(tmp_path)
    records = run_here(config, tmp_path / "run", Counted(crash))
    assert len(records) == 10
    first, later = records[doomed], records[survivor]
    assert [r.state for r in (first, later)] == ["failed", "failed"]
    assert first.crash.error == "ZeroDivisionError"
    assert first.crash.message == "at the start"
    assert "in crash" in first.crash.traceback
    assert later.crash.error == "KeyError"
    assert later.rounds == 2
    assert later.curve.evaluations[-1] == 2
    # what was found before the crash was paid for
    assert first.edp_js is None
    assert later.edp_js == later.curve.edp[-1]
    assert sum(r.state == "failed" for r in records) == 2
    # a crash is as much a part of the journal as a success: it is not tried again
    (tmp_path / "run" / TRIALS).unlink()
    again = Counted()
    assert run_here(config, tmp_path / "run", again) == records
    assert again.calls == 0


def test_a_study_whose_trials_all_crash_ends(tmp_path: Path) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("no luck")

    records = run_here(tiny_config(tmp_path), tmp_path / "run", Counted(crash))
    assert {r.state for r in records} == {"failed"}
    assert len(records) == 10
    baseline = read_baseline(tmp_path / "run")
    assert baseline is not None
    assert baseline.state == "failed"


def test_a_study_that_has_ended_is_not_learned_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a certificate that is not the one of then makes anybody listen to the past again."""
    told: list[int] = []
    tell = Proposals.tell

    def noted(proposals: Proposals, trials: Sequence[Trial]) -> None:
        told.append(len(trials))
        tell(proposals, trials)

    config, folder = tiny_config(tmp_path), tmp_path / "run"
    shutil.copytree(finished, folder)
    monkeypatch.setattr(Proposals, "tell", noted)
    run_here(config, folder)
    assert told == []
    before = (folder / CERTIFICATE).read_bytes()
    for spoilt in (None, b"", before.replace(b"1", b"2")):
        (folder / CERTIFICATE).unlink()
        if spoilt is not None:
            (folder / CERTIFICATE).write_bytes(spoilt)
        told.clear()
        run_here(config, folder)
        assert told == [6, 4]
        assert (folder / CERTIFICATE).read_bytes() == before


def test_what_machines_fail_is_no_result_and_is_taken_up_again(
    finished: Path, tmp_path: Path
) -> None:
    """The last batch of the study loses a trial: once it is done again, all is as it should be."""
    last = read_trials(finished)[-1].number

    def fail(task: SoftwareTask, state: object) -> None:  # noqa: ARG001
        if task.seed == seed_of(last):
            raise MemoryError("no room")

    config, folder = tiny_config(tmp_path), tmp_path / "run"
    records = run_here(config, folder, Counted(fail))
    lost = records[last]
    assert [r.number for r in records if r.state == "lost"] == [last]
    assert lost.crash.error == "MemoryError"
    assert lost.edp_js is None
    assert run_here(config, folder, untouched := Counted()) == records
    assert untouched.calls == 0
    assert run_here(config, folder, Counted(), retry=True) == read_trials(finished)
    assert (folder / TRIALS).read_bytes() == (finished / TRIALS).read_bytes()
    again = Counted()
    run_here(config, folder, again, retry=True)
    assert again.calls == 0


def test_nothing_is_learned_from_what_machines_fail(tmp_path: Path) -> None:
    """A trial of the first batch is lost: the optimizer hears that it is not run, and no more."""
    told: list[Observation] = []

    def fail(task: SoftwareTask, state: object) -> None:  # noqa: ARG001
        if task.seed == seed_of(1):
            raise OSError(28, "No space left on device")

    config = tiny_config(tmp_path)
    study = prepare(config, config.space, Counted(fail))
    proposals = study.proposals()
    proposals._optimizer.tell = told.extend
    records = run_here(config, tmp_path / "run", Counted(fail))
    proposals.tell(records[:6])
    assert records[1].state == "lost"
    assert [one.point for one in told].count(records[1].point) == 1
    (of_lost,) = (one for one in told if one.point == records[1].point)
    assert (of_lost.values, of_lost.failure) == (None, None)
    assert len(told) == 6


def test_a_design_that_no_layer_fits_names_the_rule(tmp_path: Path) -> None:
    why = Infeasible("spad_overflow", "conv1", 40, 32, "bytes", "a larger scratchpad")

    def refuse(task: SoftwareTask, state: object) -> SoftwareResult | None:
        if task.seed != seed_of(0):
            return None
        assert state is None or state == {"networks": {}}
        return SoftwareResult({"networks": {}}, Curve((), ()), {}, why)

    records = run_here(tiny_config(tmp_path), tmp_path / "run", Counted(refuse))
    assert records[0].state == "infeasible"
    assert records[0].reason == why
    assert records[0].edp_js is None
    assert all(r.state in ("complete", "stopped") for r in records[1:])


def test_a_space_with_fewer_designs_than_trials_ends_the_study(tmp_path: Path) -> None:
    template = yaml.safe_load(space_text("casco_edge"))
    for name, parameter in template["parameters"].items():
        low = parameter.get("values", [parameter.get("low")])[0]
        values = [low, 2 * low] if name in ("pe_x", "l2_kib") else [low]
        template["parameters"][name] = {"values": values, "scale": "pow2"}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(template, sort_keys=False))
    config = tiny_config(tmp_path, TINY.replace("casco_edge", "small.yaml"))
    records = run_here(config, tmp_path / "run")
    assert len(records) == 4
    assert len({json.dumps(r.point) for r in records}) == 4
    again = Counted()
    assert run_here(config, tmp_path / "run", again) == records
    assert again.calls == 0


def test_a_space_without_a_feasible_design_says_by_how_much(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, TINY + "constraints: {area_mm2: 0.001}\n")
    with pytest.raises(
        UserError, match="no feasible design; the closest one fails: area_cap at area: needs"
    ):
        run_here(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_option_out_of_range_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, TINY.replace("{name: random}", "{name: mobo, pool: 0}"))
    with pytest.raises(UserError, match="optimizer mobo: pool is 0, must be at least 1"):
        run_here(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_watchers_see_the_study_advance(tmp_path: Path) -> None:
    seen: list[Status] = []
    run_here(tiny_config(tmp_path), tmp_path / "run", seen=seen)
    fractions = [status.fraction for status in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert seen[-1].trials_done == 10
    assert seen[-1].front > 0


def test_a_study_that_began_before_halving_had_a_rank_goes_on_by_edp(tmp_path: Path) -> None:
    new = header_of(tiny_config(tmp_path))
    halving = {k: v for k, v in new.config["halving"].items() if k != "rank"}
    old = replace(new, config=new.config | {"halving": halving})
    for name, header, rank in (("new", new, "front"), ("old", old, "edp")):
        Store.create(tmp_path / name, header).close()
        found = stored_config(tmp_path / name, read_header(tmp_path / name))
        assert found.halving.options["rank"] == rank
