"""Reads of results that leave a buffer for DRAM, where they are counted."""

from dataclasses import replace

import pytest

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import OUTPUTS, TENSORS
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv2d, linear

BUFFER = StorageLevel(
    "buffer", "sram", TENSORS, (1, 1), 4096, 8.0, energy=AccessEnergy(2.0, 3.0, 5.0)
)
DRAM = StorageLevel(
    "dram", "dram", TENSORS, (1, 1), None, 1.0, energy=AccessEnergy(10.0, 10.0, 10.0)
)
CHIP = Hardware("chip", "cacti_45nm", 500, 16, (1, 1), (1, 1), (BUFFER, DRAM), "lpddr4", 4)


def both(hardware: Hardware, layer: Layer, mapping: Mapping) -> tuple[LayerCost, LayerCost]:
    """Return the cost of a mapping without such reads, and with them."""
    counted = replace(hardware, effects=replace(hardware.effects, drain_reads="counted"))
    made = [mapped_cost(MappingProblem.of_layer(layer, h), mapping) for h in (hardware, counted)]
    assert isinstance(made[0], LayerCost)
    assert isinstance(made[1], LayerCost)
    return made[0], made[1]


def test_partial_sums_are_read_each_time_they_leave() -> None:
    """Twelve sums in two halves: each goes to DRAM twice, and is read twice as it leaves."""
    text = "WIO:K3.C3// WIO:P4.C2//"
    free, counted = both(CHIP, linear("fc", 6, 3, 4), Mapping.from_text(text))
    assert free.dram_writes == 2 * 12
    assert counted.energy_pj.sum() - free.energy_pj.sum() == 2 * 12 * 2.0
    assert (counted.words == free.words).all()
    assert (counted.chip_cycles, counted.dram_cycles) == (free.chip_cycles, free.dram_cycles)


@pytest.mark.parametrize("name", ["eyeriss", "fast_small", "tpu_v3", "edgetpu", "shidiannao"])
@pytest.mark.parametrize(
    "layer", [conv2d("c", 16, 32, 14, 3, padding=1), linear("fc", 96, 80, 24)], ids=["conv", "fc"]
)
def test_every_word_that_dram_is_written_was_read_before(name: str, layer: Layer) -> None:
    hardware = preset(name)
    problem = MappingProblem.of_layer(layer, hardware)
    found = Mapper(LocalMapping(), 400, seed=7)(problem)
    assert isinstance(found, LayerCost)
    assert found.mapping is not None
    free, counted = both(hardware, layer, found.mapping)
    kept = max(i for i, level in enumerate(hardware.levels[:-1]) if "outputs" in level.keeps)
    each = access_costs(hardware).read_pj[kept, OUTPUTS] / hardware.levels[kept].width_words
    more = counted.energy_pj - free.energy_pj
    assert more[-1, OUTPUTS] == pytest.approx(free.dram_writes * each, rel=0.05)
    assert more.sum() == more[-1, OUTPUTS] > 0


def test_mappings_are_proven_with_counted_drains() -> None:
    """Their price is one of a write to DRAM, which proofs take as it is."""
    hardware = replace(preset("fast_small"), effects=Effects(drain_reads="counted"))
    problem = MappingProblem.of_layer(conv2d("c", 16, 32, 14, 3, padding=1), hardware)
    found = Mapper(MAPPING_SEARCHES["auto"](), 100_000, 1)(problem)
    assert isinstance(found, LayerCost)
    assert found.gap_percent == 0
    assert found.mapping is not None
    for seed in range(5):
        other = Mapper(LocalMapping(), 2_000, seed)(problem)
        assert isinstance(other, LayerCost)
        assert found.dynamic_pj * found.latency_cycles <= other.dynamic_pj * other.latency_cycles
