"""Files of results in benchmarks/data: they name the code that made them, and still hold."""

import importlib
import json
import re
import sys
from math import exp, fsum, log
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from archloom.search.hardware.certify.certificate import Certificate
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.pareto import dominated_by, non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ..cases.sweeps import sweep
from ..source_tree import ROOT

sys.path.insert(0, str(ROOT))

DATA: Final = ROOT / "benchmarks" / "data"

#: files of costs that a version of this code found; the others are settings, times of a machine,
#: and figures of other tools
RESULTS: Final = (
    "casco_edge_front.json",
    "casco_edge_proven_front.json",
    "fusion_planners.jsonl",
    "plan_gaps.jsonl",
    "plan_by_enumeration_5cd1ce9.json",
    "trial_cost_f173ccd.json",
)

#: rounding, and sums in another order
SAME: Final = 1 + 1e-9


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file: each line, or all of it."""
    text = path.read_text()
    return [json.loads(part) for part in (text.splitlines() if path.suffix == ".jsonl" else [text])]


@pytest.mark.parametrize("name", RESULTS)
def test_results_name_the_version_that_found_them(name: str) -> None:
    found = records(DATA / name)
    assert found
    for record in found:
        assert re.fullmatch(r"\d+\.\d+\.\d+ at [0-9a-f]{7,}(-dirty)?", record["version"])


def certificate_of(front: dict[str, Any]) -> Certificate:
    """Return the certificate of a kept front."""
    # figures that certificates have since then are not in an older file
    known = front["certificate"].keys() & Certificate.__dataclass_fields__.keys()
    fields = {name: front["certificate"][name] for name in known}
    return Certificate.from_dict(fields)


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    (found,) = records(DATA / "casco_edge_front.json")
    return found


def test_the_front_is_proven_at_its_budget_only(kept: dict[str, Any]) -> None:
    proof = certificate_of(kept)
    assert proof.proven_at_this_budget
    assert kept["certificate"]["proven_at_this_budget"]
    # it was made before the second statement was known
    assert proof.undecided is None
    assert not proof.proven
    assert not kept["certificate"]["proven"]
    assert non_dominated([member["values"] for member in kept["front"]]).all()


@pytest.mark.parametrize("place", [0, 136, 272])
def test_members_cost_no_more_today(kept: dict[str, Any], place: int) -> None:
    """At the file's own budget: the best EDP, one in the middle, and the smallest design.

    A lower EDP is what a better search finds; a higher one means that the search has become worse,
    or that the cost model is another one and the file says nothing any more.
    """
    member = kept["front"][place]
    networks = tuple(map(network, kept["networks"]))
    space = HardwareSpace.load(kept["space"])
    parts = [part.split("=") for part in member["design"].split(", ")]
    point = space.canonical({name: int(value) for name, value in parts})
    hardware = space.build(point)
    assert isinstance(hardware, Hardware)
    task = SoftwareTask(hardware, networks, SoftwareSettings(**kept["software"]), 0)
    found = advance(task, None, 1)
    edps = [found.networks[net.name].edp_js for net in networks]
    facts = DesignProblem(space, networks, plans="layer_by_layer").assess(point)
    assert isinstance(facts, Candidate)
    today = exp(fsum(map(log, edps)) / len(edps)), facts.area_mm2, facts.tdp_w
    assert today[1:] == pytest.approx(member["values"][1:], rel=1e-9)
    assert today[0] <= member["values"][0] * SAME


@pytest.fixture(scope="module")
def proven() -> dict[str, Any]:
    (found,) = records(DATA / "casco_edge_proven_front.json")
    return found


def test_a_front_is_proven_for_any_budget(proven: dict[str, Any]) -> None:
    proof = certificate_of(proven)
    assert proof.proven
    assert proof.undecided == proof.open == 0
    assert proof.settled_members == proof.members == len(proven["front"])
    assert all(member["proven"] for member in proven["front"])
    assert non_dominated([member["values"] for member in proven["front"]]).all()


def test_no_member_of_an_older_front_joins_the_proven_one(
    proven: dict[str, Any], kept: dict[str, Any]
) -> None:
    """Costs that were found with less search are no better than proven ones."""
    front = np.array([member["values"] for member in proven["front"]])
    older = np.array([member["values"] for member in kept["front"]])
    assert dominated_by(front * (1 - 1e-9), older / (1 - 1e-9)).all()


@pytest.mark.parametrize("place", [0, 0.4, 1])
def test_proven_members_cost_today_what_they_cost(proven: dict[str, Any], place: float) -> None:
    """The least cost of a design is the same in each version of the search; another cost says that
    the cost model is another one, or that something was proven that does not hold."""
    script: Any = importlib.import_module("benchmarks.hardware.proven_front")
    members = proven["front"]
    member = members[round(place * (len(members) - 1))]
    space = HardwareSpace.load(proven["space"])
    problem = DesignProblem(space, script.NETWORKS, plans="layer_by_layer")
    measured = script.Measurements(problem, DATA / "none.jsonl", map)
    (point,) = script.points_of(problem, {"front": [member]})
    design = measured.design(point)
    proofs, _ = script.measure(np.empty((0, 3)), design)
    assert design.costs(proofs) == pytest.approx(member["values"], rel=1e-9)
    assert all(proof.closed for proof in proofs)


@pytest.mark.parametrize(
    ("planner", "name", "preset"),
    [
        ("fast", "resnet18", "fast_large"),
        ("casco", "mobilenetv2", "eyeriss"),
        ("joint", "vgg16", "eyeriss"),
        ("optimus", "srgan", "fast_small"),
    ],
)
def test_plans_of_planners_cost_no_more_today(planner: str, name: str, preset: str) -> None:
    """Some cells of docs/validation/fusion_planners.md, as its command measures them."""
    script: Any = importlib.import_module("benchmarks.fusion.fusion_planners")
    (kept,) = (
        row
        for row in records(DATA / "fusion_planners.jsonl")
        if (row["planner"], row["network"], row["preset"]) == (planner, name, preset)
    )
    today = script.run(planner, name, preset, 100_000, kept["factors"])
    assert today["edp"] <= kept["edp"] * SAME
    assert today["layer_by_layer"] <= kept["layer_by_layer"] * SAME
    # a higher bound is a better one
    assert kept["bound"] / SAME <= today["bound"] <= today["edp"] * SAME


@pytest.mark.parametrize(
    ("name", "preset"),
    sweep([("alexnet", "edgetpu"), ("vgg16", "eyeriss"), ("resnet18", "fast_small")], 2),
)
def test_gaps_of_plans_are_no_wider_today(name: str, preset: str) -> None:
    """Some rows of the table of gaps, as its command measures them."""
    script: Any = importlib.import_module("benchmarks.fusion.plan_gaps")
    (kept,) = (
        row
        for row in records(DATA / "plan_gaps.jsonl")
        if (row["network"], row["preset"]) == (name, preset)
    )
    today = script.run(name, preset, script.Effort(steps=kept["steps"]), "today")
    assert today["edp"] <= kept["edp"] * SAME
    assert today["bound"] <= today["edp"] * SAME
    # a bound may rise, and falls where a better plan is found
    assert script.gap_percent(today) <= script.gap_percent(kept) + 1e-4
    assert kept["any_plan"] <= kept["bound"] * SAME
