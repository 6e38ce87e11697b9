"""Which nests around a group are looked at, and the best of them.

Loops are over one rank, over each two in each order, and over the best of these with a third one.
With loops given, all sizes of tiles are estimated at once, and those of the least estimates are
placed in the buffer.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping as Dict
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations
from math import prod
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import touched
from archloom.evaluators.fusion.nest import (
    NestGroup,
    NestWalk,
    core_fits,
    nest_cores,
    nest_faults,
    nest_group,
)
from archloom.space.fusion import STREAMED, LoopNest
from archloom.space.workload import Network

from .facts import NestFacts
from .found_nests import FoundNest, FoundNests
from .placing import cycles_of, placed
from .streams import several_stream, words_again, words_for_streams
from .waits import estimated_cycles, other_stays

#: layers up to which a group is put in loops (ours)
MOST_MEMBERS: Final = 10

#: orders of loops that get a third one
_KEPT_ORDERS: Final = 2

#: loops of which not all orders are looked at
_LONG: Final = 3

#: times the least that any nest can have, up to which a nest is near it
_NEAR: Final = 1.0005

#: nests of the least estimates that are placed in the buffer until so many fit, and how many of
#: these are handed on
_LOOKED_AT: Final = 300
_PLACED: Final = 12
_HANDED: Final = 8

#: nests of these in which operands stay otherwise, where layers wait
_CHANGED: Final = 1


@dataclass(frozen=True)
class NestChoice:
    """A nest with its estimates.

    Attributes:
        nest: around the group.
        layer_pj, layer_cycles: float64[m], least energy and cycles of each member.
        moved_pj, moved_cycles: of what moves.
        late_cycles: those of them in which layers wait, since the buffer has no space for it.
        latency_cycles: of all iterations one after another.
    """

    nest: LoopNest
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float
    late_cycles: float
    latency_cycles: float

    def edp(self, leakage_pj: float) -> float:
        """Return the estimated energy x latency, in pJ and cycles."""
        latency = self.latency_cycles
        return (float(self.layer_pj.sum()) + self.moved_pj + leakage_pj * latency) * latency

    @property
    def kind(self) -> tuple[object, ...]:
        """The same for nests that differ in the order of loops, but move and wait for the same."""
        streams = tuple(depth == STREAMED for depth in self.nest.depth)
        layers = self.layer_pj.tobytes(), self.layer_cycles.tobytes()
        moved = self.moved_pj, self.late_cycles, self.latency_cycles
        return frozenset(self.nest.loops), self.nest.split, streams, layers, *moved


@lru_cache(maxsize=4096)
def nestable(network: Network, layers: tuple[int, ...]) -> NestGroup | None:
    """Return a group that loops may run around, or None.

    Loops around windows are tiles, which are looked at elsewhere.
    """
    if not 1 < len(layers) <= MOST_MEMBERS:
        return None
    if sum(network.layers[i].uses_macs for i in layers) < 2:
        return None
    group = nest_group(network, layers, frozenset())
    return group if group is not None and any(group.ranks.loopable) else None


def skips_words(network: Network, layers: tuple[int, ...]) -> bool:
    """Return whether windows of some product leave out rows or columns of the map that it reads.

    A mapping of a map that streams may leave these in DRAM, and estimates count all of the map.
    """
    found = (layer for i in layers if (layer := network.layers[i]).uses_macs)
    return any(
        layer.n * layer.read_channels[0] * prod(touched(layer)) < layer.map_read_words[0]
        for layer in found
    )


def best_nests(facts: NestFacts) -> list[NestChoice]:
    """Return nests of the least estimated energy x latency that fit the buffer."""
    found = FoundNests(facts)
    for count in (1, 2, 3):
        found.look_at(dict.fromkeys(_orders(facts, count, found.orders)))
        if len(found) >= _PLACED and found.edp(_HANDED) <= facts.least_edp * _NEAR:
            # more loops move no fewer words
            break
    some = _best_placed(facts, islice(found.best(), _LOOKED_AT))
    some.sort(key=lambda choice: choice.edp(facts.leakage_pj))
    alike = {choice.kind: choice for choice in reversed(some)}
    return [choice for choice in some if alike[choice.kind] is choice][:_HANDED]


def _orders(
    facts: NestFacts, count: int, known: Dict[tuple[int, ...], float]
) -> Iterator[tuple[int, ...]]:
    """Yield orders of so many loops: all of up to two, with a third one the best of two.

    Where loops over both queries and keys may leave out tiles, these two with a third one around
    them come besides, and inside of the best two others.
    """
    # what cores share out is the outermost loop
    first = () if facts.dealt is None else (facts.dealt,)
    others = [rank for rank in facts.ranks if rank not in first]
    if count < _LONG:
        yield from ((*first, *ranks) for ranks in permutations(others, count - len(first)))
        return
    pair = facts.masked_pair
    if pair is not None and first and first[0] in pair:
        # cores share out queries: one loop between these and the keys
        inner = pair[1] if first[0] == pair[0] else pair[0]
        yield from ((*first, rank, inner) for rank in others if rank not in pair)
    elif pair is not None:
        apart = [rank for rank in first or facts.ranks if rank not in pair]
        around = [ranks for ranks in known if len(ranks) == count - 1 and not {*ranks} & {*pair}]
        around = sorted(around, key=lambda ranks: (known[ranks], ranks))[:_KEPT_ORDERS]
        for outer in [*((rank,) for rank in apart), *around]:
            yield from ((*outer, *inner) for inner in (pair, pair[::-1]))
    two = sorted((edp, ranks) for ranks, edp in known.items() if len(ranks) == count - 1)
    yield from dict.fromkeys(
        (*ranks[:at], rank, *ranks[at:])
        for edp, ranks in two[:_KEPT_ORDERS]
        if edp < np.inf
        for rank in others
        if rank not in ranks
        for at in range(len(first), len(ranks) + 1)
    )


def _best_placed(facts: NestFacts, found: Iterable[FoundNest]) -> list[NestChoice]:
    """Place nests, those of the least estimates first, until no other one can be among the best.

    Where layers wait in the best of them, operands may stay or stream otherwise, one by one.
    """
    fitting, ranked, best = list[NestChoice](), list[float](), list[tuple[float, int, FoundNest]]()
    for number, some in enumerate(found):
        enough = len(ranked) >= _HANDED and ranked[_HANDED - 1] <= some.edp
        if enough or len(fitting) >= _PLACED:
            break
        choice = _placed(facts, some)
        if choice is not None:
            edp = choice.edp(facts.leakage_pj)
            fitting.append(choice)
            insort(ranked, edp)
            insort(best, (edp, number, some))
    for edp, _, some in best[:_CHANGED]:
        if edp > some.edp * _NEAR:
            fitting += _changed(facts, some, edp)
    return fitting


def _changed(facts: NestFacts, some: FoundNest, edp: float) -> Iterator[NestChoice]:
    """Yield nests with other stays of one operand, then of two and more while that is better."""
    group = facts.around(tuple(loop.rank for loop in some.nest.loops))
    while True:
        better = None
        for other in other_stays(facts, group, some.nest):
            change = FoundNest(
                edp,
                other.nest,
                some.layer_pj,
                some.layer_cycles,
                some.moved_pj + other.moved_pj,
                some.moved_cycles + other.moved_words / facts.rate,
            )
            # with nobody waiting it is no better
            choice = None if change.least_edp(facts) >= edp else _placed(facts, change)
            if choice is None:
                continue
            yield choice
            value = choice.edp(facts.leakage_pj)
            if value < edp:
                edp, better = value, change
        if better is None:
            return
        some = better


def _placed(facts: NestFacts, some: FoundNest) -> NestChoice | None:
    """Return a nest as it fits the buffer; None if it does not."""
    nest = some.nest
    group = facts.whole(tuple(loop.rank for loop in nest.loops))
    if any(nest_faults(group, nest)):
        return None
    found = placed(facts, nest, some.layer_cycles)
    if found is None:
        return _placed_on_cores(facts, some, group)
    left = tuple(words or None for words in found.left.tolist())
    if not found.fits or not words_for_streams(group, nest, left):
        return None
    again = 0.0
    if several_stream(group, nest, left):
        again = _again(facts, NestWalk(group, nest), left)
    return _choice(facts, some, again, found.late / facts.rate, cycles_of(found))


def _placed_on_cores(facts: NestFacts, some: FoundNest, group: NestGroup) -> NestChoice | None:
    """Return a nest as it fits the buffers of cores, or where a mask drops tiles."""
    cores = nest_cores(group, some.nest, frozenset(), facts.cores)
    fits = core_fits(cores, facts.capacity)
    if fits is None or not words_for_streams(cores.first.group, some.nest, fits[0].left):
        return None
    again = _again(facts, cores.first, fits[0].left) * cores.working
    late = sum(fit.late * count for fit, count in zip(fits, cores.counts, strict=True)) / facts.rate
    cycles = estimated_cycles(facts, cores, fits, some.layer_cycles)
    return _choice(facts, some, again, late, cycles)


def _again(facts: NestFacts, walk: NestWalk, left: tuple[int | None, ...]) -> float:
    """Words that come more than once; a buffer that need not keep what streams passes it on."""
    return 0.0 if facts.hardware.levels[-2].optional else words_again(walk, left)


def _choice(
    facts: NestFacts, some: FoundNest, again: float, late: float, cycles: float
) -> NestChoice:
    """Return a nest of which so many words come again, layers wait for so many cycles, and all
    iterations take so many."""
    moved = some.moved_cycles + again / facts.rate
    latency = max(float(some.layer_cycles.sum()), moved - late) + late
    return NestChoice(
        some.nest,
        some.layer_pj,
        some.layer_cycles,
        some.moved_pj + again * facts.fetch_pj,
        moved,
        late,
        max(latency, cycles),
    )
