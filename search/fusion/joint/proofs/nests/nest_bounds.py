"""Energy and latency of which no nest around a group goes below both, in a few points.

Nests of up to two loops over the sizes of tiles that the search considers, in any order of loops,
with all choices of how long operands stay. For each of some prices of a cycle, the least energy
plus priced cycles of all of them is known, which is a line that no nest lies below. What is above
all lines is a convex polygon, so that a sum of energy and cycles at any price is least at one of
its corners.
"""

from collections.abc import Iterator
from itertools import permutations
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.bounds import HALF_GRAIN_PJ
from archloom.evaluators.fusion.nest import NestGroup, dealable, splittable
from archloom.search.fusion.nest import (
    LoopArrays,
    LoopTable,
    NestFacts,
    kept_results,
    loop_table,
    nestable,
    skips_words,
)
from archloom.search.fusion.nest.estimates import MADE, GroupArrays, LoopSizes, StayOptions
from archloom.space.fusion import STREAMED
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from .close_nests import NestRows, NestTable, close_lines
from .nest_prices import LoopEnds, NestBuffer, lower_lines
from .passing_facts import PassingFacts

#: loops of nests, and ways in which results stay of which all are looked at (ours): small groups
#: have fewer
_MOST_LOOPS: Final = 2
_MOST_RESULTS: Final = 2**12

#: prices that are looked at, over energy / cycles of the best plan (ours): of its step the optimum
#: is near 1, and those of other steps lie around
_PRICES: Final = (0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0)

#: iterations whose words come ahead of time, or leave after it (``evaluators/fusion/nest``)
_AHEAD: Final = 2

#: share that the order of floating-point sums may take off a bound (ours)
_SUMS: Final = 1e-10


class KnownNests(NamedTuple):
    """What is known of the nests around a group.

    Attributes:
        corners: as of :func:`nest_corners`.
        close: whether tiles count with energy and cycles together.
    """

    corners: Floats
    close: bool


def nest_corners(
    network: Network,
    hardware: Hardware,
    layers: tuple[int, ...],
    whole: Floats,
    price_pj: float,
    leakage_pj: float = 0.0,
    rows: NestRows | None = None,
) -> Floats | None:
    """Return float64[n, 2], energy (pJ, with leakage) and cycles of points of which a convex
    combination is below each nest in both; None if they are not known, and none if there are no
    nests.

    Args:
        network, hardware, layers: the group, and where it runs.
        whole: float64[2], energy and cycles that no nest is below.
        price_pj: energy that a cycle is worth at the best plan.
        leakage_pj: in a cycle, besides that of the hardware.
        rows: energy and cycles of tiles together, for closer points.
    """
    if not _known(network, layers):
        return None
    if nestable(network, layers) is None:
        return np.zeros((0, 2))
    weights = np.array([(1.0, 0.0), *((1.0, price_pj * x) for x in _PRICES), (0.0, 1.0)])
    least = np.full(len(weights), np.inf)
    if hardware.levels[-2].instances > 1:
        # what tiles of one core say of those of all is not known
        rows = None
    tables = list[NestTable]()
    for facts in _facts(network, hardware, layers):
        facts.leakage_pj += leakage_pj
        found = nest_tables(facts)
        if found is None:
            return None
        for table in found:
            lower_lines(table.options, table.ends, table.buffer, weights, least)
        tables += found if rows is not None else []
    if rows is not None:
        least = close_lines(tables, weights, least, rows)
    least *= 1 - _SUMS
    least[[0, -1]] = np.maximum(least[[0, -1]], whole)
    return corners(weights[:-1, 1], least[:-1], float(least[-1]))


