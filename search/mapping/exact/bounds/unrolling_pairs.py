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


class ServingPrices(NamedTuple):
    """Energy (pJ) if every MAC asked for a word of its own, of weights and of inputs; of a word of
    results that is read, and of one that is updated; then how many MACs and results there are.
    """

    weights_pj: float
    inputs_pj: float
    read_pj: float
    update_pj: float
    macs: float
    results: float


class Pairs(NamedTuple):
    """Both parts of all choices that keep tensors in one way; those of ``rests`` descend by
    ``many``. ``floors[A]`` (pJ) is what mappings of each prefix need beside serving MACs, and
    ``fills_pj`` what filling levels costs all of them beside that.
    """

    prefixes: Factors
    rests: Factors
    prices: ServingPrices
    floors: Floats
    fills_pj: float


class Window(NamedTuple):
    """Which choices are looked for, and what was found.

    Scores (ln) from ``low`` to below ``high``, in ``most_cycles`` at the most, and as many as
    ``most_bounds`` buy. ``scores[C]`` and ``pairs[C, 2]`` are filled; ``counts[1]`` are
    :data:`COUNTS`.
    """

    low: float
    high: float
    most_cycles: float
    most_bounds: int
    mirrored: bool
    scores: Floats
    pairs: Ints
    counts: Records


@helper
def _least(setup: KernelInputs, subproblem: Subproblem, outer: OuterLevels) -> tuple[float, float]:
    """Least energy and cycles of a subproblem."""
    fixed, least, total = prepare(setup, subproblem)
    shared, hops = wire(setup, subproblem, total)
    energy = fixed + least + shared + hops
    cycles = max(step_cycles(setup, total), port_cycles(setup, subproblem.units))
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


@lean
def share_out(
    setup: KernelInputs, subproblem: Subproblem, keep: Flags, spreads: Ints, shares: Floats
) -> None:
    """Fill the shares[A, 4] of :class:`Factors`."""
    levels = subproblem.keep.shape[0]
    for level in range(levels):
        subproblem.guess[level] = 0
    for i in range(len(spreads)):
        for level in range(levels):
            for d in range(8):
                subproblem.spread[level, d] = spreads[i, level, d]
        shares[i, COPIES] = 1.0
        for t in range(3):
            shares[i, t], level, inside = 1.0, 0, True
            for level in range(levels):
                children = 1.0
                for d in range(8):
                    children *= subproblem.spread[level, d]
                if inside:
                    shares[i, t] *= served(setup, subproblem, t, level, False) / children
                elif t == OUTPUTS:
                    spread = subproblem.spread
                    shares[i, COPIES] *= spread[level, C] * spread[level, R] * spread[level, S]
                inside = inside and not keep[level, t]


@helper
def _serving_pj(prices: ServingPrices, one: Floats, two: Floats) -> float:
    """Energy of what MACs ask for at least, by the shares of both parts of a choice."""
    energy = prices.weights_pj * one[WEIGHTS] * two[WEIGHTS]
    energy += prices.inputs_pj * one[INPUTS] * two[INPUTS]
    sent = one[OUTPUTS] * two[OUTPUTS] * prices.macs
    read = max(0.0, sent - one[COPIES] * two[COPIES] * prices.results)
    return float(energy + prices.update_pj * sent + prices.read_pj * read)


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
        window.pairs[count, 0], window.pairs[count, 1] = a, b
    counts.listed += 1


@lean
def list_pairs(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    pairs: Pairs,
    window: Window,
    stop: Flags,
) -> None:
    """List all choices of a window that keep what the subproblem keeps.

    It ends early once ``stop`` is set, no bounds are left, or there is no room.
    """
    macs, counts = 1, window.counts[0]
    one, two, prices, floors = pairs.prefixes, pairs.rests, pairs.prices, pairs.floors
    for d in range(8):
        macs *= setup.bounds[d]
    for level in range(subproblem.keep.shape[0]):
        subproblem.guess[level] = 0
    for a in range(len(one.many)):
        before, most_pj = 0, np.inf
        for b in range(len(two.many)):
            if stop[0] or counts.bounded >= window.most_bounds:
                return
            if counts.listed > len(window.scores):
                return
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
            energy = _serving_pj(prices, one.shares[a], two.shares[b]) + floors[a]
            if not energy < most_pj or not _divide(setup, one.taken[a], two.taken[b]):
                continue
            if _is_second(window, one, two, a, b):
                continue
            counts.bounded += 1
            # what fills cost rules out half of what is left, in a hundredth of a bound's time
            if energy + pairs.fills_pj < most_pj:
                _bound_pair(setup, subproblem, outer, pairs, window, a, b)


@lean
def least_of_pairs(setup: KernelInputs, pairs: Pairs, stop: Flags) -> float:
    """Return a score that no mapping of any pair is below; it is too high once ``stop`` is set."""
    macs, best = 1, np.inf
    one, two, prices, floors = pairs.prefixes, pairs.rests, pairs.prices, pairs.floors
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
            here = _serving_pj(prices, one.shares[a], two.shares[b]) + floors[a]
            if here < energy and _divide(setup, one.taken[a], two.taken[b]):
                energy = here
    return float(best)
