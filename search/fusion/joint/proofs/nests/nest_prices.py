"""The least of energy plus priced cycles over all that may stay in the buffer in nests.

Branch and bound, operand by operand: what each stay moves adds up, and the buffer holds what is in
it while a member runs. Where the search would take too long, what it has not looked at counts with
its bound, so that the figure stays a bound of all choices.
"""

from math import inf
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, compiled, helper
from archloom.search.fusion.nest.estimates import StayOptions

#: partial choices that are looked at for a size of tiles and a price, at the most (ours)
_MOST_NODES: Final = 1000


class NestBuffer(NamedTuple):
    """Where operands stay.

    Attributes:
        capacity: words of the buffer.
        rate: words of DRAM a cycle.
        leakage_pj: of the chip, in a cycle.
    """

    capacity: float
    rate: float
    leakage_pj: float


class Weights(NamedTuple):
    """What a pJ and a cycle count; energy includes leakage."""

    energy: float
    cycles: float


class _Branch(NamedTuple):
    """One size of tiles, and where its search stands."""

    chosen: Ints  # [t + 1], an option of each operand
    used: Floats  # [t + 1, m], words in use with what the first operands hold
    passing: Floats  # [t + 1, m], words that stream to each member
    later: Floats  # [t + 1, m], cycles in which each member reads sums again
    spent: Floats  # [t + 1, 2], energy and words of the first operands
    rest_used: Floats  # [t + 1, m], words in use at the least for the others
    rest: Floats  # [t + 1, 2], energy and words of the others at the least


@allocating
def _branch(operands: int, members: int) -> _Branch:
    return _Branch(
        np.zeros(operands + 1, np.int64),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 2)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 2)),
    )


@helper
def _prepare(options: StayOptions, cell: int, work: _Branch) -> None:
    """Find what the last operands take at the least."""
    operands, members = len(options.begin) - 1, work.used.shape[1]
    for t in range(operands - 1, -1, -1):
        energy, words = inf, inf
        for option in range(options.begin[t], options.begin[t + 1]):
            energy = min(energy, options.energy[option, cell])
            words = min(words, options.words[option, cell])
        work.rest[t, 0] = work.rest[t + 1, 0] + energy
        work.rest[t, 1] = work.rest[t + 1, 1] + words
        for m in range(members):
            held = inf
            for option in range(options.begin[t], options.begin[t + 1]):
                held = min(held, options.held[option, cell] * options.there[option, m])
            work.rest_used[t, m] = work.rest_used[t + 1, m] + held


@helper
def _take(options: StayOptions, cell: int, work: _Branch, t: int, option: int) -> None:
    """Choose an option of the operand that comes next."""
    for m in range(work.used.shape[1]):
        held = options.held[option, cell] * options.there[option, m]
        work.used[t + 1, m] = work.used[t, m] + held
        work.passing[t + 1, m] = work.passing[t, m]
        work.later[t + 1, m] = work.later[t, m]
        if m == options.streams[option]:
            work.passing[t + 1, m] += options.words[option, cell]
        if m == options.sums[option]:
            work.later[t + 1, m] += options.later_cycles[m, cell]
    work.spent[t + 1, 0] = work.spent[t, 0] + options.energy[option, cell]
    work.spent[t + 1, 1] = work.spent[t, 1] + options.words[option, cell]


@helper
def _bound(
    options: StayOptions, buffer: NestBuffer, weights: Weights, cell: int, work: _Branch, t: int
) -> float:
    """The least of what is chosen for the first operands; infinite if it does not fit."""
    busy = 0.0
    for m in range(work.used.shape[1]):
        if work.used[t, m] + work.rest_used[t, m] > buffer.capacity:
            return inf
        own = options.layer_cycles[m, cell] + work.later[t, m]
        busy += max(own, work.passing[t, m] / buffer.rate)
    cycles = max(busy, (work.spent[t, 1] + work.rest[t, 1]) / buffer.rate)
    energy = options.base_pj[cell] + work.spent[t, 0] + work.rest[t, 0]
    least: float = weights.energy * (energy + buffer.leakage_pj * cycles) + weights.cycles * cycles
    return least


@helper
def _least_of_cell(
    options: StayOptions,
    buffer: NestBuffer,
    weights: Weights,
    cell: int,
    work: _Branch,
    best: float,
) -> float:
    """Return the least of one size of tiles, or ``best`` if it is not below that."""
    operands, t, nodes = len(options.begin) - 1, 0, 0
    work.chosen[0] = options.begin[0]
    while t >= 0:
        option = work.chosen[t]
        if option >= options.begin[t + 1]:
            t -= 1
            continue
        work.chosen[t] += 1
        nodes += 1
        _take(options, cell, work, t, option)
        bound = _bound(options, buffer, weights, cell, work, t + 1)
        if bound >= best:
            continue
        if t == operands - 1 or nodes > _MOST_NODES:
            # what is not looked at counts with its bound
            best = bound
        else:
            t += 1
            work.chosen[t] = options.begin[t]
    return best


@compiled
def lower_lines(options: StayOptions, buffer: NestBuffer, weights: Floats, least: Floats) -> None:
    """Lower figures to those of nests with the same loops, all sizes of tiles and all stays.

    Args:
        options: of the nests; ``there`` only where an operand surely takes words.
        buffer: where they stay.
        weights: float64[J, 2], what a pJ and a cycle count.
        least: float64[J], the least of all nests, as it is known so far.
    """
    operands, members = len(options.begin) - 1, options.there.shape[1]
    work = _branch(operands, members)
    for cell in range(len(options.base_pj)):
        _prepare(options, cell, work)
        for j in range(len(least)):
            some = Weights(weights[j, 0], weights[j, 1])
            if _bound(options, buffer, some, cell, work, 0) < least[j]:
                least[j] = _least_of_cell(options, buffer, some, cell, work, least[j])


@compiled
def lines_below(options: StayOptions, buffer: NestBuffer, weights: Floats, most: Floats) -> Floats:
    """Return float64[J, n], what nests with the same loops and each size of tiles take at the
    least, whatever stays; infinite where that is no less than ``most[J]``.

    Args:
        options, buffer, weights: as of :func:`lower_lines`.
        most: figures that are of no interest.
    """
    operands, members = len(options.begin) - 1, options.there.shape[1]
    work, found = _branch(operands, members), np.full((len(most), len(options.base_pj)), inf)
    for cell in range(len(options.base_pj)):
        _prepare(options, cell, work)
        for j in range(len(most)):
            some = Weights(weights[j, 0], weights[j, 1])
            if _bound(options, buffer, some, cell, work, 0) < most[j]:
                least = _least_of_cell(options, buffer, some, cell, work, most[j])
                found[j, cell] = least if least < most[j] else inf
    return found
