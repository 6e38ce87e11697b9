"""Bounds of choices of unrolled factors: all pairs of a *prefix*, what all meshes but one unroll,
and a *rest*, what that one does.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    Ports,
    Subproblem,
    leakage,
    moved,
    port_cycles,
    prepare,
    room_of,
    served,
    step_cycles,
    wire,
)
from archloom.space.workload import OUTPUTS, C, R, S

from ...objectives import score_of
from .outer_levels import Outside, outside_at


class Factors(NamedTuple):
    """Unrolled factors: ``spread[A, L, 8]``, their products ``taken[A, 8]`` and ``many[A]``.

    ``shares[A, 4]``: for a MAC, words that the innermost level which holds each tensor sends, as
    far as these factors decide; and copies of each result.  ``side[A, 2]`` are the innermost level
    that differs from its mirror image and whether rows (1) or columns (-1) are more there, 0 if
    none does.
    """

    spread: Ints
    taken: Ints
    many: Ints
    shares: Floats
    side: Ints


class Window(NamedTuple):
    """Which choices are looked for, and what was found.

    ``scores[2]`` are the least score (ln) and one that is too high, ``most[2]`` cycles and bounds
    at most; ``slack`` is what rounding may do to a bound. ``found[C]`` and ``pairs[C, 2]`` are
    filled; ``tally[3]`` counts them, bounds of choices, and pairs.
    """

    scores: Floats
    most: Floats
    slack: float
    mirrored: bool
    found: Floats
    pairs: Ints
    tally: Ints


@inlined
def _least(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, kind: int
) -> tuple[float, float]:
    """Least energy and cycles of a frame."""
    fixed, least, total = prepare(setup, frame, real)
    shared, hops = wire(setup, frame, real, total)
    energy = fixed + least + shared + hops
    cycles = max(step_cycles(setup, total), port_cycles(setup, frame.units))
    if outside.size == 0:
        return energy, cycles
    number = outside_at(outside, frame.inside[outside.level])
    for level in range(outside.level, frame.keep.shape[0]):
        for t in range(3):
            if frame.parent[level, t] >= 0:
                energy -= frame.least_pj[level, t]
    for port in range(len(ports.rate)):
        units = moved(ports, port, frame.units) + outside.beyond[kind, 1 + port, number]
        cycles = max(cycles, units / ports.rate[port])
    return energy + outside.beyond[kind, 0, number], cycles


@compiled
def share_out(
    setup: KernelInputs, frame: Subproblem, keep: Flags, spreads: Ints, shares: Floats
) -> None:
    """Fill the shares[A, 4] of :class:`Factors`."""
    levels = frame.keep.shape[0]
    for level in range(levels):
        frame.guess[level] = 0
    for i in range(len(spreads)):
        for level in range(levels):
            for d in range(8):
                frame.spread[level, d] = spreads[i, level, d]
        shares[i, 3] = 1.0
        for t in range(3):
            shares[i, t], level, inside = 1.0, 0, True
            for level in range(levels):
                children = 1.0
                for d in range(8):
                    children *= frame.spread[level, d]
                if inside:
                    shares[i, t] *= served(setup, frame, t, level, False) / children
                elif t == OUTPUTS:
                    spread = frame.spread
                    shares[i, 3] *= spread[level, C] * spread[level, R] * spread[level, S]
                inside = inside and not keep[level, t]


@helper
def _serving(prices: Floats, one: Floats, two: Floats) -> float:
    """Energy of what MACs ask for at least, by prices[6] and the shares of a pair: for a word of
    each tensor, for one that is updated, MACs, and results.
    """
    energy = prices[0] * one[0] * two[0] + prices[1] * one[1] * two[1]
    sent = one[2] * two[2] * prices[4]
    read = max(0.0, sent - one[3] * two[3] * prices[5])
    return float(energy + prices[3] * sent + prices[2] * read)


@helper
def _second(window: Window, one: Factors, two: Factors, a: int, b: int) -> bool:
    """Whether a pair is the one of two mirror images that is left out."""
    if not window.mirrored:
        return False
    side = one.side[a, 1]
    if side == 0 or (two.side[b, 1] != 0 and two.side[b, 0] < one.side[a, 0]):
        side = two.side[b, 1]
    return bool(side < 0)


@helper
def _divide(setup: KernelInputs, one: Ints, two: Ints) -> bool:
    """Whether the products divide the bounds."""
    d = 0
    while d < 8 and setup.bounds[d] % (one[d] * two[d]) == 0:
        d += 1
    return d == 8


@inlined
def _take(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, kind: int,
    window: Window, one: Factors, two: Factors, a: int, b: int,
) -> None:  # fmt: skip
    """Bound the choice of a pair, and list it if it belongs to the window."""
    if _second(window, one, two, a, b):
        return
    for level in range(frame.keep.shape[0]):
        for d in range(8):
            frame.spread[level, d] = one.spread[a, level, d] * two.spread[b, level, d]
    energy, cycles = _least(setup, frame, real, ports, outside, kind)
    window.tally[1] += 1
    exact = 1 - window.slack if len(ports.rate) else 1.0
    leaked = leakage(setup, frame) + setup.leakage_pj
    low, late = (1 - window.slack) * (energy + leaked * cycles), exact * cycles
    score = score_of(setup, low, late, 0.0)
    if score < window.scores[0] or not score < window.scores[1] or cycles > window.most[0]:
        return
    count = window.tally[0]
    if count < len(window.found):
        window.found[count], window.pairs[count, 0], window.pairs[count, 1] = score, a, b
    window.tally[0] += 1


@compiled
def list_pairs(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, keep: Flags, outside: Outside,
        kind: int,
    floors: Floats, prices: Floats, one: Factors, two: Factors, window: Window, stop: Flags,
) -> None:  # fmt: skip
    """List all choices of a window that keep ``keep[L, 3]``.

    ``floors[A]`` is energy that mappings of each prefix need beside that of serving MACs, by
    ``prices[6]``. Factors ``two`` descend by ``many``. It ends early once ``stop`` is set, no
    bounds are left, or there is no room.
    """
    levels, macs = frame.keep.shape[0], 1
    for d in range(8):
        macs *= setup.bounds[d]
    for level in range(levels):
        frame.guess[level] = 0
        for t in range(3):
            frame.keep[level, t] = keep[level, t]
    for a in range(len(one.many)):
        before, room = 0, np.inf
        for b in range(len(two.many)):
            if stop[0] or window.tally[1] >= window.most[1]:
                return
            if window.tally[0] > len(window.found):
                return
            many = one.many[a] * two.many[b]
            if many != before:
                cycles = step_cycles(setup, macs // many)
                room = room_of(setup, window.scores[1], cycles, setup.leakage_pj)
                room *= 1 + 1e-9
                before = many
                # those that follow take longer
                if cycles > window.most[0]:
                    break
            window.tally[2] += 1
            energy = _serving(prices, one.shares[a], two.shares[b]) + floors[a]
            if energy < room and _divide(setup, one.taken[a], two.taken[b]):
                _take(setup, frame, real, ports, outside, kind, window, one, two, a, b)


@compiled
def least_of_pairs(
    setup: KernelInputs, floors: Floats, prices: Floats, one: Factors, two: Factors, stop: Flags
) -> float:
    """Return a score that no mapping of any pair is below; it is too high once ``stop`` is set."""
    macs, best = 1, np.inf
    for d in range(8):
        macs *= setup.bounds[d]
    for a in range(len(one.many)):
        energy, many = np.inf, 0
        for b in range(len(two.many) + 1):
            if stop[0]:
                return best
            if b == len(two.many) or two.many[b] != many:
                if energy < np.inf:
                    cycles = step_cycles(setup, macs // (one.many[a] * many))
                    best = min(best, score_of(setup, energy, cycles, setup.leakage_pj))
                if b == len(two.many):
                    break
                energy, many = np.inf, two.many[b]
            here = _serving(prices, one.shares[a], two.shares[b]) + floors[a]
            if here < energy and _divide(setup, one.taken[a], two.taken[b]):
                energy = here
    return float(best)
