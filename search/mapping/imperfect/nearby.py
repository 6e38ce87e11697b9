"""A better mapping of factors of any size near one that is known: a descent that ends where no
change of two factors of a dimension is better.

A search of nests looks at the divisors of a few bounds. Tiles that fill a buffer seldom have such a
size: 20 of 256 channels may fit where 32 do not and 16 leave a fifth of the buffer empty. Nothing
is drawn at random.
"""

from dataclasses import replace
from math import exp, inf, log
from typing import Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    KernelInputs,
    LayerCost,
    MappingProblem,
    mapped_cost,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom, imperfect_room
from archloom.space.mapping import UNCONSTRAINED

from .trial import Trial, copy_mapping, cover, hops_cost, mapping_of, price

#: changes of a factor that are looked at, and changes of the other one
_CHANGES: Final = 8
_ALL_CHANGES: Final = _CHANGES + 2

#: factors that are tried on an axis: so many from 1 on, and as many parts of the bound
_FEW: Final = 3

#: one of so many evaluations of a mapping goes to mappings near one that was found, where that is
#: looked at at all; on the spaces of examples/spaces a descent ends after some 1,500
NEARBY: Final = 10

#: difference of two scores (ln) that is more than rounding
BETTER: Final = 1e-9


@helper
def _changed(factor: int, change: int) -> int:
    """Return a factor with one of the changes."""
    if change < 2:
        return factor + 1 - 2 * change
    if change < 4:
        return factor + 2 - 4 * (change - 2)
    if change < 6:
        return factor * (change - 2)
    return (factor + change - 6) // 2


@helper
def _may_change(setup: KernelInputs, levels: int, place: int, d: int) -> bool:
    """Whether a dimension has a loop of its own at a place: level x 3 + kind."""
    level, kind = place // 3, place % 3
    if kind == TEMPORAL:
        return level < levels - 1
    return bool(setup.spatial[level, kind - SPATIAL_X, d])


@helper
def _covered(loops: Ints, d: int) -> int:
    """Return the product of the factors of a dimension."""
    product = 1
    for level in range(loops.shape[0]):
        product *= loops[level, TEMPORAL, d] * loops[level, SPATIAL_X, d]
        product *= loops[level, SPATIAL_Y, d]
    return int(product)


