"""Certificates of designs with several points in the objectives: mappings that trade them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.bayesian.mobo import Mobo
from archloom.search.hardware.certify.intervals import CostIntervals
from archloom.search.hardware.observations import ObservedTrials
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import Objective, ObjectiveSet
from archloom.search.pareto import dominated_by, hypervolume, non_dominated

from .test_pruning import small_problem
from .test_searched_again import fresh


@pytest.mark.parametrize("seed", range(150))
def test_every_point_counts_for_the_front_and_every_design_once(seed: int) -> None:
    known, rng = fresh(seed), np.random.default_rng(7000 + seed)
    pruner, size = known.pruner, known.tight.shape
    points = {int(i): [known.costs[i]] for i in np.flatnonzero(known.kept)}
    for i in points:
        settled = bool(known.measured[i])
        for _ in range(int(rng.integers(0, 3))):
            cost = known.tight[i] + rng.integers(0, 4, size[1])
            told = Observation({"design": i}, tuple(cost.tolist()), 1, None, (-0.2,))
            pruner.tell_again(told, (), settled)
            points[i].append(cost)
    rows = np.array([row for found in points.values() for row in found]).reshape(-1, size[1])
    front = rows[non_dominated(rows)] if len(rows) else rows
    proof = pruner.certificate()
    assert proof is not None
    on_front = {
        i: [row for row in found if any((row == one).all() for one in front)]
        for i, found in points.items()
    }
    assert proof.members == sum(map(bool, on_front.values()))
    assert proof.settled_members == sum(
        any((row == known.tight[i]).all() for row in found) for i, found in on_front.items()
    )
    may = ~known.never & ~dominated_by(front, known.tight) if len(front) else ~known.never
    assert proof.undecided == (may & known.measured).sum()
    assert proof.open == (may & ~known.measured).sum()
    if len(front):
        assert proof.volume == pytest.approx(hypervolume(front, proof.reference))
        most = np.vstack([front, known.tight[may & ~known.measured]])
        assert proof.ceiling == pytest.approx(hypervolume(most, proof.reference))


def test_points_of_a_design_come_back_from_what_was_kept() -> None:
    known = CostIntervals(2)
    known.add("a", (1.0, 1.0), (2.0, 3.0), True)
    known.add("a", (1.0, 1.0), (3.0, 2.0), True)
    # worse than one of them, and better than the other
    known.add("a", (1.0, 1.0), (4.0, 3.0), True)
    known.add("a", (1.0, 1.0), (1.5, 3.0), True)
    known.add("b", (1.0, 1.0), None, False)
    kept = json.loads(json.dumps(known.state()))
    assert kept == [
        ["a", [1.0, 1.0], [3.0, 2.0], True, [1.5, 3.0]],
        ["b", [1.0, 1.0], None, False],
    ]
    again = CostIntervals(2)
    again.restore(kept)
    assert again.state() == known.state()
    for front in ([[3.0, 2.0], [1.5, 3.0]], [[3.0, 2.0]], [[1.5, 3.0]]):
        assert again.undecided(np.array(front)).members == 1


def test_designs_are_modelled_by_the_ends_of_what_their_software_trades(tmp_path: Path) -> None:
    plain = small_problem(tmp_path)
    objectives = ObjectiveSet(tuple(map(Objective, ("area", "latency", "energy"))))
    problem = DesignProblem(plain.space, plain.networks, objective_set=objectives)
    told = [
        Observation(
            c.point,
            tuple(np.multiply((1.0, 1.2, 1.5), c.values)),
            1,
            others=(
                tuple(np.multiply((1.0, 1.1, 1.6), c.values)),
                tuple(np.multiply((1.0, 1.4, 1.3), c.values)),
                tuple(np.multiply((1.0, 1.3, 1.4), c.values)),
            )[: 3 * (n > 0)],
        )
        for n, c in enumerate(problem.feasible()[:6])
    ]
    seen = ObservedTrials(problem)
    seen.add(told)
    least = np.array([r.candidate.values for r in seen.results])
    (values,), (fast, frugal) = seen.outcomes(1), seen.outcomes(2)
    assert np.exp(values) / least == pytest.approx(np.tile((1.0, 1.2, 1.5), (6, 1)))
    assert np.exp(fast[1:]) / least[1:] == pytest.approx(np.tile((1.0, 1.1, 1.6), (5, 1)))
    assert np.exp(frugal[1:]) / least[1:] == pytest.approx(np.tile((1.0, 1.4, 1.3), (5, 1)))
    # a design with one outcome has it at both ends
    assert fast[0].tolist() == frugal[0].tolist() == values[0].tolist()
    optimizer = Mobo(problem, 1, initial=2)
    optimizer.tell(told)
    posterior = optimizer._posterior()
    assert posterior.second is not None
    assert [p is None for p in posterior.second] == [True, False, False]
    sampling = Mobo(problem, 1, initial=2, acquisition="qlognehvi")
    sampling.tell(told)
    assert sampling._posterior().second is None
    one = Mobo(problem, 1, initial=2)
    one.tell([replace(o, others=()) for o in told])
    assert one._posterior().second is None


def test_optimizers_measure_designs_against_all_points(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    some = problem.feasible()[:4]
    seen = ObservedTrials(problem)
    told = [
        Observation(c.point, tuple(2.0 * v for v in c.values), 1, others=((v, v, v),))
        for v, c in zip((1e-15, 2e-15, 3e-15, 4e-15), some, strict=True)
    ]
    seen.add(told)
    assert seen.front_values().tolist() == [[1e-15] * 3]
    assert seen.undominated(problem.feasible()) == []
    plain, better = Mobo(problem, 1, initial=2), Mobo(problem, 1, initial=2)
    plain.tell([Observation(one.point, one.values, 1) for one in told])
    better.tell(told)
    assert plain._posterior().front.tolist() != better._posterior().front.tolist()
    assert better._posterior().front.tolist() == [[np.log(1e-15)] * 3]
