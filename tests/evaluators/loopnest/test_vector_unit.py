"""Traffic of the vector unit, word by word."""

from dataclasses import replace
from math import ceil

import pytest

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.layer_cost import whole_pj
from archloom.evaluators.loopnest.vector_unit import (
    ManyVectors,
    VectorTile,
    vector_cost,
    vector_least,
)
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    activation,
    add,
    linear,
    lstm_cell,
    max_pool2d,
    mul,
)
from archloom.space.workload.vector_layer_builders import (
    bilinear,
    copy,
    div,
    group_norm,
    layer_norm,
    rms_norm,
    rotary,
    softmax,
)

from ...cases.designs import edge, eyeriss_like

POOL = max_pool2d("pool", 6, 6, 3, 2, 1)
SUM = add("add", 8, 5).with_batch(3)


def bare():
    """Return a design without a shared buffer."""
    hardware = edge()
    return replace(hardware, levels=(hardware.levels[0], hardware.levels[2]))


def whole(layer: Layer, hardware):
    """Return the cost of a layer alone, its words at buffer and DRAM."""
    cost = vector_cost(layer, hardware, layer.p, layer.q, staged=False)
    assert cost.operations == layer.vector_ops
    assert cost.dram_reads + cost.dram_writes == cost.words[-1].sum()
    costs = access_costs(hardware)
    assert cost.compute_pj == whole_pj(layer.vector_ops * costs.vector_op_pj)
    assert cost.chip_cycles >= ceil(layer.vector_ops / hardware.vector_lanes)
    return cost


def test_a_pool_reads_its_windows_from_the_buffer_and_each_word_of_dram_once():
    hardware = edge()
    cost = whole(POOL, hardware)
    taps, fetched, made = 6 * 9 * 9, 6 * 36, 6 * 9
    assert cost.words.tolist() == [[0, 0, 0], [0, taps + fetched, made], [0, fetched, made]]
    assert (cost.dram_reads, cost.dram_writes, cost.operations) == (fetched, made, taps)
    costs = access_costs(hardware)
    # buffer and DRAM words travel eight and one at a time
    buffer_pj = ceil(taps / 8) * costs.read_pj[1, 1] + ceil(fetched / 8) * costs.write_pj[1, 1]
    assert cost.energy_pj[1, 1] == whole_pj(buffer_pj)
    assert cost.energy_pj[2, 1] == whole_pj(fetched * costs.read_pj[2, 1])
    # four lanes; the buffer moves sixteen words a cycle and DRAM eight
    assert cost.chip_cycles == max(ceil(taps / 4), ceil((taps + fetched + made) / 16))
    assert cost.dram_cycles == ceil((fetched + made) / 8)


def test_a_tile_of_an_add_stays_in_the_buffer():
    cost = vector_cost(SUM, edge(), 2, 5, staged=True)
    # one image of the batch at a time, both operands
    assert cost.words.tolist() == [[0, 0, 0], [0, 2 * 80, 80], [0, 0, 0]]
    assert (cost.dram_reads, cost.dram_writes, cost.dram_cycles) == (0, 0, 0)
    assert cost.operations == 2 * 80
    alone = whole(SUM, edge())
    assert (alone.dram_reads, alone.dram_writes) == (SUM.input_words, SUM.output_words)


def test_without_a_shared_buffer_vector_operators_stream_from_dram():
    cost = whole(POOL, bare())
    assert cost.words.tolist() == [[0, 0, 0], [0, 6 * 36, 6 * 9]]
    assert cost.chip_cycles == ceil(6 * 9 * 9 / 4)


def test_a_broadcast_value_is_read_once_for_its_channel():
    layer = mul("scale", 8, (6, 5), broadcast=True).with_batch(2)
    cost = whole(layer, edge())
    made, factors = 2 * 240, 2 * 8
    fetched = made + factors
    assert cost.words[1].tolist() == [0, fetched + fetched, made]
    assert cost.words[2].tolist() == [0, fetched, made]
    assert cost.operations == 2 * made
    tile = vector_cost(layer, edge(), 2, 5, staged=True)
    assert tile.words[1].tolist() == [0, 80 + 8, 80]


