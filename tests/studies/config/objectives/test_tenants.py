"""Tenants in study files: what is read, what is kept, and every mistake in a sentence."""

from pathlib import Path

import pytest
import yaml

from archloom.search.objectives.limits import Limit
from archloom.search.objectives.objective import Objective
from archloom.search.objectives.tenants import Tenant
from archloom.studies.config.objectives.entries import held_out_objectives, stored_objective_set
from archloom.studies.config.study_config import load_config, parse_stored
from archloom.studies.engine.study import header_of
from archloom.studies.storage.header import LATER, differences
from archloom.studies.storage.parts import STUDY

from ....cases.studies import TINY, tiny_config, write_study
from ..test_study_config import errors_of

TWO = TINY.replace("[tiny_cnn]", "[tiny_cnn, {network: tiny_mlp, batch: 4}]")
MLP = "'tiny_mlp(batch=4)'"
SHARED = f"""\
tenants:
  - tiny_cnn
  - {{workload: {MLP}, share: 0.25, weight: 4, deadline_ms: 0.07}}
objectives: [goodput, stp, area]
constraints: {{goodput_per_s: 100}}
"""


def test_tenants_are_read_with_their_defaults(tmp_path: Path) -> None:
    config = load_config(write_study(tmp_path, TWO + SHARED))
    mlp = Tenant("tiny_mlp(batch=4)", 0.25, 4.0, 0.07)
    assert config.tenants == (Tenant("tiny_cnn"), mlp)
    goodput = Objective("goodput")
    assert config.objective_set.objectives == (goodput, Objective("stp"), Objective("area"))
    # a deadline is a limit: a request alone has to keep it
    in_time = Limit(Objective("deadline"), 1.0)
    assert config.objective_set.limits == (Limit(goodput, 100.0), in_time)
    stored = config.to_dict()
    assert stored == yaml.safe_load(yaml.safe_dump(stored))
    assert parse_stored(stored, tmp_path / STUDY) == config
    assert stored_objective_set(stored) == config.objective_set


def test_a_limit_of_ones_own_takes_the_place_of_the_deadlines(tmp_path: Path) -> None:
    text = TWO + SHARED.replace("goodput_per_s: 100", "deadline_ratio: 0.5")
    (limit,) = load_config(write_study(tmp_path, text)).objective_set.limits
    assert limit == Limit(Objective("deadline"), 0.5)


def test_without_deadlines_there_is_no_limit(tmp_path: Path) -> None:
    text = TWO + "tenants: [tiny_cnn]\nobjectives: [goodput]\n"
    assert load_config(write_study(tmp_path, text)).objective_set.limits == ()


def test_a_study_without_tenants_is_the_study_that_it_was(tmp_path: Path) -> None:
    plain = tiny_config(tmp_path, TWO)
    assert "tenants" not in plain.to_dict()
    assert header_of(tiny_config(tmp_path, TWO + "tenants: []\n")) == header_of(plain)
    shared = header_of(tiny_config(tmp_path, TWO + "tenants: [tiny_cnn]\n"))
    assert shared.identity != header_of(plain).identity
    assert differences(header_of(plain), shared, LATER) == (
        "tenants: [] there, [{'workload': 'tiny_cnn', 'share': 1.0, 'weight': 1.0}] here"
    )


def test_held_out_networks_run_one_at_a_time() -> None:
    together = (Objective("goodput"), Objective("edp"), Objective("stp"))
    assert held_out_objectives(together, ()) == (Objective("edp"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tenants: tiny_cnn", "tenants: 'tiny_cnn' must be a list of tenants"),
        ("tenants: [tiny_cn]", "tenants[0]: workload 'tiny_cn' is unknown; did you mean tiny_cnn"),
        ("tenants: [3]", "tenants[0]: 3 must be a workload's label or a mapping"),
        ("tenants: [{share: 1}]", "tenants[0]: workload is missing"),
        ("tenants: [{workload: 1}]", "tenants[0].workload: 1 must be a workload's label"),
        ("tenants: [tiny_cnn, {workload: tiny_cnn}]", "[1].workload: tiny_cnn is a tenant already"),
        ("tenants: [{workload: tiny_cnn, shar: 1}]", "tenants[0].shar: is an unknown key; did you"),
        ("tenants: [{workload: tiny_cnn, share: 0}]", "tenants[0].share: 0 must be greater than 0"),
        ("tenants: [{workload: tiny_cnn, weight: x}]", "tenants[0].weight: 'x' must be a plain"),
        ("tenants: [{workload: tiny_cnn, deadline_ms: 2 s}]", "number in ms: write 2000"),
        ("objectives: [goodput]", "objectives[0]: goodput is of networks that share the chip"),
        ("constraints: {stp: 1.2}", "constraints.stp: stp is of networks that share the chip"),
        ("objectives: [{metric: goodput, aggregate: max}]", "goodput is of all tenants together"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_the_nearest_choice(
    tmp_path: Path, text: str, message: str
) -> None:
    (found,) = errors_of(tmp_path, f"{TINY}{text}\n")
    assert found.startswith("line 11: ")
    assert message in found


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    text = """\
tenants: [{workload: tiny, share: -1}, {workload: tiny_cnn, deadline: 3, weight: 0}]
objectives: [goodputs]
"""
    found = errors_of(tmp_path, TINY + text)
    assert [message.split(": ")[1] for message in found] == [
        "tenants[0].share",
        "tenants[0].workload",
        "tenants[1].deadline",
        "tenants[1].weight",
        "objectives[0]",
    ]


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("stable_load", "objectives[0]: stable_load needs deadline_ms of every tenant; tiny_cnn"),
        ("deadline", "objectives[0]: deadline needs deadline_ms of a tenant; none has one"),
    ],
)
def test_what_needs_deadlines_says_so(tmp_path: Path, objective: str, message: str) -> None:
    text = f"{TINY}tenants: [tiny_cnn]\nobjectives: [{objective}]\n"
    (found,) = errors_of(tmp_path, text)
    assert message in found


def test_plans_that_keep_weights_for_ever_are_refused(tmp_path: Path) -> None:
    text = TINY.replace("fusion: casco", "fusion: fast_printed") + "tenants: [tiny_cnn]\n"
    (found,) = errors_of(tmp_path, text)
    assert "software: fusion 'fast_printed' keeps the weights of one network on chip" in found


def test_shares_that_differ_too_much_are_refused(tmp_path: Path) -> None:
    tenants = f"tenants: [{{workload: tiny_cnn, share: 2000}}, {{workload: {MLP}}}]\n"
    (found,) = errors_of(tmp_path, TWO + tenants)
    assert (
        "tenants: shares are from 1 to 2000; the largest may be at most 1000 times the smallest"
        in found
    )
