"""Which operands of nests stay in the buffer and which stream, the best choice for each size of
tiles.

Depths of operands are chosen together, by branch and bound: words that move and energy add up over
operands, so that what the rest takes at the least bounds a part of a choice. Operands of which each
word freed moves most words are decided first. What streams serves one layer, which waits for it.
"""

from math import inf
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, helper

#: partial choices that are looked at for a size of tiles, at the most (ours): groups with many
#: operands in small buffers have more
_MOST_NODES: Final = 400

#: share of energy x latency that each operand that streams is taken to cost besides, so that of
#: equal choices the one is taken in which fewer do (ours)
_OF_STREAM: Final = 1e-6

#: iterations of which words come ahead of time, if the buffer has space for them
_AHEAD: Final = 2

#: relative error of sums of figures, with room to spare
ROUNDING: Final = 1e-9


class StayOptions(NamedTuple):
    """Depths that operands may have, those of one operand beside each other; n sizes of tiles.

    Attributes:
        begin: int64[t + 1], where the options of each operand begin.
        there: bool[options, m], members while which an option takes words.
        streams: int64[options], the member that an operand streams to; -1 if it stays.
        sums: int64[options], the member whose result stays in the buffer; -1 if none does.
        energy, words: float64[options, n], of what moves, and words that cross DRAM's pins.
        held: float64[options, n], words of the buffer.
        piece: float64[options, n], words that move at once, ahead of time; 0 of what comes once.
        layer_cycles: float64[m, n], least cycles of each member.
        later_cycles: float64[m, n], more of them if sums stay that it adds to, and reads again.
        base_pj: float64[n], energy whatever is chosen.
        once: bool[2 loops, m], members that run in one iteration of all loops from one on inwards,
            and members that run in one iteration of a loop.
        rounds: float64[2 loops, n], iterations of the loops around these.
        inside: float64[2 loops, n], share of the others' words that come in such iterations.
    """

    begin: Ints
    there: Flags
    streams: Ints
    sums: Ints
    energy: Floats
    words: Floats
    held: Floats
    piece: Floats
    layer_cycles: Floats
    later_cycles: Floats
    base_pj: Floats
    once: Flags
    rounds: Floats
    inside: Floats


class StayPrices(NamedTuple):
    """What a choice is judged by.

    Attributes:
        capacity: words of the buffer; ``aside`` of them are left where anything streams.
        rate: words of DRAM a cycle.
        leakage_pj: of the chip, in a cycle.
    """

    capacity: float
    aside: float
    rate: float
    leakage_pj: float


class StaySearch(NamedTuple):
    """One size of tiles, and where its search stands."""

    order: Ints  # operands in the order in which they are decided
    chosen: Ints
    best: Ints
    used: Floats  # [t + 1, m], words in use with what the first operands hold
    passing: Floats  # [t + 1, m], words that stream to each member
    later: Floats  # [t + 1, m], cycles in which each member reads sums again
    spent: Floats  # [t + 1, 3], energy, words and streams of the first operands
    least_used: Floats  # [t + 1, m], words in use at the least for the others
    least: Floats  # [t + 1, 2], energy and words of the others at the least
    flights: Floats  # [t, 2], pieces and how often they come
    busy: Floats  # [m], cycles of each member with what is chosen


@allocating
def stay_options(operands: int, members: int, loops: int, options: int, cells: int) -> StayOptions:
    """Return what so many options of operands, and sizes of tiles, are written to."""
    return StayOptions(
        np.zeros(operands + 1, np.int64),
        np.zeros((options, members), np.uint8),
        np.zeros(options, np.int64),
        np.zeros(options, np.int64),
        np.zeros((options, cells)),
        np.zeros((options, cells)),
        np.zeros((options, cells)),
        np.zeros((options, cells)),
        np.zeros((members, cells)),
        np.zeros((members, cells)),
        np.zeros(cells),
        np.zeros((2 * loops, members), np.uint8),
        np.zeros((2 * loops, cells)),
        np.zeros((2 * loops, cells)),
    )


@allocating
def stay_search(operands: int, members: int) -> StaySearch:
    """Return what a search of so many operands writes to."""
    return StaySearch(
        np.zeros(operands, np.int64),
        np.zeros(operands + 1, np.int64),
        np.zeros(operands, np.int64),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 3)),
        np.zeros((operands + 1, members)),
        np.zeros((operands + 1, 2)),
        np.zeros((operands, 2)),
        np.zeros(members),
    )


