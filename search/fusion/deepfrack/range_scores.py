"""What ranges cost at the least for weights of energy and cycles, raised where it matters.

The least cost of a range over its tilings is a concave function of the weights, since each tiling
costs a weighted sum. So between weights that were looked at before, what ranges cost there, or at
least, bounds them from below at no expense. Of ranges on a path the bound is worked out, then the
tiling itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints

from .face_tiling import FaceTiling, best_tiling, least_score, rough_score
from .stack import CostWeights, Stack

#: what interpolation may exceed a bound by, for rounding
_BELOW: Final = 1 - 1e-12

#: how a cost is known: as some bound, as the bound of the stack, or from its best tiling
_ROUGH, _BOUND, _KNOWN = range(3)

_ENDS: Final[tuple[CostWeights, CostWeights]] = ((0.0, 1.0), (1.0, 0.0))


@dataclass(eq=False)
class ScoresAlong:
    """Costs of ranges for some weights.

    Attributes:
        weights: of energy and cycles.
        stacks: of all ranges; None for those that cannot run.
        least: float64[K], what each costs, or at least.
        tilings: the best of those that were worked out.
    """

    weights: CostWeights
    stacks: list[Stack | None]
    least: Floats
    _how: Ints
    _spend: Callable[[int], None]
    tilings: dict[int, FaceTiling | None] = field(default_factory=dict)

    def raise_some(self, kinds: list[int]) -> bool:
        """Find out more of what some kinds of ranges cost; whether there was anything to find.

        Tilings are worked out once the bounds of all are.
        """
        rough = [kind for kind in kinds if self._how[kind] == _ROUGH]
        for kind in rough:
            stack = self.stacks[kind]
            self._spend(0 if stack is None else stack.shape.sizes.size)
            bound = inf if stack is None else least_score(stack, self.weights)
            self.least[kind] = max(self.least[kind], bound)
            self._how[kind] = _BOUND
        if rough:
            return True
        fresh = [kind for kind in kinds if self._how[kind] == _BOUND]
        for kind in fresh:
            stack = self.stacks[kind]
            self._spend(0 if stack is None else stack.shape.sizes.size)
            tiling = None if stack is None else best_tiling(stack, self.weights)
            self.tilings[kind] = tiling
            self.least[kind] = inf if tiling is None else tiling.score
            self._how[kind] = _KNOWN
        return bool(fresh)

    def add(self, least: float) -> None:
        """Add a range of another kind, with what it costs at least."""
        self.least, self._how = np.append(self.least, least), np.append(self._how, _ROUGH)


class RangeScores:
    """Costs of ranges of each kind, for any weights.

    Args:
        stacks: of each kind.
        spend: called with the figures that are about to be gone through; may raise.
    """

    def __init__(self, stacks: list[Stack], spend: Callable[[int], None] = lambda _: None) -> None:
        self._spend = spend
        self.stacks: list[Stack | None] = list(stacks)
        ends = np.zeros((len(_ENDS), len(stacks)))
        for kind, stack in enumerate(stacks):
            ends[:, kind] = [rough_score(stack, weights) for weights in _ENDS]
            # few ranges are looked at again
            stack.forget()
        pairs = zip(_ENDS, ends, strict=True)
        self._along = {weights: self._scores(weights, least) for weights, least in pairs}

    def without(self, kind: int, margin: int | None) -> int:
        """Return the kind of a range that must do without some words of the buffer, or cannot run
        (None)."""
        stack = self.stacks[kind]
        self.stacks.append(None if stack is None or margin is None else stack.without(margin))
        for scores in self._along.values():
            scores.add(float(scores.least[kind]))
        return len(self.stacks) - 1

    def along(self, weights: CostWeights) -> ScoresAlong:
        """Return the costs for some weights."""
        if weights not in self._along:
            self._along[weights] = self._scores(weights, self._between(weights))
        return self._along[weights]

    def _scores(self, weights: CostWeights, least: Floats) -> ScoresAlong:
        return ScoresAlong(weights, self.stacks, least, np.full(len(least), _ROUGH), self._spend)

    def _between(self, weights: CostWeights) -> Floats:
        """What ranges cost at least, given what they cost for neighbouring weights."""
        energy, cycles = weights
        order = sorted(self._along, key=lambda w: w[0] / (w[0] + w[1]))
        place = energy / (energy + cycles)
        above = next(n for n, w in enumerate(order) if w[0] / (w[0] + w[1]) >= place)
        (a, b), (c, d) = order[max(0, above - 1)], order[max(1, above)]
        # weights = one * (a, b) + other * (c, d)
        one, other = energy * d - cycles * c, a * cycles - b * energy
        found = np.zeros_like(self._along[a, b].least)
        for share, of in ((one, (a, b)), (other, (c, d))):
            if share / (a * d - b * c) > 0:
                found += share / (a * d - b * c) * self._along[of].least
        return found * _BELOW
