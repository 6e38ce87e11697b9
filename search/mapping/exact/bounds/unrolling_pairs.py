"""Bounds of choices of unrolled factors: all pairs of a *prefix*, what all meshes but one unroll,
and a *rest*, what that one does.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import KernelInputs
from archloom.evaluators.loopnest.simd import Records
from archloom.search.mapping.exact.subproblem import (
    Subproblem,
    bare_fill,
    energy_below,
    leakage,
    moved,
    port_cycles,
    prepare,
    served,
    step_cycles,
    wire,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, R, S

from ...objectives import SCORE_ROUNDING, score_of
from .outer_levels import OuterLevels, number_at

#: column of ``Factors.shares`` after those of the tensors: copies of each result
COPIES: Final = 3

#: columns of ``Serving.prices``
OF_WEIGHTS, OF_INPUTS, READ, UPDATED = range(4)

#: How many choices were listed (those for which there was no room too), how many were bounded, and
#: how many pairs were compared.
COUNTS: Final = np.dtype([("listed", np.int64), ("bounded", np.int64), ("compared", np.int64)])


class Factors(NamedTuple):
    """Unrolled factors: ``spread[A, L, 8]``, their products ``taken[A, 8]`` and ``many[A]``.

    ``shares[A, 4]``: for a MAC, words that the innermost level which holds each tensor sends, as
    far as these factors decide; and :data:`COPIES` of each result. ``level[A]`` is the innermost
    one that differs from its mirror image, and ``side[A]`` whether rows (1) or columns (-1) are
    more there, 0 if none does.
    """

    spread: Ints
    taken: Ints
    many: Ints
    shares: Floats
    level: Ints
    side: Ints


class Serving(NamedTuple):
    """What serving MACs costs at least by way to keep tensors, ``prices[B, 4]``: energy (pJ) if
    every MAC asked for a word of its own, of weights and of inputs; of a word of results that is
    read, and of one that is updated. Then how many MACs and results there are, and the energy of
    the MACs themselves.
    """

    prices: Floats
    macs: float
    results: float
    macs_pj: float


class Pairs(NamedTuple):
    """All choices: ways to keep tensors, ``keeps[B, L, 3]`` and their ``kinds[B]`` outside all
    meshes, and both parts of the unrolled factors; ``rests`` descend by ``many``. ``numbers[A]``
    are those of the tiles that prefixes unroll, where something is known outside all meshes.
    ``fills_pj[B]`` is what filling levels inside costs at least.
    """

    keeps: Flags
    kinds: Ints
    prefixes: Factors
    rests: Factors
    numbers: Ints
    serving: Serving
    fills_pj: Floats


class Window(NamedTuple):
    """Which choices are looked for, and what was found.

    Scores (ln) from ``low`` to below ``high``, in ``most_cycles`` at the most, and as many as
    ``most_bounds`` buy. ``scores[C]`` and ``chosen[C, 3]``, the way to keep tensors and the two
    parts, are filled; ``counts[1]`` are :data:`COUNTS`.
    """

    low: float
    high: float
    most_cycles: float
    most_bounds: int
    mirrored: bool
    scores: Floats
    chosen: Ints
    counts: Records


@helper
def _least(setup: KernelInputs, subproblem: Subproblem, outer: OuterLevels) -> tuple[float, float]:
    """Least energy and cycles of a subproblem."""
    fixed, least, total = prepare(setup, subproblem)
    shared, hops = wire(setup, subproblem, total)
    energy = fixed + least + shared + hops
    chip, dram = port_cycles(setup, subproblem.units)
    cycles = max(max(step_cycles(setup, total), chip) + bare_fill(setup, subproblem, total), dram)
    if outer.size == 0:
        return energy, cycles
    kind, ports = subproblem.kind[0], outer.ports
    number = number_at(outer, subproblem.inside[outer.level])
    for level in range(outer.level, subproblem.keep.shape[0]):
        for t in range(3):
            if subproblem.parent[level, t] >= 0:
                energy -= subproblem.least_pj[level, t]
    for port in range(len(ports.rate)):
        units = moved(ports, port, subproblem.units) + outer.outside[kind, 1 + port, number]
        cycles = max(cycles, units / ports.rate[port])
    return energy + outer.outside[kind, 0, number], cycles


@helper
def _share_out(setup: KernelInputs, subproblem: Subproblem, factors: Factors) -> None:
    """Fill the shares[A, 4] of factors, for what a subproblem keeps."""
    levels, spread, shares = subproblem.keep.shape[0], subproblem.spread, factors.shares
    for i in range(len(shares)):
        for level in range(levels):
            for d in range(8):
                spread[level, d] = factors.spread[i, level, d]
        shares[i, COPIES] = 1.0
        for t in range(3):
            share, inside = 1.0, True
            for level in range(levels):
                children = 1.0
                for d in range(8):
                    children *= spread[level, d]
                if inside:
                    share *= served(setup, subproblem, t, level, False) / children
                elif t == OUTPUTS:
                    shares[i, COPIES] *= spread[level, C] * spread[level, R] * spread[level, S]
                inside = inside and not subproblem.keep[level, t]
            shares[i, t] = share


@helper
def _keep(setup: KernelInputs, subproblem: Subproblem, pairs: Pairs, way: int) -> None:
    """Let a subproblem keep tensors in one way, and share out what both parts of factors send."""
    subproblem.kind[0] = pairs.kinds[way]
    for level in range(subproblem.keep.shape[0]):
        subproblem.guess[level] = 0
        for t in range(3):
            subproblem.keep[level, t] = pairs.keeps[way, level, t]
    _share_out(setup, subproblem, pairs.prefixes)
    _share_out(setup, subproblem, pairs.rests)


@helper
def _floor_of(outer: OuterLevels, pairs: Pairs, way: int, a: int) -> float:
    """Energy (pJ) that mappings of a prefix need beside serving MACs."""
    floor = pairs.serving.macs_pj
    if outer.size > 0:
        floor += outer.outside[pairs.kinds[way], 0, pairs.numbers[a]]
    return floor


@helper
def _serving_pj(serving: Serving, way: int, one: Floats, two: Floats) -> float:
    """Energy of what MACs ask for at least, by the shares of both parts of a choice."""
    prices = serving.prices[way]
    energy = prices[OF_WEIGHTS] * one[WEIGHTS] * two[WEIGHTS]
    energy += prices[OF_INPUTS] * one[INPUTS] * two[INPUTS]
    sent = one[OUTPUTS] * two[OUTPUTS] * serving.macs
    read = max(0.0, sent - one[COPIES] * two[COPIES] * serving.results)
    return float(energy + prices[UPDATED] * sent + prices[READ] * read)


@helper
def _is_second(window: Window, one: Factors, two: Factors, a: int, b: int) -> bool:
    """Whether a pair is the one of two mirror images that is left out."""
    if not window.mirrored:
        return False
    side = one.side[a]
    if side == 0 or (two.side[b] != 0 and two.level[b] < one.level[a]):
        side = two.side[b]
    return bool(side < 0)


@helper
def _divide(setup: KernelInputs, one: Ints, two: Ints) -> bool:
    """Whether the products divide the bounds."""
    d = 0
    while d < 8 and setup.bounds[d] % (one[d] * two[d]) == 0:
        d += 1
    return d == 8


@helper
def _bound_pair(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    pairs: Pairs,
    window: Window,
    way: int,
    a: int,
    b: int,
) -> None:
    """Bound the choice of a pair, and list it if it belongs to the window."""
    one, two, counts = pairs.prefixes, pairs.rests, window.counts[0]
    for level in range(subproblem.keep.shape[0]):
        for d in range(8):
            subproblem.spread[level, d] = one.spread[a, level, d] * two.spread[b, level, d]
    energy, cycles = _least(setup, subproblem, outer)
    exact = 1 - ROUNDING if len(outer.ports.rate) else 1.0
    leaked = leakage(setup, subproblem) + setup.leakage_pj
    low, late = (1 - ROUNDING) * (energy + leaked * cycles), exact * cycles
    score = score_of(setup, low, late, 0.0)
    if score < window.low or not score < window.high or cycles > window.most_cycles:
        return
    count = counts.listed
    if count < len(window.scores):
        window.scores[count] = score
        window.chosen[count, 0] = way
        window.chosen[count, 1], window.chosen[count, 2] = a, b
    counts.listed += 1


@helper
def _list_way(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    pairs: Pairs,
    window: Window,
    way: int,
    stop: Flags,
) -> bool:
    """List all choices of a window that keep what the subproblem keeps, the way of that number;
    return whether there may be more in other ways.
    """
    macs, counts = 1, window.counts[0]
    one, two, fills_pj = pairs.prefixes, pairs.rests, pairs.fills_pj[way]
    for d in range(8):
        macs *= setup.bounds[d]
    for a in range(len(one.many)):
        before, most_pj, floor = 0, np.inf, _floor_of(outer, pairs, way, a)
        for b in range(len(two.many)):
            if stop[0] or counts.bounded >= window.most_bounds:
                return False
            if counts.listed > len(window.scores):
                return False
            many = one.many[a] * two.many[b]
            if many != before:
                cycles = step_cycles(setup, macs // many)
                most_pj = energy_below(setup, window.high, cycles, setup.leakage_pj)
                most_pj *= 1 + SCORE_ROUNDING
                before = many
                # those that follow take longer
                if cycles > window.most_cycles:
                    break
            counts.compared += 1
            energy = _serving_pj(pairs.serving, way, one.shares[a], two.shares[b]) + floor
            if not energy < most_pj or not _divide(setup, one.taken[a], two.taken[b]):
                continue
            if _is_second(window, one, two, a, b):
                continue
            counts.bounded += 1
            # what fills cost rules out half of what is left, in a hundredth of a bound's time
            if energy + fills_pj < most_pj:
                _bound_pair(setup, subproblem, outer, pairs, window, way, a, b)
    return True


@lean
def list_pairs(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    pairs: Pairs,
    window: Window,
    stop: Flags,
) -> None:
    """List all choices of a window; the subproblem is overwritten.

    It ends early once ``stop`` is set, no bounds are left, or there is no room.
    """
    for way in range(len(pairs.keeps)):
        _keep(setup, subproblem, pairs, way)
        if not _list_way(setup, subproblem, outer, pairs, window, way, stop):
            return


@helper
def _least_of_way(
    setup: KernelInputs, outer: OuterLevels, pairs: Pairs, way: int, stop: Flags
) -> float:
    """Return a score that no mapping is below of any pair that keeps tensors in one way."""
    macs, best = 1, np.inf
    one, two = pairs.prefixes, pairs.rests
    for d in range(8):
        macs *= setup.bounds[d]
    for a in range(len(one.many)):
        energy, many, floor = np.inf, 0, _floor_of(outer, pairs, way, a)
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
            here = _serving_pj(pairs.serving, way, one.shares[a], two.shares[b]) + floor
            if here < energy and _divide(setup, one.taken[a], two.taken[b]):
                energy = here
    return float(best)


@lean
def least_of_pairs(
    setup: KernelInputs, subproblem: Subproblem, outer: OuterLevels, pairs: Pairs, stop: Flags
) -> float:
    """Return a score that no mapping of any pair is below; it is too high once ``stop`` is set. The
    subproblem is overwritten.
    """
    best = np.inf
    for way in range(len(pairs.keeps)):
        _keep(setup, subproblem, pairs, way)
        best = min(best, _least_of_way(setup, outer, pairs, way, stop))
    return best
