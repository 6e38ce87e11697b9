"""A group with loops over some ranks, as arrays: what kernels estimate nests from."""

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from math import prod
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.fusion.nest import NestGroup
from archloom.evaluators.jit import allocating, helper

from ..facts import NestFacts
from .stays import StayPrices

#: kinds of operands
WEIGHTS: Final = 0
READ: Final = 1
MADE: Final = 2
_KINDS: Final = {"weights": WEIGHTS, "read": READ, "made": MADE}

#: share of the buffer that is left for what streams, so that mappings have a choice (ours)
FOR_STREAMS: Final = 1 / 128


class GroupArrays(NamedTuple):
    """What the members and operands of a group are to its loops; t operands, m members, loops
    outermost first.

    Attributes:
        along: bool[t, loops], loops over ranks along which operands lie.
        own, reduced: bool[m, loops], loops over ranks of members, and over those that they add up.
        late: bool[m, loops], loops over what those add up that a member depends on.
        online: bool[m, loops], loops over the vectors of softmaxes that a member reads.
        macs: bool[m], members that the array runs.
        kind: int64[t], :data:`WEIGHTS`, :data:`READ` or :data:`MADE`.
        maker: int64[t], the member that makes an operand, or uses weights.
        made: int64[m], what each member makes.
        reads: bool[t, m], who reads an operand.
        exported, second: bool[t], what leaves the group; what stands where weights do.
    """

    along: Flags
    own: Flags
    reduced: Flags
    late: Flags
    online: Flags
    macs: Flags
    kind: Ints
    maker: Ints
    made: Ints
    reads: Flags
    exported: Flags
    second: Flags


class LoopSizes(NamedTuple):
    """Sizes of tiles, and what members cost with each; loops outermost first.

    Attributes:
        sizes: int64[loops], of ranks.
        counts: int64[loops], sizes of tiles of each.
        tiles: int64[loops, most], these.
        costs: float64[3, n], least energy and cycles of members' tiles, and cycles of those that
            add to sums; one member after another.
        starts: int64[m], where those of a member begin.
        strides: int64[m, loops], from one size of tiles of a loop to the next one; 0 of a loop that
            is over none of the member's ranks.
        masked: int64[2], the loops over queries and keys of which a mask drops tiles; -1 for none.
        shares: float64[5, queries, keys], as of ``SeenShares``.
    """

    sizes: Ints
    counts: Ints
    tiles: Ints
    costs: Floats
    starts: Ints
    strides: Ints
    masked: Ints
    shares: Floats


class WordFigures(NamedTuple):
    """Words of operands and what they cost.

    Attributes:
        words: float64[t], of each operand.
        price_pj, sent: float64[t], energy and words of DRAM for each word that comes.
        times, member_times: float64[t] and float64[m], what all cores have over what one has.
        sums_pj: float64[m], for each word of a member's result in each later part of its sums.
        stay_pj: float64[m], the same besides, if the result stays in the buffer.
        fetch_pj, store_pj, rescale_pj: energy of a word that comes, that leaves, and of a partial
            sum that is rescaled.
        keeps_weights: whether the buffer keeps what stands where weights do.
    """

    words: Floats
    price_pj: Floats
    sent: Floats
    times: Floats
    member_times: Floats
    sums_pj: Floats
    stay_pj: Floats
    fetch_pj: float
    store_pj: float
    rescale_pj: float
    keeps_weights: bool


@allocating
def pick_loops(group: GroupArrays, loops: Ints) -> GroupArrays:
    """Return what has room for what a group is to some of its loops; what it is to none of them is
    there."""
    members, operands, count = group.own.shape[0], len(group.kind), len(loops)
    return GroupArrays(
        np.zeros((operands, count), np.uint8),
        np.zeros((members, count), np.uint8),
        np.zeros((members, count), np.uint8),
        np.zeros((members, count), np.uint8),
        np.zeros((members, count), np.uint8),
        group.macs,
        group.kind,
        group.maker,
        group.made,
        group.reads,
        group.exported,
        group.second,
    )


@allocating
def pick_sizes(sizes: LoopSizes, loops: Ints) -> LoopSizes:
    """Return what has room for sizes of some loops, without what members cost."""
    count = len(loops)
    return LoopSizes(
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, sizes.tiles.shape[1]), np.int64),
        sizes.costs,
        sizes.starts,
        sizes.strides,
        sizes.masked,
        sizes.shares,
    )


