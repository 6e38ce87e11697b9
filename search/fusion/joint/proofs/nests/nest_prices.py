"""The least of energy plus priced cycles over all that may stay in the buffer in nests.

Branch and bound, operand by operand: what each stay moves adds up, and the buffer holds what is in
it while a member runs. Little comes ahead of the iterations that want it, so what the first and the
last ones of a loop take adds to what those between them take. Where the search would take too long,
what it has not looked at counts with its bound, so that the figure stays a bound of all choices.
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


class LoopEnds(NamedTuple):
    """What is known of iterations at the ends of each loop, its first and its last ones, and
    of those between them.

    Attributes:
        words: float64[2, loops, options, n], words that DRAM moves in those at the ends, and in
            those between them, whatever comes ahead of time or leaves late.
        members: float64[2, loops, m, n], share of a member's cycles that these take.
    """

    words: Floats
    members: Floats


class Weights(NamedTuple):
    """What a pJ and a cycle count; energy includes leakage."""

    energy: float
    cycles: float


class _Branch(NamedTuple):
    """One size of tiles, and where its search stands."""

    order: Ints  # [t], operands in the order in which they are decided
    most: Floats  # [t], words of the buffer that each takes at the most
    chosen: Ints  # [t + 1], an option of each operand
    used: Floats  # [t + 1, m], words in use with what the first operands hold
    passing: Floats  # [t + 1, m], words that stream to each member
    later: Floats  # [t + 1, m], cycles in which each member reads sums again
    spent: Floats  # [t + 1, 2], energy and words of the first operands
    parts: Floats  # [t + 1, 2, loops], words of the first operands at ends of loops, and between
    rest_used: Floats  # [t + 1, m], words in use at the least for the others
    rest: Floats  # [t + 1, 2], energy and words of the others at the least
    rest_parts: Floats  # [t + 1, 2, loops], words of the others there at the least
    busy: Floats  # [m], cycles of each member


@allocating
def _branch(operands: int, members: int, loops: int) -> _Branch:
    return _Branch(
        np.zeros(operands, np.int64),
        np.zeros(operands),
        np.zeros(operands + 1, np.int64),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 2)),
        np.zeros((operands + 1, 2, loops)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 2)),
        np.zeros((operands + 1, 2, loops)),
        np.zeros(members),
    )


@helper
def _prepare(options: StayOptions, ends: LoopEnds, cell: int, work: _Branch) -> None:
    """Put operands in order, and find what the last of them take at the least.

    Those that may take most of the buffer are decided first: where they do not fit together, or
    stream at a high price instead, that is known soon.
    """
    operands, members = len(options.begin) - 1, work.used.shape[1]
    for t in range(operands):
        work.most[t] = 0.0
        for option in range(options.begin[t], options.begin[t + 1]):
            work.most[t] = max(work.most[t], options.held[option, cell])
        at = t
        while at > 0 and work.most[work.order[at - 1]] < work.most[t]:
            work.order[at] = work.order[at - 1]
            at -= 1
        work.order[at] = t
    for t in range(operands - 1, -1, -1):
        begin, end = options.begin[work.order[t]], options.begin[work.order[t] + 1]
        energy, words = inf, inf
        for option in range(begin, end):
            energy = min(energy, options.energy[option, cell])
            words = min(words, options.words[option, cell])
        work.rest[t, 0] = work.rest[t + 1, 0] + energy
        work.rest[t, 1] = work.rest[t + 1, 1] + words
        for m in range(members):
            held = inf
            for option in range(begin, end):
                held = min(held, options.held[option, cell] * options.there[option, m])
            work.rest_used[t, m] = work.rest_used[t + 1, m] + held
        for part in range(2):
            for at in range(ends.words.shape[1]):
                words = inf
                for option in range(begin, end):
                    words = min(words, ends.words[part, at, option, cell])
                work.rest_parts[t, part, at] = work.rest_parts[t + 1, part, at] + words


@helper
def _take(
    options: StayOptions, ends: LoopEnds, cell: int, work: _Branch, t: int, option: int
) -> None:
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
    for part in range(2):
        for at in range(ends.words.shape[1]):
            words = ends.words[part, at, option, cell]
            work.parts[t + 1, part, at] = work.parts[t, part, at] + words


@helper
def _bound(
    options: StayOptions,
    ends: LoopEnds,
    buffer: NestBuffer,
    weights: Weights,
    cell: int,
    work: _Branch,
    t: int,
) -> float:
    """The least of what is chosen for the first operands; infinite if it does not fit."""
    busy = 0.0
    for m in range(work.used.shape[1]):
        if work.used[t, m] + work.rest_used[t, m] > buffer.capacity:
            return inf
        own = options.layer_cycles[m, cell] + work.later[t, m]
        work.busy[m] = max(own, work.passing[t, m] / buffer.rate)
        busy += work.busy[m]
    cycles = max(busy, (work.spent[t, 1] + work.rest[t, 1]) / buffer.rate)
    cycles = max(cycles, _apart(options, ends, buffer, cell, work, t))
    energy = options.base_pj[cell] + work.spent[t, 0] + work.rest[t, 0]
    least: float = weights.energy * (energy + buffer.leakage_pj * cycles) + weights.cycles * cycles
    return least


@helper
def _apart(
    options: StayOptions, ends: LoopEnds, buffer: NestBuffer, cell: int, work: _Branch, t: int
) -> float:
    """Cycles at the least of the ends of a loop and of what is between them, one after the other
    (docs/explanation/bounds_proofs.md, lemma 24)."""
    most = 0.0
    for at in range(ends.words.shape[1]):
        cycles = 0.0
        for part in range(2):
            busy = 0.0
            for m in range(len(work.busy)):
                share = ends.members[part, at, m, cell]
                # sums are not read again in equal parts, nor need anything stream so
                whole = work.busy[m] if share == 1.0 else options.layer_cycles[m, cell]
                busy += share * whole
            words = work.parts[t, part, at] + work.rest_parts[t, part, at]
            cycles += max(busy, words / buffer.rate)
        most = max(most, cycles)
    return most


@helper
def _least_of_cell(
    options: StayOptions,
    ends: LoopEnds,
    buffer: NestBuffer,
    weights: Weights,
    cell: int,
    work: _Branch,
    best: float,
) -> float:
    """Return the least of one size of tiles, or ``best`` if it is not below that."""
    operands, t, nodes = len(options.begin) - 1, 0, 0
    work.chosen[0] = options.begin[work.order[0]]
    while t >= 0:
        option = work.chosen[t]
        if option >= options.begin[work.order[t] + 1]:
            t -= 1
            continue
        work.chosen[t] += 1
        nodes += 1
        _take(options, ends, cell, work, t, option)
        bound = _bound(options, ends, buffer, weights, cell, work, t + 1)
        if bound >= best:
            continue
        if t == operands - 1 or nodes > _MOST_NODES:
            # what is not looked at counts with its bound
            best = bound
        else:
            t += 1
            work.chosen[t] = options.begin[work.order[t]]
    return best


@compiled
def lower_lines(
    options: StayOptions, ends: LoopEnds, buffer: NestBuffer, weights: Floats, least: Floats
) -> None:
    """Lower figures to those of nests with the same loops, all sizes of tiles and all stays.

    Args:
        options: of the nests; ``there`` only where an operand surely takes words.
        ends: of loops.
        buffer: where they stay.
        weights: float64[J, 2], what a pJ and a cycle count.
        least: float64[J], the least of all nests, as it is known so far.
    """
    operands, members = len(options.begin) - 1, options.there.shape[1]
    work = _branch(operands, members, ends.words.shape[1])
    for cell in range(len(options.base_pj)):
        _prepare(options, ends, cell, work)
        for j in range(len(least)):
            some = Weights(weights[j, 0], weights[j, 1])
            if _bound(options, ends, buffer, some, cell, work, 0) < least[j]:
                least[j] = _least_of_cell(options, ends, buffer, some, cell, work, least[j])


@compiled
def lines_below(
    options: StayOptions, ends: LoopEnds, buffer: NestBuffer, weights: Floats, most: Floats
) -> Floats:
    """Return float64[J, n], what nests with the same loops and each size of tiles take at the
    least, whatever stays; infinite where that is no less than ``most[J]``.

    Args:
        options, ends, buffer, weights: as of :func:`lower_lines`.
        most: figures that are of no interest.
    """
    operands, members = len(options.begin) - 1, options.there.shape[1]
    work = _branch(operands, members, ends.words.shape[1])
    found = np.full((len(most), len(options.base_pj)), inf)
    for cell in range(len(options.base_pj)):
        _prepare(options, ends, cell, work)
        for j in range(len(most)):
            some = Weights(weights[j, 0], weights[j, 1])
            if _bound(options, ends, buffer, some, cell, work, 0) < most[j]:
                least = _least_of_cell(options, ends, buffer, some, cell, work, most[j])
                found[j, cell] = least if least < most[j] else inf
    return found
