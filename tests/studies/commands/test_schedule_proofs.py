"""``archloom schedule --prove-plans`` and ``--prove-mappings``."""

import json
from signal import SIGINT, raise_signal

import pytest

from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import network
from archloom.studies.commands.schedule.command import effort_of
from archloom.studies.commands.schedule.tables import mappings_text, progress_text
from archloom.studies.solve.fusion import FusionProgress, Schedule, search_plan
from archloom.studies.solve.proof_effort import with_proof

from .test_schedule import said, shown


def test_a_plan_is_proven_unless_asked_not_to() -> None:
    options = ("tiny_cnn", "--hardware", "eyeriss", "--evaluations", "2")
    plain, few, proven = (
        json.loads(shown(*options, *more, "--json"))
        for more in (("--prove-plans", "0"), ("--prove-plans", "40"), ())
    )
    gaps = [record["planner_gap_percent"] for record in (proven, few, plain)]
    assert 0 == gaps[0] < gaps[1] < gaps[2]
    assert "proven" in proven["notes"][-1]
    # with any mappings less is known than with those of the search, and more than of any plan
    any_mappings = proven["planner_gap_any_mappings_percent"]
    assert 0 < any_mappings < proven["gap_percent"]
    assert proven["planner_bound_any_mappings"] < proven["planner_bound"]
    assert plain["planner_bound_any_mappings"] is None
    assert plain["planner_bound"] == pytest.approx(plain["lower_bound"]["edp_js"])


def test_the_line_says_with_which_mappings_a_plan_is_proven() -> None:
    options = ("tiny_cnn", "--hardware", "eyeriss", "--evaluations", "2")
    text = " ".join(shown(*options).split())
    assert "with the mappings that the mapping search finds, every plan of its search space" in text
    assert "so none is better; with any mappings, of at least" in text
    text = " ".join(shown(*options, "--prove-plans", "0").split())
    assert "Planner joint: every plan of its search space has an EDP of at least" in text


def test_a_buffer_that_may_be_bypassed_is_no_obstacle() -> None:
    settings = ("pe_x=14", "pe_y=12", "l2_kib=32", "weight_spad_bytes=128", "clock_mhz=400")
    settings = (*settings, "input_spad_bytes=32", "output_spad_bytes=32", "dram_channels=2")
    options = ("tiny_mobile", "--hardware", "casco_edge", "--evaluations", "5", "--json")
    found = json.loads(shown(*options, *(part for one in settings for part in ("--set", one))))
    assert not any("no proof" in note for note in found["notes"])
    assert found["planner_gap_percent"] < found["gap_percent"]


def test_a_nearer_bound_of_every_plan_bounds_the_gap_of_the_mappings() -> None:
    """Printed is the smaller figure, and which it is."""
    gaps = {"mappings": 2, "proven": 0, "worst_percent": 9.0, "unknown": 0, "plan_percent": 159.0}
    record = {"mapping_gaps": gaps, "gap_percent": 16.0}
    assert mappings_text(record).endswith(
        "at most 16 % above that of the same plan with optimal mappings, by the lower bound of "
        "every plan and mapping"
    )
    assert mappings_text(record | {"gap_percent": 200.0}).endswith("optimal mappings")
    assert "159 %" in mappings_text(record | {"gap_percent": 200.0})


def test_progress_says_how_far_the_proof_is() -> None:
    stand = FusionProgress(5, 1e-3, 2e-3, 1234, 1700)
    line = progress_text(stand, 200, 4000)
    assert line == "bounding all other plans: 1,700 of at most 4,000 steps"
    assert len(line) < 80 - 13


def test_a_stop_in_the_proof_keeps_the_plan() -> None:
    effort = with_proof(effort_of("joint", 2, "auto", None, 0), 4000, "--prove-plans")

    def stop_in_the_proof(stand: FusionProgress) -> None:
        if stand.proof_steps:
            raise_signal(SIGINT)

    found = search_plan(network("mobilenetv2"), preset("fast_small"), effort, stop_in_the_proof)
    assert isinstance(found, Schedule)
    assert found.interrupted
    assert found.evaluations == 2
    assert found.any_mappings_edp_js is None


def test_only_planners_that_prove_can_be_asked_to() -> None:
    text = said("tiny_cnn", "--hardware", "eyeriss", "--fusion", "fast", "--prove-plans", "10")
    assert "choose planner joint" in text


def test_a_plan_proof_closes_the_gap_of_the_mappings() -> None:
    asked = ("tiny_cnn", "--hardware", "eyeriss", "--fusion", "none", "--factors", "exact")
    plain, proven = shown(*asked, "--json"), shown(*asked, "--prove-mappings", "1000000", "--json")
    before, after = json.loads(plain), json.loads(proven)
    assert after["edp_js"] <= before["edp_js"]
    assert after["mapping_gaps"]["plan_percent"] == 0 < before["mapping_gaps"]["plan_percent"]
    assert after["gap_percent"] <= before["gap_percent"]
    text = shown(*asked, "--prove-mappings", "1000000")
    assert "; no other mappings give the plan a lower EDP" in text


def test_both_proofs_go_together() -> None:
    options = ("tiny_cnn", "--hardware", "eyeriss", "--factors", "exact", "--evaluations", "2")
    proofs = ("--prove-plans", "5000", "--prove-mappings", "1000000")
    found = json.loads(shown(*options, *proofs, "--json"))
    assert "proven" in found["notes"][-1]
    assert found["mapping_gaps"]["plan_percent"] == 0
    bound = found["planner_bound"]
    # a bound of plans with other mappings is not told where these are better
    assert bound is None or bound <= found["edp_js"] * (1 + 1e-9)
