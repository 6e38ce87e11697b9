"""Good nests with loops over some ranks in one order: all sizes of tiles, and all that may stay.

For each size of tiles operands stay or stream as is estimated best (``stays.py``); besides, all
stream that move no more words by it, while others go for want of space.
"""

from math import inf
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, compiled, helper
from archloom.space.fusion import STREAMED

from .least_layers import least_layers_edp
from .loop_arrays import (
    MADE,
    GroupArrays,
    LoopSizes,
    WordFigures,
    copy_loops,
    pick_loops,
    pick_sizes,
)
from .loop_figures import (
    LoopWork,
    count_cells,
    layer_figures,
    list_stays,
    loop_work,
    most_stays,
    stay_figures,
    stay_words,
)
from .loop_uses import find_uses, result_depths
from .stay_limits import may_be_below
from .stays import (
    ROUNDING,
    StayOptions,
    StayPrices,
    StaySearch,
    apart_cycles,
    best_stays,
    least_product,
    prepare_stays,
    stay_options,
    stay_search,
)
from .tile_sizes import set_tiles

#: sizes of tiles that are kept of each way in which results stay, and of each choice of stays
KEPT: Final = 4


class GoodNests(NamedTuple):
    """Nests of the least estimates, n rows.

    Attributes:
        edp: float64[n], energy x latency in pJ and cycles.
        cell: int64[n], the size of tiles; -1 in rows that hold none.
        depth: int64[n, t], of each operand.
        layer_pj, layer_cycles: float64[n, m], least energy and cycles of each member.
        moved_pj: float64[n], of what moves between DRAM and buffer, and of partial sums that are
            rescaled.
        moved_cycles: float64[n], of DRAM.
    """

    edp: Floats
    cell: Ints
    depth: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: Floats
    moved_cycles: Floats


class _OneCell(NamedTuple):
    """Figures of one size of tiles, written over by the next one."""

    loops: LoopWork
    options: StayOptions
    energy: Floats  # [m, 1], of members
    rescaled: Floats  # [1], energy of partial sums that are rescaled
    search: StaySearch
    chosen: Ints  # [t], an option of each operand
    used: Floats  # [m], words in use
    own: Floats  # [m], cycles of a member by itself
    busy: Floats  # [m], with those in which it waits for what streams to it
    passing: Floats  # [m], words of that


@compiled(brief=True)
def good_nests(
    group: GroupArrays, sizes: LoopSizes, words: WordFigures, prices: StayPrices, most: float
) -> GoodNests:
    """Return the nests of the least estimated energy x latency that may fit the buffer.

    Args:
        group, sizes, words: of the group, its loops outermost first.
        prices: what a choice is judged by.
        most: energy x latency from which on nests are of no interest.
    """
    members, loops = group.own.shape
    ways = np.zeros((1 + members * (loops + 1), members), np.int64)
    count = result_depths(group, ways)
    found = _rows(2 * KEPT * count, len(group.kind), members, most)
    work = _one_cell(len(group.kind), members, loops)
    tiles, uses, stays = work.loops.tiles, work.loops.uses, work.loops.stays
    cells, once = count_cells(sizes), _moved_once(group, sizes, words)
    least = np.zeros(cells)
    # a mask leaves less of some tiles
    if sizes.masked[0] < 0:
        least_layers_edp(group, sizes, words, prices, once, least)
    for way in range(count):
        made = ways[way]
        find_uses(group, sizes, made, uses)
        list_stays(group, words.keeps_weights, made, uses, stays, work.options)
        # the smallest tiles take the least
        set_tiles(sizes, cells - 1, tiles)
        stay_words(group, sizes, words, tiles, stays, work.options, 0)
        if not _may_fit(work, prices.capacity):
            continue
        for cell in range(cells):
            if least[cell] > _most(found, 2 * KEPT * way):
                continue
            set_tiles(sizes, cell, tiles)
            work.rescaled[0] = layer_figures(
                group, sizes, words, tiles, uses, work.options, work.energy, 0
            )
            if _least_edp(work, prices, once) <= _most(found, 2 * KEPT * way):
                _look_at(group, sizes, words, prices, work, found, cell, 2 * KEPT * way)
    return found


