"""Pool of designs that an acquisition function scores where it cannot score all."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from archloom.evaluators import Floats
from archloom.space.design_space import Point
from archloom.surrogates import FEATURES

from ...seeds import derived_seed
from ..problem import Candidate, DesignProblem

#: Draws per wanted design; a pool may stay smaller where little of the space is feasible.
TRIES_PER_DESIGN = 4

#: Moves of the longest random walk that starts at a front member.
LONGEST_WALK = 3

#: Rows of inputs that are remembered, or twice as many as the base has, if these are fewer than the
#: latter; then all are forgotten.
_FEWEST_ROWS = 2**13
MOST_ROWS = 100_000

#: Known designs from which on others than those of the base are drawn, a power of four. An earlier
#: draw costs as much as a batch's tight bounds, and what is near the front is looked at anyway.
_FIRST_DRAW = 64

#: Best candidates whose neighbours join the pool, and how often, where the space cannot be
#: enumerated.
_REFINED = 8
_REFINEMENTS = 2


class CandidatePool:
    """Feasible designs to score, and their inputs for a surrogate.

    An enumerable space is its own pool. Else the pool has a base that is drawn once (and so is
    assessed once), designs that are drawn anew whenever four times as many are known, from some
    dozens on, and designs near the front.

    Args:
        problem: where designs come from.
        seed: seed of the base.
        size: designs in a pool, about.
    """

    def __init__(self, problem: DesignProblem, seed: int, size: int) -> None:
        self._problem = problem
        self._seed = seed
        self._size = size
        self._rows: dict[str, Floats] = {}
        self._fresh: tuple[int, list[Candidate]] = (-1, [])

    @cached_property
    def base(self) -> list[Candidate]:
        """Designs that stay in the pool; of a study that has ended nobody asks for them."""
        rng = np.random.default_rng(derived_seed(self._seed, "pool"))
        if self._problem.enumerable:
            return self._problem.feasible()
        wanted = self._size // 2
        drawn = self._problem.sample(rng, wanted, (), TRIES_PER_DESIGN * wanted)
        if drawn:
            return drawn
        reached = self._problem.descend(rng)
        return (
            [reached, *self._problem.neighbours(reached)] if isinstance(reached, Candidate) else []
        )

    @cached_property
    def _feature_range(self) -> tuple[Floats, Floats]:
        """Least features of the base, and how far they span."""
        features = np.array([c.features for c in self.base]).reshape(-1, len(FEATURES))
        if not len(features):
            return np.zeros(len(FEATURES)), np.ones(len(FEATURES))
        low, high = features.min(axis=0), features.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)

    def inputs(self, candidates: Sequence[Candidate]) -> Floats:
        """Return [n, d]: encoded parameters, then domain features scaled over the base."""
        new = {c.key: c for c in candidates if c.key not in self._rows}
        if len(self._rows) + len(new) > max(_FEWEST_ROWS, min(2 * len(self.base), MOST_ROWS)):
            self._rows, new = {}, {c.key: c for c in candidates}
        if new:
            fresh = list(new.values())
            encoded = self._problem.space.encode([c.point for c in fresh])
            low, span = self._feature_range
            features = (np.array([c.features for c in fresh]) - low) / span
            rows = np.concatenate([encoded, features], axis=1)
            self._rows.update(zip(new, rows, strict=True))
        return np.array([self._rows[c.key] for c in candidates])

    def drawn(
        self, front: Sequence[Candidate], rng: np.random.Generator, known: set[str]
    ) -> list[Candidate]:
        """Return distinct designs to score, none of them in ``known``, which are all designs
        that were observed or are in flight.
        """
        if self._problem.enumerable:
            return [c for c in self.base if c.key not in known]
        pool = {c.key: c for c in self.base if c.key not in known}
        pool.update(
            (c.key, c) for c in self._fresh_draws(_latest_draw(len(known))) if c.key not in known
        )
        for candidate in self._near(front, rng, self._size // 8):
            if candidate.key not in known:
                pool[candidate.key] = candidate
        return list(pool.values())

    def refined(
        self,
        pool: list[Candidate],
        scores: Floats,
        known: set[str],
        score: Callable[[Sequence[Candidate]], Floats],
    ) -> list[Candidate]:
        """Return the pool and the neighbours of its best designs, which may be better still; the
        best ones first.

        Args:
            pool: distinct designs.
            scores: of them, [n]; more is better.
            known: keys of designs that are not wanted.
            score: gives the scores of more designs.
        """
        pool = list(pool)
        for _ in range(0 if self._problem.enumerable else _REFINEMENTS):
            best = np.argsort(-scores, kind="stable")[:_REFINED]
            met = known | {c.key for c in pool}
            near = {c.key: c for i in best for c in self._problem.neighbours(pool[i])}
            if new := [c for key, c in near.items() if key not in met]:
                pool += new
                scores = np.concatenate([scores, score(new)])
        return [pool[i] for i in np.argsort(-scores, kind="stable")]

    def _fresh_draws(self, trials: int) -> list[Candidate]:
        """Return the designs that are drawn when so many are known, the same each time."""
        if not trials:
            return []
        if self._fresh[0] != trials:
            rng = np.random.default_rng(derived_seed(self._seed, "fresh", trials))
            quarter = self._size // 4
            drawn = self._problem.sample(rng, quarter, (), TRIES_PER_DESIGN * quarter)
            self._fresh = (trials, drawn)
        return self._fresh[1]

    def _near(
        self, front: Sequence[Candidate], rng: np.random.Generator, n: int
    ) -> Iterator[Candidate]:
        """Yield the feasible ends of ``n`` short random walks from front members."""
        moves_from: dict[tuple[object, ...], list[Point]] = {}
        for _ in range(n if front else 0):
            point = front[int(rng.integers(len(front)))].point
            for _ in range(1 + int(rng.integers(LONGEST_WALK))):
                here = tuple(point.values())
                if here not in moves_from:
                    moves_from[here] = self._problem.space.neighbours(point)
                moves = moves_from[here]
                point = moves[int(rng.integers(len(moves)))] if moves else point
            end = self._problem.assess(point)
            if isinstance(end, Candidate):
                yield end


def _latest_draw(known: int) -> int:
    """Return the largest of 64, 256, 1,024 and so on that so many designs have reached, or 0."""
    return 4 ** ((known.bit_length() - 1) // 2) if known >= _FIRST_DRAW else 0