@helper
def copy_loops(
    group: GroupArrays, sizes: LoopSizes, loops: Ints, some: GroupArrays, few: LoopSizes
) -> None:
    """Copy what stands for some loops, in their order, to what :func:`pick_loops` and
    :func:`pick_sizes` returned."""
    for at in range(len(loops)):
        loop = loops[at]
        for t in range(group.along.shape[0]):
            some.along[t, at] = group.along[t, loop]
        for m in range(group.own.shape[0]):
            some.own[m, at] = group.own[m, loop]
            some.reduced[m, at] = group.reduced[m, loop]
            some.late[m, at] = group.late[m, loop]
            some.online[m, at] = group.online[m, loop]
        few.sizes[at], few.counts[at] = sizes.sizes[loop], sizes.counts[loop]
        for k in range(sizes.tiles.shape[1]):
            few.tiles[at, k] = sizes.tiles[loop, k]


class LoopArrays:
    """A group with loops over some of its ranks, in any order.

    Args:
        facts: of the group.
    """

    def __init__(self, facts: NestFacts) -> None:
        self._facts = facts
        # what loops over other ranks see differently is made for them, and so is what tiles cost
        self._groups: dict[int, tuple[NestGroup, GroupArrays, WordFigures]] = {}
        self._sizes: dict[tuple[int, ...], LoopSizes] = {}
        self._column = {rank: at for at, rank in enumerate(facts.ranks)}

    def of(self, ranks: tuple[int, ...]) -> tuple[GroupArrays, LoopSizes, WordFigures]:
        """Return the group with loops over some ranks, outermost first."""
        ascending = tuple(sorted(ranks))
        group, arrays, figures = self._group(ranks)
        if ascending not in self._sizes:
            self._sizes[ascending] = _loop_sizes(self._facts, group, ascending)
        sizes = self._sizes[ascending]
        columns = np.array([self._column[rank] for rank in ranks])
        if ranks != ascending:
            sizes = _in_order(sizes, ascending, ranks)
        elif sizes.masked[0] >= 0:
            sizes = sizes._replace(masked=_places(sizes.masked, ranks))
        return _columns(arrays, columns), sizes, figures

    def alike(
        self, orders: Iterable[tuple[int, ...]]
    ) -> Iterator[tuple[list[tuple[int, ...]], GroupArrays, LoopSizes, WordFigures, Ints]]:
        """Yield orders of as many loops that see the same group, with the group as
        :func:`.loop_search.which_fit` takes it, and int64[n, loops], places of their loops there.

        What tiles cost is left out, and is not worked out.
        """
        several = dict[tuple[int, int], list[tuple[int, ...]]]()
        for ranks in orders:
            alike = id(self._group(ranks)[0]), len(ranks)
            several.setdefault(alike, []).append(ranks)
        for some in several.values():
            _, arrays, figures = self._group(some[0])
            places = np.array([[self._column[rank] for rank in ranks] for ranks in some], np.int64)
            yield some, arrays, self._smallest, figures, places

    @cached_property
    def _smallest(self) -> LoopSizes:
        """Loops over all ranks, each with its smallest tiles alone; what they cost is left out."""
        facts, none = self._facts, np.zeros(0, np.int64)
        ranks, every = facts.ranks, facts.around(()).ranks.sizes
        return LoopSizes(
            np.array([every[rank] for rank in ranks], np.int64),
            np.ones(len(ranks), np.int64),
            np.array([[int(facts.tiles[rank][-1])] for rank in ranks], np.int64),
            np.zeros((3, 0)),
            none,
            np.zeros((0, 0), np.int64),
            np.full(2, -1),
            np.ones((5, 1, 1)),
        )

    def _group(self, ranks: tuple[int, ...]) -> tuple[NestGroup, GroupArrays, WordFigures]:
        """The group as loops over some ranks see it, with a column for each that may have one."""
        group = self._facts.around(ranks)
        if id(group) not in self._groups:
            arrays = group_arrays(group, self._facts.ranks)
            self._groups[id(group)] = group, arrays, _word_figures(self._facts, group)
        return self._groups[id(group)]


def _in_order(sizes: LoopSizes, ascending: tuple[int, ...], ranks: tuple[int, ...]) -> LoopSizes:
    """Return sizes with loops in another order than that of their ranks."""
    order = np.array([ascending.index(rank) for rank in ranks])
    return sizes._replace(
        sizes=sizes.sizes.take(order),
        counts=sizes.counts.take(order),
        tiles=sizes.tiles.take(order, axis=0),
        strides=sizes.strides.take(order, axis=1),
        masked=_places(sizes.masked, ranks),
    )