@helper
def prepare_stays(options: StayOptions, cell: int, search: StaySearch) -> None:
    """Put operands in order, and find what the last of them take at the least, before
    :func:`best_stays` of one size of tiles."""
    operands, members = len(search.order), search.used.shape[1]
    worth = search.flights[:, 0]
    for t in range(operands):
        search.order[t], worth[t] = t, _worth(options, cell, t)
    for at in range(1, operands):
        t, k = search.order[at], at
        while k > 0 and worth[search.order[k - 1]] < worth[t]:
            search.order[k] = search.order[k - 1]
            k -= 1
        search.order[k] = t
    for at in range(operands - 1, -1, -1):
        begin, end = options.begin[search.order[at]], options.begin[search.order[at] + 1]
        energy, words = options.energy[begin, cell], options.words[begin, cell]
        for option in range(begin, end):
            energy = min(energy, options.energy[option, cell])
            words = min(words, options.words[option, cell])
        search.least[at, 0] = search.least[at + 1, 0] + energy
        search.least[at, 1] = search.least[at + 1, 1] + words
        for m in range(members):
            held = inf
            for option in range(begin, end):
                held = min(held, options.held[option, cell] * options.there[option, m])
            search.least_used[at, m] = search.least_used[at + 1, m] + held


@helper
def _worth(options: StayOptions, cell: int, t: int) -> float:
    """Words that move besides for each word that is freed if an operand goes; 0 if it cannot."""
    begin, end = options.begin[t], options.begin[t + 1]
    worth = inf
    for option in range(begin + 1, end):
        freed = options.held[begin, cell] - options.held[option, cell]
        moved = max(0.0, options.words[option, cell] - options.words[begin, cell])
        if freed > 0:
            worth = min(worth, (moved + 1.0) / freed)
    return 0.0 if worth == inf else worth


@helper
def best_stays(options: StayOptions, prices: StayPrices, cell: int, search: StaySearch) -> float:
    """Return the estimated energy x latency of the best choice for one size of tiles, infinite if
    nothing is good enough; ``search.best`` has the option of each operand then."""
    operands = len(search.order)
    best, nodes, at = inf, 0, 0
    search.chosen[0] = options.begin[search.order[0]]
    while at >= 0:
        t = search.order[at]
        option = search.chosen[at]
        if option >= options.begin[t + 1] or (nodes >= _MOST_NODES and best < inf):
            at -= 1
            if at >= 0:
                search.chosen[at] += 1
            continue
        nodes += 1
        _take(options, cell, search, at, option)
        better = (
            _fits(prices, search, at + 1) and _bound(options, prices, cell, search, at + 1) < best
        )
        if better and at == operands - 1:
            value = _estimate(options, prices, cell, search)
            if value < best:
                best = value
                for n in range(operands):
                    search.best[search.order[n]] = search.chosen[n]
        if better and at < operands - 1:
            at += 1
            search.chosen[at] = options.begin[search.order[at]]
        else:
            search.chosen[at] += 1
        if nodes >= 16 * _MOST_NODES:
            break
    return best


@helper
def _take(options: StayOptions, cell: int, search: StaySearch, at: int, option: int) -> None:
    """Choose an option of the operand that comes next."""
    to = options.streams[option]
    for m in range(search.used.shape[1]):
        held = options.held[option, cell] * options.there[option, m]
        search.used[at + 1, m] = search.used[at, m] + held
        search.passing[at + 1, m] = search.passing[at, m]
        search.later[at + 1, m] = search.later[at, m]
        if m == to:
            search.passing[at + 1, m] += options.words[option, cell]
        if m == options.sums[option]:
            search.later[at + 1, m] += options.later_cycles[m, cell]
    search.spent[at + 1, 0] = search.spent[at, 0] + options.energy[option, cell]
    search.spent[at + 1, 1] = search.spent[at, 1] + options.words[option, cell]
    search.spent[at + 1, 2] = search.spent[at, 2] + (to >= 0)


@helper
def least_product(options: StayOptions, prices: StayPrices, cell: int, search: StaySearch) -> float:
    """Return energy x latency at the least, whatever stays."""
    return _bound(options, prices, cell, search, 0)


