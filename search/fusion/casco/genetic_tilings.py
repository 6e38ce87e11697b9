"""CASCO's genetic search over groups and how each is tiled.

As :mod:`.genetic`, with a longer genome (ours): each group carries its tile, its halo policy and
the layers whose weights stay. A child inherits them with the groups that it has from a parent; new
groups get those that the evaluator chooses. A fourth mutation draws another tiling for one group.
"""

from functools import lru_cache
from math import isfinite

import numpy as np

from archloom.search.fusion.tiling import tilings
from archloom.space.fusion import FusionGroup, FusionPlan, group_order, layer_by_layer

from ..partition import MUTATIONS, Group, Partition, crossover, normalise, repair
from ..plan_evaluator import ln_edp
from ..protocol import FusionState, PlanEvaluator
from .genetic import random_partition

#: plans that breed, and what they cost
_Individual = tuple[FusionPlan, float]

#: how often a child that is already in the population is bred again
_TRIES = 8

_tilings = lru_cache(maxsize=4096)(tilings)


class GeneticTilingPlanner:
    """CASCO's GA with tilings in the genome.

    Args:
        evaluator: evaluates plans of the network that is fused.
        population: individuals kept.
    """

    def __init__(self, evaluator: PlanEvaluator, population: int = 8) -> None:
        self._evaluator = evaluator
        self._size = population

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate ``budget`` more plans."""
        population, best, history = list(state.plans), state.best, list(state.history)
        for step in range(state.evaluations, state.evaluations + budget):
            rng = np.random.default_rng([state.seed, step])
            plan = self._propose(population, step, rng)
            cost = ln_edp(self._evaluator, plan)
            if not history or cost < history[-1]:
                best = plan
            history.append(min(cost, history[-1]) if history else cost)
            _join(population, (plan, cost), self._size)
        return FusionState(state.seed, best=best, history=tuple(history), plans=tuple(population))

    def _propose(
        self, population: list[_Individual], step: int, rng: np.random.Generator
    ) -> FusionPlan:
        """The next plan to evaluate: layer by layer, then random plans, then children."""
        if step == 0:
            return layer_by_layer(self._evaluator.network)
        known = {plan for plan, _ in population}
        fresh = step < self._size or not population
        for _ in range(_TRIES):
            plan = self._random(rng) if fresh else self._breed(population, rng)
            if plan not in known:
                break
        return plan

    def _random(self, rng: np.random.Generator) -> FusionPlan:
        return self._plan(random_partition(self._evaluator.network, rng), {})

    def _breed(self, population: list[_Individual], rng: np.random.Generator) -> FusionPlan:
        one, other = _tournament(population, rng), _tournament(population, rng)
        if rng.random() < 0.5:
            return self._retiled(one, rng)
        mine, its = ({g.layers: g for g in parent.groups} for parent in (one, other))
        child = crossover(normalise(mine), normalise(its), rng)
        while True:
            mutate = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
            child = mutate(self._evaluator.network, child, rng)
            if rng.random() < 0.7:
                break
        plan = self._plan(child, its | mine)
        return plan if rng.random() < 0.5 else self._retiled(plan, rng)

    def _retiled(self, plan: FusionPlan, rng: np.random.Generator) -> FusionPlan:
        """The plan with another tiling for one of its groups, sometimes for more."""
        network, hardware = self._evaluator.network, self._evaluator.hardware
        groups = list(plan.groups)
        fused = [g for g, group in enumerate(groups) if len(group.layers) > 1]
        while fused:
            g = fused[int(rng.integers(len(fused)))]
            ways = _tilings(network, groups[g].layers, hardware)
            groups[g] = ways[int(rng.integers(len(ways)))]
            if rng.random() < 0.7:
                break
        return FusionPlan(tuple(groups))

    def _plan(self, groups: list[Group], known: dict[Group, FusionGroup]) -> FusionPlan:
        """A valid plan near ``groups``, those that are known tiled as they are."""
        network = self._evaluator.network
        parts = repair(network, groups)
        kept = [part for part in parts if part in known]
        rest = self._evaluator.fitted(tuple(part for part in parts if part not in known))
        fitting: Partition = (*kept, *rest)
        order = group_order(network, fitting)
        assert order is not None
        return FusionPlan(tuple(known.get(fitting[g]) or self._tiled(fitting[g]) for g in order))

    def _tiled(self, layers: Group) -> FusionGroup:
        tiled = self._evaluator.tiling(layers)
        assert isinstance(tiled, FusionGroup)
        return tiled


def _tournament(population: list[_Individual], rng: np.random.Generator) -> FusionPlan:
    """The best of three drawn with replacement."""
    drawn = (population[int(i)] for i in rng.integers(len(population), size=3))
    return min(drawn, key=lambda individual: individual[1])[0]


def _join(population: list[_Individual], newcomer: _Individual, size: int) -> None:
    """Add a feasible plan; the worst one leaves a full population.

    Of plans with the same groups the best stays: else one partition soon fills the population
    with tilings of its own.
    """
    plan, cost = newcomer
    if not isfinite(cost):
        return
    for i, (other, least) in enumerate(population):
        if _groups(other) == _groups(plan):
            if cost < least:
                population[i] = newcomer
            return
    population.append(newcomer)
    if len(population) > size:
        population.remove(max(population, key=lambda individual: individual[1]))


def _groups(plan: FusionPlan) -> Partition:
    return normalise(group.layers for group in plan.groups)
