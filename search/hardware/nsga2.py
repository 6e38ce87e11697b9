"""NSGA-II over hardware points, with DEAP's selection and operators.

Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II"
(2002). Area and TDP caps are no constraints here: designs above them are never proposed.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import numpy as np
from deap import base, tools

from archloom.evaluators import Floats
from archloom.space.design_space import HardwareSpace, Point

from .observations import ObservingOptimizer, constrained_logs
from .problem import DesignProblem
from .proposals import draw_new, propose

#: Chance of a crossover (Deb et al. 2002, section V).
CROSSOVER: Final = 0.9

#: Distribution index of crossover and mutation. The paper has 20, for real numbers; positions in
#: a list of ten values would hardly ever move, so ours is small.
_ETA: Final = 3.0


class _Genome(list[float]):
    """Positions in the lists of values, and the costs that were found there."""

    def __init__(self, places: Sequence[float], costs: Floats) -> None:
        super().__init__(places)
        self.fitness = _fitness(len(costs))(tuple(map(float, costs)))


@cache
def _fitness(objectives: int) -> Any:
    """Return DEAP's fitness for so many objectives, all minimised."""
    return type("LeastCosts", (base.Fitness,), {"weights": (-1.0,) * objectives})


class Nsga2(ObservingOptimizer):
    """Breeds designs from the best observations so far.

    The parents are the ``population`` results that NSGA-II's survival would keep of all so far,
    rather than of the last generation and its children: so a batch may have any size.

    Args:
        problem: what to search.
        seed: seed of the study.
        population: parents; as many random designs come first.

    Raises:
        ValueError: a population of less than 4.
    """

    def __init__(self, problem: DesignProblem, seed: int, population: int = 20) -> None:
        if population < 4:
            raise ValueError(f"population is {population}, must be at least 4")
        super().__init__(problem, seed)
        self._population = population

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        seed = self._observations.draw_seed(self._seed, pending)
        rng = np.random.default_rng(seed)
        results = self._observations.results
        if len(known) < self._population or len(results) < 4:
            return [c.point for c in draw_new(self._problem, rng, n, known)]
        with _seeded(seed):
            children = _offspring(self._problem.space, self._parents())
            found = propose(self._problem, rng, n, known, lambda: next(children))
        return [c.point for c in found]

    def _parents(self) -> list[_Genome]:
        """Return the survivors of all results; each is a list of positions in the values."""
        import moocore

        results, parameters = self._observations.results, self._problem.space.parameters
        costs = constrained_logs(results)
        # fronts that cannot survive would only cost time
        front = np.asarray(moocore.pareto_rank(costs))
        last = np.sort(front)[min(self._population, len(front)) - 1]
        genomes = [
            _Genome([p.index[results[i].candidate.point[p.name]] for p in parameters], costs[i])
            for i in np.flatnonzero(front <= last)
        ]
        return list(tools.selNSGA2(genomes, self._population))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generator, from which DEAP's operators draw, and leave it as it was."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def _offspring(space: HardwareSpace, parents: Sequence[_Genome]) -> Iterator[Point]:
    """Yield children without end, feasible or not."""
    breeder = _GeneticOperators(space)
    while True:
        # the tournament wants a multiple of four
        winners = tools.selTournamentDCD(parents, len(parents) // 4 * 4)
        for one, other in zip(winners[::2], winners[1::2], strict=True):
            yield from breeder.children(one, other)


class _GeneticOperators:
    """Crossover and mutation of numbers and of texts, each with the operator for it."""

    def __init__(self, space: HardwareSpace) -> None:
        self._parameters = space.parameters
        several = [i for i, p in enumerate(space.parameters) if len(p.values) > 1]
        scales = [p.scale for p in space.parameters]
        self._numbers = [i for i in several if scales[i] != "categorical"]
        self._texts = [i for i in several if scales[i] == "categorical"]
        # of a mutation (Deb et al. 2002, section V)
        self._chance = 1 / max(len(several), 1)

    def children(self, one: Sequence[float], other: Sequence[float]) -> list[Point]:
        """Return the two children of two parents."""
        pair = [list(one), list(other)]
        crossed = random.random() <= CROSSOVER
        for columns in (self._numbers, self._texts):
            parts = [[genome[i] for i in columns] for genome in pair]
            numeric, top = columns is self._numbers, self._top(columns)
            if crossed and numeric:
                tools.cxSimulatedBinaryBounded(*parts, _ETA, [0] * len(columns), top)
            elif crossed:
                tools.cxUniform(*parts, 0.5)
            for genome, part in zip(pair, parts, strict=True):
                if numeric:
                    tools.mutPolynomialBounded(part, _ETA, [0] * len(columns), top, self._chance)
                else:
                    tools.mutUniformInt(part, [0] * len(columns), top, self._chance)
                for i, place in zip(columns, part, strict=True):
                    genome[i] = place
        return [self._point(genome) for genome in pair]

    def _top(self, columns: Sequence[int]) -> list[int]:
        return [len(self._parameters[i].values) - 1 for i in columns]

    def _point(self, genome: Sequence[float]) -> Point:
        return {
            p.name: p.values[round(place)]
            for p, place in zip(self._parameters, genome, strict=True)
        }
