"""How a fused group is tiled."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.search.fusion.tiling.default import tile_group
from archloom.search.fusion.tiling.known_tilings import core_tile_sizes
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.graph import components, connected
from archloom.space.workload.layer_builders import linear
from archloom.space.workload.network import Network

from ....cases.small_designs import casco_edge, chain, three_levels, two_levels
from ....cases.sweeps import sweep

REAL = {name: network(name) for name in ("resnet18", "mobilenetv2")}
DESIGNS = {
    "eyeriss": preset("eyeriss"),
    "32 KiB": casco_edge(32),
    "512 KiB": casco_edge(512),
    "ten words": three_levels(10),
    "sixteen cores": preset("edgetpu"),
    "two cores": preset("tpu_v3"),
}


def words_of(hardware: Hardware) -> int:
    """Words of the buffer that holds the maps of a group, or that of a core's tiles."""
    cores = fusion_cores(hardware)
    assert isinstance(cores, Cores)
    return buffer_words(cores.one)


@st.composite
def runs(draw: st.DrawFn, name: str) -> tuple[int, ...]:
    """Some connected layers that follow each other."""
    net = REAL[name]
    first = draw(st.integers(0, len(net.layers) - 2))
    last = draw(st.integers(first + 2, min(len(net.layers), first + 9)))
    return components(net, range(first, last))[0]


#: each design with one network first, networks taking turns
TILED = [
    (tuple(REAL)[(number + turn) % 2], design)
    for turn in range(2)
    for number, design in enumerate(DESIGNS)
]


@pytest.mark.parametrize(("name", "design"), sweep(TILED, len(DESIGNS)))
@given(data=st.data())
def test_a_chosen_tiling_has_a_price(name: str, design: str, data: st.DataObject) -> None:
    """Geometry and price agree: what the tiling takes for feasible is."""
    net, hardware = REAL[name], DESIGNS[design]
    layers = data.draw(runs(name))
    tiled = tile_group(net, layers, hardware)
    if isinstance(tiled, Infeasible):
        assert tiled.reason == "glb_overflow"
        assert tiled.needed > tiled.available
        assert tiled.available == words_of(hardware) * hardware.word_bits / 8
        assert net.layers[layers[0]].name in tiled.where
        return
    assert tiled.layers == layers
    if len(layers) > 1:
        assert tiled.tile is not None
    cost = group_cost(net, tiled, hardware, Mapper(LocalMapping(), 1, seed=0))
    assert not isinstance(cost, Infeasible)
    assert cost.peak_words <= words_of(hardware)


def test_one_layer_streams() -> None:
    assert tile_group(chain(3), (1,), casco_edge()) == FusionGroup((1,))


def test_a_group_that_fits_whole_is_not_cut() -> None:
    net = chain(3, size=8)
    tiled = tile_group(net, (0, 1, 2), casco_edge(512))
    assert isinstance(tiled, FusionGroup)
    assert tiled.tile == (8, 8)


def test_a_smaller_buffer_takes_smaller_tiles() -> None:
    net = chain(3, size=64, channels=16)
    areas = []
    for l2_kib in (1024, 256, 128, 32):
        tiled = tile_group(net, (0, 1, 2), casco_edge(l2_kib))
        assert isinstance(tiled, FusionGroup)
        assert tiled.tile is not None
        areas.append(tiled.tile[0] * tiled.tile[1])
    assert areas == sorted(areas, reverse=True)
    assert areas[0] == 64 * 64
    assert areas[-1] < 64 * 64 / 4


def test_weights_stay_where_there_is_room_for_them_only() -> None:
    net = chain(4, size=64, channels=32)
    layers = (0, 1, 2, 3)
    weights = [net.layers[i].weight_words for i in layers]
    for l2_kib in (32, 64, 128, 256):
        hardware = casco_edge(l2_kib)
        tiled = tile_group(net, layers, hardware)
        assert isinstance(tiled, FusionGroup)
        assert sum(weights[i] for i in tiled.resident) < buffer_words(hardware)
        rows, columns = tiled.tile or (64, 64)
        tiles = ceil(64 / rows) * ceil(64 / columns)
        if tiles > 1 and l2_kib >= 128:
            assert tiled.resident == layers
        if tiles == 1:
            assert tiled.resident == ()


