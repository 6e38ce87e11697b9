"""Annealing over mappings whose factors cover more than the loop bounds: edge tiles are cut.

It begins at mappings that other searches found and changes factors by any whole number: the
outermost loop over time of a dimension takes the steps that are left, rounded up. So every bound
can be cut into tiles of every size. Candidates are priced by the kernel of
:mod:`archloom.evaluators.loopnest.imperfect`, as far as they run.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, Words
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    VALID,
    KernelInputs,
    X,
    Y,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom, evaluate_imperfect
from archloom.search.mapping.exact import below, slot_open, swap_order, toggle_keep, uniform

from ..objectives import score_in_batch

#: evaluations of a round, and its first and last temperature (in units of ln objective)
ROUND: Final = 200
HOT: Final = 0.2
COLD: Final = 0.002


class Walk(NamedTuple):
    """Where a walk stands, what it tries and the best so far: ``loops[L, 4, 8]``, ``keep[L, 3]``
    and ln of the objective each.
    """

    loops: Ints
    keep: Flags
    tried: Ints
    tried_keep: Flags
    best: Ints
    best_keep: Flags
    scores: Floats


@helper
def _outermost(setup: KernelInputs, levels: int, d: int) -> int:
    """Level whose loop over time takes the steps of a dimension that are left."""
    return 0 if setup.within[d] else levels - 1


@helper
def cover(setup: KernelInputs, loops: Ints, d: int) -> None:
    """Let loops cover the bound of a dimension and no step more, by its outermost loops."""
    levels, inside = loops.shape[0], 1
    for level in range(levels):
        inside *= loops[level, TEMPORAL, d] * loops[level, SPATIAL_X, d]
        inside *= loops[level, SPATIAL_Y, d]
    left, bound = _outermost(setup, levels, d), setup.bounds[d]
    inside //= loops[left, TEMPORAL, d]
    loops[left, TEMPORAL, d] = (bound + inside - 1) // inside
    inside *= loops[left, TEMPORAL, d]
    for level in range(levels - 1, -1, -1):
        for kind in (TEMPORAL, SPATIAL_Y, SPATIAL_X):
            factor = loops[level, kind, d]
            if factor == 1:
                continue
            inside //= factor
            loops[level, kind, d] = (bound + inside - 1) // inside
            if loops[level, kind, d] > 1:
                return


@helper
def _pick(rng: Words, setup: KernelInputs, loops: Ints, d: int, other: int, used: bool) -> int:
    """A slot (level * 3 + kind) whose factor of ``d`` may change, other than ``other`` and the one
    that takes what is left; -1 if there is none. ``used``: of those with a factor above 1.
    """
    chosen, seen, levels = -1, 0, loops.shape[0]
    rest = 3 * _outermost(setup, levels, d)
    for slot in range(3 * levels):
        if slot in (other, rest):
            continue
        if used and loops[slot // 3, slot % 3, d] == 1:
            continue
        if slot_open(setup, loops, slot // 3, slot % 3, d):
            seen += 1
            if below(rng, seen) == 0:
                chosen = slot
    return chosen


@helper
def _drawn(rng: Words, setup: KernelInputs, loops: Ints, d: int, slot: int) -> int:
    """A new value for a factor: one more or less, half or twice as much, or such that so many steps
    are left.
    """
    level, kind = slot // 3, slot % 3
    now, inside = loops[level, kind, d], 1
    for v in range(loops.shape[0]):
        for k in range(3):
            if v * 3 + k != slot and v * 3 + k != 3 * _outermost(setup, loops.shape[0], d):
                inside *= loops[v, k, d]
    most = (setup.bounds[d] + inside - 1) // inside
    if kind != TEMPORAL:
        most = min(most, setup.fanout[level, X if kind == SPATIAL_X else Y])
    how = below(rng, 8)
    if how < 2:
        value = now + 1
    elif how < 4:
        value = now - 1
    elif how == 4:
        value = 2 * now
    elif how == 5:
        value = (now + 1) // 2
    else:
        parts = 1 + below(rng, min(most, 12))
        value = (most + parts - 1) // parts
    return max(1, min(value, most))


@helper
def _resize(rng: Words, setup: KernelInputs, loops: Ints) -> None:
    """Change a factor of one dimension; half of the time another one of it makes up for that."""
    d, seen = 0, 0
    for i in range(8):
        if setup.bounds[i] > 1:
            seen += 1
            if below(rng, seen) == 0:
                d = i
    slot = _pick(rng, setup, loops, d, -1, False)
    if seen == 0 or slot < 0:
        return
    level, kind = slot // 3, slot % 3
    before, value = loops[level, kind, d], _drawn(rng, setup, loops, d, slot)
    other = _pick(rng, setup, loops, d, slot, True) if below(rng, 2) else -1
    loops[level, kind, d] = value
    if other >= 0:
        level, kind = other // 3, other % 3
        loops[level, kind, d] = max(1, (loops[level, kind, d] * before + value // 2) // value)
    cover(setup, loops, d)


@helper
def _change(rng: Words, setup: KernelInputs, loops: Ints, keep: Flags) -> None:
    """Change one thing: an order, a bypass bit, or factors of one or two dimensions."""
    kind = uniform(rng)
    if kind < 0.15:
        swap_order(rng, setup, loops)
        return
    if kind > 0.95 and toggle_keep(rng, setup.optional, keep):
        return
    _resize(rng, setup, loops)
    if uniform(rng) < 0.5:
        _resize(rng, setup, loops)


@helper
def copy_mapping(loops: Ints, keep: Flags, to: Ints, to_keep: Flags) -> None:
    """Copy a mapping, element by element: copies of slices take a second to compile."""
    for level in range(loops.shape[0]):
        for d in range(8):
            for kind in range(4):
                to[level, kind, d] = loops[level, kind, d]
        for t in range(3):
            to_keep[level, t] = keep[level, t]


@helper
def price(setup: KernelInputs, loops: Ints, keep: Flags, room: ImperfectRoom) -> float:
    """Ln of the objective; infinite for a mapping that does not fit."""
    status, energy, chip, dram = evaluate_imperfect(setup, loops, keep, room)
    score = np.inf
    if status == VALID:
        score = score_in_batch(setup.weights, setup.leakage_pj, energy, max(chip, dram))
    return score


@compiled
def anneal_imperfect(
    setup: KernelInputs, walk: Walk, room: ImperfectRoom, rng: Words, budget: int
) -> None:
    """Evaluate ``budget`` mappings, all arrays of ``walk`` in place; rounds begin at the best one.

    ``scores[2]`` are those of where the walk stands and of the best.
    """
    scores = walk.scores
    for step in range(budget):
        at = step % ROUND
        if at == 0:
            copy_mapping(walk.best, walk.best_keep, walk.loops, walk.keep)
            scores[0] = scores[1]
        copy_mapping(walk.loops, walk.keep, walk.tried, walk.tried_keep)
        _change(rng, setup, walk.tried, walk.tried_keep)
        score = price(setup, walk.tried, walk.tried_keep, room)
        heat = HOT * (COLD / HOT) ** (at / ROUND)
        if score <= scores[0] or uniform(rng) < np.exp((scores[0] - score) / heat):
            copy_mapping(walk.tried, walk.tried_keep, walk.loops, walk.keep)
            scores[0] = score
        if score < scores[1]:
            copy_mapping(walk.tried, walk.tried_keep, walk.best, walk.best_keep)
            scores[1] = score
