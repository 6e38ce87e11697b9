"""Linear combination swarm: new designs as affine combinations of good ones.

FAST (Zhang et al., ASPLOS 2022, section 5.2) searches with the "LCS" of Google Vizier (Golovin et
al., KDD 2017), of which only properties are public: it is invariant to monotone transformations of
the objective and to affine ones of the space, and cheap. This one has the same properties and is
our own; all its constants are ours.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space.design_space import HardwareSpace, Parameter, Point

from .observations import ObservingOptimizer, ranked
from .problem import DesignProblem
from .proposals import draw_new, propose

#: Weight of a rank against that of the rank before it, when parents are drawn.
_RANK_DECAY: Final = 0.9

#: Deviation of the weights of a combination, which sum to 1; it makes extrapolation possible.
_WEIGHT_SPREAD: Final = 1.0

#: Noise that is added to a combination, in deviations of the swarm.
_NOISE: Final = 0.3

#: How often a text is drawn from all its values instead of voted for.
_FREE_TEXT: Final = 0.02


class LinearCombinationSwarm(ObservingOptimizer):
    """Proposes combinations of two or three of the best results so far.

    Results are compared by front and crowding distance; those that break a limit come last.

    Args:
        problem: what to search.
        seed: seed of the study.
        initial: random designs before the first combination.
        members: best results that combinations are made of.

    Raises:
        ValueError: fewer than 3 members, or no initial design.
    """

    def __init__(
        self, problem: DesignProblem, seed: int, initial: int = 16, members: int = 16
    ) -> None:
        if initial < 1:
            raise ValueError(f"initial is {initial}, must be at least 1")
        if members < 3:
            raise ValueError(f"members is {members}, must be at least 3")
        super().__init__(problem, seed)
        self._initial = initial
        self._members = members

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = self._observations.excluded_keys(pending)
        rng = np.random.default_rng(self._observations.draw_seed(self._seed, pending))
        results = self._observations.results
        if len(known) < self._initial or len(results) < 3:
            return [c.point for c in draw_new(self._problem, rng, n, known)]
        best = [results[i].candidate.point for i in ranked(results)[: self._members]]
        swarm = _RankedParents(self._problem.space, best)
        return [c.point for c in propose(self._problem, rng, n, known, lambda: swarm.combine(rng))]


class _RankedParents:
    """The best points so far, from the best on."""

    def __init__(self, space: HardwareSpace, points: Sequence[Point]) -> None:
        self._parameters = space.parameters
        self._places = [[p.index[point[p.name]] for point in points] for p in space.parameters]
        weights = _RANK_DECAY ** np.arange(len(points))
        self._chances = weights / weights.sum()

    def combine(self, rng: np.random.Generator) -> Point:
        """Return a combination of two or three members, feasible or not."""
        count = 2 + int(rng.integers(2))
        parents = rng.choice(len(self._chances), size=count, replace=False, p=self._chances)
        spread = _WEIGHT_SPREAD * rng.standard_normal(count)
        weights = 1 / count + spread - spread.mean()
        return {
            p.name: p.values[self._place(p, np.array(places), parents, weights, rng)]
            for p, places in zip(self._parameters, self._places, strict=True)
        }

    def _place(
        self,
        parameter: Parameter,
        places: NDArray[np.int64],
        parents: NDArray[np.int64],
        weights: Floats,
        rng: np.random.Generator,
    ) -> int:
        """Return the position of the value that the combination has for a parameter."""
        if parameter.scale == "categorical":
            if rng.random() < _FREE_TEXT:
                return int(rng.integers(len(parameter.values)))
            votes = np.bincount(places[parents], weights=weights)
            return int(np.argmax(votes))
        axis = np.array([column[0] for column in parameter.columns])
        members = axis[places]
        wanted = weights @ members[parents] + _NOISE * members.std() * rng.standard_normal()
        return int(np.argmin(np.abs(axis - wanted)))
