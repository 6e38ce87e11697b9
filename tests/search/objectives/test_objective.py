from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from archloom.evaluators.bounds.compulsory import edp_bound
from archloom.evaluators.hardware import hardware_cost
from archloom.search.hardware.bayesian.mobo import Mobo
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import (
    AREA,
    EDP,
    METRICS,
    TDP,
    Limit,
    Objective,
    ObjectiveSet,
    design_costs,
)
from archloom.search.objectives.metrics import MetricName
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...contracts.problems import analytic_edp, small_space

OF_SOFTWARE: list[MetricName] = [
    "edp", "energy", "latency", "throughput", "perf_per_tdp", "utilisation"
]  # fmt: skip
NETWORKS = [network("tiny_cnn"), network("tiny_cnn").with_batch(3)]
TWO = [NETWORKS[0], replace(NETWORKS[1], name="other")]


def every_objective() -> list[Objective]:
    """Return each metric in each aggregate of the two networks, and of each of them alone."""
    weights = (("tiny_cnn", 0.25), ("other", 2.0))
    return [
        objective
        for metric in OF_SOFTWARE
        for objective in (
            Objective(metric),
            Objective(metric, "max"),
            Objective(metric, "weighted_sum", weights=weights),
            Objective(metric, workload="tiny_cnn"),
            Objective(metric, workload="other"),
        )
    ] + [AREA, TDP]


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), template=st.sampled_from(["casco_edge", "fast"]))
def test_no_cost_that_is_found_is_below_its_bound(seed: int, template: str) -> None:
    """Any search's result, not only a good one, is at or above the bound of every objective."""
    space = HardwareSpace.load(template)
    objective_set = ObjectiveSet(tuple(every_objective()))
    problem = DesignProblem(space, TWO, objective_set=objective_set)
    (candidate,) = problem.sample(np.random.default_rng(seed), 1, (), tries=500)
    hardware = space.build(candidate.point)
    assert isinstance(hardware, Hardware)
    cheap = SoftwareSettings(population=2, mapping="random", mapping_evaluations=20)
    found = advance(SoftwareTask(hardware, tuple(TWO), cheap, seed), None, 2)
    assume(found.infeasible is None)
    passes = [
        (found.networks[n.name].energy_pj, found.networks[n.name].latency_cycles) for n in TWO
    ]
    costs = design_costs(TWO, hardware, hardware_cost(hardware), passes)
    for objective, value, bound in zip(
        objective_set.objectives, objective_set.values(costs), candidate.values, strict=True
    ):
        assert 0 < bound <= value, objective.name
    assert Objective("edp", workload="other").cost(costs) == found.networks["other"].edp_js
    assert Objective("latency", workload="other").cost(costs) == found.networks["other"].latency_s


def test_costs_are_what_they_say(tmp_path: Path) -> None:
    space = small_space(tmp_path)
    hardware = space.build({"pe_x": 4, "pe_y": 2, "l2_kib": 16, "dataflow": "wide"})
    assert isinstance(hardware, Hardware)
    cost = hardware_cost(hardware)
    # 2e12 pJ = 2 J and 2e8 cycles at 200 MHz = 1 s for one image; 6 J and 4 s for three
    costs = design_costs(TWO, hardware, cost, [(2e12, 2e8), (6e12, 8e8)])
    macs = TWO[0].macs
    expected = {
        "edp": (2.0, 8.0),
        "energy": (2.0, 2.0),
        "latency": (1.0, 4.0),
        "throughput": (1.0, 4 / 3),
        "perf_per_tdp": (cost.tdp_w, 4 / 3 * cost.tdp_w),
        "utilisation": (2e8 * 8 / macs, 8e8 * 8 / (3 * macs)),
    }
    for metric, (first, second) in expected.items():
        values = {
            Objective(metric, workload="tiny_cnn"): first,  # type: ignore[arg-type]
            Objective(metric, workload="other"): second,  # type: ignore[arg-type]
            Objective(metric): (first * second) ** 0.5,  # type: ignore[arg-type]
            Objective(metric, "max"): max(first, second),  # type: ignore[arg-type]
            Objective(metric, "weighted_sum", weights=(("other", 3.0), ("tiny_cnn", 0.5))): 3
            * second  # type: ignore[arg-type]
            + first / 2,
        }
        for objective, value in values.items():
            assert objective.cost(costs) == pytest.approx(value, rel=1e-12), objective.name
    assert AREA.cost(costs) == cost.area_mm2
    assert TDP.cost(costs) == cost.tdp_w


