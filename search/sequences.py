"""Designs along a fixed sequence of points: scrambled Sobol points, or a grid that refines.

Neither learns from results. They ask for feasible designs only: area and TDP are known.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Final

import numpy as np

from ..space.hardware_space import HardwareSpace, Point
from ..space.parameter import Parameter
from .candidates import Candidate, DesignProblem
from .protocols import Observation
from .random_search import draw_new
from .seeds import derived_seed

#: Points in a row without a new feasible design after which a sequence counts as ended.
LONGEST_GAP: Final = 2048

#: Sobol points are drawn in blocks of this many, a power of two as their balance wants.
BLOCK: Final = 256

PointSequence = Callable[[HardwareSpace, int], Iterator[Point]]
"""``sequence(space, seed)`` yields points, feasible or not, one of them perhaps often."""


class SequenceSearch:
    """Proposes the feasible designs of a sequence in its order, then random ones.

    Args:
        problem: what to search.
        seed: seed of the study.
        sequence: where points come from.
    """

    def __init__(self, problem: DesignProblem, seed: int, sequence: PointSequence) -> None:
        self._problem = problem
        self._seed = seed
        self._told: list[str] = []
        # the first feasible designs of the sequence, and what yields the others: a memory only
        self._met: list[Candidate] = []
        self._rest = _distinct(problem, sequence(problem.space, derived_seed(seed, "sequence")))

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = {*self._told, *map(self._problem.space.point_key, pending)}
        chosen: list[Candidate] = []
        for candidate in self._designs():
            if len(chosen) >= n:
                break
            if candidate.key not in known:
                chosen.append(candidate)
        if len(chosen) < n:
            known.update(c.key for c in chosen)
            rng = np.random.default_rng(derived_seed(self._seed, "ask", len(known)))
            chosen += draw_new(self._problem, rng, n - len(chosen), known)
        return [c.point for c in chosen]

    def tell(self, observations: Sequence[Observation]) -> None:
        """Remember which points are done; results teach a sequence nothing."""
        self._told += [self._problem.space.point_key(o.point) for o in observations]

    def _designs(self) -> Iterator[Candidate]:
        yield from self._met
        for candidate in self._rest:
            self._met.append(candidate)
            yield candidate


def _distinct(problem: DesignProblem, points: Iterator[Point]) -> Iterator[Candidate]:
    """Yield each feasible design once, until ``LONGEST_GAP`` points in a row give no new one."""
    met: set[str] = set()
    gap = 0
    for point in points:
        found = problem.assess(point)
        gap += 1
        if isinstance(found, Candidate) and found.key not in met:
            met.add(found.key)
            gap = 0
            yield found
        if gap >= LONGEST_GAP:
            return


def sobol_points(space: HardwareSpace, seed: int) -> Iterator[Point]:
    """Yield a scrambled Sobol sequence: one axis for each parameter, cut evenly into its values.

    Sobol, "On the distribution of points in a cube and the approximate evaluation of integrals"
    (1967); scrambled as in Matousek, "On the L2-discrepancy for anchored boxes" (1998).
    """
    from scipy.stats import qmc

    engine = qmc.Sobol(max(len(space.parameters), 1), scramble=True, rng=seed)
    while True:
        for row in engine.random(BLOCK):
            yield {
                p.name: p.values[min(int(u * len(p.values)), len(p.values) - 1)]
                for p, u in zip(space.parameters, row, strict=False)
            }


def grid_points(space: HardwareSpace, seed: int) -> Iterator[Point]:
    """Yield the points of an even grid, then those of ever finer ones, each point once.

    The first grid is the middle of every parameter. The next one has one more value of the
    parameter whose largest hole is the largest: the value farthest from those that it has. So
    grids grow by doubling at most, and every parameter has its ends before any has its quarters.
    Points that a grid adds come in a random order, so that its first ones spread over it.
    """
    rng = np.random.default_rng(seed)
    parameters = space.parameters
    turn = [int(i) for i in rng.permutation(len(parameters))]
    axes = [_bisected(p) for p in parameters]
    counts = [1] * len(parameters)
    yield {p.name: p.values[axis[0][0]] for p, axis in zip(parameters, axes, strict=True)}
    while True:
        growing = [i for i in turn if counts[i] < len(axes[i])]
        if not growing:
            return
        i = max(growing, key=lambda i: (axes[i][counts[i]][1], -counts[i]))
        parts = [[j for j, _ in axis[:n]] for axis, n in zip(axes, counts, strict=True)]
        parts[i] = [axes[i][counts[i]][0]]
        counts[i] += 1
        for number in rng.permutation(prod(map(len, parts))):
            chosen = np.unravel_index(number, [len(part) for part in parts])
            yield {
                p.name: p.values[part[j]]
                for p, part, j in zip(parameters, parts, chosen, strict=True)
            }


def _bisected(parameter: Parameter) -> list[tuple[int, float]]:
    """Return all values from the middle one on, each the farthest from those before it.

    With each value goes the hole that it fills: its distance from the nearest one before, on an
    axis of length 1. Texts all fill a hole of a half, as the first end of a number does.
    """
    n = len(parameter.values)
    if parameter.scale == "categorical":
        return [(i, 0.5) for i in range(n)]
    axis = np.array([columns[0] for columns in parameter.columns])
    first = int(np.argmin(np.abs(axis - 0.5)))
    order, hole = [(first, 1.0)], np.abs(axis - axis[first])
    while len(order) < n:
        i = int(np.argmax(hole))
        order.append((i, float(hole[i])))
        hole = np.minimum(hole, np.abs(axis - axis[i]))
    return order
