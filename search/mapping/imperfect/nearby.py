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
from archloom.space.mapping import UNCONSTRAINED, Mapping

from .trial import Trial, copy_mapping, cover, price

#: changes of a factor that are looked at
_CHANGES: Final = 8

#: difference of two scores (ln) that is more than rounding
_BETTER: Final = 1e-9


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
def _step(setup: KernelInputs, trial: Trial, room: ImperfectRoom, d: int, left: int) -> int:
    """Take changes of a dimension that are better; return how many evaluations are left."""
    tried, best, bound = trial.tried, trial.best, setup.bounds[d]
    levels = best.shape[0]
    for place in range(3 * levels):
        if not _may_change(setup, levels, place, d):
            continue
        level, kind = place // 3, place % 3
        for change in range(_CHANGES):
            # -1: the outermost loop takes the rest
            for other in range(-1, 3 * levels):
                if other == place or (other >= 0 and not _may_change(setup, levels, other, d)):
                    continue
                before = best[level, kind, d]
                factor = _changed(before, change)
                if left <= 0 or factor < 1 or factor > bound or factor == before:
                    break
                copy_mapping(best, trial.best_keep, tried, trial.tried_keep)
                tried[level, kind, d] = factor
                if other >= 0:
                    rest = _covered(tried, d) // tried[other // 3, other % 3, d]
                    tried[other // 3, other % 3, d] = max(1, -(-bound // rest))
                cover(setup, tried, d)
                left -= 1
                score = price(setup, tried, trial.tried_keep, room)
                if score < trial.score[0] - _BETTER:
                    trial.score[0] = score
                    copy_mapping(tried, trial.tried_keep, best, trial.best_keep)
    return left


@compiled
def _descend(setup: KernelInputs, trial: Trial, room: ImperfectRoom, most: int) -> int:
    """Improve the best mapping of a trial by at most so many evaluations; return how many."""
    left, before = most, np.inf
    while trial.score[0] < before - _BETTER and left > 0:
        before = trial.score[0]
        for d in range(8):
            if setup.bounds[d] > 1:
                left = _step(setup, trial, room, d, left)
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
    hops = bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any())
    if cost.mapping is None or hops or problem.constraints != UNCONSTRAINED:
        return cost
    loops, keep = cost.mapping.arrays()
    trial = Trial(loops.copy(), keep.copy(), loops, keep, np.full(1, inf))
    room = imperfect_room(len(loops))
    before = float(_priced(setup, trial, room))
    _descend(setup, trial, room, evaluations)
    gained = before - float(trial.score[0])
    if not gained > _BETTER:
        return cost
    mapping = Mapping.from_rows(
        [[v[TEMPORAL], v[3], v[SPATIAL_X], v[SPATIAL_Y], k] for v, k in zip(loops, keep, strict=True)]
    )
    found = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
    gap = 100.0 * (exp(max(0.0, log(1.0 + cost.gap_percent / 100.0) - gained)) - 1.0)
    return replace(found, gap_percent=gap)


@compiled
def _priced(setup: KernelInputs, trial: Trial, room: ImperfectRoom) -> float:
    """Price the best mapping of a trial."""
    trial.score[0] = price(setup, trial.best, trial.best_keep, room)
    return float(trial.score[0])
