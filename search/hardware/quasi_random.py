"""Search along a fixed sequence of points: scrambled Sobol points, or a grid that refines.

Neither learns from results; both only never repeat a design. They ask for feasible designs only:
area and TDP are known.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Final

import numpy as np

from archloom.space.design_space import HardwareSpace, Parameter, Point

from ..seeds import derived_seed
from .observations import ObservingOptimizer
from .problem import Candidate, DesignProblem
from .proposals import draw_new

#: Points in a row without a new feasible design after which a sequence counts as ended.
_LONGEST_GAP: Final = 2048

#: Sobol points are drawn in blocks of this many, a power of two as their balance wants.
BLOCK: Final = 256

_PointSequence = Callable[[HardwareSpace, int], Iterator[Point]]
"""``sequence(space, seed)`` yields points, feasible or not, one of them perhaps often."""


class SequenceSearch(ObservingOptimizer):
    """Proposes the feasible designs of a sequence in its order, then random ones.

    Args:
        problem: what to search.
        seed: seed of the study.
        sequence: where points come from.
    """

    def __init__(self, problem: DesignProblem, seed: int, sequence: _PointSequence) -> None:
        super().__init__(problem, seed)
        # the first feasible designs of the sequence, and what yields the others: a memory only
        self._drawn: list[Candidate] = []
        self._rest = _distinct(problem, sequence(problem.space, derived_seed(seed, "sequence")))

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
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

    def _designs(self) -> Iterator[Candidate]:
        yield from self._drawn
        for candidate in self._rest:
            self._drawn.append(candidate)
            yield candidate


class SobolSearch(SequenceSearch):
    """Proposes the feasible designs of a scrambled Sobol sequence."""

    def __init__(self, problem: DesignProblem, seed: int) -> None:
        super().__init__(problem, seed, sobol_points)


class GridSearch(SequenceSearch):
    """Proposes the feasible designs of a grid that gets finer."""

    def __init__(self, problem: DesignProblem, seed: int) -> None:
        super().__init__(problem, seed, grid_points)


def _distinct(problem: DesignProblem, points: Iterator[Point]) -> Iterator[Candidate]:
    """Yield each feasible design once, until ``_LONGEST_GAP`` points in a row give no new one."""
    met: set[str] = set()
    gap = 0
    for point in points:
        found = problem.assess(point)
        gap += 1
        if isinstance(found, Candidate) and found.key not in met:
            met.add(found.key)
            gap = 0
            yield found
        if gap >= _LONGEST_GAP:
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
