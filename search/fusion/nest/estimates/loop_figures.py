"""What nests with one size of tiles cost: each member at the least, and each stay of an operand."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH, FIRST, LAST
from archloom.evaluators.jit import allocating, helper
from archloom.space.fusion import STREAMED

from .loop_arrays import MADE, WEIGHTS, GroupArrays, LoopSizes, WordFigures
from .loop_uses import LoopUses, first_sum, is_depth, is_online, is_read, lasts, loop_uses
from .stays import StayOptions
from .tile_sizes import (
    QUERIES,
    ROUNDS,
    TileSizes,
    across,
    later_runs,
    number,
    own_keys,
    seen,
)


class Stays(NamedTuple):
    """Stays that operands may have, those of one operand beside each other.

    Attributes:
        operand, depth: int64[options], whose each is, and how deep.
        lasts: int64[options], whether what stays does from one iteration to another.
    """

    operand: Ints
    depth: Ints
    lasts: Ints


class LoopWork(NamedTuple):
    """What is worked out for one way in which results stay, and for one size of tiles of it."""

    tiles: TileSizes
    uses: LoopUses
    stays: Stays


@allocating
def loop_work(operands: int, members: int, loops: int) -> LoopWork:
    """Return what figures of so many operands, members and loops are worked out with."""
    most = most_stays(operands, loops)
    return LoopWork(
        TileSizes(np.zeros(loops, np.int64), np.zeros(loops), np.zeros(loops)),
        loop_uses(operands, members, loops),
        Stays(np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)),
    )


@helper
def most_stays(operands: int, loops: int) -> int:
    """Return how many stays operands may have: each depth, and streaming."""
    return operands * (loops + 2)


@helper
def count_cells(sizes: LoopSizes) -> int:
    """Return how many sizes of tiles there are, of all loops together."""
    cells = 1
    for at in range(len(sizes.counts)):
        cells *= sizes.counts[at]
    return cells


@helper
def layer_figures(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    tiles: TileSizes,
    uses: LoopUses,
    to: StayOptions,
    energy: Floats,
    cell: int,
) -> float:
    """Write least energy (``energy``) and cycles of members to a column, and all that is spent
    whatever stays: by them, and on partial sums that are rescaled, which is returned."""
    base, rescaled = 0.0, 0.0
    for m in range(group.own.shape[0]):
        times, place = 1.0, sizes.starts[m]
        for at in range(len(sizes.sizes)):
            if group.own[m, at]:
                # a last tile that covers less is a part of one
                times *= sizes.sizes[at] / tiles.tile[at]
                place += tiles.place[at] * sizes.strides[m, at]
            else:
                times *= number(sizes, tiles, uses.members[m, at], group.own, m, at)
        busy = times * seen(sizes, tiles, group.own, m, ROUNDS)
        times *= seen(sizes, tiles, group.own, m)
        # tiles that add to sums read all of them
        later = _later_words(group, sizes, words, tiles, uses, m) if uses.adds[m] else 0.0
        energy[m, cell] = sizes.costs[0, place] * times * words.member_times[m]
        energy[m, cell] += later * words.sums_pj[m]
        to.layer_cycles[m, cell] = sizes.costs[1, place] * busy
        more = busy * later_runs(group, sizes, tiles, m) if uses.adds[m] else 0.0
        to.later_cycles[m, cell] = more * (sizes.costs[2, place] - sizes.costs[1, place])
        base += energy[m, cell]
        if uses.online[m]:
            rescaled += later * words.rescale_pj
    to.base_pj[cell] = base + rescaled
    around, loops = 1.0, len(sizes.sizes)
    for at in range(loops):
        to.rounds[at, cell] = to.rounds[loops + at, cell] = around
        to.inside[loops + at, cell] = 1.0 / tiles.times[at]
        around *= tiles.times[at]
    return rescaled


@helper
def _later_words(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    tiles: TileSizes,
    uses: LoopUses,
    m: int,
) -> float:
    """Words of partial sums that later parts of a member's sums add to."""
    loops, t = len(sizes.sizes), group.made[m]
    some = words.words[t] * seen(sizes, tiles, group.along, t)
    for at in range(loops):
        if not group.own[m, at]:
            some *= number(sizes, tiles, uses.members[m, at], group.own, m, at)
    sums = some
    for at in range(loops):
        if group.reduced[m, at]:
            sums *= across(sizes, tiles, group.own, m, at)
    later: float = (sums - some) * words.member_times[m]
    return later