@pytest.mark.parametrize("metric", METRICS)
def test_figures_and_costs_are_inverse(metric: MetricName) -> None:
    objective = Objective(metric)
    for cost in (1e-9, 0.37, 4e6):
        assert objective.figure(objective.figure(cost)) == pytest.approx(cost, rel=1e-15)
    falling = ("edp", "energy", "latency", "area", "tdp", "deadline")
    rising = metric not in falling
    assert (objective.figure(2.0) < objective.figure(1.0)) == rising


def test_names_are_distinct_and_say_of_what() -> None:
    names = [objective.name for objective in every_objective()]
    assert len(set(names)) == len(names)
    assert names[:5] == [
        "edp_js", "edp_js(max)", "edp_js(0.25 tiny_cnn + 2 other)", "edp_js(tiny_cnn)",
        "edp_js(other)",
    ]  # fmt: skip
    assert Objective("latency", "max").label == "latency (s, max)"


def test_the_default_bound_is_that_of_the_edp(tmp_path: Path) -> None:
    problem = DesignProblem(small_space(tmp_path), TWO)
    for candidate in problem.feasible()[::17]:
        hardware = problem.space.build(candidate.point)
        assert isinstance(hardware, Hardware)
        assert candidate.values[0] == edp_bound(TWO, hardware)
        assert candidate.values[1:] == (candidate.area_mm2, candidate.tdp_w)


def test_steady_weights_lower_the_bounds() -> None:
    space = HardwareSpace.load("fast")
    objective_set = ObjectiveSet((Objective("energy"),))
    (plain,) = DesignProblem(space, TWO, objective_set=objective_set).sample(
        np.random.default_rng(1), 1, (), tries=500
    )
    steady = DesignProblem(space, TWO, objective_set=objective_set, plans="steady").assess(
        plain.point
    )
    assert isinstance(steady, Candidate)
    assert steady.values[0] < plain.values[0]


