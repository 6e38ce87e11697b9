"""Which nests around a group are looked at, and the best of them.

Loops are over one rank, over each two in each order, and over the best of these with a third one.
With loops given, operands that lie along an inner loop and not along an outer one stay whole over
the outer loop or come again in each iteration of it; what only one layer uses may stream. All
combinations are estimated for all sizes of tiles, and those of the least estimates are placed in the
buffer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations, product
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.fusion.nest import (
    NestGroup,
    NestWalk,
    depths,
    nest_faults,
    nest_fit,
    nest_group,
)
from archloom.space.fusion import STREAMED, LoopNest, NestLoop
from archloom.space.workload import Network

from .estimates import Estimate, estimated
from .facts import NestFacts

#: layers up to which a group is put in loops (ours)
_MOST_MEMBERS: Final = 10

#: combinations of depths that are looked at for some loops
_MOST_DEPTHS: Final = 48

#: orders of loops that get a third one
_KEPT_ORDERS: Final = 4

#: nests of the least estimates that are placed in the buffer, and those that are then handed on
_PLACED: Final = 40
_HANDED: Final = 6


@dataclass(frozen=True)
class NestChoice:
    """A nest with its estimates.

    Attributes:
        nest: around the group.
        layer_pj, layer_cycles: float64[m], least energy and cycles of each member.
        moved_pj, moved_cycles: of what moves.
        prefetch: whether transfers overlap.
    """

    nest: LoopNest
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float
    prefetch: bool

    def edp(self, leakage_pj: float) -> float:
        """Return the estimated energy x latency, in pJ and cycles."""
        busy, moved = float(self.layer_cycles.sum()), self.moved_cycles
        latency = max(busy, moved) if self.prefetch else busy + moved
        return (float(self.layer_pj.sum()) + self.moved_pj + leakage_pj * latency) * latency


@lru_cache(maxsize=4096)
def nestable(network: Network, layers: tuple[int, ...]) -> NestGroup | None:
    """Return a group that loops may run around, or None.

    Loops around windows are tiles, which are looked at elsewhere.
    """
    if not 1 < len(layers) <= _MOST_MEMBERS:
        return None
    if sum(network.layers[i].uses_macs for i in layers) < 2:
        return None
    group = nest_group(network, layers, frozenset())
    return group if group is not None and any(group.ranks.loopable) else None


def best_nests(facts: NestFacts) -> list[NestChoice]:
    """Return nests of the least estimated energy x latency that fit the buffer."""
    found = list[_Found]()
    orders: list[tuple[float, tuple[int, ...]]] = []
    for ranks in _short_orders(facts):
        some = _of_order(facts, ranks)
        found += some
        orders.append((min((f.edp for f in some), default=np.inf), ranks))
    orders.sort()
    longer = dict.fromkeys(
        (*ranks[:at], rank, *ranks[at:])
        for edp, ranks in orders[:_KEPT_ORDERS]
        if edp < np.inf
        for rank in facts.ranks
        if rank not in ranks
        for at in range(len(ranks) + 1)
    )
    for ranks in longer:
        found += _of_order(facts, ranks)
    found.sort(key=lambda f: f.edp)
    placed = list(_placed(facts, found[:_PLACED]))
    placed.sort(key=lambda choice: choice.edp(facts.leakage_pj))
    return placed[:_HANDED]


@dataclass(frozen=True)
class _Found:
    edp: float
    ranks: tuple[int, ...]
    depth: tuple[int, ...]
    at: tuple[int, ...]
    estimate: Estimate


def _short_orders(facts: NestFacts) -> Iterator[tuple[int, ...]]:
    yield from ((rank,) for rank in facts.ranks)
    yield from permutations(facts.ranks, 2)


def _of_order(facts: NestFacts, ranks: tuple[int, ...]) -> list[_Found]:
    """Return the best nest of each combination of depths for loops over some ranks."""
    found, group = [], facts.around(ranks)
    for depth in _depths(group, ranks):
        sizes = facts.group.ranks.sizes
        nest = LoopNest(tuple(NestLoop(rank, 1) for rank in ranks), depth)
        if any(sizes[rank] < 2 for rank in ranks) or any(nest_faults(group, nest)):
            continue
        estimate = estimated(facts, ranks, depth)
        edp = estimate.energy(facts.leakage_pj) * estimate.latency
        edp = np.where(estimate.peak <= facts.capacity, edp, np.inf)
        # sizes that differ little in cost and much in what they hold: a few of each
        for flat in np.argsort(edp, axis=None, kind="stable")[:3].tolist():
            at = tuple(int(i) for i in np.unravel_index(flat, edp.shape))
            if edp[at] < np.inf:
                found.append(_Found(float(edp[at]), ranks, depth, at, estimate))
    return found


def _depths(group: NestGroup, ranks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of depths of operands.

    What only one layer uses may stream rather than stay. What stays for no other iteration either
    streams, all of it, or is there whole.
    """
    choices: list[list[int]] = []
    passing: list[int] = []
    for t, operand in enumerate(group.operands):
        users = (*operand.readers, operand.maker) if operand.kind == "made" else operand.readers
        alone = len(users) == 1 and group.layers[users[0]].uses_macs
        some = depths(group, ranks, t)
        staying = [depth for depth in some if operand_stays(group, ranks, t, depth)]
        others = [depth for depth in some if depth not in staying]
        choices.append([*staying, *(others or [STREAMED] * alone)])
        if alone:
            passing.append(t)
    for depth in islice(product(*choices), _MOST_DEPTHS):
        yield depth
        streamed = list(depth)
        for t in passing:
            if not operand_stays(group, ranks, t, depth[t]):
                streamed[t] = STREAMED
        if tuple(streamed) != depth:
            yield tuple(streamed)


def operand_stays(group: NestGroup, ranks: tuple[int, ...], t: int, depth: int) -> bool:
    """Whether an operand stays over a loop that is not along it."""
    return depth != STREAMED and any(rank not in group.operands[t].ranks for rank in ranks[depth:])


def _placed(facts: NestFacts, found: Sequence[_Found]) -> Iterator[NestChoice]:
    """Yield those that fit the buffer."""
    bits = facts.hardware.bits(len(facts.hardware.levels) - 2, "outputs")
    for some in found:
        tiles = [int(facts.tiles[rank][k]) for rank, k in zip(some.ranks, some.at, strict=True)]
        loops = tuple(NestLoop(*pair) for pair in zip(some.ranks, tiles, strict=True))
        nest = LoopNest(loops, some.depth)
        walk = NestWalk(facts.around(some.ranks), nest, psum_words=bits / facts.hardware.word_bits)
        fit = nest_fit(walk, facts.capacity)
        if fit is None:
            continue
        estimate, at = some.estimate, (slice(None), *some.at)
        yield NestChoice(
            nest,
            estimate.layer_pj[at],
            estimate.layer_cycles[at],
            float(estimate.moved_pj[some.at]),
            float(estimate.moved_cycles[some.at]),
            fit.prefetch,
        )