@helper
def list_stays(
    group: GroupArrays,
    keeps_weights: bool,
    made: Ints,
    uses: LoopUses,
    stays: Stays,
    to: StayOptions,
) -> None:
    """Write the stays that each operand may have, the one that moves least first.

    Args:
        group, keeps_weights: whose operands they are, and whether the buffer keeps weights.
        made: int64[m], depth of what each member makes and others read.
        uses: of these.
        stays, to: where they are written: ``begin``, ``there``, ``streams``, ``sums`` and
            ``once`` of ``to``.
    """
    count, loops = 0, group.own.shape[1]
    for m in range(group.own.shape[0]):
        once = True
        for at in range(loops - 1, -1, -1):
            here = uses.members[m, at] != ALL and uses.members[m, at] != BOTH
            once = once and here
            to.once[at, m], to.once[loops + at, m] = once, here
    for t in range(len(group.kind)):
        to.begin[t] = count
        result = group.kind[t] == MADE
        maker = group.maker[t]
        if result and is_read(group, t):
            count = _put(group, uses, stays, to, count, t, made[maker])
            continue
        user = maker if result else _first_reader(group, t)
        streams = _may_stream(group, t, user)
        if group.second[t] and not keeps_weights:
            count = _put(group, uses, stays, to, count, t, STREAMED)
            continue
        most = loops
        if result and is_online(group, maker):
            # what is rescaled stays in the buffer while it is added up
            most, streams = first_sum(group, maker), False
        for depth in range(most + 1):
            if is_depth(group, t, depth):
                count = _put(group, uses, stays, to, count, t, depth)
        if streams:
            count = _put(group, uses, stays, to, count, t, STREAMED)
    to.begin[len(group.kind)] = count


@helper
def _first_reader(group: GroupArrays, t: int) -> int:
    for m in range(group.reads.shape[1]):
        if group.reads[t, m]:
            return m
    return 0


@helper
def _may_stream(group: GroupArrays, t: int, user: int) -> bool:
    """Whether an operand serves one member alone, on the array unless it is weights."""
    users = 1 if group.kind[t] == MADE else 0
    for m in range(group.reads.shape[1]):
        users += group.reads[t, m]
    able: bool = users == 1 and (group.macs[user] or group.kind[t] == WEIGHTS)
    return able


@helper
def _put(
    group: GroupArrays,
    uses: LoopUses,
    stays: Stays,
    to: StayOptions,
    count: int,
    t: int,
    depth: int,
) -> int:
    """Add a stay, and return how many there are."""
    members = group.reads.shape[1]
    stays.operand[count], stays.depth[count] = t, depth
    long = depth != STREAMED and lasts(group, uses, t, depth)
    stays.lasts[count] = long
    result = group.kind[t] == MADE
    to.streams[count], to.sums[count] = -1, -1
    if result and depth != STREAMED:
        to.sums[count] = group.maker[t]
    if depth == STREAMED:
        to.streams[count] = group.maker[t] if result else _first_reader(group, t)
    begin, end = group.maker[t] if result else 0, 0
    for m in range(members):
        if group.reads[t, m]:
            end = m
    if group.exported[t]:
        end = members - 1
    for m in range(members):
        to.there[count, m] = depth != STREAMED and (long or begin <= m <= end)
    return count + 1


@helper
def surely_there(
    group: GroupArrays, uses: LoopUses, stays: Stays, options: StayOptions, found: Flags
) -> None:
    """Write while which members a stay takes words of a whole tile in the first iteration in which
    they run: bool[options, m]. So what does for the same member does together."""
    for option in range(options.begin[len(group.kind)]):
        for m in range(group.own.shape[0]):
            meets = stays.lasts[option] or _meets(group, uses, stays, option, m)
            found[option, m] = options.there[option, m] and meets


