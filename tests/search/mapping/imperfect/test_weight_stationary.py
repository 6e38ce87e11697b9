"""The two products of attention on a weight-stationary array, of 197 and of 256 tokens."""

from math import inf

import pytest

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS, Dim, Tensor
from archloom.space.workload.layer import Layer


def level(
    name: str,
    pj: float,
    capacity: float | None,
    *,
    keeps: tuple[Tensor, ...] = TENSORS,
    mesh: tuple[int, int] = (1, 1),
    x: tuple[Dim, ...] = (),
    y: tuple[Dim, ...] = (),
    words: float = inf,
    ports: float = inf,
) -> StorageLevel:
    return StorageLevel(
        name=name,
        storage="dram" if name == "dram" else "sram",
        keeps=keeps,
        mesh=mesh,
        capacity_bytes=capacity,
        bandwidth_words=words,
        read_bandwidth_words=ports,
        write_bandwidth_words=ports,
        energy=AccessEnergy(pj, pj, pj),
        spatial_x=x,
        spatial_y=y,
    )


ARRAY = Hardware(
    name="ws",
    technology="cacti_45nm",
    frequency_mhz=1000,
    word_bits=16,
    pe_mesh=(32, 32),
    array=(1, 1),
    levels=(
        level("register", 1.6, 2, keeps=("weights",), mesh=(32, 32)),
        level("buffer", 40, 2**20, x=("K",), y=("C",), ports=128),
        level("dram", 800, None, words=16),
    ),
    dram="lpddr4",
    vector_lanes=32,
    mac_pj=0.5,
)


def edp_js(tokens: int, factors: str) -> tuple[float, float]:
    """EDP of both products one after another, and the larger gap (percent)."""
    energy, cycles, gap = 0.0, 0, 0.0
    for k, c in ((tokens, 64), (64, tokens)):
        layer = Layer("product", "gemm", g=12, k=k, c=c, p=tokens, input_size=(tokens, 1))
        cost = Mapper(auto_mapping(), 100_000, 1, factors)(MappingProblem.of_layer(layer, ARRAY))
        assert isinstance(cost, LayerCost)
        energy, cycles = energy + cost.dynamic_pj, cycles + cost.latency_cycles
        gap = max(gap, cost.gap_percent)
    return energy * 1e-12 * cycles * 1e-9, gap


def test_bounds_that_divide_well_cost_what_they_cost() -> None:
    assert edp_js(256, "exact") == edp_js(256, "imperfect") == (pytest.approx(3.6988e-7, 1e-4), 0)


def test_a_prime_costs_a_sixtieth_and_is_within_two_percent_of_the_least() -> None:
    exact, _ = edp_js(197, "exact")
    value, gap = edp_js(197, "imperfect")
    assert value == pytest.approx(1.5539e-7, rel=1e-4)
    assert value < exact / 60
    assert gap < 2
