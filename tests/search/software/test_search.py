"""Software search of one trial: resumable, plain, and better with fusion than without."""

import json
from collections.abc import Iterator
from dataclasses import replace
from math import exp, log, prod
from typing import Any

import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.joint import planner as joint
from archloom.search.fusion.joint.planner import candidate_plans
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.registry import FUSION_SEARCHES
from archloom.search.software.result import NetworkResult, SoftwareResult
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    _evaluator,
    _search,
    _shared,
    advance,
    recorded_evaluator,
)
from archloom.space.fusion.plan import FusionPlan, layer_by_layer, plan_violations
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...cases.small_designs import casco_edge, three_levels

CNN, MOBILE = network("tiny_cnn"), network("tiny_mobile")
SMALL = casco_edge(32, pe_x=4, pe_y=4)
QUICK = SoftwareSettings(mapping="local", mapping_evaluations=60)


def task(
    hardware: Hardware = SMALL, settings: SoftwareSettings = QUICK, seed: int = 9, **names: Any
) -> SoftwareTask:
    return SoftwareTask(hardware, names.get("networks", (CNN, MOBILE)), settings, seed)


def stored(state: dict[str, Any]) -> dict[str, Any]:
    back: dict[str, Any] = json.loads(json.dumps(state))
    return back


def after(what: SoftwareTask, *budgets: int) -> SoftwareResult:
    """Advance by budget after budget, each time as another process would: from a stored state."""
    result = None
    for budget in budgets:
        for kept in (_evaluator, _search, _shared):
            kept.cache_clear()
        result = advance(what, stored(result.state) if result else None, budget)
    assert result is not None
    return result


@pytest.mark.parametrize("mapping", ["local", "random", "auto"])
@pytest.mark.parametrize("budgets", [(1, 29), (13, 17), (24, 6), (10, 10, 10)])
def test_a_then_b_is_a_plus_b(mapping: str, budgets: tuple[int, ...]) -> None:
    what = task(settings=SoftwareSettings("casco", 8, mapping, 40))
    assert after(what, *budgets) == after(what, 30)


@pytest.mark.parametrize("fusion", FUSION_SEARCHES)
def test_every_fusion_search_goes_on_where_it_was(fusion: str) -> None:
    what = task(settings=SoftwareSettings(fusion, 8, "local", 40))
    assert after(what, 1, 5) == after(what, 6)


def test_a_trial_that_goes_on_in_its_process_is_not_walked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walks = []

    def counted(
        price: MemoizedPlanEvaluator, costs: dict[FusionPlan, float]
    ) -> Iterator[FusionPlan]:
        walks.append(price.network.name)
        return candidate_plans(price, costs)

    monkeypatch.setattr(joint, "candidate_plans", counted)
    what = task(settings=replace(QUICK, fusion="joint"), seed=12345)
    first = advance(what, None, 2)
    advance(what, stored(first.state), 4)
    assert walks == [CNN.name, MOBILE.name]


def test_the_seed_alone_decides() -> None:
    assert after(task(), 20) == after(task(), 20)
    assert after(task(seed=10), 20).state != after(task(), 20).state


def test_a_network_is_searched_alike_alone_and_in_company() -> None:
    both, other = after(task(), 25), after(task(networks=(MOBILE, CNN)), 25)
    alone = after(task(networks=(CNN,)), 25)
    assert both.networks == other.networks
    assert both.networks["tiny_cnn"] == alone.networks["tiny_cnn"]
    assert list(other.networks) == ["tiny_mobile", "tiny_cnn"]
    assert other.curve.edp == pytest.approx(both.curve.edp, rel=1e-14)


def test_the_curve_is_the_geometric_mean_against_plans() -> None:
    result = after(task(), 12, 18)
    assert result.curve.evaluations == tuple(range(1, 31))
    assert list(result.curve.edp) == sorted(result.curve.edp, reverse=True)
    edp = [n.edp_js for n in result.networks.values()]
    assert result.curve.edp[-1] == pytest.approx(prod(edp) ** 0.5)
    base = [n.baseline_edp_js for n in result.networks.values()]
    assert result.curve.edp[0] == pytest.approx(exp(sum(map(log, base)) / 2))


