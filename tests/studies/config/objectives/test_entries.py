"""Studies whose objectives and limits are not EDP, area and TDP."""

import csv
import io
import json
from math import isclose
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from archloom.search.objectives import AREA, EDP, TDP, Limit, Objective
from archloom.search.pareto import PickRule, non_dominated
from archloom.studies.analysis.front import read_front
from archloom.studies.analysis.study_view import load_view
from archloom.studies.commands.study.pareto import front_csv, front_json, front_table
from archloom.studies.commands.study.show import show_trial
from archloom.studies.commands.study.summary import limit_lines
from archloom.studies.config.objectives.entries import stored_objective_set
from archloom.studies.config.study_config import load_config, parse_stored
from archloom.studies.engine.study import header_of
from archloom.studies.errors import UserError
from archloom.studies.rendering.report.report import write_report
from archloom.studies.storage.header import LATER, differences, read_header
from archloom.studies.storage.parts import STUDY
from archloom.studies.storage.records import read_trials

from ....cases.pages import everything
from ....cases.studies import TINY, run_here, tiny_config, write_study
from ..test_study_config import errors_of

TWO = TINY.replace("[tiny_cnn]", "[tiny_cnn, tiny_mlp]")
OTHER = (
    TWO
    + """\
objectives: [latency, {metric: energy, aggregate: max}, {metric: throughput, workload: tiny_mlp}]
constraints:
  tdp_w: 2
  utilisation: 0.4
  perf_per_tdp_per_s_w: {limit: 10, weights: {tiny_mlp: 0.5, tiny_cnn: 1}}
pick: {name: lexicographic, order: [energy, latency], tolerance: 0.1}
"""
)
ENERGY = Objective("energy", "max")
THROUGHPUT = Objective("throughput", workload="tiny_mlp")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objectives")
    run_here(tiny_config(folder, OTHER), folder / "run")
    return folder / "run"


def test_a_study_file_names_objectives_and_limits(tmp_path: Path) -> None:
    config = load_config(write_study(tmp_path, OTHER))
    assert config.objective_set.objectives == (Objective("latency"), ENERGY, THROUGHPUT)
    weights = (("tiny_mlp", 0.5), ("tiny_cnn", 1.0))
    assert set(config.objective_set.limits) == {
        Limit(Objective("utilisation"), 0.4),
        Limit(Objective("perf_per_tdp", "weighted_sum", weights=weights), 10.0),
    }
    stored = config.to_dict()
    assert stored == yaml.safe_load(yaml.safe_dump(stored))
    assert parse_stored(stored, tmp_path / STUDY) == config
    assert stored_objective_set(stored) == config.objective_set


def test_without_a_word_the_objectives_are_edp_area_and_tdp(tmp_path: Path) -> None:
    config = load_config(write_study(tmp_path))
    assert config.objective_set.objectives == (EDP, AREA, TDP)
    assert config.objective_set.limits == ()
    stored = config.to_dict()
    assert stored["constraints"] == {"area_mm2": None, "tdp_w": None}
    del stored["objectives"], stored["pick"]  # as studies of older versions have it
    assert stored_objective_set(stored) == config.objective_set


def test_records_have_every_figure_by_name(finished: Path) -> None:
    for r in read_trials(finished):
        one, two = (r.networks[name] for name in ("tiny_cnn", "tiny_mlp"))
        values = r.values
        assert len(values) == 5
        assert isclose(values["latency_s"], (one.latency_s * two.latency_s) ** 0.5)
        assert values["energy_j(max)"] == max(one.energy_pj, two.energy_pj) * 1e-12
        assert isclose(values["throughput_per_s(tiny_mlp)"], 1 / two.latency_s)
        mix = r.tdp_w * (0.5 * two.latency_s + one.latency_s)
        assert isclose(values["perf_per_tdp_per_s_w(0.5 tiny_mlp + 1 tiny_cnn)"], 1 / mix)
        assert 0 < values["utilisation"] <= 1
        assert r.edp_js > 0


