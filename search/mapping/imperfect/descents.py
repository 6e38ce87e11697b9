"""Descents from many starts: the best mapping, the best with parts drawn anew, and drawn ones.

A descent takes changes of factors as :mod:`.nearby`, of the loop order of a level, and of what a
level keeps, until none is better. From one start it ends in the next valley; from many starts the
deepest is better (multistart; Marti, "Multi-start methods", Handbook of Metaheuristics, 2003), and
starts near the best mapping that is known are better than others (iterated local search; Lourenco,
Martin and Stuetzle, same book).
"""

from dataclasses import replace
from typing import Final

import numpy as np

from archloom.evaluators import Words
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import SPATIAL_X, TEMPORAL, KernelInputs, MappingProblem
from archloom.evaluators.loopnest.imperfect import ImperfectRoom, imperfect_room
from archloom.space.mapping import UNCONSTRAINED, Mapping

from .draws import change_start, draw_start
from .enumeration import set_order
from .nearby import BETTER, divide_axis, keep_if_better, on_both_axes, priced, step_factors
from .trial import Trial, copy_mapping, hops_cost, mapping_of, price

#: starts that are drawn for a problem, after which more evaluations bring nothing; a descent takes
#: some 7,000
STARTS: Final = 100

#: where a descent begins: at the best mapping, near it, anywhere, or at a mapping that is given
_BEST: Final = 0
_NEAR: Final = 1
_ANYWHERE: Final = 2
_GIVEN: Final = 3

_MASK: Final = 2**64 - 1


@helper
def _reorder(setup: KernelInputs, trial: Trial, room: ImperfectRoom, left: int) -> int:
    """Take loop orders of a level that are better; return how many evaluations are left."""
    for level in range(1, trial.best.shape[0]):
        number = 0
        while left > 0:
            copy_mapping(trial.best, trial.best_keep, trial.tried, trial.tried_keep)
            if not set_order(trial.tried, level, number):
                break
            number += 1
            left -= 1
            keep_if_better(setup, trial, room)
    return left


@helper
def _keep_others(setup: KernelInputs, trial: Trial, room: ImperfectRoom, left: int) -> int:
    """Keep a tensor in a level or leave it out, where that is better; return what is left."""
    for level in range(trial.best.shape[0]):
        for t in range(3):
            if setup.optional[level, t] and left > 0:
                copy_mapping(trial.best, trial.best_keep, trial.tried, trial.tried_keep)
                trial.tried_keep[level, t] = 1 - trial.tried_keep[level, t]
                left -= 1
                keep_if_better(setup, trial, room)
    return left


