"""Compiled moves over mappings: annealing with restarts.

It works on ``loops[L, 4, 8]`` and ``keep[L, 3]`` of the batch kernel, carries its own
generator (splitmix64, Steele et al., OOPSLA 2014) in a one-word array, and evaluates every
candidate with the kernel, so that nothing runs in Python per candidate.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, Words
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    ORDER,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    VALID,
    KernelInputs,
    X,
    Y,
    evaluate_one,
    new_workspace,
)

from ..loop_orders import permit, ways_of
from ..objectives import score_in_batch
from ..random_numbers import below, uniform
from ..result import reset

#: evaluations of one restart and its first and last temperature (in units of ln objective);
#: together with the shares of the moves they are chosen by benchmarks/mapping/mapping_search.py
RESTART: Final = 1000
HOT: Final = 2.0
COLD: Final = 0.02


class ScoredMapping(NamedTuple):
    """A mapping as the kernel takes it, ``loops[L, 4, 8]`` and ``keep[L, 3]``, and ``score[1]``, ln
    of its objective.
    """

    loops: Ints
    keep: Flags
    score: Floats


def first_mapping(setup: KernelInputs) -> ScoredMapping:
    """Return the mapping that fits wherever any does, without a score (inf)."""
    levels = len(setup.fanout)
    loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
    reset(setup, loops, keep)
    return ScoredMapping(loops, keep, np.full(1, np.inf))


@helper
def _random_prime(rng: Words, value: int) -> int:
    """A prime factor of ``value`` > 1; each distinct one is equally likely."""
    chosen, seen, rest, p = 1, 0, value, 2
    while rest > 1:
        if p * p > rest:
            p = rest
        if rest % p == 0:
            while rest % p == 0:
                rest //= p
            seen += 1
            if below(rng, seen) == 0:
                chosen = p
        p += 1
    return chosen


@helper
def _slot_open(setup: KernelInputs, loops: Ints, level: int, kind: int, d: int) -> bool:
    """Whether a factor of dimension ``d`` may be moved to the slot."""
    if kind == TEMPORAL:
        return level == 0 or not setup.within[d]
    axis = X if kind == SPATIAL_X else Y
    if not (setup.fanout[level, axis] > 1 and setup.spatial[level, axis, d]):
        return False
    return setup.both_axes != 0 or loops[level, SPATIAL_X + SPATIAL_Y - kind, d] == 1


@helper
def _movable(setup: KernelInputs, loops: Ints, slot: int, d: int) -> bool:
    """Whether a factor above 1 stands at the slot that no constraint fixes there."""
    level, kind = slot // 3, slot % 3
    if loops[level, kind, d] == 1:
        return False
    if kind == TEMPORAL:
        return not setup.within[d]
    return bool(setup.spatial[level, X if kind == SPATIAL_X else Y, d])


@helper
def _pick_slot(rng: Words, setup: KernelInputs, loops: Ints, d: int, taken: int) -> int:
    """A random slot (level * 3 + kind) that may hold ``d``, other than ``taken``."""
    chosen, seen = taken, 0
    for slot in range(loops.shape[0] * 3):
        if slot != taken and _slot_open(setup, loops, slot // 3, slot % 3, d):
            seen += 1
            if below(rng, seen) == 0:
                chosen = slot
    return chosen


@helper
def _move_factor(rng: Words, setup: KernelInputs, loops: Ints) -> None:
    """Move one prime factor of one dimension to another slot."""
    d, seen = 0, 0
    for i in range(8):
        if setup.bounds[i] > 1:
            seen += 1
            if below(rng, seen) == 0:
                d = i
    if seen == 0:
        return
    source, seen = 0, 0
    for slot in range(loops.shape[0] * 3):
        if _movable(setup, loops, slot, d):
            seen += 1
            if below(rng, seen) == 0:
                source = slot
    if seen == 0:
        return
    target = _pick_slot(rng, setup, loops, d, source)
    p = _random_prime(rng, loops[source // 3, source % 3, d])
    if target != source:
        loops[source // 3, source % 3, d] //= p
        loops[target // 3, target % 3, d] *= p


@helper
def _pick_loop(rng: Words, setup: KernelInputs, loops: Ints, other_slot: int, other_d: int) -> int:
    """A random factor above 1 of another slot and dimension, as slot * 8 + d; -1 if none."""
    chosen, seen = -1, 0
    for slot in range(loops.shape[0] * 3):
        if slot != other_slot:
            for d in range(8):
                if d != other_d and _movable(setup, loops, slot, d):
                    seen += 1
                    if below(rng, seen) == 0:
                        chosen = slot * 8 + d
    return chosen


@helper
def _exchange(rng: Words, setup: KernelInputs, loops: Ints) -> bool:
    """Let prime factors of two dimensions change places; False if the draw allows none.

    It keeps a full mesh or buffer nearly full, where two single moves would pass through a
    mapping that is far worse or does not fit.
    """
    one = _pick_loop(rng, setup, loops, -1, -1)
    if one < 0:
        return False
    a, d = one // 8, one % 8
    other = _pick_loop(rng, setup, loops, a, d)
    if other < 0:
        return False
    b, e = other // 8, other % 8
    if not _slot_open(setup, loops, b // 3, b % 3, d):
        return False
    if not _slot_open(setup, loops, a // 3, a % 3, e):
        return False
    p = _random_prime(rng, loops[a // 3, a % 3, d])
    q = _random_prime(rng, loops[b // 3, b % 3, e])
    loops[a // 3, a % 3, d] //= p
    loops[b // 3, b % 3, d] *= p
    loops[b // 3, b % 3, e] //= q
    loops[a // 3, a % 3, e] *= q
    return True


@helper
def _swap_order(rng: Words, setup: KernelInputs, loops: Ints) -> None:
    """Swap two loops of one level; the innermost level's order never matters.

    Where orders are constrained, the loops then stand in one of the ways that are permitted.
    """
    if loops.shape[0] == 1:
        return
    level = 1 + below(rng, loops.shape[0] - 1)
    i, j = below(rng, 8), below(rng, 8)
    a, b = loops[level, ORDER, i], loops[level, ORDER, j]
    loops[level, ORDER, i], loops[level, ORDER, j] = b, a
    ways = ways_of(setup, level)
    if ways > 0:
        permit(setup, loops, level, below(rng, ways))


@helper
def _toggle_keep(rng: Words, optional: Flags, keep: Flags) -> bool:
    """Flip one bit of the bypass mask; False if no bit is free."""
    chosen, seen = -1, 0
    for i in range(keep.shape[0] * 3):
        if optional[i // 3, i % 3]:
            seen += 1
            if below(rng, seen) == 0:
                chosen = i
    if chosen < 0:
        return False
    keep[chosen // 3, chosen % 3] = 1 - keep[chosen // 3, chosen % 3]
    return True


@helper
def _move(rng: Words, setup: KernelInputs, loops: Ints, keep: Flags) -> None:
    """Change one thing: an order, a bypass bit, two factors against each other, or a factor."""
    kind = uniform(rng)
    if kind < 0.2:
        _swap_order(rng, setup, loops)
        return
    if kind > 0.92 and _toggle_keep(rng, setup.optional, keep):
        return
    if kind < 0.55 and _exchange(rng, setup, loops):
        return
    _move_factor(rng, setup, loops)
    if uniform(rng) < 0.3:
        _move_factor(rng, setup, loops)


@helper
def _copy(one: ScoredMapping, to: ScoredMapping) -> None:
    """Copy a mapping, element by element: copies of slices take a second to compile."""
    for level in range(one.loops.shape[0]):
        for d in range(8):
            for kind in range(4):
                to.loops[level, kind, d] = one.loops[level, kind, d]
        for t in range(3):
            to.keep[level, t] = one.keep[level, t]
    to.score[0] = one.score[0]


@helper
def _goes_up(rng: Words, more: float, position: int, warm: bool) -> bool:
    """Whether a walk goes to a score that is so much higher."""
    hot = HOT / 2 if warm else HOT
    heat = hot * (COLD / hot) ** (position / RESTART)
    return bool(uniform(rng) < np.exp(-more / heat))


@compiled(brief=True)
def anneal(
    setup: KernelInputs,
    now: ScoredMapping,
    best: ScoredMapping,
    rng: Words,
    done: int,
    budget: int,
) -> None:
    """Evaluate ``budget`` more candidates after the first ``done``, all arrays in place.

    ``now`` is where the walk stands, ``best`` the incumbent. A restart lasts RESTART evaluations;
    even ones start from scratch, odd ones from the incumbent and half as hot.
    """
    found = new_workspace(now.loops.shape[0])
    trial = ScoredMapping(np.empty_like(now.loops), np.empty_like(now.keep), np.empty(1))
    for step in range(done, done + budget):
        restart, position = step // RESTART, step % RESTART
        warm = restart % 2 == 1
        if position == 0 and warm:
            _copy(best, now)
        elif position == 0:
            reset(setup, now.loops, now.keep)
            now.score[0] = np.inf
        _copy(now, trial)
        if position > 0 or warm:
            _move(rng, setup, trial.loops, trial.keep)
        status, energy, chip, dram = evaluate_one(setup, trial.loops, trial.keep, found)
        if status != VALID:
            continue
        score = score_in_batch(setup.weights, setup.leakage_pj, energy, max(chip, dram))
        trial.score[0] = score
        if score <= now.score[0] or _goes_up(rng, score - now.score[0], position, warm):
            _copy(trial, now)
        if score < best.score[0]:
            _copy(trial, best)