@helper
def _fits(prices: StayPrices, search: StaySearch, at: int) -> bool:
    """Whether what is chosen fits with what the rest takes at the least."""
    left = prices.capacity - (prices.aside if search.spent[at, 2] else 0.0)
    for m in range(search.used.shape[1]):
        if search.used[at, m] + search.least_used[at, m] > left:
            return False
    return True


@helper
def _busy(
    options: StayOptions, prices: StayPrices, cell: int, search: StaySearch, at: int, m: int
) -> float:
    """Cycles of a member at the least with what is chosen."""
    own = options.layer_cycles[m, cell] + search.later[at, m]
    most: float = max(own, search.passing[at, m] / prices.rate)
    return most


@helper
def _bound(
    options: StayOptions, prices: StayPrices, cell: int, search: StaySearch, at: int
) -> float:
    """Energy x latency at the least with what is chosen."""
    busy = 0.0
    for m in range(search.used.shape[1]):
        busy += _busy(options, prices, cell, search, at, m)
    cycles = max(busy, (search.spent[at, 1] + search.least[at, 1]) / prices.rate)
    return _product(options, prices, cell, search, at, cycles)


@helper
def _product(
    options: StayOptions, prices: StayPrices, cell: int, search: StaySearch, at: int, cycles: float
) -> float:
    energy = options.base_pj[cell] + search.spent[at, 0] + search.least[at, 0]
    streams = 1.0 + _OF_STREAM * search.spent[at, 2]
    product: float = (energy + prices.leakage_pj * cycles) * cycles * streams
    return product


@helper
def _estimate(options: StayOptions, prices: StayPrices, cell: int, search: StaySearch) -> float:
    """Energy x latency of a choice: what the buffer has no space for ahead of time is late.

    Of operands that come less often than others, each comes together with all of these.
    """
    operands, members = len(search.order), search.used.shape[1]
    busy, most = 0.0, 0.0
    for m in range(members):
        search.busy[m] = _busy(options, prices, cell, search, operands, m)
        busy += search.busy[m]
        most = max(most, search.used[operands, m])
    count = 0
    for at in range(operands):
        option = search.chosen[at]
        piece = options.piece[option, cell]
        if piece > 0:
            times, k = options.words[option, cell] / piece, count
            while k > 0 and search.flights[k - 1, 1] < times:
                search.flights[k, 0] = search.flights[k - 1, 0]
                search.flights[k, 1] = search.flights[k - 1, 1]
                k -= 1
            search.flights[k, 0], search.flights[k, 1] = piece, times
            count += 1
    space, late, flying = prices.capacity - most, 0.0, 0.0
    for k in range(count):
        flying += search.flights[k, 0]
        fewer = search.flights[k + 1, 1] if k + 1 < count else 1.0
        late += max(0.0, flying - space) * max(0.0, search.flights[k, 1] - fewer)
    late = min(late, search.spent[operands, 1]) / prices.rate
    words = search.spent[operands, 1] / prices.rate
    passing, moved = search.passing[operands], search.spent[operands, 1]
    apart = apart_cycles(options, prices, cell, search.busy, passing, moved, space, flying)
    cycles = max(max(busy, words - late) + late, apart)
    return _product(options, prices, cell, search, operands, cycles)


@helper
def apart_cycles(
    options: StayOptions,
    prices: StayPrices,
    cell: int,
    busy: Floats,
    passing: Floats,
    words: float,
    space: float,
    pieces: float,
) -> float:
    """Cycles at the least of layers that run in few iterations, and of DRAM in the others, but for
    words that come in the same iterations, or ahead of time while each of these lasts.

    Args:
        options, prices, cell: one size of tiles.
        busy, passing: float64[m], cycles of each member, and words that stream to it.
        words: that move in all.
        space, pieces: words that the buffer has free, and that come for one iteration.
    """
    cycles, ahead = 0.0, min(space, _AHEAD * pieces)
    for row in range(options.once.shape[0]):
        own, left = 0.0, words
        for m in range(len(busy)):
            if options.once[row, m]:
                own += busy[m]
                left -= passing[m]
        left = left * (1.0 - options.inside[row, cell]) - options.rounds[row, cell] * ahead
        if own > 0:
            cycles = max(cycles, own + max(0.0, left) / prices.rate)
    return cycles