@helper
def _make(loops: Ints, place: int, other: int, d: int, change: int, bound: int) -> bool:
    """Change two factors of a dimension at places, level x 3 + kind; return whether that is one."""
    level, kind = place // 3, place % 3
    outside, how = other // 3, other % 3
    factor, beside = loops[level, kind, d], loops[outside, how, d]
    rest = _covered(loops, d) // (factor * beside)
    if change < _CHANGES:
        changed = _changed(factor, change)
        if changed < 1 or changed > bound or changed == factor:
            return False
        beside = max(1, -(-bound // (rest * changed)))
    else:
        # one step more or less, and then the smallest tile that has to be
        beside += 1 - 2 * (change - _CHANGES)
        if beside < 1:
            return False
        changed = max(1, -(-bound // (rest * beside)))
        if changed == factor:
            return False
    loops[level, kind, d], loops[outside, how, d] = changed, beside
    return True


@helper
def on_both_axes(setup: KernelInputs, loops: Ints) -> bool:
    """Whether a dimension is unrolled along x and y of a mesh though it must not be."""
    if setup.both_axes:
        return False
    for level in range(loops.shape[0]):
        for d in range(8):
            if loops[level, SPATIAL_X, d] > 1 and loops[level, SPATIAL_Y, d] > 1:
                return True
    return False


@helper
def keep_if_better(setup: KernelInputs, trial: Trial, room: ImperfectRoom) -> None:
    """Price what is tried, and take it for the best if it is better."""
    if on_both_axes(setup, trial.tried):
        return
    score = price(setup, trial.tried, trial.tried_keep, room)
    if score < trial.score[0] - BETTER:
        trial.score[0] = score
        copy_mapping(trial.tried, trial.tried_keep, trial.best, trial.best_keep)


@helper
def step_factors(setup: KernelInputs, trial: Trial, room: ImperfectRoom, d: int, left: int) -> int:
    """Take changes of a dimension that are better; return how many evaluations are left."""
    tried, best = trial.tried, trial.best
    levels = best.shape[0]
    last = 3 * (levels - 1) + TEMPORAL
    for place in range(3 * levels):
        if not _may_change(setup, levels, place, d):
            continue
        for other in range(3 * levels):
            # the outermost loop takes the rest
            if other == place or not (other == last or _may_change(setup, levels, other, d)):
                continue
            for change in range(_ALL_CHANGES):
                copy_mapping(best, trial.best_keep, tried, trial.tried_keep)
                if left <= 0 or not _make(tried, place, other, d, change, setup.bounds[d]):
                    continue
                cover(setup, tried, d)
                left -= 1
                keep_if_better(setup, trial, room)
    return left


@helper
def _fanned(number: int, bound: int) -> int:
    """Return a factor that is tried on an axis of a mesh: a few, or parts of the bound."""
    if number < _FEW:
        return number + 1
    return -(-bound // (number - _FEW + 1))


@helper
def _beside(setup: KernelInputs, trial: Trial, place: int, d: int, factor: int, e: int) -> int:
    """Return the most that dimension ``e`` may have on an axis beside a factor of ``d``."""
    level, kind = place // 3, place % 3
    others = factor
    for f in range(8):
        if f not in (d, e):
            others *= trial.best[level, kind, f]
    return int(min(setup.bounds[e], setup.fanout[level, kind - SPATIAL_X] // others))


@helper
def _rest_in(setup: KernelInputs, loops: Ints, level: int, d: int) -> None:
    """Let the loop over time of a level, and the outermost one, take what is left of a bound."""
    rest = _covered(loops, d) // loops[level, TEMPORAL, d]
    loops[level, TEMPORAL, d] = max(1, -(-setup.bounds[d] // rest))
    cover(setup, loops, d)


@helper
def divide_axis(
    setup: KernelInputs, trial: Trial, room: ImperfectRoom, place: int, left: int
) -> int:
    """Divide an axis of a mesh anew between two dimensions; return what is left of evaluations."""
    tried, best, levels = trial.tried, trial.best, trial.best.shape[0]
    level, kind = place // 3, place % 3
    for d in range(8):
        for e in range(8):
            if d == e or setup.bounds[d] == 1 or setup.bounds[e] == 1:
                continue
            if not (_may_change(setup, levels, place, d) and _may_change(setup, levels, place, e)):
                continue
            before = 0
            for number in range(2 * _FEW):
                factor = _fanned(number, setup.bounds[d])
                most = _beside(setup, trial, place, d, factor, e)
                same = factor == best[level, kind, d] and most == best[level, kind, e]
                if factor <= before or most < 1 or same:
                    continue
                before = factor
                for within in range(levels * levels):
                    copy_mapping(best, trial.best_keep, tried, trial.tried_keep)
                    tried[level, kind, d], tried[level, kind, e] = factor, most
                    if left <= 0:
                        return 0
                    _rest_in(setup, tried, within // levels, d)
                    _rest_in(setup, tried, within % levels, e)
                    left -= 1
                    keep_if_better(setup, trial, room)
    return left


@compiled
def _descend(setup: KernelInputs, trial: Trial, room: ImperfectRoom, most: int) -> int:
    """Improve the best mapping of a trial by at most so many evaluations; return how many."""
    left, before, levels = most, np.inf, trial.best.shape[0]
    while trial.score[0] < before - BETTER and left > 0:
        before, one = trial.score[0], np.inf
        while trial.score[0] < one - BETTER and left > 0:
            one = trial.score[0]
            for d in range(8):
                if setup.bounds[d] > 1:
                    left = step_factors(setup, trial, room, d, left)
        for place in range(3 * levels):
            if place % 3 != TEMPORAL and setup.fanout[place // 3, place % 3 - SPATIAL_X] > 1:
                left = divide_axis(setup, trial, room, place, left)
    return most - left


def best_nearby(problem: MappingProblem, cost: LayerCost, evaluations: int) -> LayerCost:
    """Return the best mapping that a descent finds, no worse than the one that is known.

    Args:
        problem: with the layer's own bounds. If its mappings have to satisfy constraints, or hops
            cost energy, nothing is changed.
        cost: of the mapping where it begins, with the gap that was proven of it.
        evaluations: mappings that are priced at most.
    """
    setup = problem.setup
    if cost.mapping is None or hops_cost(setup) or problem.constraints != UNCONSTRAINED:
        return cost
    loops, keep = cost.mapping.arrays()
    trial = Trial(loops.copy(), keep.copy(), loops, keep, np.full(1, inf))
    room = imperfect_room(len(loops))
    before = float(priced(setup, trial, room))
    _descend(setup, trial, room, evaluations)
    gained = before - float(trial.score[0])
    if not gained > BETTER:
        return cost
    mapping = mapping_of(loops, keep)
    found = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
    gap = 100.0 * (exp(max(0.0, log(1.0 + cost.gap_percent / 100.0) - gained)) - 1.0)
    return replace(found, gap_percent=gap)


@compiled
def priced(setup: KernelInputs, trial: Trial, room: ImperfectRoom) -> float:
    """Price the best mapping of a trial."""
    trial.score[0] = price(setup, trial.best, trial.best_keep, room)
    return float(trial.score[0])
