"""CASCO's genetic search over fusion plans, one child at a time.

DEAP supplies individuals, fitness, toolbox and selection; the clone is our own, since DEAP's
deep copy costs more than an evaluation from the memo. The search is steady-state: each
evaluation breeds one child, which replaces the worst of the population if it is better. So
any split of a budget leads to the same state. The generator of step ``i`` is seeded with
(seed, i) and nothing else is remembered of it.
"""

from math import isfinite
from typing import Any, ClassVar

import numpy as np
from deap import base, creator, tools

from archloom.space.workload import Network

from ..partition import MUTATIONS, Partition, crossover, normalise, repair, singletons
from ..protocol import Abilities, FusionState, PlanEvaluator

#: how often a child that is already in the population is mutated again
_TRIES = 8

# DEAP's creator writes classes into a module of its own: once, on import
creator.create("LowestCost", base.Fitness, weights=(-1.0,))
creator.create("FusionGenome", list, fitness=creator.LowestCost)


class GeneticPlanner:
    """CASCO's GA: crossover by visiting layers, then merge, split or steal; repair.

    Args:
        evaluator: evaluates partitions of the network that is fused.
        population: individuals kept.
    """

    abilities: ClassVar[Abilities] = Abilities(several_cores=True)

    def __init__(self, evaluator: PlanEvaluator, population: int = 8) -> None:
        self._network = evaluator.network
        self._evaluator = evaluator
        self._size = population
        self._toolbox = base.Toolbox()
        self._toolbox.register("clone", _clone)
        self._toolbox.register("mate", crossover)

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate ``budget`` more plans."""
        population = [_individual(p, cost) for p, cost in state.population]
        best, history = state.best, list(state.history)
        for step in range(state.evaluations, state.evaluations + budget):
            rng = np.random.default_rng([state.seed, step])
            child, cost = self._evaluator(self._propose(population, step, rng))
            newcomer = _individual(normalise(child), cost)
            if not history or cost < history[-1]:
                best = self._evaluator.plan_of(child)
            history.append(min(cost, history[-1]) if history else cost)
            _join(population, newcomer, self._size)
        members = tuple((tuple(i), float(i.fitness.values[0])) for i in population)
        return FusionState(state.seed, members, best, tuple(history))

    def _propose(self, population: list[Any], step: int, rng: np.random.Generator) -> Partition:
        """The next plan to evaluate: layer by layer, then random plans, then children."""
        if step == 0:
            return singletons(self._network)
        known = {tuple(i) for i in population}
        # where no plan is feasible yet there are no parents
        fresh = step < self._size or not population
        for _ in range(_TRIES):
            groups = random_partition(self._network, rng) if fresh else self._breed(population, rng)
            plan = repair(self._network, groups)
            if plan not in known:
                break
        return plan

    def _breed(self, population: list[Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
        one, other = _tournament(population, rng), _tournament(population, rng)
        child = self._toolbox.mate(self._toolbox.clone(one), self._toolbox.clone(other), rng)
        # CASCO applies one mutation; a short geometric run of them leaves local optima sooner
        while True:
            mutate = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
            child = mutate(self._network, child, rng)
            if rng.random() < 0.7:
                return list(child)


def random_partition(network: Network, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Cut the layers' order at random; the mean length of a run is drawn first."""
    mean = 2.0 ** rng.uniform(0.5, 3.0)
    cuts = [0, *(np.flatnonzero(rng.random(len(network.layers) - 1) < 1 / mean) + 1)]
    ends = [*cuts[1:], len(network.layers)]
    return [tuple(range(int(a), int(b))) for a, b in zip(cuts, ends, strict=True)]


def _individual(partition: Partition, cost: float) -> Any:
    individual = creator.FusionGenome(partition)
    individual.fitness.values = (cost,)
    return individual


def _clone(individual: Any) -> Any:
    return _individual(tuple(individual), individual.fitness.values[0])


def _tournament(population: list[Any], rng: np.random.Generator) -> Any:
    """The best of three drawn with replacement (DEAP's draws from the global generator)."""
    return max(
        (population[int(i)] for i in rng.integers(len(population), size=3)),
        key=lambda individual: individual.fitness,
    )


def _join(population: list[Any], newcomer: Any, size: int) -> None:
    """Add a plan that is new and feasible; the worst one leaves a full population."""
    if not isfinite(newcomer.fitness.values[0]) or newcomer in population:
        return
    population.append(newcomer)
    if len(population) > size:
        population.remove(tools.selWorst(population, 1)[0])
