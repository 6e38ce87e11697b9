"""Held-out networks: searched after the study, on the designs of its front."""

import json
from io import StringIO
from math import isclose, prod
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from archloom.evaluators.bounds.compulsory import edp_bound
from archloom.search.budget.protocol import Curve
from archloom.search.objectives import AREA, EDP, Objective
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.studies.analysis.front import read_front
from archloom.studies.commands.study.pareto import comparison, front_csv, front_json
from archloom.studies.commands.study.show import show_trial
from archloom.studies.config.objectives.entries import held_out_objectives
from archloom.studies.config.study_config import parse_stored
from archloom.studies.engine.progress.watch import Status
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.rendering.report.report import write_report
from archloom.studies.storage.header import read_header
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import JOURNAL, STUDY, VALIDATION
from archloom.studies.storage.records import read_baseline, read_validation

from ...cases.studies import TINY, run_here, tiny_config
from ..config.test_study_config import errors_of
from .test_study import Counted

HELD = TINY.replace("trials: 10", "trials: 6") + (
    "validation: {workloads: [tiny_mlp, {network: tiny_cnn, batch: 2}], evaluations: 5}\n"
)
LABELS = ["tiny_mlp", "tiny_cnn(batch=2)"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held")
    run_here(tiny_config(folder, HELD), folder / "run")
    return folder / "run"


def test_designs_of_the_front_and_the_baseline_are_searched(finished: Path) -> None:
    front, found = read_front(finished), read_validation(finished)
    assert [r.number for r in found] == [*(r.number for r in front.members), -1]
    for record in found:
        assert list(record.networks) == LABELS
        edps = [network.edp_js for network in record.networks.values()]
        assert isclose(record.values["edp_js"], prod(edps) ** 0.5)
        assert record.evaluations == 5
        assert record.missing == {}
    events = [e for e in read_events(finished / JOURNAL) if e["event"] == "validated"]
    assert len(events) == 2 * len(found)


def test_what_is_found_is_what_the_search_would_find_for_that_network(finished: Path) -> None:
    """The same design and seed give the same software, and none is below the bound."""
    study = prepare(config := load_config_of(finished), config.space)
    record = read_validation(finished)[0]
    trial = next(r for r in read_front(finished).members if r.number == record.number)
    hardware = study.problem.space.build(trial.point)
    assert isinstance(hardware, Hardware)
    for network in study.context.held_out:
        assert record.networks[network.name].edp_js >= edp_bound([network], hardware)


def load_config_of(folder: Path) -> Any:
    from archloom.studies.engine.study import stored_config

    return stored_config(folder, read_header(folder))


def test_held_out_figures_stand_beside_the_others(finished: Path) -> None:
    front, found = read_front(finished), read_validation(finished)
    rows = json.loads(front_json(front))["front"]
    assert [row["held_out"]["values"] for row in rows] == [r.values for r in found[:-1]]
    assert set(rows[0]["held_out"]["networks"]) == set(LABELS)
    assert (
        front_csv(front).splitlines()[0].startswith("trial,edp_js,area_mm2,tdp_w,held_out edp_js,")
    )
    line = comparison(front, read_baseline(finished))
    assert line is not None
    assert "; on the held-out networks: EDP x " in line
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        show_trial(finished, str(rows[0]["trial"]), as_json=False, console=console)
    edp = found[0].networks["tiny_mlp"].edp_js
    assert f"held-out networks: edp_js {found[0].values['edp_js']:.4g}" in printed.get()
    assert f"  tiny_mlp: EDP {edp:.4g} J s" in printed.get()
    page, _ = write_report(finished)
    assert "Held-out networks" in page.read_text()
    assert "tiny_cnn(batch=2): EDP (J s)" in page.read_text()


def test_a_study_cut_during_validation_goes_on_there(finished: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, HELD)
    folder = tmp_path / "run"
    run_here(config, folder)
    whole = (folder / VALIDATION).read_bytes()
    assert whole == (finished / VALIDATION).read_bytes()
    journal = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    kinds = [event["event"] for event in read_events(folder / JOURNAL)]
    first, count = kinds.index("validated"), kinds.count("validated")
    (folder / JOURNAL).write_bytes(b"".join(journal[: first + 2]))
    (folder / VALIDATION).unlink()
    counted, seen = Counted(), list[Status]()
    run_here(config, folder, counted, seen)
    assert counted.calls == count - 2
    assert (folder / VALIDATION).read_bytes() == whole
    progress = [status.validation for status in seen if status.validation]
    assert progress == [(done, count) for done in range(2, count + 1)]


def test_what_no_design_runs_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    why = Infeasible("spad_overflow", "fc", 40, 32, "bytes", "a larger scratchpad")

    def refuse(task: SoftwareTask, _: object) -> SoftwareResult | None:
        if task.networks[0].name == "tiny_mlp":
            return SoftwareResult({"networks": {}}, Curve((), ()), {}, why)
        if task.networks[0].name == LABELS[1] and task.hardware.name == "eyeriss":
            raise ZeroDivisionError("here")
        return None

    run_here(tiny_config(tmp_path, HELD), tmp_path / "run", Counted(refuse))
    *members, baseline = read_validation(tmp_path / "run")
    for record in members:
        assert record.missing == {"tiny_mlp": why}
        assert list(record.networks) == [LABELS[1]]
        assert record.values == {}
    assert baseline.missing[LABELS[1]].error == "ZeroDivisionError"
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        for trial in (str(members[0].number), "baseline"):
            show_trial(tmp_path / "run", trial, as_json=False, console=console)
    assert "held-out networks: no aggregate, because some are infeasible" in printed.get()
    assert "  tiny_mlp: spad_overflow at fc: needs 40 bytes, 32 bytes available" in printed.get()
    assert "crashed: ZeroDivisionError: here" in printed.get()
    front = read_front(tmp_path / "run")
    quality = "state,evaluations,plan_gap_percent"
    assert front_csv(front).startswith(f"trial,edp_js,area_mm2,tdp_w,{quality},pe_x")
    assert comparison(front, read_baseline(tmp_path / "run")) is not None


def test_by_default_each_network_gets_what_a_winner_gets(tmp_path: Path) -> None:
    text = TINY.replace("trials: 10", "trials: 1") + "validation: [tiny_mlp]\n"
    config = tiny_config(tmp_path, text)
    assert [w.label for w in config.validation.workloads] == ["tiny_mlp"]
    assert prepare(config, config.space).validation_budget == 2 + 4 + 8


def test_held_out_files_are_kept_with_the_study(tmp_path: Path) -> None:
    from archloom.space.networks.registry import network
    from archloom.space.workload.network_json import write_network

    write_network(network("tiny_mlp"), tmp_path / "mine.json")
    text = HELD.replace("[tiny_mlp,", "[mine.json,").replace("trials: 6", "trials: 1")
    config = tiny_config(tmp_path, text)
    run_here(config, tmp_path / "run")
    (tmp_path / "mine.json").unlink()
    header = read_header(tmp_path / "run")
    assert set(header.networks) == {1}
    stored = parse_stored(header.config, tmp_path / "run" / STUDY, header.networks)
    assert [w.network for w in stored.validation.workloads] == [
        w.network for w in config.validation.workloads
    ]
    assert header_of(stored).identity == header.identity


def test_held_out_networks_are_part_of_what_a_study_is(tmp_path: Path) -> None:
    plain = header_of(tiny_config(tmp_path, TINY)).identity
    assert header_of(tiny_config(tmp_path, TINY + "validation: []\n")).identity == plain
    other = header_of(tiny_config(tmp_path, TINY + "validation: [tiny_mlp]\n"))
    assert other.identity != plain


def test_mistakes_in_held_out_networks_are_named(tmp_path: Path) -> None:
    for text, message in (
        ("validation: [tiny_ml]", "validation.workloads[0]: "),
        ("validation: {workloads: [tiny_mlp], evaluation: 3}", "did you mean evaluations?"),
        ("validation: {workloads: [tiny_mlp], evaluations: 0}", "0 must be greater than or equal"),
    ):
        (found,) = errors_of(tmp_path, f"{TINY}{text}\n")
        assert message in found


def test_what_is_measured_together_follows_the_objectives() -> None:
    objectives = (
        Objective("latency", "max"),
        AREA,
        Objective("edp", workload="a"),
        Objective("edp", "weighted_sum", weights=(("a", 1.0),)),
    )
    assert held_out_objectives(objectives, ()) == (Objective("latency", "max"), EDP)