def test_softmax_passes_three_times_and_writes_twice():
    layer = softmax("s", 10, positions=6, heads=4).with_batch(2)
    words = 2 * 240
    cost = whole(layer, edge())
    assert cost.words[1].tolist() == [0, 3 * words + words, 2 * words]
    assert cost.words[2].tolist() == [0, words, words]
    assert cost.operations == 12 * words
    tile = vector_cost(layer, edge(), 3, 1, staged=True)
    assert tile.words.tolist() == [[0, 0, 0], [0, 3 * 120, 2 * 120], [0, 0, 0]]


def test_passes_go_to_dram_where_no_buffer_holds_a_vector():
    layer = softmax("s", 10, positions=6, heads=4)
    assert whole(layer, bare()).words[-1].tolist() == [0, 3 * 240, 2 * 240]
    # a vector of ten words and its ten results need twenty bytes
    fits, small = (whole(layer, edge(glb_bytes)) for glb_bytes in (20, 19))
    assert fits.words[-1].tolist() == [0, 240, 240]
    assert small.words[-1].tolist() == [0, 3 * 240, 2 * 240]
    assert small.words[1].tolist() == [0, 3 * 240 + 3 * 240, 2 * 240]
    # others need no more than a word of their input at a time
    assert whole(activation("a", "gelu", 40, 6), edge(1)).words[-1].tolist() == [0, 1440, 1440]


@pytest.mark.parametrize(
    ("hardware", "dram", "buffer"),
    [
        # once from DRAM; to the buffer once, and from it once for each image
        (edge(), 20, 20 + 3 * 20),
        # the buffer keeps no weights: straight from DRAM, for each image
        (eyeriss_like(), 3 * 20, 0),
    ],
)
def test_layer_norm_reads_its_learned_values(hardware, dram, buffer):
    layer = layer_norm("n", 10, positions=6).with_batch(3)
    words = 3 * 60
    cost = whole(layer, hardware)
    assert cost.words[1].tolist() == [buffer, 2 * words + words, words]
    assert cost.words[2].tolist() == [dram, words, words]
    assert (cost.dram_reads, cost.dram_writes) == (dram + words, words)
    assert cost.energy_pj[2, 0] > 0


def test_learned_values_of_a_tile_come_from_dram_unless_they_are_resident():
    layer = layer_norm("n", 10, positions=6)
    streamed = vector_cost(layer, edge(), 2, 1, staged=True)
    assert streamed.words.tolist() == [[0, 0, 0], [40, 2 * 20, 20], [20, 0, 0]]
    resident = vector_cost(layer, edge(), 2, 1, staged=True, resident=True)
    assert resident.words.tolist() == [[0, 0, 0], [20, 2 * 20, 20], [0, 0, 0]]


def test_an_lstm_step_reads_each_gate_once_and_both_states():
    _, state, output = lstm_cell("lstm", 3, 5)
    assert whole(state, edge()).words.tolist() == [[0, 0, 0], [0, 20 + 20, 5], [0, 20, 5]]
    assert whole(output, edge()).words.tolist() == [[0, 0, 0], [0, 10 + 10, 5], [0, 10, 5]]


