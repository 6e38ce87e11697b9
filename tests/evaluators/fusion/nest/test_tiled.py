"""Nests that do what tiles do cost what tiles cost: rows of chains, and images one by one."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.ranks import group_ranks
from archloom.evaluators.fusion.nest.rules import depths
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.transformers.transformer import SequenceBuilder
from archloom.space.workload.network import Network

from ....cases.mappers import BufferMapper
from ....cases.small_designs import three_levels
from ....cases.small_nests import small_network
from ....cases.sweeps import sweep

MAPPER = BufferMapper()
N, P = 0, 4


def design(rng: np.random.Generator, words: int, rate: float) -> Hardware:
    """Return a design with so many words of buffer, and words that DRAM moves in a cycle."""
    plain = three_levels(words)
    spad, buffer, dram = plain.levels
    buffer = replace(buffer, width_words=int(rng.integers(1, 5)))
    dram = replace(dram, bandwidth_words=rate, width_words=int(rng.integers(1, 4)))
    return replace(plain, levels=(spad, buffer, dram))


def nested(network: Network, loops: list[NestLoop]) -> FusionGroup:
    """All layers in some loops; each map stays for one iteration, weights for all."""
    layers, looped = tuple(range(len(network.layers))), tuple(loop.rank for loop in loops)
    group = nest_group(network, layers, frozenset(looped))
    assert group is not None
    depth = tuple(depths(group, looped, t)[-1] for t in range(len(group.operands)))
    return FusionGroup(layers, nest=LoopNest(tuple(loops), depth))


def compare(
    network: Network, nest: FusionGroup, tiles: FusionGroup, rng: np.random.Generator
) -> None:
    """Compare on designs with and without space for transfers ahead, and with slow DRAM.

    Weights come before the first iteration of a nest, and while the layers before run in the
    first tile; where DRAM takes longest, or the buffer has no space to prefetch all, a nest
    overlaps what it can and a tile nothing: neither is slower than the tiles. Of two iterations
    none has transfers of one before and one after it; tiles of an image are taken to have both.
    """
    none = group_cost(network, nest, design(rng, 1, 1.0), MAPPER)
    assert isinstance(none, Infeasible)
    least = int(none.needed)
    for words, rate in ((100_000, 64.0), (100_000, 0.5), (int(least * rng.uniform(1, 1.3)), 0.5)):
        hardware = design(rng, words, rate)
        one, other = (group_cost(network, group, hardware, MAPPER) for group in (nest, tiles))
        assert isinstance(one, GroupCost)
        assert isinstance(other, GroupCost)
        assert (one.dram_reads, one.dram_writes) == (other.dram_reads, other.dram_writes)
        assert one.dynamic_pj == pytest.approx(other.dynamic_pj, abs=0.1)
        assert one.prefetch >= other.prefetch
        if other.prefetch:
            assert one.own_words <= other.own_words
        if one.tiles > 2:
            assert one.prefetch == other.prefetch
            assert one.own_words == other.own_words or not other.prefetch
        assert one.latency_cycles <= other.latency_cycles
        if rate == 64.0:
            assert one.latency_cycles == other.latency_cycles


@pytest.mark.parametrize("seed", sweep(range(300), sample=10))
def test_rows_of_a_chain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder, positions = SequenceBuilder(), int(rng.integers(3, 21))
    x = builder.input("x", int(rng.integers(2, 10)), positions)
    for i in range(int(rng.integers(2, 5))):
        x = builder.linear(f"layer{i}", x, int(rng.integers(2, 10)), bias=False)
    network = builder.network("chain").with_batch(int(rng.integers(1, 4)))
    layers, rows = tuple(range(len(network.layers))), int(rng.integers(1, positions))
    ranks = group_ranks(network, layers)
    assert ranks is not None
    loops = [NestLoop(rank, 1) for rank in ranks.dims[0][N]]
    loops.append(NestLoop(ranks.dims[0][P][0], rows))
    tiles = FusionGroup(layers, tile=(rows, 1), resident=layers)
    compare(network, nested(network, loops), tiles, rng)


@pytest.mark.parametrize("seed", sweep(range(300), sample=10))
def test_images_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = small_network(rng).with_batch(int(rng.integers(2, 4)))
    layers = tuple(range(len(network.layers)))
    ranks = group_ranks(network, layers)
    assert ranks is not None
    resident = tuple(i for i in layers if network.layers[i].weight_words)
    nest = nested(network, [NestLoop(ranks.dims[0][N][0], 1)])
    compare(network, nest, FusionGroup(layers, resident=resident), rng)
