import numpy as np
import pytest

from archloom.evaluators.weaving import NPUS, WeightStationary, weight_stationary_chain
from archloom.space.networks import network

ARRAY = WeightStationary(128, 128, 1)


def test_cycles_and_bytes_by_hand() -> None:
    chain = weight_stationary_chain(network("resnet50"), ARRAY)
    # conv1: 3 x 7 x 7 = 147 rows in 2 passes, 64 columns, 112 x 112 positions
    assert chain.cycles[0] == 2 * 112 * 112
    assert chain.weight_bytes[0] == 2 * 64 * 147
    assert chain.footprint_bytes[0] == 2 * (3 * 224 * 224 + 64 * 112 * 112)
    # the classifier: 2048 rows and 1000 columns, one position
    assert chain.cycles[-1] == 16 * 8
    assert chain.weight_bytes[-1] == 2 * 2048 * 1000
    assert len(chain) == 54
    assert (chain.map_bytes.any(), chain.live_bytes[-1]) == (False, 0)
    batch = weight_stationary_chain(network("resnet50"), ARRAY, batch=16)
    assert batch.cycles[0] == 16 * chain.cycles[0]
    assert np.array_equal(batch.weight_bytes, chain.weight_bytes)
    assert np.array_equal(batch.live_bytes, 16 * chain.live_bytes)


def test_groups_stand_along_the_diagonal() -> None:
    chain = weight_stationary_chain(network("mobilenetv2"), ARRAY)
    depthwise = dict(zip(chain.layers, chain.cycles.tolist(), strict=True))
    # 32 channels of 3 x 3: 14 groups of 9 rows fit 128 rows, so 3 passes of 112 x 112 positions
    (name,) = [n for n in chain.layers if depthwise[n] == 3 * 112 * 112][:1]
    assert chain.weight_bytes[chain.layers.index(name)] == 2 * 32 * 9


def test_arrays_share_positions_and_products_of_maps_have_no_weights() -> None:
    bert = network("bert_base", sequence_length=16)
    chain = weight_stationary_chain(bert, NPUS["compute_centric"][1])
    index = chain.layers.index(next(n for n in chain.layers if "scores" in n))
    # 12 heads of 64 x 16 each: one head fills 64 rows; 16 positions on 12 arrays
    assert (chain.weight_bytes[index], chain.cycles[index]) == (0, 12 * 2)


def test_live_maps_are_those_that_later_layers_read() -> None:
    chain = weight_stationary_chain(network("resnet50"), ARRAY)
    # a block's input stays for its addition while its first layer's result is made
    first = chain.layers.index("conv1")
    assert chain.live_bytes[first] == 2 * 64 * 112 * 112
    assert (chain.live_bytes[:-1] > 0).all()


def test_presets_are_those_of_table_1() -> None:
    npu, array = NPUS["memory_centric"]
    assert npu.dram_bytes_per_s / npu.clock_hz == pytest.approx(321.4, abs=0.1)
    assert 2 * array.rows * array.columns * npu.clock_hz == pytest.approx(22.5e12, rel=0.03)
    npu, array = NPUS["compute_centric"]
    assert array.rows * array.columns == 4096
    assert 2 * array.rows * array.columns * array.arrays * npu.clock_hz == pytest.approx(
        92e12, rel=0.02
    )


def test_networks_without_macs_and_batches_of_none_are_refused() -> None:
    from archloom.space.workload import Layer, Network

    pool = Layer("pool", "maxpool", g=4, p=2, q=2, r=2, s=2, stride=(2, 2), input_size=(4, 4))
    with pytest.raises(ValueError, match="network pools has no layer with MACs"):
        weight_stationary_chain(Network("pools", (pool,), (("input",),)), ARRAY)
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        weight_stationary_chain(network("tiny_mlp"), ARRAY, batch=0)