@pytest.mark.parametrize(
    ("layer", "operations", "read", "fetched"),
    [
        # for 60 results: operations and reads of the buffer for each, words of the maps
        (copy("twice", (3, 5, 4), (15,)), 1, 1, 15),
        (copy("behind", (1, 60, 1), (20, 30, 10)), 1, 1, 60),
        # three interpolations of three operations from four corners
        (bilinear("smooth", (3, 5, 4), 15), 9, 4, 15),
        (group_norm("groups", 6, (5, 2), 3), 10, 2, 60),
        (rotary("turn", 6, 10), 3, 1, 60),
        (div("ratio", 3, (5, 4)), 4, 2, 120),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("batch", [1, 2])
def test_what_copies_and_norms_take_for_each_result(layer, operations, read, fetched, batch):
    cost, made = whole(layer.with_batch(batch), edge()), batch * 60
    assert cost.operations == operations * made
    assert cost.words[1].tolist() == [0, read * made + batch * fetched, made]
    assert cost.words[2].tolist() == [0, batch * fetched, made]


def test_an_rms_norm_reads_twice_and_has_one_scale_a_feature():
    cost = whole(rms_norm("n", 6, 10), edge())
    assert cost.operations == 4 * 60
    assert cost.words.tolist() == [[0, 0, 0], [6 + 6, 2 * 60 + 60, 60], [6, 60, 60]]


def test_ports_and_word_widths_of_levels_count():
    layer, hardware = activation("a", "relu", 64, 4), edge()
    words = 64 * 16
    glb, dram = hardware.levels[1:]

    def cycles(**changes):
        levels = (hardware.levels[0], replace(glb, **changes), dram)
        return whole(layer, replace(hardware, levels=levels, vector_lanes=10**6)).chip_cycles

    assert cycles() == 3 * words / 16
    assert cycles(read_bandwidth_words=2) == words / 2
    assert cycles(write_bandwidth_words=4) == 2 * words / 4
    # results of two bytes take two of the port's words at DRAM
    wide = replace(dram, tensor_bits=(("outputs", 16),))
    cost = whole(layer, replace(hardware, levels=(*hardware.levels[:2], wide)))
    assert cost.dram_cycles == 3 * words / 8


def test_a_layer_of_the_array_is_refused():
    with pytest.raises(ValueError, match="layer fc: gemm runs on the MAC array"):
        vector_cost(linear("fc", 4, 4), edge(), 1, 1, staged=False)


@pytest.mark.parametrize("layer", [POOL, SUM, softmax("soft", 8, 5).with_batch(2)])
def test_tiles_take_at_least_what_the_whole_operator_takes_of_the_buffer(layer):
    hardware = edge()
    energy, cycles = vector_least(layer, hardware)
    operations = layer.vector_ops * access_costs(hardware).vector_op_pj
    for rows in (1, layer.p):
        tile = vector_cost(layer, hardware, rows, layer.q, staged=True, resident=True)
        times = layer.n * -(-layer.p // rows)
        # energies of a tile are rounded to 2**-8 pJ
        assert times * (tile.dynamic_pj + 2**-7) >= energy + operations
        assert times * tile.chip_cycles >= cycles
    # accesses and cycles are rounded up once for each image
    assert layer.n * (tile.chip_cycles - 1) <= max(cycles, layer.vector_ops / hardware.vector_lanes)
    assert vector_least(layer, bare()) == (0.0, 0.0)


def test_many_streamed_operators_cost_what_each_of_them_costs() -> None:
    layers = [layer for layer in network("llama3_8b_prefill").layers if layer.vector][:12]
    layers += [layer for layer in network("unet").layers if layer.vector]
    whole = [VectorTile(one, one.p, one.q, staged=False) for one in layers]
    streamed = ManyVectors(whole)
    for hardware in (edge(), eyeriss_like(), edge()):
        energy, cycles = streamed.costs(hardware)
        alone = [vector_cost(one, hardware, one.p, one.q, staged=False) for one in layers]
        assert energy.tolist() == [one.dynamic_pj for one in alone]
        assert cycles.tolist() == [one.latency_cycles for one in alone]


def test_many_tiles_cost_what_each_of_them_costs() -> None:
    layers = [layer for layer in network("unet").layers if layer.vector]
    layers += [layer for layer in network("llama3_8b_prefill").layers if layer.vector][:12]
    tiles = [
        VectorTile(layer, -(-layer.p // 2), layer.q, staged=True, resident=stays)
        for layer in layers
        for stays in (False, True)
    ]
    together = ManyVectors(tiles)
    for hardware in (edge(), eyeriss_like(), edge()):
        energy, cycles = together.costs(hardware, on_chip=True)
        costs = [
            vector_cost(tile.layer, hardware, tile.rows, tile.columns, True, tile.resident)
            for tile in tiles
        ]
        on_chip = [cost.dynamic_pj - float(cost.energy_pj[-1].sum()) for cost in costs]
        assert energy.tolist() == on_chip
        assert cycles.tolist() == [cost.latency_cycles for cost in costs]