def _places(masked: Ints, ranks: tuple[int, ...]) -> Ints:
    """Places of ranks that are masked among those of loops, -1 for none."""
    return np.array([-1 if rank < 0 else ranks.index(rank) for rank in masked.tolist()], np.int64)


def _columns(arrays: GroupArrays, columns: Ints) -> GroupArrays:
    """Return the same with some columns for loops."""
    flags = arrays.along, arrays.own, arrays.reduced, arrays.late, arrays.online
    along, own, reduced, late, online = (x.take(columns, axis=1) for x in flags)
    return arrays._replace(along=along, own=own, reduced=reduced, late=late, online=online)


def _word_figures(facts: NestFacts, group: NestGroup) -> WordFigures:
    operands = group.operands
    rows = [(x.words, facts.price_pj(x), facts.sent(x), facts.times(x.ranks)) for x in operands]
    words, price_pj, sent, times = np.array(rows, np.float64).T.copy()
    members = np.array([facts.times(own) for own in group.own])
    sums = np.array([facts.later_sums_pj(m) for m in range(len(members))])
    stay = np.array([facts.staying_sums_pj(m) for m in range(len(members))])
    ends = facts.fetch_pj, facts.store_pj, facts.rescale_pj, facts.keeps_weights
    return WordFigures(words, price_pj, sent, times, members, sums, stay, *ends)


def group_arrays(group: NestGroup, ranks: tuple[int, ...]) -> GroupArrays:
    """Return arrays of a group, with a column for each of some ranks where others have loops."""
    second = {t for some in group.weights for t in some}
    operands, members = group.operands, range(len(group.layers))
    return GroupArrays(
        _flags([x.ranks for x in operands], ranks),
        _flags(group.own, ranks),
        _flags(group.reduced, ranks),
        _flags(group.late, ranks),
        _flags([_vectors(group, m) for m in members], ranks),
        np.array([layer.uses_macs for layer in group.layers], np.uint8),
        np.array([_KINDS[x.kind] for x in operands], np.int64),
        np.array([x.maker for x in operands], np.int64),
        np.array(group.made, np.int64),
        _flags([x.readers for x in operands], members),
        np.array([x.exported for x in operands], np.uint8),
        np.array([t in second for t in range(len(operands))], np.uint8),
    )


def _loop_sizes(facts: NestFacts, group: NestGroup, ranks: tuple[int, ...]) -> LoopSizes:
    """Return sizes with loops in ascending order of ranks; ``masked`` has ranks, not places."""
    counts = [len(facts.tiles[rank]) for rank in ranks]
    tiles = np.ones((len(ranks), max(counts)), np.int64)
    for at, rank in enumerate(ranks):
        tiles[at, : counts[at]] = facts.tiles[rank]
    tables, starts, strides = list[Floats](), list[int](), list[list[int]]()
    begin = 0
    for m, own in enumerate(group.own):
        looped = tuple(rank for rank in ranks if rank in own)
        table = facts.costs(m, looped)
        steps = [prod(table.shape[2 + k :]) for k in range(len(looped))]
        of_rank = dict(zip(looped, steps, strict=True))
        starts.append(begin)
        strides.append([of_rank.get(rank, 0) for rank in ranks])
        tables.append(table.reshape(3, -1))
        begin += tables[-1].shape[1]
    found = facts.masked(ranks)
    shares = np.ones((5, 1, 1)) if found is None else np.stack(facts.seen_shares(found))
    return LoopSizes(
        np.array([group.ranks.sizes[rank] for rank in ranks], np.int64),
        np.array(counts, np.int64),
        tiles,
        # kernels are compiled for rows that lie one after another
        np.ascontiguousarray(np.concatenate(tables, axis=1)),
        np.array(starts, np.int64),
        np.array(strides, np.int64).reshape(len(starts), len(ranks)),
        np.array([-1, -1] if found is None else [found.queries, found.keys], np.int64),
        shares,
    )


def stay_prices(facts: NestFacts) -> StayPrices:
    """Return what stays of operands are judged by."""
    capacity = float(facts.capacity)
    return StayPrices(capacity, capacity * FOR_STREAMS, float(facts.rate), facts.leakage_pj)


def _flags(of: Iterable[Collection[int]], what: Iterable[int]) -> Flags:
    """bool[n, k], which of ``what`` are in each of n sets."""
    return np.array([[one in some for one in what] for some in of], np.uint8)


def _vectors(group: NestGroup, m: int) -> frozenset[int]:
    """Ranks along which the vectors of softmaxes lie that a member reads."""
    makers = (group.operands[t].maker for t in group.maps[m])
    return frozenset(rank for maker in makers for rank in group.online.get(maker, ()))