@helper
def _descend(setup: KernelInputs, trial: Trial, room: ImperfectRoom, most: int) -> int:
    """Improve the best mapping of a trial by at most so many evaluations; return how many."""
    left, before, levels = most, np.inf, trial.best.shape[0]
    while trial.score[0] < before - BETTER and left > 0:
        before, one = trial.score[0], np.inf
        while trial.score[0] < one - BETTER and left > 0:
            one = trial.score[0]
            left = _reorder(setup, trial, room, left)
            left = _keep_others(setup, trial, room, left)
            for d in range(8):
                if setup.bounds[d] > 1:
                    left = step_factors(setup, trial, room, d, left)
        for place in range(3 * levels):
            if place % 3 != TEMPORAL and setup.fanout[place // 3, place % 3 - SPATIAL_X] > 1:
                left = divide_axis(setup, trial, room, place, left)
    return most - left


@helper
def _begin(
    setup: KernelInputs, known: Trial, trial: Trial, rng: Words, room: ImperfectRoom, start: int
) -> bool:
    """Set where a descent begins; whether that fits."""
    if start == _NEAR:
        return change_start(setup, known, trial, rng, room)
    if start == _ANYWHERE:
        return draw_start(setup, trial, known.best_keep, rng, room)
    if start == _BEST:
        copy_mapping(known.best, known.best_keep, trial.best, trial.best_keep)
    return True


@compiled
def _descent(
    setup: KernelInputs,
    known: Trial,
    trial: Trial,
    rng: Words,
    room: ImperfectRoom,
    start: int,
    most: int,
) -> int:
    """Descend from a start, and keep in ``known`` what is better; return evaluations, 1 at least.

    ``trial`` is scratch space, but for the start that is given: its best.
    """
    if not _begin(setup, known, trial, rng, room, start):
        return 1
    trial.score[0] = price(setup, trial.best, trial.best_keep, room)
    if trial.score[0] == np.inf or on_both_axes(setup, trial.best):
        return 1
    spent = 1 + _descend(setup, trial, room, most - 1)
    if trial.score[0] < known.score[0] - BETTER:
        copy_mapping(trial.best, trial.best_keep, known.best, known.best_keep)
        known.score[0] = trial.score[0]
    return spent


def may_descend(problem: MappingProblem) -> bool:
    """Whether descents know the rules of a problem.

    Of constraints they know that no dimension is unrolled along both axes of a mesh. What hops cost
    depends on the order of what is unrolled, which they do not change.
    """
    return (
        not hops_cost(problem.setup)
        and replace(problem.constraints, both_axes=True) == UNCONSTRAINED
    )


class Descents:
    """Descents from a list of starts, one after another, as far as evaluations go.

    Args:
        problem: with the layer's own bounds, one that :func:`may_descend`.
        seed: of what is drawn.
    """

    def __init__(self, problem: MappingProblem, seed: int) -> None:
        levels = len(problem.setup.fanout)
        loops, keep = np.ones((levels, 4, 8), np.int64), np.zeros((levels, 3), np.uint8)
        known, trial = (
            Trial(loops.copy(), keep.copy(), loops.copy(), keep.copy(), np.full(1, np.inf))
            for _ in range(2)
        )
        self._setup, self._seed, self._room = problem.setup, seed, imperfect_room(levels)
        self._known, self._trial = known, trial
        self._number, self._again = 0, True
        self._given: list[Mapping] = []
        self._spent = 0

    @property
    def ended(self) -> bool:
        """Whether there are no more starts."""
        return self._number >= STARTS and not self._again and not self._given

    def begin_at(self, mapping: Mapping) -> None:
        """Let a descent begin at a mapping, before those of the list."""
        self._given.append(mapping)

    def run(self, known: Mapping, evaluations: int) -> Mapping:
        """Return the best mapping after so many evaluations in all.

        Args:
            known: a mapping to begin at, if it is better than what descents found.
            evaluations: those of earlier calls are among them.
        """
        self._suggest(known)
        while self._spent < evaluations and not self.ended:
            self._spent += self._next(evaluations - self._spent)
        return mapping_of(self._known.best, self._known.best_keep)

    def _suggest(self, mapping: Mapping) -> None:
        """Take a mapping for the best if it is: the next descent begins there."""
        known, trial = self._known, self._trial
        trial.best[:], trial.best_keep[:] = mapping.arrays()
        if priced(self._setup, trial, self._room) < known.score[0] - BETTER:
            known.best[:], known.best_keep[:] = trial.best, trial.best_keep
            known.score[:], self._again = trial.score, True

    def _next(self, most: int) -> int:
        """Descend from the next start; return evaluations."""
        start = _BEST
        if not self._again and self._given:
            start, trial = _GIVEN, self._trial
            trial.best[:], trial.best_keep[:] = self._given.pop(0).arrays()
        elif not self._again:
            self._number += 1
            start = _NEAR if self._number % 2 == 0 else _ANYWHERE
        self._again = False
        # what is drawn at a start does not depend on what was drawn before
        rng = np.array([(self._seed + (self._number << 32)) & _MASK], np.uint64)
        where = (self._setup, self._known, self._trial, rng, self._room)
        return int(_descent(*where, start, most))