@helper
def _meets(group: GroupArrays, uses: LoopUses, stays: Stays, option: int, m: int) -> bool:
    """Whether a whole piece of an operand comes for the first iteration in which a member runs, or
    is made in it."""
    t, depth = stays.operand[option], stays.depth[option]
    for at in range(group.own.shape[1]):
        use = uses.operands[t, at]
        if group.kind[t] == MADE:
            use = uses.members[group.maker[t], at]
        elif group.along[t, at]:
            use = ALL
        elif at >= depth and use != LAST:
            use = FIRST
        if uses.members[m, at] & FIRST:
            if use & FIRST == 0:
                return False
        elif use & LAST == 0 or group.along[t, at]:
            # the last tile may be smaller
            return False
    return True


@helper
def stay_words(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    tiles: TileSizes,
    stays: Stays,
    to: StayOptions,
    cell: int,
) -> None:
    """Write the words of the buffer that each stay takes to a column."""
    loops = len(sizes.sizes)
    for option in range(to.begin[len(group.kind)]):
        t, depth = stays.operand[option], stays.depth[option]
        held = 0.0
        if depth != STREAMED:
            until = depth if stays.lasts[option] else loops
            held = _cut_words(group, sizes, words, tiles, t, until)
        to.held[option, cell] = held


@helper
def _cut_words(
    group: GroupArrays, sizes: LoopSizes, words: WordFigures, tiles: TileSizes, t: int, depth: int
) -> float:
    """Words of an operand of which loops up to a depth cut a tile."""
    some: float = words.words[t]
    for at in range(depth):
        if group.along[t, at]:
            some = some / sizes.sizes[at] * tiles.tile[at]
    return some


@helper
def stay_figures(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    tiles: TileSizes,
    uses: LoopUses,
    stays: Stays,
    to: StayOptions,
    cell: int,
) -> None:
    """Write what moves with each stay to a column: energy, words, and words that come at once."""
    loops = len(sizes.sizes)
    for option in range(to.begin[len(group.kind)]):
        t, depth = stays.operand[option], stays.depth[option]
        until = loops if depth == STREAMED else depth
        energy, moved = 0.0, 0.0
        if group.kind[t] == MADE:
            if group.exported[t]:
                every = words.words[t] * words.times[t]
                spilled = _spilled(group, sizes, tiles, t, until)
                out, back = every * spilled, every * (spilled - 1.0)
                energy, moved = out * words.store_pj + back * words.fetch_pj, out + back
            maker = group.maker[t]
            if depth != STREAMED and uses.adds[maker] and words.stay_pj[maker] > 0:
                later = _later_words(group, sizes, words, tiles, uses, maker)
                energy += later * words.stay_pj[maker]
        else:
            every = words.words[t] * _again(group, sizes, tiles, uses, t, until)
            every *= seen(sizes, tiles, group.along, t)
            energy, moved = every * words.price_pj[t], every * words.sent[t]
        to.energy[option, cell], to.words[option, cell] = energy, moved
        piece = 0.0
        if depth != STREAMED:
            piece = _cut_words(group, sizes, words, tiles, t, loops)
            if moved <= piece * words.sent[t]:
                piece = 0.0
        to.piece[option, cell] = piece


@helper
def _spilled(group: GroupArrays, sizes: LoopSizes, tiles: TileSizes, t: int, until: int) -> float:
    """How often a result leaves, partial sums with it."""
    times = 1.0
    for at in range(until):
        if group.reduced[group.maker[t], at]:
            times *= across(sizes, tiles, group.along, t, at)
    return times


@helper
def _again(
    group: GroupArrays, sizes: LoopSizes, tiles: TileSizes, uses: LoopUses, t: int, until: int
) -> float:
    """How often what an iteration reads of an operand comes."""
    # what stays whatever the loop over queries does comes once to each core
    times = own_keys(sizes, tiles, group.along, t) if sizes.masked[QUERIES] >= until else 1.0
    for at in range(until):
        if not group.along[t, at]:
            times *= number(sizes, tiles, uses.operands[t, at], group.along, t, at)
    return times
