"""``archloom schedule --prove-plans`` and ``--prove-mappings``."""

import json

from .test_schedule import said, shown


def test_a_plan_is_proven_if_asked_for() -> None:
    options = ("tiny_cnn", "--hardware", "eyeriss", "--json", "--evaluations", "2")
    plain, proven = (json.loads(shown(*options, *more)) for more in ((), ("--prove-plans", "5000")))
    assert proven["planner_gap_percent"] == 0 < plain["planner_gap_percent"]
    assert "proven" in proven["notes"][-1]
    text = shown(*options[:3], "--evaluations", "2", "--prove-plans", "5000")
    assert "so none is better." in text


def test_only_planners_that_prove_can_be_asked_to() -> None:
    text = said("tiny_cnn", "--hardware", "eyeriss", "--fusion", "fast", "--prove-plans", "10")
    assert "choose --fusion joint" in text


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
