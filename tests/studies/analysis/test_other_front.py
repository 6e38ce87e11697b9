"""Fronts in other objectives than were searched, by the definition and from what records say."""

import csv
import io
import json
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.trial import Trial

from ...cases.studies import TINY, run_here, tiny_config

TWO = TINY.replace("[tiny_cnn]", "[tiny_cnn, tiny_mlp]").replace("baseline: eyeriss\n", "")

#: by the name of a figure, what it is of a trial's record
ORACLES: dict[str, Callable[[Trial], float]] = {
    "latency_s": lambda t: exp(sum(log(n.latency_s) for n in t.networks.values()) / 2),
    "latency_s(tiny_mlp)": lambda t: t.networks["tiny_mlp"].latency_s,
    "energy_j(max)": lambda t: max(n.energy_pj * 1e-12 / n.batch for n in t.networks.values()),
    "area_mm2": lambda t: t.area_mm2,
    "throughput_per_s": lambda t: exp(
        sum(log(n.batch / n.latency_s) for n in t.networks.values()) / 2
    ),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    text = TWO + "constraints: {edp_js: 6.0e-11}\n"
    run_here(tiny_config(folder, text), folder / "run")
    return folder / "run"


def said(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["pareto", *map(str, arguments)])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
    return done.output


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("latency,area", ["latency_s", "area_mm2"]),
        ("energy:max, latency:tiny_mlp", ["energy_j(max)", "latency_s(tiny_mlp)"]),
        ("throughput,area", ["throughput_per_s", "area_mm2"]),
    ],
)
def test_it_has_the_recorded_trials_that_nothing_dominates(
    study: Path, asked: str, names: list[str]
) -> None:
    kept = [t for t in read_trials(study) if t.edp_js is not None and t.edp_js <= 6e-11]
    assert len(kept) < len(read_trials(study)), "the limit of the study holds here too"
    figures = {t.number: [ORACLES[name](t) for name in names] for t in kept}
    costs = {
        number: [
            1 / x if name == "throughput_per_s" else x for name, x in zip(names, f, strict=True)
        ]
        for number, f in figures.items()
    }
    front = {
        number
        for number, mine in costs.items()
        if not any(
            o != mine and all(a <= b for a, b in zip(o, mine, strict=True)) for o in costs.values()
        )
    }
    data: dict[str, Any] = json.loads(said(study, "--objectives", asked, "--json"))
    assert {row["trial"] for row in data["front"]} == front
    assert (data["objectives"], data["searched"]) == (names, ["edp_js", "area_mm2", "tdp_w"])
    assert data["note"].startswith("This is not what the search optimised: that was EDP (J s), ")
    for row in data["front"]:
        found = [row["values"][name] for name in names]
        assert found == pytest.approx(figures[row["trial"]], rel=1e-12)
    rows = list(csv.DictReader(io.StringIO(said(study, "--objectives", asked, "--csv"))))
    assert [int(row["trial"]) for row in rows] == [row["trial"] for row in data["front"]]
    assert {row["searched_for"] for row in rows} == {"edp_js area_mm2 tdp_w"}
    text = said(study, "--objectives", asked, "--pick", "knee")
    assert f"in other objectives than were searched: {len(front)} designs" in text
    assert "This is not what the search optimised" in text
    assert text.count(" * ") == 1


def test_its_own_objectives_are_its_front(study: Path) -> None:
    own = json.loads(said(study, "--json"))["front"]
    again = json.loads(said(study, "--objectives", "edp,area,tdp", "--json"))["front"]
    assert [row["trial"] for row in own] == [row["trial"] for row in again]
    assert "searched" not in json.loads(said(study, "--json"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("latncy", "metric 'latncy' is unknown; did you mean latency?"),
        ("latency:tiny", "workload 'tiny' is unknown; did you mean tiny_"),
        ("edp,edp", "edp_js is an objective twice"),
        ("goodput", "goodput is not recorded: only a study that searches or limits it"),
        ("edp,accuracy", "accuracy is not recorded"),
        ("area:max,edp", "area does not depend on workloads"),
        ("", "metric '' is unknown"),
    ],
)
def test_what_records_do_not_tell_is_refused(study: Path, asked: str, message: str) -> None:
    done = CliRunner().invoke(app, ["pareto", str(study), "--objectives", asked])
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith("--objectives: ")
    assert message in str(done.exception)