def test_hardware_that_keeps_no_weights_streams_them() -> None:
    net = REAL["mobilenetv2"]
    tiled = tile_group(net, (3, 4, 5, 6), preset("eyeriss"))
    assert isinstance(tiled, FusionGroup)
    assert tiled.resident == ()


def test_hardware_without_a_shared_buffer_cannot_fuse() -> None:
    net = REAL["resnet18"]
    blocked = tile_group(net, (2, 3), two_levels())
    assert isinstance(blocked, Infeasible)
    assert blocked.reason == "no_shared_buffer"


def test_a_group_whose_least_tile_is_too_large_says_what_it_needs() -> None:
    net = REAL["resnet18"]
    layers = tuple(range(len(net.layers) - 4, len(net.layers)))
    assert connected(net, layers)
    blocked = tile_group(net, layers, three_levels(200))
    assert isinstance(blocked, Infeasible)
    assert blocked.reason == "glb_overflow"
    assert (blocked.available, blocked.unit) == (200, "bytes")
    assert blocked.needed > 512 * 49


def test_a_larger_batch_does_not_need_a_larger_buffer() -> None:
    """Tiles hold one image at a time."""
    net = chain(3, size=64, channels=16)
    one, many = (tile_group(n, (0, 1, 2), casco_edge(64)) for n in (net, net.with_batch(8)))
    assert not isinstance(one, Infeasible)
    assert not isinstance(many, Infeasible)


@pytest.mark.parametrize("batch", [1, 3])
def test_weights_that_layers_share_stay_for_all_of_them(batch: int) -> None:
    """Four layers with one set of weights: it comes once, even in a single tile."""
    first = linear("l0", 16, 16, bias=False)
    rest = [replace(first, name=f"l{i}", weights_of="l0") for i in range(1, 4)]
    reads = tuple((name,) for name in ("input", "l0", "l1", "l2"))
    net = Network("steps", (first, *rest), reads).with_batch(batch)
    design, mapper = casco_edge(32), Mapper(LocalMapping(), 40, 1)
    group = tile_group(net, (0, 1, 2, 3), design)
    assert isinstance(group, FusionGroup)
    assert group.resident == (0, 1, 2, 3)
    cost = group_cost(net, group, design, mapper)
    assert not isinstance(cost, Infeasible)
    assert cost.dram_reads == 16 * 16 + 16 * batch


@pytest.mark.parametrize(("rows", "columns", "cores"), [(112, 112, 16), (7, 7, 16), (1, 1, 4)])
def test_tiles_for_several_cores_leave_few_of_them_without_one(
    rows: int, columns: int, cores: int
) -> None:
    tiles = list(core_tile_sizes(rows, columns, cores))
    counts = [ceil(rows / a) * ceil(columns / b) for a, b in tiles]
    assert (1, 1) in tiles
    assert len(set(tiles)) == len(tiles)
    assert min(counts) >= min(cores / 2, rows * columns)
    assert any(count % cores == 0 for count in counts) or rows * columns < 2 * cores


def test_images_that_come_out_even_are_tiled_as_on_one_core() -> None:
    """Two images on two cores, in the tiles that one of the cores would run one of them in."""
    net, chip = REAL["mobilenetv2"], preset("tpu_v3")
    cores = fusion_cores(chip)
    assert isinstance(cores, Cores)
    for layers in (tuple(range(3)), tuple(range(4, 9))):
        pair = tile_group(net.with_batch(2), layers, chip)
        assert isinstance(pair, FusionGroup)
        one = tile_group(net, layers, cores.one)
        assert isinstance(one, FusionGroup)
        assert (pair.tile, pair.halo) == (one.tile, one.halo)