def test_the_front_is_of_the_objectives_among_those_that_keep_the_limits(finished: Path) -> None:
    front, records = read_front(finished), read_trials(finished)
    kept = [r for r in records if all(e <= 0 for e in r.observation(front.objective_set).excess)]
    assert 0 < len(kept) < len(records)  # some break the limit, or this proves nothing
    costs = [
        (
            r.values["latency_s"],
            r.values["energy_j(max)"],
            1 / r.values["throughput_per_s(tiny_mlp)"],
        )
        for r in kept
    ]
    expected = {r.number for r, on in zip(kept, non_dominated(costs), strict=True) if on}
    assert {r.number for r in front.members} == expected
    latencies = [r.values["latency_s"] for r in front.members]
    assert latencies == sorted(latencies)
    best = min(r.values["energy_j(max)"] for r in front.members)
    near = [r for r in front.members if r.values["energy_j(max)"] <= 1.1 * best]
    assert front.picked == min(near, key=lambda r: r.values["latency_s"])
    (line,) = limit_lines(records, front.objective_set)
    assert line.startswith(
        f"{10 - len(kept)} of 10 trials violate the limit on utilisation (at least"
    )


def test_front_show_and_report_speak_of_the_objectives(finished: Path) -> None:
    front = read_front(finished)
    names = [objective.name for objective in front.objective_set.measured]
    rows = list(csv.DictReader(io.StringIO(front_csv(front))))
    assert list(rows[0])[1:6] == names
    data = json.loads(front_json(front))["front"]
    assert [row["values"] for row in data] == [
        {name: float(row[name]) for name in names} for row in rows
    ]
    good = {"state", "evaluations", "plan_gap_percent"}
    assert data[0].keys() == {"trial", "edp_js", "area_mm2", "tdp_w", "values", "hardware"} | good
    console = Console(width=250, file=io.StringIO())
    with console.capture() as printed:
        console.print(front_table(front))
        show_trial(finished, str(data[0]["trial"]), as_json=False, console=console)
    for text in ("latency", "(J, max)", "(1/s, tiny_mlp)", " *"):
        assert text in printed.get()
    assert f"energy_j(max) {data[0]['values']['energy_j(max)']:.4g}" in printed.get()
    page, _ = write_report(finished)
    html = page.read_text()
    for text in ("Its energy (max)", "Latency and energy (max)", "utilisation at least 0.4"):
        assert text in html
    assert "hypervolume (% of the box" in everything(html)


def test_another_rule_picks_when_it_is_asked_for(finished: Path) -> None:
    front = read_front(finished, "knee")
    costs = [r.costs(front.objective_set) for r in front.members]
    assert front.picked == front.members[PickRule("knee").choose(costs)]
    own = read_front(finished, "lexicographic")
    assert own.rule == read_front(finished).rule == PickRule("lexicographic", (1, 0), 0.1)
    view = load_view(finished, "knee")
    assert view.rule == "knee of the front"
    assert front.picked is not None
    assert view.picked is not None
    assert view.designs[view.picked].label == str(front.picked.number)
    with pytest.raises(UserError, match="--pick 'kne' is unknown; did you mean knee"):
        read_front(finished, "kne")


def test_hypervolume_counts_only_designs_that_keep_the_limits(finished: Path) -> None:
    view = load_view(finished)
    assert sum(not d.kept for d in view.designs) > 0
    assert not any(d.on_front and not d.kept for d in view.designs)
    for (_, before), (_, after), design in zip(
        view.hypervolume, view.hypervolume[1:], view.designs[1:], strict=False
    ):
        assert after > before if design.on_front and before == 0 else after >= before
        assert design.kept or after == before


def test_a_study_goes_on_with_its_objectives(finished: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, OTHER)
    run_here(config, tmp_path / "run")
    journal, trials = (tmp_path / "run" / "journal.jsonl"), (tmp_path / "run" / "trials.jsonl")
    whole = trials.read_bytes()
    assert whole == (finished / "trials.jsonl").read_bytes()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    trials.write_bytes(b"")
    run_here(config, tmp_path / "run")
    assert trials.read_bytes() == whole