def nest_words(network: Network, hardware: Hardware, layers: tuple[int, ...]) -> float:
    """Return the words over DRAM's pins that no nest around a group goes below; infinite if there
    are none, 0 if that is not known.

    It depends on the buffer and on the sides of meshes, and on nothing else of the hardware.
    """
    if not _known(network, layers):
        return 0.0
    least = np.full(1, np.inf)
    if nestable(network, layers) is not None:
        for facts in _facts(network, hardware, layers):
            found = nest_tables(facts)
            if found is None:
                return 0.0
            for table in found:
                # cycles are words over DRAM's pins, and layers take none
                none = np.zeros_like(table.options.layer_cycles)
                options = table.options._replace(layer_cycles=none, later_cycles=none)
                buffer = table.buffer._replace(rate=1.0, leakage_pj=0.0)
                lower_lines(options, table.ends, buffer, np.array([(0.0, 1.0)]), least)
    return float(least[0]) * (1 - _SUMS)


def _known(network: Network, layers: tuple[int, ...]) -> bool:
    """Whether nests are known well enough to be bounded."""
    # how many tiles a mask leaves is known, but not in which iterations; and where windows skip
    # words, what streams may be less than the map
    masked = any(network.layers[i].mask is not None for i in layers)
    return not masked and not skips_words(network, layers)


def corners(prices: Floats, least: Floats, cycles: float) -> Floats:
    """Return float64[n, 2], corners of what is above lines: energy + price x cycles >= ``least``.

    Args:
        prices: float64[J], the first one 0, ascending.
        least: float64[J], infinite if there is nothing.
        cycles: of everything, at the least.
    """
    if not np.isfinite(least).all():
        return np.zeros((0, 2))
    rows, columns = np.triu_indices(len(prices), 1)
    crossing = (least[columns] - least[rows]) / (prices[columns] - prices[rows])
    at = np.unique(np.append(crossing[crossing > cycles], cycles))
    energy = (least[:, None] - np.outer(prices, at)).max(axis=0)
    return np.stack([energy, at], axis=1)


def _facts(network: Network, hardware: Hardware, layers: tuple[int, ...]) -> Iterator[NestFacts]:
    """Yield a group, whole and in parts, with each rank that cores may share out."""
    parts = splittable(network, layers)
    facts_of = PassingFacts if hardware.levels[-2].optional else NestFacts
    for split in ((), parts) if parts else ((),):
        facts = facts_of(network, layers, hardware, split)
        if facts.cores.count == 1:
            yield facts
            continue
        yield from (facts.dealing(rank) for rank in facts.ranks if dealable(facts.group, rank))


def nest_tables(facts: NestFacts) -> list[NestTable] | None:
    """Return figures of all nests of a group, in all orders of loops; None if there are too many
    ways in which results stay."""
    arrays, found = LoopArrays(facts), list[NestTable]()
    first = () if facts.dealt is None else (facts.dealt,)
    others = [rank for rank in facts.ranks if rank not in first]
    buffer = NestBuffer(float(facts.capacity), float(facts.rate), facts.leakage_pj)
    for count in range(1 - len(first), _MOST_LOOPS + 1 - len(first)):
        for ranks in permutations(others, count):
            loops = (*first, *ranks)
            ways = kept_results(facts, loops)
            if len(ways) > _MOST_RESULTS:
                return None
            for made in ways:
                figures = _options(facts, arrays, loops, made)
                found.append(NestTable(facts, arrays, loops, *figures, buffer))
    return found


def _options(
    facts: NestFacts,
    arrays: LoopArrays,
    ranks: tuple[int, ...],
    made: tuple[int, ...],
) -> tuple[StayOptions, Flags, LoopEnds]:
    """Return how long operands may stay in nests with some loops, no figure above what it is,
    bool[options], whether they lie in the buffer at all, and what is known of the ends of loops."""
    group_arrays, sizes, figures = arrays.of(ranks)
    table = loop_table(group_arrays, sizes, figures, np.array(made, np.int64))
    options, group = table.options, facts.around(ranks)
    # rounding takes as much off each level and operand of each tile, of each core
    entries = (3 * len(facts.hardware.levels) + 2) * HALF_GRAIN_PJ
    base_pj = options.base_pj - (table.runs + 2.0) * facts.working * entries
    energy = options.energy + _filling_pj(facts, group, table)
    options = options._replace(there=table.surely, energy=energy, base_pj=base_pj)
    ends = loop_ends(group_arrays, sizes, table)
    if facts.dealt is not None:
        options = _dealt(options, facts, facts.dealt, sizes.counts)
        # cores are at other iterations than each other
        ends = LoopEnds(*map(np.zeros_like, ends))
    return options, (table.depth != STREAMED).astype(np.uint8), ends


