"""What certificates say of any budget, in random spaces whose true costs are known to the test."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from archloom.search.hardware.certify.certificate import Certificate, certificate_text
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import AREA, EDP, TDP, ObjectiveSet
from archloom.search.pareto import dominated_by, hypervolume, non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware

from .test_branch_and_bound import boxed_problem
from .test_pruning import searched, small_problem

DESIGNS = 9


class Listed:
    """A design problem that is nothing but a list of bounds, loose ones and tight ones."""

    enumerable = True

    def __init__(self, loose: Sequence[Candidate], tight: Sequence[Candidate]) -> None:
        self.objective_set = ObjectiveSet((EDP, AREA, TDP)[: len(loose[0].values)])
        self.space, self.cardinality = self, len(loose)
        self._loose, self._tight = loose, tight

    def point_key(self, point: Point) -> str:
        return str(point["design"])

    def feasible(self) -> list[Candidate]:
        return list(self._loose)

    def assess(self, point: Point) -> Candidate:
        return self._loose[int(point["design"])]

    def tightened(self, candidate: Candidate) -> Candidate:
        return self._tight[int(candidate.key)]


@dataclass
class World:
    """A random space, what a study measured of it, and what its certificate says.

    Attributes:
        tight, costs: [n, m] bounds, and costs with the software that was found.
        measured, never: [n] designs that were searched with the full budget, and those that no
            software can bring to the front.
        kept: [n] designs with a cost that counts.
        front: [k, m] costs of its members.
        pruner, proof: that was told all of that, and its certificate.
    """

    tight: np.ndarray
    costs: np.ndarray
    measured: np.ndarray
    never: np.ndarray
    kept: np.ndarray
    front: np.ndarray
    pruner: DominancePruner
    proof: Certificate

    @property
    def changing(self) -> np.ndarray:
        """[n] designs that change the front if they come to their bounds, and no other does."""
        return np.array(
            [
                not never and not dominated_by(self.front, least[None])[0]
                for never, least in zip(self.never, self.tight, strict=True)
            ]
        )


@cache
def world(seed: int) -> World:
    """Return a world in which few different costs make for many that are equal."""
    rng = np.random.default_rng(seed)
    size = (DESIGNS, int(rng.integers(2, 4)))
    loose = rng.integers(1, 4, size).astype(float)
    tight = loose + rng.integers(0, 2, size)
    costs = tight + rng.integers(0, 3, size) * rng.integers(0, 2, (DESIGNS, 1))
    beyond = rng.random(DESIGNS) < 0.15
    fates = rng.choice(["complete", "over limit", "stopped", "infeasible", "not run"], DESIGNS)
    candidates = [
        Candidate({"design": i}, str(i), 1.0, 1.0, tuple(loose[i]), (), (-1.0,))
        for i in range(DESIGNS)
    ]
    tighter = [
        replace(c, values=tuple(tight[i]), least_excess=(0.5 if beyond[i] else -0.5,))
        for i, c in enumerate(candidates)
    ]
    pruner = DominancePruner(cast(DesignProblem, Listed(candidates, tighter)))
    for i in rng.permutation(DESIGNS).tolist():
        point, fate = candidates[i].point, "over limit" if beyond[i] else fates[i]
        values, excess = tuple(costs[i].tolist()), (0.2 if fate == "over limit" else -0.2,)
        if fate == "infeasible":
            pruner.tell(Observation(point, None, 0, "spatial_fit"))
        elif fates[i] != "not run":
            pruner.tell(Observation(point, values, 1, None, excess), settled=fate != "stopped")
    pruner.tighten()
    proof = pruner.certificate()
    assert proof is not None
    kept = ~beyond & np.isin(fates, ["complete", "stopped"])
    measured = np.isin(fates, ["complete", "over limit", "infeasible"])
    measured |= beyond & (fates == "stopped")
    rows = costs[kept]
    return World(
        tight=tight,
        costs=costs,
        measured=measured,
        never=beyond | (fates == "infeasible"),
        kept=kept,
        front=rows[non_dominated(rows)] if len(rows) else rows,
        pruner=pruner,
        proof=proof,
    )


SEEDS = range(70)


def test_what_may_change_the_front_is_counted_exactly() -> None:
    """Measured designs and members are not left out: else many counts would be too small."""
    seen = {"undecided": 0, "settled": 0, "proven": 0, "only at this budget": 0}
    for seed in SEEDS:
        found = world(seed)
        proof, changing = found.proof, found.changing
        assert proof.undecided == (changing & found.measured).sum(), seed
        assert proof.open == (changing & ~found.measured).sum(), seed
        assert proof.proven == (not changing.any()), seed
        on_front = (found.costs[:, None] == found.front).all(axis=2).any(axis=1)
        members, at_bound = found.kept & on_front, (found.costs == found.tight).all(axis=1)
        assert proof.members == members.sum(), seed
        assert proof.settled_members == (members & at_bound).sum(), seed
        seen["undecided"] += proof.undecided > 0
        seen["settled"] += proof.settled_members > 0
        seen["proven"] += proof.proven
        seen["only at this budget"] += proof.proven_at_this_budget and not proof.proven
    assert min(seen.values()) > 3, seen


def test_no_costs_within_the_intervals_contradict_what_is_said() -> None:
    rng = np.random.default_rng(0)
    reached = 0
    for seed in SEEDS:
        found = world(seed)
        proof = found.proof
        assert proof.ceiling_any_budget is not None
        assert proof.undecided is not None
        for turn in range(6):
            # where nothing was measured any cost is possible; the last turn is the best of all
            most = np.where(found.measured[:, None], found.costs, found.tight + 3)
            share = rng.random(found.tight.shape) if turn < 5 else np.zeros(found.tight.shape)
            true = found.tight + share * (most - found.tight)
            possible = true[~found.never]
            joined = ~dominated_by(found.front, possible)
            assert joined.sum() <= proof.open + proof.undecided, seed
            rows = np.vstack([found.front, possible])
            assert hypervolume(rows, proof.reference) <= proof.ceiling_any_budget + 1e-12, seed
        # no smaller figure would do
        best = hypervolume(rows, proof.reference)
        assert best == pytest.approx(proof.ceiling_any_budget, abs=1e-12), seed
        reached += proof.ceiling_any_budget > proof.ceiling
        assert proof.share_any_budget is not None
        assert 0 <= proof.share_any_budget <= proof.share <= 1
    assert reached > 20


def test_what_is_known_of_measured_designs_outlives_a_restart() -> None:
    for seed in range(10):
        found = world(seed)
        again = DominancePruner(found.pruner._problem)
        again.restore(json.loads(json.dumps(found.pruner.state())))
        assert again.certificate() == found.proof


def test_boxes_count_measured_designs_as_an_enumeration_does(tmp_path: Path) -> None:
    whole, boxed = small_problem(tmp_path), boxed_problem(tmp_path)
    pruners = [DominancePruner(whole), DominancePruner(boxed)]
    told = [whole.tightened(candidate) for candidate in whole.feasible()[::5]]
    costs = []
    for i, candidate in enumerate(told):
        factor = (1.0, 1.1, 1.5)[i % 3]
        values = (factor * candidate.values[0], *candidate.values[1:])
        costs.append(values)
        for pruner in pruners:
            pruner.tell(Observation(candidate.point, values, 1))
    rows, least = np.array(costs), np.array([candidate.values for candidate in told])
    front = rows[non_dominated(rows)]
    for pruner in pruners:
        proof = pruner.certificate()
        assert proof is not None
        assert proof.undecided == (~dominated_by(front, least)).sum() > 0
        assert proof.members == len(front) > proof.settled_members > 0
        assert proof.ceiling_any_budget > proof.volume
        assert pruner.state()["intervals"] == pruners[0].state()["intervals"]


def test_more_search_never_goes_below_what_a_small_one_proved(tmp_path: Path) -> None:
    """Where nothing is fused there is one plan, and what is proven of its mappings bounds it."""
    problem = small_problem(tmp_path)
    for candidate in problem.feasible()[::40]:
        hardware = problem.space.build(candidate.point)
        assert isinstance(hardware, Hardware)
        much = searched(hardware).networks
        settings = SoftwareSettings("none", 4, "exact", 20)
        little = advance(SoftwareTask(hardware, problem.networks, settings, 0), None, 1).networks
        for name, found in much.items():
            for bound in (little[name].least_edp_js(), found.least_edp_js()):
                assert 0 < bound <= found.edp_js * (1 + 1e-9)
        edps = {name: found.least_edp_js() for name, found in much.items()}
        edp, *known = problem.objective_set.least(edps)
        assert edp == pytest.approx(np.sqrt(np.prod(list(edps.values()))))
        # of area and TDP it says nothing
        assert known == [0.0, 0.0]


def text_of(**changed: object) -> str:
    whole = Certificate(20, 10, 6, 0, 0.5, 0.5, (1.0, 1.0), None, 3, 4, 1, 0.625)
    return certificate_text(replace(whole, **changed))  # type: ignore[arg-type]


def test_each_statement_is_said_in_a_line_of_its_own() -> None:
    at_this_budget, at_any = text_of().splitlines()
    assert at_this_budget.startswith("Front proven at this budget: of 10 feasible designs")
    assert at_any.startswith("For any budget: the front has at least 80.0% of the largest possible")
    assert "3 of the 6 evaluated designs could still change the front" in at_any
    assert "Of the 4 designs on the front, 1 have costs equal to their lower bounds." in at_any
    at_this_budget, at_any = text_of(open=2, ceiling=0.625).splitlines()
    assert at_this_budget.startswith("Certified at this budget: the front has at least 80.0%")
    proven = text_of(undecided=0, settled_members=4, ceiling_any_budget=0.5).splitlines()[1]
    assert proven.startswith("Front proven for any budget: ")


def test_certificates_of_older_versions_say_that_other_budgets_are_not_known() -> None:
    old = {"points": 20, "feasible": 10, "measured": 6, "open": 0, "volume": 0.5, "ceiling": 0.5}
    proof = Certificate.from_dict({**old, "reference": [1.0, 1.0], "boxes": None})
    assert proof.proven_at_this_budget
    assert not proof.proven
    assert proof.share_any_budget is None
    at_this_budget, at_any = certificate_text(proof).splitlines()
    assert at_this_budget.startswith("Front proven at this budget")
    assert at_any.startswith("For any budget: not known, because this certificate is of an older")