def test_results_are_those_of_their_plans() -> None:
    what = task()
    for name, found in after(what, 30).networks.items():
        evaluator = recorded_evaluator(what.hardware, network(name), found.mappings)
        plan = FusionPlan.from_list(found.plan)
        assert plan_violations(evaluator.network, plan) == []
        best, base = evaluator.plan(plan), evaluator.plan(layer_by_layer(evaluator.network))
        assert isinstance(best, NetworkCost)
        assert isinstance(base, NetworkCost)
        assert (found.edp_js, found.energy_pj) == (best.edp_js, best.energy_pj)
        assert (found.latency_cycles, found.latency_s) == (best.latency_cycles, best.latency_s)
        assert (found.dram_bytes, found.baseline_dram_bytes) == (best.dram_bytes, base.dram_bytes)
        assert found.baseline_edp_js == base.edp_js
        assert found.edp_js <= base.edp_js
        assert NetworkResult.from_dict(stored(found.to_dict())) == found


def test_a_planner_may_end_sooner_for_one_network_than_for_another() -> None:
    what = task(settings=replace(QUICK, fusion="joint"), networks=(CNN, network("tiny_mlp")))
    result = after(what, 4000)
    ends = [len(n["history"]) for n in result.state["networks"].values()]
    assert len(set(ends)) == len(ends) == 2
    assert result.curve.evaluations == tuple(range(1, max(ends) + 1))
    edp = [n.edp_js for n in result.networks.values()]
    assert result.curve.edp[-1] == pytest.approx(prod(edp) ** 0.5)


def test_without_fusion_the_result_is_the_baseline() -> None:
    result = after(task(settings=replace(QUICK, fusion="none")), 30)
    assert result.curve.evaluations == (1,)
    for found in result.networks.values():
        assert found.edp_js == found.baseline_edp_js
        assert all(len(group["layers"]) == 1 for group in found.plan)


def test_networks_run_over_their_own_batch_or_else_the_native_one() -> None:
    hardware = replace(SMALL, native_batch=4)
    for own, batch in ((1, 4), (7, 7)):
        result = after(task(hardware, networks=(CNN.with_batch(own),)), 15)
        found = result.networks["tiny_cnn"]
        assert found.batch == batch
        one = after(task(networks=(CNN,)), 15).networks["tiny_cnn"]
        assert found.baseline_latency_cycles > 2 * one.baseline_latency_cycles
        joules, seconds = found.energy_pj * 1e-12 / batch, found.latency_s
        assert found.edp_js == pytest.approx(joules * seconds)


@pytest.mark.parametrize("tensor", range(3))
def test_a_buffer_with_less_than_a_word_is_infeasible_by_name(tensor: int) -> None:
    sizes = [4, 4, 4]
    sizes[tensor] = 1
    hardware = three_levels(spad_bytes=(sizes[0], sizes[1], sizes[2]), word_bits=16)
    what = task(hardware)
    result = after(what, 5)
    assert result.networks == {}
    assert result.curve.evaluations == ()
    assert result.infeasible is not None
    assert result.infeasible.reason == "no_mapping"
    name = ("weights", "inputs", "outputs")[tensor]
    assert result.infeasible.where == f"spad ({name}), layer conv1"
    assert (result.infeasible.needed, result.infeasible.available) == (2, 1)
    assert advance(what, stored(result.state), 5) == result


def test_a_budget_of_nothing_is_refused() -> None:
    """A trial without a single plan has no price."""
    for budget in (0, -1):
        with pytest.raises(ValueError, match=f"budget must be at least 1, got {budget}"):
            advance(task(), None, budget)


def test_fusion_matters() -> None:
    """On an edge design with half a megabyte fused MobileNetV2 moves far fewer bytes."""
    what = task(casco_edge(512), networks=(network("mobilenetv2"),))
    found = after(what, 10).networks["mobilenetv2"]
    assert found.edp_js < 0.6 * found.baseline_edp_js
    assert found.dram_bytes < 0.4 * found.baseline_dram_bytes
    assert found.energy_pj < found.baseline_energy_pj
    assert any(len(group["layers"]) > 1 for group in found.plan)
    # what must move: every weight once, the first map in, the last one out (8-bit words)
    net = network("mobilenetv2")
    least = sum(layer.weight_words for layer in net.layers) + 3 * 224 * 224 + 1000
    assert found.dram_bytes >= least


@pytest.mark.parametrize(
    "wrong",
    [{"fusion": "genetics"}, {"mapping": "exactly"}, {"population": 1}, {"mapping_evaluations": 0}],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(QUICK, **wrong)