@compiled(brief=True)
def which_fit(
    group: GroupArrays, sizes: LoopSizes, words: WordFigures, orders: Ints, capacity: float
) -> Flags:
    """Return uint8[n], which orders of loops may have nests that fit the buffer: those for whose
    smallest tiles it is large enough, if whatever may go goes.

    Args:
        group, sizes, words: of the group, with a loop over each rank that may have one; of tiles
            the smallest ones alone.
        orders: int64[n, loops], which of these loops there are, outermost first.
        capacity: words of the buffer.
    """
    members, operands, loops = group.own.shape[0], len(group.kind), orders.shape[1]
    found = np.zeros(len(orders), np.uint8)
    ways = np.zeros((1 + members * (loops + 1), members), np.int64)
    some, few = pick_loops(group, orders[0]), pick_sizes(sizes, orders[0])
    work = _one_cell(operands, members, loops)
    tiles, uses, stays = work.loops.tiles, work.loops.uses, work.loops.stays
    for n in range(len(orders)):
        copy_loops(group, sizes, orders[n], some, few)
        set_tiles(few, 0, tiles)
        for way in range(result_depths(some, ways)):
            find_uses(some, few, ways[way], uses)
            list_stays(some, words.keeps_weights, ways[way], uses, stays, work.options)
            stay_words(some, few, words, tiles, stays, work.options, 0)
            if _may_fit(work, capacity):
                found[n] = 1
                break
    return found


@helper
def _moved_once(group: GroupArrays, sizes: LoopSizes, words: WordFigures) -> tuple[float, float]:
    """Return energy and words if each operand moves once; nothing where a mask may leave out some
    of it."""
    energy, moved = 0.0, 0.0
    for t in range(len(group.kind) if sizes.masked[0] < 0 else 0):
        if group.kind[t] != MADE:
            energy += words.words[t] * words.price_pj[t]
            moved += words.words[t] * words.sent[t]
        elif group.exported[t]:
            energy += words.words[t] * words.times[t] * words.store_pj
            moved += words.words[t] * words.times[t]
    return energy, moved


@helper
def _least_edp(work: _OneCell, prices: StayPrices, once: tuple[float, float]) -> float:
    """Return energy x latency at the least of the layers that were worked out, whatever stays;
    sums in another order may be more by their rounding."""
    busy, options = 0.0, work.options
    for m in range(options.layer_cycles.shape[0]):
        busy += options.layer_cycles[m, 0]
    cycles = max(busy, once[1] / prices.rate)
    energy = options.base_pj[0] + once[0] + prices.leakage_pj * cycles
    least: float = (1.0 - ROUNDING) * energy * cycles
    return least


@helper
def _most(found: GoodNests, row: int) -> float:
    """Return energy x latency that a nest must not be above to be kept in rows from one on."""
    most: float = max(found.edp[row + KEPT - 1], found.edp[row + 2 * KEPT - 1])
    return most


@helper
def _look_at(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    prices: StayPrices,
    work: _OneCell,
    found: GoodNests,
    cell: int,
    row: int,
) -> None:
    """Estimate nests with one size of tiles, of which the layers were worked out, and keep those
    that are good in rows from one on."""
    options, search, rescaled = work.options, work.search, work.rescaled[0]
    tiles, uses, stays = work.loops.tiles, work.loops.uses, work.loops.stays
    stay_words(group, sizes, words, tiles, stays, options, 0)
    if not _may_fit(work, prices.capacity):
        return
    stay_figures(group, sizes, words, tiles, uses, stays, options, 0)
    if not may_be_below(options, prices, 0, search, _most(found, row)):
        return
    prepare_stays(options, 0, search)
    least = least_product(options, prices, 0, search)
    if least <= found.edp[row + KEPT - 1] and best_stays(options, prices, 0, search) < inf:
        for t in range(len(group.kind)):
            work.chosen[t] = search.best[t]
        _keep(prices, work, found, cell, row, rescaled)
    row += KEPT
    if least <= found.edp[row + KEPT - 1] and _stream(work) and _shrink(work, prices.capacity):
        _keep(prices, work, found, cell, row, rescaled)


@helper
def _may_fit(work: _OneCell, capacity: float) -> bool:
    """Whether operands fit the buffer, whatever goes."""
    options = work.options
    for m in range(options.there.shape[1]):
        total = 0.0
        for t in range(len(options.begin) - 1):
            held = inf
            for option in range(options.begin[t], options.begin[t + 1]):
                held = min(held, options.held[option, 0] * options.there[option, m])
            total += held
        if total > capacity:
            return False
    return True


@helper
def _stream(work: _OneCell) -> bool:
    """Let stream what moves no more words by it, and all else stay as long as it can; whether
    anything streams."""
    options, some = work.options, False
    for t in range(len(work.chosen)):
        begin = options.begin[t]
        work.chosen[t] = begin
        for option in range(begin + 1, options.begin[t + 1]):
            same = options.words[option, 0] <= options.words[work.chosen[t], 0]
            if work.loops.stays.depth[option] == STREAMED and same:
                work.chosen[t] = option
                some = True
    return some


@helper
def _peak(work: _OneCell) -> int:
    """Write the words in use while each member runs; return the member with most."""
    options, worst = work.options, 0
    for m in range(len(work.used)):
        work.used[m] = 0.0
        for t in range(len(work.chosen)):
            option = work.chosen[t]
            work.used[m] += options.there[option, m] * options.held[option, 0]
        if work.used[m] > work.used[worst]:
            worst = m
    return worst