def test_other_objectives_are_another_study_but_another_pick_is_not(tmp_path: Path) -> None:
    run_here(tiny_config(tmp_path, TINY), tmp_path / "run")
    identity = read_header(tmp_path / "run").identity
    assert header_of(tiny_config(tmp_path, TINY + "pick: knee\n")).identity == identity
    said = TINY + "objectives: [edp, area, tdp]\n"
    assert header_of(tiny_config(tmp_path, said)).identity == identity
    for other in ("objectives: [edp]\n", "constraints: {edp_js: 1}\n"):
        assert header_of(tiny_config(tmp_path, TINY + other)).identity != identity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objectives: [latncy]", "objectives[0]: metric 'latncy' is unknown; did you mean latency"),
        ("objectives: latency", "objectives: 'latency' must be a list of metrics"),
        ("objectives: []", "objectives: no objective depends on the software"),
        ("objectives: [area]", "objectives: no objective depends on the software"),
        ("objectives: [edp, edp]", "objectives: edp_js is an objective twice"),
        ("objectives: [{metric: area, aggregate: max}]", "area does not depend on workloads"),
        ("objectives: [{metric: edp, agregate: max}]", "[0].agregate: is an unknown key; did you"),
        ("objectives: [{metric: edp, aggregate: mx}]", "[0].aggregate: 'mx' is unknown; did you"),
        ("objectives: [{metric: edp, weights: {tiny_cnn: 0}}]", "weights.tiny_cnn: 0 must be gr"),
        ("objectives: [{metric: edp, workload: tiny}]", "'tiny' is unknown; did you mean tiny_"),
        ("objectives: [{workload: tiny_cnn}]", "objectives[0]: metric is missing"),
        ("constraints: {latency_s: 5 ms}", "must be a plain number in s: write 0.005"),
        ("constraints: {latency_s: 5e-3}", "reads this as a text, write 0.005"),
        ("constraints: {latency_s: -1}", "constraints.latency_s: -1 must be greater than 0"),
        ("constraints: {latency: 1}", "constraints.latency: is an unknown key; did you mean lat"),
        ("constraints: {edp_js: [1, 2]}", "constraints.edp_js[1]: edp_js has a limit already"),
        ("constraints: {edp_js: {workload: x}}", "constraints.edp_js: limit is missing"),
        ("constraints: {edp_js: {limit: 1, workload: x}}", "edp_js: workload 'x' is unknown"),
        ("pick: kne", "pick: 'kne' is unknown; did you mean knee?"),
        ("pick: {name: knee, order: [edp]}", "pick: 'knee' has no options"),
        ("pick: {name: lexicographic, order: [energy]}", "'energy', which is not exactly one"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_the_nearest_choice(
    tmp_path: Path, text: str, message: str
) -> None:
    (found,) = errors_of(tmp_path, f"{TINY}{text}\n")
    assert found.startswith("line 11: ")
    assert message in found


def test_unknown_workloads_are_named_beside_other_mistakes(tmp_path: Path) -> None:
    text = """\
objectives: [{metric: edp, workload: tiny}, latncy]
constraints: {area: 3, latency_s: [-1, {limit: 1, workload: tiny}], edp_js: {limit: 1, weights: 3}}
"""
    found = errors_of(tmp_path, TINY + text)
    for start in (
        "line 11: objectives[0]: workload 'tiny' is unknown; did you mean tiny_cnn",
        "line 11: objectives[1]: metric 'latncy' is unknown",
        "line 12: constraints.area: is an unknown key",
        "line 12: constraints.edp_js.weights: must be a mapping",
        "line 12: constraints.latency_s[0]: -1 must be greater than 0",
        "line 12: constraints.latency_s[1]: workload 'tiny' is unknown; did you mean tiny_cnn",
    ):
        assert sum(message.startswith(start) for message in found) == 1
    assert len(found) == 6


def test_of_wrong_workloads_nothing_else_is_said(tmp_path: Path) -> None:
    text = TINY.replace("tiny_cnn", "tiny_cn") + "objectives: [{metric: edp, workload: tiny_cnn}]\n"
    (found,) = errors_of(tmp_path, text)
    assert "network 'tiny_cn' is unknown" in found


SEVERAL = """\
objectives: [latency, energy]
constraints: {utilisation: 0.4}
"""


def test_mobo_searches_several_unknown_objectives_under_a_limit(tmp_path: Path) -> None:
    mobo = TWO.replace("{name: random}", "{name: mobo, initial: 4, pool: 50}")
    text = mobo.replace("trials: 10", "trials: 8").replace("batch_size: 6", "batch_size: 4")
    config = tiny_config(tmp_path, text + SEVERAL)
    records = run_here(config, tmp_path / "run")
    assert len({json.dumps(r.point) for r in records}) == 8
    trials, journal = tmp_path / "run" / "trials.jsonl", tmp_path / "run" / "journal.jsonl"
    whole = trials.read_bytes()
    events = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(events[: len(events) // 2]))
    trials.unlink()
    assert run_here(config, tmp_path / "run") == records
    assert trials.read_bytes() == whole


def test_objectives_that_differ_are_named_also_where_one_study_says_nothing(
    tmp_path: Path,
) -> None:
    one = header_of(tiny_config(tmp_path, TINY))
    other = header_of(tiny_config(tmp_path, TINY + "objectives: [energy]\n"))
    assert differences(one, other, LATER) == (
        "objectives: ['edp', 'area', 'tdp'] there, ['energy'] here"
    )
