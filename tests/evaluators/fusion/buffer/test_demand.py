"""A group that does not fit says which tensors take how much, at which step of which tile."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.buffer.demand import Demand, map_names, peak_demand
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tiling.geometry import GroupTiles, group_tiles
from archloom.search.fusion.tiling.default import tile_group
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ....cases.designs import edge
from ....cases.groups import POLICIES, any_tile, drawn, random_group
from ....cases.mappers import BufferMapper
from ....cases.sweeps import sweep
from ..tiling.test_sweep import two_convolutions


@pytest.mark.parametrize("kind", ["any", "operators", "wild"])
@pytest.mark.parametrize("seed", sweep(range(40), 16))
def test_the_demands_of_the_fullest_step_are_the_peak(seed: int, kind: str) -> None:
    shape, layers, rng = drawn(seed, kind)
    net, members = random_group(np.random.default_rng(seed), kind)
    tiles = group_tiles(shape, layers, any_tile(shape, rng), str(rng.choice(POLICIES)))
    weights = {i: int(rng.integers(1, 100)) for i in members if rng.random() < 0.5}
    step = peak_demand(net, tiles, weights)
    assert step.words == tiles.activations.max() + sum(weights.values())
    assert len(map_names(net, members)) == len(shape.channels)
    sizes = [demand.words for demand in step.demands]
    assert sizes == sorted(sizes, reverse=True)
    # nothing that runs now is forgotten: its result is held in full
    row, column = step.tile
    name = layers[step.layer].name
    result = tiles.rows.need[step.layer, row] * tiles.columns.need[step.layer, column]
    held = {demand.name: demand.words for demand in step.demands}
    assert held.get(name, 0) >= shape.channels[step.layer] * result


def test_an_overflow_names_tensors_step_and_what_is_missing() -> None:
    group = FusionGroup((0, 1), (4, 4), "recompute", (0, 1))
    cost = group_cost(two_convolutions(), group, edge(glb_bytes=500), BufferMapper())
    assert isinstance(cost, Infeasible)
    assert str(cost) == (
        "glb_overflow at glb, group a..b (2 layers), layer a in tile (0, 0) of 2x2: needs "
        "532 bytes, 500 bytes available; 32 bytes over capacity, for input 144, weights "
        "of a 144, weights of b 144, "
        "a 100; use a smaller tile, stream weights, cut the group, or enlarge the buffer"
    )


def test_a_word_for_weights_that_pass_counts() -> None:
    net = two_convolutions()
    tiles = group_tiles_of(FusionGroup((0, 1), (4, 4)))
    step = peak_demand(net, tiles, {}, [1, 1])
    assert step.demands[-1] == Demand("weights of a", 1)
    mapper = Mapper(LocalMapping(), 5, seed=0)
    fits, less = (passed_through(edge(glb_bytes=step.words - n)) for n in (0, 1))
    assert isinstance(group_cost(net, FusionGroup((0, 1), (4, 4)), fits, mapper), GroupCost)
    none = group_cost(net, FusionGroup((0, 1), (4, 4)), less, mapper)
    assert isinstance(none, Infeasible)
    assert none.hint.startswith("1 byte over capacity, for ")


def passed_through(hardware: Hardware) -> Hardware:
    """Weights cannot bypass the buffer."""
    buffer = replace(hardware.levels[1], optional=False)
    return replace(hardware, levels=(hardware.levels[0], buffer, *hardware.levels[2:]))


def group_tiles_of(group: FusionGroup) -> GroupTiles:
    net = two_convolutions()
    layers = tuple(net.layers[i] for i in group.layers)
    return group_tiles(group_shape(net, group.layers), layers, group.tile, group.halo)


def test_many_demands_are_added_up() -> None:
    net = network("resnet18")
    group = FusionGroup(tuple(range(12)), (7, 7), "keep_all", tuple(range(0, 12, 2)))
    cost = group_cost(net, group, edge(glb_bytes=1000), BufferMapper())
    assert isinstance(cost, Infeasible)
    assert " others " in cost.hint
    assert f"{cost.needed - 1000:,.0f} bytes over capacity" in cost.hint


def test_a_group_that_no_tiling_fits_says_the_same_of_its_tightest() -> None:
    why = tile_group(two_convolutions(), (0, 1), edge(glb_bytes=20))
    assert isinstance(why, Infeasible)
    assert "over capacity, for " in why.hint
    assert "tile (" in why.where
