"""Bounds of nests against nests that are walked: the ends of loops and what is between them, one
after the other, and what surely lies in the buffer while a layer runs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
import pytest

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.nest import nest_faults
from archloom.search.fusion.joint.proofs.nests.nest_bounds import loop_ends, nest_corners
from archloom.search.fusion.nest.estimates import LoopArrays, loop_table
from archloom.search.fusion.nest.every import kept_results
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.fits import StaysOfCell
from archloom.space.fusion.loop_nest import LoopNest, NestLoop
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network
from archloom.space.workload.network_builder import Builder

from .....cases.random_windows import small_windows
from .....cases.small_designs import casco_edge
from .....cases.small_nests import SmallCase, longer_network, small_case, small_network
from .....cases.sweeps import sweep

#: choices of stays of each size of tiles
CHOICES = 12


def network_end(rng: np.random.Generator) -> Network:
    """Return some layers on a map, a mean over it, and what classifies: most of its weights."""
    side = int(rng.integers(1, 7))
    builder, last = Builder((int(rng.integers(2, 41)), side, side)), "input"
    for i in range(int(rng.integers(3))):
        last = builder.conv(f"small{i}", last, int(rng.integers(2, 41)))
    if rng.random() < 0.8:
        last = builder.conv("large", last, int(rng.integers(12, 121)))
    builder.conv("fc", builder.global_avgpool("mean", last), int(rng.integers(4, 65)))
    return builder.network("end").with_batch(int(rng.integers(1, 3)))


def random_facts(seed: int) -> tuple[NestFacts, np.random.Generator]:
    """Return a group on a design with a small buffer, and DRAM of some rate."""
    rng = np.random.default_rng(seed)
    kinds = (network_end, small_network, longer_network, small_windows)
    case = small_case(rng, kinds[int(rng.integers(len(kinds)))])
    spad, buffer, dram = case.hardware.levels
    dram = replace(dram, bandwidth_words=float(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])))
    case = SmallCase(case.network, replace(case.hardware, levels=(spad, buffer, dram)))
    return NestFacts(case.network, case.layers, case.hardware), rng


class Bounded(NamedTuple):
    """What a nest takes.

    Attributes:
        plain: at the least, of all layers and of all words.
        apart: the same of the ends of each loop and of what is between them.
        exact: iteration by iteration.
        used: of the buffer, over what it has, while some layer runs, at the least.
    """

    plain: float
    apart: float
    exact: float
    used: float


class Loops:
    """Nests with loops over some ranks, and one way in which results stay."""

    def __init__(
        self, facts: NestFacts, arrays: LoopArrays, ranks: tuple[int, ...], made: tuple[int, ...]
    ) -> None:
        self.facts, self.ranks, self.group = facts, ranks, facts.around(ranks)
        some, sizes, figures = arrays.of(ranks)
        table = loop_table(some, sizes, figures, np.array(made, np.int64))
        self.options, self.ends = table.options, loop_ends(some, sizes, table)
        self.surely = table.surely
        begin = table.options.begin.tolist()
        #: that each operand may have
        self.depths: list[list[int]] = [table.depth[a:b].tolist() for a, b in pairwise(begin)]
        first = tuple(NestLoop(rank, int(facts.tiles[rank][0])) for rank in ranks)
        nest = LoopNest(first, tuple(depths[0] for depths in self.depths))
        #: whether such nests obey the rules
        self.may = not any(nest_faults(self.group, nest))

    def some(self, rng: np.random.Generator) -> Iterator[Bounded]:
        """Yield nests with some sizes of tiles and random stays."""
        options, shape = self.options, [len(self.facts.tiles[rank]) for rank in self.ranks]
        for cell in rng.permutation(options.words.shape[1])[:6].tolist():
            at = np.unravel_index(cell, shape)
            tiles = [int(self.facts.tiles[r][k]) for r, k in zip(self.ranks, at, strict=True)]
            loops = tuple(NestLoop(*pair) for pair in zip(self.ranks, tiles, strict=True))
            numbers = [rng.integers(0, len(some), CHOICES) for some in self.depths]
            chosen = np.stack(numbers, axis=1)
            stays = StaysOfCell(self.facts, self.group, loops, self.depths, self.user)
            # layers that take more or less beside what moves than they do
            own = options.layer_cycles[:, cell] * float(rng.choice([0.2, 1.0, 5.0]))
            for row, exact in zip(chosen, stays.cycles(chosen, own).tolist(), strict=True):
                if np.isfinite(exact):
                    yield self.bounded(cell, row + options.begin[:-1], own, exact)

    def user(self, t: int) -> int:
        """Return the member that waits for an operand if it streams."""
        operand = self.group.operands[t]
        return operand.maker if operand.kind == "made" else operand.readers[0]

    def bounded(self, cell: int, chosen: Ints, own: Floats, exact: float) -> Bounded:
        """Return cycles as the kernel has them beside the exact ones."""
        options, rate, passing = self.options, self.facts.rate, np.zeros(len(own))
        for option in chosen.tolist():
            if options.streams[option] >= 0:
                passing[options.streams[option]] += options.words[option, cell]
        busy = np.maximum(own, passing / rate)
        plain = max(busy.sum(), options.words[chosen, cell].sum() / rate)
        shares = self.ends.members[..., cell]
        members = (shares * np.where(shares == 1.0, busy, own)).sum(axis=2)
        words = self.ends.words[:, :, chosen, cell].sum(axis=2)
        apart = np.maximum(members, words / rate).sum(axis=0).max()
        used = (self.surely[chosen] * options.held[chosen, cell, None]).sum(axis=0).max()
        return Bounded(float(plain), float(apart), exact, float(used) / self.facts.capacity)


def bounded(seed: int) -> Iterator[Bounded]:
    """Yield nests around a random group."""
    facts, rng = random_facts(seed)
    arrays = LoopArrays(facts)
    orders = [ranks for count in (1, 2) for ranks in permutations(facts.ranks, count)]
    for at in rng.permutation(len(orders))[:8]:
        ways = kept_results(facts, orders[at])
        loops = Loops(facts, arrays, orders[at], ways[int(rng.integers(len(ways)))])
        if loops.may:
            yield from loops.some(rng)


@pytest.mark.parametrize("seed", sweep(range(0, 4000, 50), sample=2))
def test_no_nest_is_faster_or_holds_less(seed: int) -> None:
    """Of fifty groups; ends decide in some, and one is nearly as fast as they say."""
    found = [one for n in range(seed, seed + 50) for one in bounded(n)]
    assert all(one.apart <= one.exact * (1 + 1e-9) + 1e-6 for one in found)
    decided = [one.exact / one.apart for one in found if one.apart > 1.001 * one.plain]
    assert len(decided) > 10
    assert min(decided) < 1.1
    assert 0.95 < max(one.used for one in found) <= 1


def test_weights_at_the_end_of_a_network_do_not_come_before_it() -> None:
    """DRAM alone would take less: 1.28 million weights of the classifier wait for what it reads."""
    net, hardware = network("mobilenetv2"), casco_edge(32, pe_x=12, pe_y=32, dram_channels=1)
    names = [layer.name for layer in net.layers]
    end = tuple(range(names.index("stage7.0.depthwise"), len(names)))
    found = nest_corners(net, hardware, end, np.zeros(2), 600.0)
    assert found is not None
    read = sum(net.layers[i].weight_words for i in end)
    assert found[:, 1].min() > 1.08 * read / hardware.levels[-1].bandwidth_words
