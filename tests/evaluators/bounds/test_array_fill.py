"""What filling and draining arrays takes at least, against all shapes and all mappings."""

from dataclasses import replace
from math import inf

import pytest

from archloom.evaluators.bounds.array_fill import filled_cycles, least_fill_cycles
from archloom.evaluators.bounds.layer import layer_bound, least_costs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import Effects
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer

from ...cases.small_problems import drawn_filled
from ...oracles.enumerated_mappings import all_prices, kept, tilings

PRODUCT = Layer("product", "gemm", k=1024, c=1024, p=64, input_size=(64, 1))


def tpu(mode: str) -> MappingProblem:
    chip = replace(preset("tpu_v3"), effects=Effects(fill_drain=mode))
    return MappingProblem.of_layer(PRODUCT, chip)


def test_nothing_is_added_where_arrays_do_not_fill() -> None:
    problem = tpu("none")
    assert filled_cycles(problem, problem.setup) == 0
    assert least_fill_cycles(problem, problem.setup) == 0


def test_a_product_on_four_arrays_is_that_of_the_best_shape() -> None:
    """Latches hold two weights each: 1,024 x 1,024 are loaded eight times at least."""
    problem, arrays, side = tpu("exposed"), 4, 128
    latch = problem.hardware.levels[0]
    assert (latch.keeps, latch.capacity_bytes) == (("weights",), 2 * problem.hardware.word_bits / 8)
    least = min(
        64 * 1024 * 1024 / (arrays * r * c)
        + max(1, 1024 * 1024 / 2 / (arrays * r * c)) * (2 * r + c - 2)
        for r in range(1, side + 1)
        for c in range(1, side + 1)
    )
    assert least == 1024 + 8 * (3 * 128 - 2)
    assert filled_cycles(problem, problem.setup) == least
    assert least_costs(problem)[1] == least


@pytest.mark.parametrize("first", [0, 100])
def test_no_mapping_takes_fewer_cycles(first: int) -> None:
    reached = 0
    for number in range(first, first + 100):
        problem = drawn_filled(number)
        tiled = tilings(problem.setup, 200_000)
        assert tiled is not None
        _, cycles = all_prices(problem.setup, kept(problem.setup), tiled)
        least, bound = cycles.min(), filled_cycles(problem, problem.setup)
        assert bound <= least, number
        assert least_fill_cycles(problem, problem.setup) <= bound
        assert least_costs(problem)[1] >= bound
        reached += bound == least
    # one cycle more would be too many
    assert reached > 5


def test_the_bound_of_a_layer_counts_it() -> None:
    grown = dict.fromkeys(("exposed", "overlapped"), 0)
    for mode in grown:
        chip = replace(preset("tpu_v3"), effects=Effects(fill_drain=mode))
        for layer in network("resnet18").layers:
            if not layer.uses_macs:
                continue
            plain = layer_bound(layer, preset("tpu_v3")).latency_cycles
            bound = layer_bound(layer, chip).latency_cycles
            assert inf > bound >= plain > 0
            grown[mode] += bound > 1.1 * plain
    assert min(grown.values()) > 5