@helper
def _shrink(work: _OneCell, capacity: float) -> bool:
    """Let operands go until all fits, those first that free most for each word that moves besides;
    whether it does."""
    options = work.options
    for _ in range(2 * options.begin[len(work.chosen)]):
        worst = _peak(work)
        if work.used[worst] <= capacity:
            return True
        most, best, owner = 0.0, -1, 0
        for t in range(len(work.chosen)):
            now = work.chosen[t]
            held = options.held[now, 0] * options.there[now, worst]
            for option in range(options.begin[t], options.begin[t + 1]):
                freed = held - options.held[option, 0] * options.there[option, worst]
                moved = max(options.words[option, 0] - options.words[now, 0], 0.0)
                gain = freed / (moved + 1.0) if freed > 0 else 0.0
                if gain > most:
                    most, best, owner = gain, option, t
        if best < 0:
            return False
        work.chosen[owner] = best
    fits: bool = work.used[_peak(work)] <= capacity
    return fits


@helper
def _keep(
    prices: StayPrices, work: _OneCell, found: GoodNests, cell: int, first: int, rescaled: float
) -> None:
    """Put what is chosen among the best from a row on, if it fits and is one of them."""
    options, members = work.options, len(work.used)
    moved_pj, moved, busy, layers_pj, pieces, streams = 0.0, 0.0, 0.0, 0.0, 0.0, False
    for t in range(len(work.chosen)):
        option = work.chosen[t]
        moved_pj += options.energy[option, 0]
        moved += options.words[option, 0]
        pieces += options.piece[option, 0]
        streams |= work.loops.stays.depth[option] == STREAMED
    space = prices.capacity - work.used[_peak(work)]
    if (prices.aside if streams else 0.0) > space:
        return
    _set_cycles(work, prices)
    for m in range(members):
        busy += work.busy[m]
        layers_pj += work.energy[m, 0]
    moved_pj += rescaled
    apart = apart_cycles(options, prices, 0, work.busy, work.passing, moved, space, pieces)
    latency = max(busy, moved / prices.rate, apart)
    edp = (layers_pj + moved_pj + prices.leakage_pj * latency) * latency
    row = first + KEPT - 1
    if edp >= found.edp[row]:
        return
    while row > first and found.edp[row - 1] > edp:
        _copy(found, row, row - 1)
        row -= 1
    found.edp[row], found.cell[row] = edp, cell
    found.moved_pj[row], found.moved_cycles[row] = moved_pj, moved / prices.rate
    for t in range(len(work.chosen)):
        found.depth[row, t] = work.loops.stays.depth[work.chosen[t]]
    for m in range(members):
        found.layer_pj[row, m] = work.energy[m, 0]
        found.layer_cycles[row, m] = work.own[m]


@helper
def _set_cycles(work: _OneCell, prices: StayPrices) -> None:
    """Write cycles of members, and words that stream to them, with what is chosen."""
    options = work.options
    for m in range(len(work.own)):
        work.own[m], work.passing[m] = options.layer_cycles[m, 0], 0.0
        for t in range(len(work.chosen)):
            option = work.chosen[t]
            if options.sums[option] == m:
                work.own[m] += options.later_cycles[m, 0]
            if options.streams[option] == m:
                work.passing[m] += options.words[option, 0]
        work.busy[m] = max(work.own[m], work.passing[m] / prices.rate)


@helper
def _copy(found: GoodNests, to: int, of: int) -> None:
    """Copy one row to another."""
    found.edp[to], found.cell[to] = found.edp[of], found.cell[of]
    found.moved_pj[to], found.moved_cycles[to] = found.moved_pj[of], found.moved_cycles[of]
    for t in range(found.depth.shape[1]):
        found.depth[to, t] = found.depth[of, t]
    for m in range(found.layer_pj.shape[1]):
        found.layer_pj[to, m] = found.layer_pj[of, m]
        found.layer_cycles[to, m] = found.layer_cycles[of, m]


@allocating
def _rows(rows: int, operands: int, members: int, most: float) -> GoodNests:
    return GoodNests(
        np.full(rows, most),
        np.full(rows, -1),
        np.zeros((rows, operands), np.int64),
        np.zeros((rows, members)),
        np.zeros((rows, members)),
        np.zeros(rows),
        np.zeros(rows),
    )


@allocating
def _one_cell(operands: int, members: int, loops: int) -> _OneCell:
    return _OneCell(
        loop_work(operands, members, loops),
        stay_options(operands, members, loops, most_stays(operands, loops), 1),
        np.zeros((members, 1)),
        np.zeros(1),
        stay_search(operands, members),
        np.zeros(operands, np.int64),
        np.zeros(members),
        np.zeros(members),
        np.zeros(members),
        np.zeros(members),
    )
