"""Rooflines by hand, of published chips, and against mappings."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from archloom.evaluators.layer_bounds import layer_bound
from archloom.evaluators.network_bounds import any_plan_bound, layer_by_layer_bound
from archloom.evaluators.roofline import dram_bytes_per_cycle, network_roofline, roofline
from archloom.space.layer import Layer
from archloom.space.network import Network
from archloom.space.networks import network
from archloom.space.presets import preset

from .bound_cases import random_problem, runs
from .designs import edge, eyeriss_like, tpu_like


def gemm(m, n, k, name="gemm"):
    return Layer(name, "gemm", n=m, k=n, c=k)


def test_a_product_by_hand():
    """16 MACs, 8 bytes a cycle: a product of 64^3 does 64/3 MACs for a byte, the ridge is 2."""
    roof = roofline(gemm(64, 64, 64), edge())
    assert roof.macs == 64**3
    assert roof.compulsory_bytes == 3 * 64**2
    assert roof.macs_per_byte == pytest.approx(64 / 3)
    assert roof.flop_per_byte == pytest.approx(128 / 3)
    assert (roof.peak_macs_per_cycle, roof.bytes_per_cycle) == (16, 8)
    assert (roof.ridge_macs_per_byte, roof.ridge_flop_per_byte) == (2, 4)
    assert roof.peak_flop_per_s == 2 * 16 * 400e6
    assert roof.attainable_macs_per_cycle == roof.reachable_macs_per_cycle == 16
    assert roof.bound_by == "compute"


def test_a_product_of_a_vector_waits_for_its_weights():
    """Each weight serves one MAC: 8 bytes a cycle feed 8 of the 16 MACs, a little less."""
    roof = roofline(gemm(1, 512, 512), edge())
    assert roof.macs_per_byte == 512**2 / (512**2 + 1024)
    assert roof.attainable_macs_per_cycle == 8 * roof.macs_per_byte
    assert roof.reachable_macs_per_cycle == pytest.approx(roof.attainable_macs_per_cycle)
    assert roof.bound_by == "memory"


def test_a_small_buffer_lowers_what_can_be_reached():
    """Shared registers of 16 x 256 words are all there is: 2 M / sqrt(S) words over DRAM."""
    layer = gemm(512, 512, 512)
    bare = replace(edge(), levels=(edge().levels[0], edge().levels[2]))
    large, small = roofline(layer, edge(1 << 20)), roofline(layer, bare)
    assert large.macs_per_byte == small.macs_per_byte
    assert large.reachable_macs_per_byte == pytest.approx(large.macs_per_byte)
    words = 2 * layer.macs / ((257**0.5 - 1) * 4) + 512**2
    assert small.least_bytes == pytest.approx(words, rel=0.005)
    slow = [replace(hw.levels[-1], bandwidth_words=0.25) for hw in (edge(1 << 20), bare)]
    large, small = (
        roofline(layer, replace(hw, levels=(*hw.levels[:-1], dram)))
        for hw, dram in zip((edge(1 << 20), bare), slow, strict=True)
    )
    assert large.reachable_macs_per_cycle == 16
    assert small.reachable_macs_per_cycle == pytest.approx(layer.macs / words / 4, rel=0.005)


def test_loops_that_cannot_fill_the_array_lower_what_can_be_reached():
    """A depthwise layer on a systolic array: one column of nine rows."""
    layer = Layer("dw", "conv", g=64, p=64, q=64, r=3, s=3, padding=(1, 1), input_size=(64, 64))
    roof = roofline(layer, tpu_like())
    assert roof.peak_macs_per_cycle == 65536
    assert roof.reachable_macs_per_cycle == 9 < roof.attainable_macs_per_cycle


def test_peak_and_ridge_of_tpu_v3():
    """Published: 123 TFLOP/s, 900 GB/s (Jouppi et al., CACM 2020), so a ridge of 137."""
    roof = roofline(gemm(512, 512, 512), preset("tpu_v3"))
    assert roof.peak_flop_per_s == pytest.approx(123e12, rel=0.005)
    assert roof.ridge_flop_per_byte == pytest.approx(137, rel=0.005)


def test_ports_that_read_and_write_apart():
    dram = replace(edge().levels[-1], read_bandwidth_words=2.0, write_bandwidth_words=1.0)
    hardware = replace(edge(), levels=(*edge().levels[:-1], dram))
    assert dram_bytes_per_cycle(hardware) == 3.0
    endless = replace(dram, bandwidth_words=inf, read_bandwidth_words=inf)
    hardware = replace(edge(), levels=(*edge().levels[:-1], endless))
    assert roofline(gemm(2, 2, 2), hardware).ridge_macs_per_byte == 0


def test_a_layer_of_the_vector_unit_has_no_roofline():
    with pytest.raises(ValueError, match=r"pool: maxpool runs on the vector unit"):
        roofline(Layer("pool", "maxpool", r=2, input_size=(2, 1)), edge())


@pytest.mark.parametrize("name", ["tiny_cnn", "tiny_mobile"])
@pytest.mark.parametrize("hardware", [edge(), eyeriss_like(), tpu_like()], ids=lambda h: h.name)
def test_a_network_is_the_sum_of_its_layers(name, hardware):
    net = network(name)
    whole, bound = network_roofline(net, hardware), layer_by_layer_bound(net, hardware)
    parts = [layer_bound(layer, hardware) for layer in net.layers]
    assert whole.macs == net.macs
    assert whole.least_bytes == pytest.approx(bound.dram_bytes)
    assert bound.latency_cycles == sum(part.latency_cycles for part in parts)
    assert bound.energy_pj == pytest.approx(sum(part.energy_pj for part in parts))
    assert bound.latency_cycles >= whole.macs / whole.reachable_macs_per_cycle * (1 - 1e-9)
    assert any_plan_bound(net, hardware).energy_pj <= bound.energy_pj


def test_equal_layers_count_as_often_as_they_run():
    layers = tuple(gemm(8, 16, 16, f"l{i}") for i in range(3))
    net = Network("three", layers, (("input",), ("l0",), ("l1",)))
    one = Network("one", layers[:1], (("input",),))
    three, single = (layer_by_layer_bound(n, edge()) for n in (net, one))
    assert three.dram_bytes == pytest.approx(3 * single.dram_bytes)
    assert three.latency_cycles == 3 * single.latency_cycles
    mixed = Network("mixed", (layers[0], replace(layers[1], density=(0.5, 1.0))), net.reads[:2])
    assert layer_by_layer_bound(mixed, edge()).dram_bytes == pytest.approx(2 * single.dram_bytes)


def test_no_mapping_is_above_the_roof():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = replace(random_problem(rng), density=(1.0, 1.0), staged=(False,) * 3)
        hardware = problem.hardware
        bound = layer_bound_of(problem, hardware)
        for run in runs(problem, rng, 20):
            macs_per_cycle = problem.macs / max(run.chip_cycles, run.dram_cycles)
            assert macs_per_cycle <= hardware.macs
            assert macs_per_cycle <= bound * (1 + 1e-9)


def layer_bound_of(problem, hardware):
    n, g, k, c, p, q, r, s = problem.bounds
    layer = Layer("l", "conv", n, g, k, c, p, q, r, s, *window_of(problem))
    return roofline(layer, hardware).reachable_macs_per_cycle


def window_of(problem):
    return problem.stride, problem.dilation, problem.padding, problem.input_size