def loop_ends(arrays: GroupArrays, sizes: LoopSizes, table: LoopTable) -> LoopEnds:
    """Return what is known of the ends of each loop and of what is between them.

    Of a member that runs in each iteration, and of an operand of which each has a part of its own,
    both have a share. All of a member that runs at an end alone is there, and so is all that moves
    for such members.
    """
    options, loops, cells = table.options, len(sizes.counts), table.options.words.shape[1]
    of = np.repeat(np.arange(len(arrays.kind)), np.diff(options.begin))
    moved, piece = options.words[: len(of)], options.piece[: len(of)]
    # words that come for two iterations ahead, and leave after two; what streams does neither
    stays = table.depth[: len(of)] != STREAMED
    late = np.where(piece > 0, piece, moved) * stays[:, None]
    late = late * np.where(arrays.kind[of] == MADE, 2 * _AHEAD, _AHEAD)[:, None]
    words = np.zeros((2, loops, len(options.words), cells))
    members = np.zeros((2, loops, len(arrays.macs), cells))
    users, around = _movers(arrays), np.ones(cells)
    for at, place in enumerate(np.unravel_index(np.arange(cells), sizes.counts)):
        size, tile = sizes.sizes[at], sizes.tiles[at, place]
        counts = np.ceil(size / tile)
        between = np.maximum(0.0, counts - 2.0) * tile / size
        once = options.once[loops + at].astype(np.bool_)
        members[:, at, arrays.own[:, at] > 0] = np.stack([1.0 - between, between])[:, None]
        members[0, at, once] = 1.0
        along, at_ends = arrays.along[of, at] > 0, ~(users & ~once).any(axis=1)[of]
        words[:, at, : len(of)][:, along] = np.stack([1.0 - between, between])[:, None]
        words[0, at, : len(of)][at_ends] = 1.0
        words[:, at, : len(of)] = words[:, at, : len(of)] * moved - around * late
        around = around * counts
    return LoopEnds(np.maximum(words, 0.0), members)


def _movers(arrays: GroupArrays) -> NDArray[np.bool_]:
    """bool[t, m], members for which an operand comes from DRAM, or that make what goes there."""
    movers = arrays.reads > 0
    made = arrays.kind == MADE
    movers[made] = False
    movers[made, arrays.maker[made]] = True
    return movers


def _filling_pj(facts: NestFacts, group: NestGroup, table: LoopTable) -> Floats:
    """Return float64[options, n], energy besides of writing what stays to the buffer, where that is
    not counted for all operands."""
    words = table.options.words
    if not isinstance(facts, PassingFacts):
        return np.zeros_like(words)
    stays: Floats = np.zeros(len(words))
    for t, operand in enumerate(group.operands):
        some = slice(*table.options.begin[t : t + 2].tolist())
        if operand.kind != "made":
            stays[some] = table.depth[some] != STREAMED
    return facts.filled_pj * stays[:, None] * words


def _dealt(options: StayOptions, facts: NestFacts, rank: int, counts: Ints) -> StayOptions:
    """Return figures of all cores together with as many tiles as they run at the least.

    Figures count the tiles of the largest share, all of full size, for each core. Where these do
    not come out even there are fewer: no less than as many tiles as the whole rank has, for what
    moves for each of them, and in parts of tiles for what grows with their size.
    """
    tiles = facts.tiles[rank].astype(np.float64)
    turns = np.ceil(facts.share / tiles)
    sizes = facts.share / (tiles * turns)
    runs = np.ceil(facts.size / tiles) / (facts.working * turns)
    # the dealt loop is the outermost one
    least = np.repeat(np.minimum(sizes, runs), prod(counts[1:].tolist()))
    return options._replace(
        energy=options.energy * least,
        words=options.words * least,
        layer_cycles=options.layer_cycles * least,
        later_cycles=options.later_cycles * least,
        base_pj=options.base_pj * least,
    )