@pytest.mark.parametrize("metric", OF_SOFTWARE)
def test_a_design_whose_bound_breaks_a_limit_is_no_candidate(
    metric: MetricName, tmp_path: Path
) -> None:
    space = small_space(tmp_path)
    objective = Objective(metric)
    free = DesignProblem(space, TWO, objective_set=ObjectiveSet((objective,)))
    costs = sorted(c.values[0] for c in free.feasible())
    limit = Limit(objective, objective.figure(costs[len(costs) // 2] * 1.0000001))
    tight = DesignProblem(space, TWO, objective_set=ObjectiveSet(limits=(limit,)))
    kept = tight.feasible()
    assert 0 < len(kept) < len(costs)
    assert all(c.least_excess[0] <= 0 for c in kept)
    lost = next(c for c in free.feasible() if c.key not in {k.key for k in kept})
    why = tight.assess(lost.point)
    assert isinstance(why, Infeasible)
    assert why.reason == f"{metric}_limit"
    assert why.needed > why.available
    assert sorted((why.needed, why.available)) == sorted(
        (limit.value, objective.figure(lost.values[0]))
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Objective("latncy"), "metric 'latncy' is unknown; did you mean latency"),
        (lambda: Objective("edp", "mx"), "aggregate 'mx' is unknown; did you mean max"),
        (lambda: Objective("edp", "weighted_sum"), "needs weights"),
        (lambda: Objective("edp", weights=(("a", 1.0),)), "needs weights, and nothing else"),
        (lambda: Objective("edp", "weighted_sum", weights=(("a", 0.0),)), "weight of a is 0.0"),
        (lambda: Objective("edp", "max", workload="a"), "workload and aggregate max exclude"),
        (lambda: Objective("area", workload="a"), "area does not depend on workloads"),
        (lambda: ObjectiveSet(()), "no objective depends"),
        (lambda: ObjectiveSet((AREA, TDP)), "no objective depends on the software"),
        (lambda: ObjectiveSet((EDP, Objective("edp"))), "edp_js is an objective twice"),
        (lambda: Limit(AREA, 3.0), "area has a cap"),
        (lambda: Limit(EDP, 0.0), "limit of edp_js is 0.0, must be positive"),
    ],
)  # fmt: skip
def test_bad_goals_are_named(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_goals_of_other_networks_are_named(tmp_path: Path) -> None:
    objective_set = ObjectiveSet(
        (
            Objective("edp", workload="tiny_cn"),
            Objective("energy", "weighted_sum", weights=(("x", 1.0),)),
        )
    )
    with pytest.raises(
        ValueError,
        match=r"edp_js\(tiny_cn\): workload 'tiny_cn' is unknown; did you mean tiny_cnn.*'x'",
    ):
        DesignProblem(small_space(tmp_path), TWO, objective_set=objective_set)


def told(problem: DesignProblem, point: dict, factor: float = 1.0) -> Observation:
    """Every cost that software decides is as far above its bound as the analytic EDP is."""
    candidate = problem.assess(point)
    assert isinstance(candidate, Candidate)
    edp = ObjectiveSet((EDP,))
    plain = DesignProblem(problem.space, problem.networks, objective_set=edp)
    base = plain.assess(point)
    assert isinstance(base, Candidate)
    over = factor * analytic_edp(plain, point) / base.values[0]
    values = tuple(
        v if known else v * over
        for v, known in zip(candidate.values, problem.objective_set.known, strict=True)
    )
    return Observation(
        point, values, 100, excess=tuple(e + log(over) for e in candidate.least_excess)
    )


@pytest.mark.parametrize(
    "objectives",
    [
        (Objective("perf_per_tdp"),),
        (TDP, Objective("latency", "max")),
        (AREA, TDP, Objective("energy", workload="other")),
        (Objective("latency"), AREA, Objective("energy")),
    ],
)  # fmt: skip
def test_mobo_takes_unknown_objectives_among_known_ones_in_any_order(
    objectives: tuple[Objective, ...], tmp_path: Path
) -> None:
    problem = DesignProblem(small_space(tmp_path), TWO, objective_set=ObjectiveSet(objectives))
    optimizer = Mobo(problem, 0, initial=4)
    for _ in range(5):
        points = optimizer.ask(4, [])
        assert len(points) == 4
        optimizer.tell([told(problem, p) for p in points])
    assert len(optimizer._observations.results) == 20


def test_mobo_learns_where_a_limit_is_kept(tmp_path: Path) -> None:
    """Most designs that bounds allow break the limit; most that mobo proposes keep it."""
    space = small_space(tmp_path)
    every = DesignProblem(space, TWO, objective_set=ObjectiveSet((Objective("latency"),)))
    costs = sorted(told(every, c.point).values[0] for c in every.feasible())  # type: ignore[index]
    limit = Limit(Objective("latency"), costs[len(costs) // 4])
    problem = DesignProblem(space, TWO, objective_set=ObjectiveSet(limits=(limit,)))
    designs = problem.feasible()
    share = np.mean([told(problem, c.point).kept for c in designs])
    optimizer = Mobo(problem, 0, initial=8)
    kept = []
    for _ in range(4):
        seen = [told(problem, p) for p in optimizer.ask(4, [])]
        kept += [o.kept for o in seen]
        optimizer.tell(seen)
    assert share < 0.6
    assert np.mean(kept[8:]) > share + 0.2
