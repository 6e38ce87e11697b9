"""No design of a box beats the box's relaxed hardware; a box of one design has its area and TDP."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.bounds.box.relaxation import Relaxation, Relaxed
from archloom.evaluators.bounds.compulsory import compute_cycles, latency_bound_cycles, pass_bounds
from archloom.evaluators.bounds.network.plans import tight_pass_bounds
from archloom.evaluators.bounds.network.work import Plans
from archloom.evaluators.bounds.rounding import grains_below
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs, hardware_cost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.boxes.box import Box, BoxedSpace, cut, size
from archloom.space.design_space.boxes.structure import BoxStructure
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.fusion.plan import layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from ...contracts.problems import small_space
from ...source_tree import ROOT

EDGE = ROOT / "space" / "design_space" / "templates" / "casco_edge.yaml"

NETWORKS = (
    network("tiny_cnn"),
    network("tiny_mlp"),
    network("tiny_mobile").with_density(0.2, 0.5),
)
PLANS: tuple[Plans, ...] = ("layer_by_layer", "any", "steady")

#: with switches that the built-in spaces do not use
SWITCHES = """
description: Private buffers, wide sums, clusters, own energies, ports, zeros.
technology: eyeriss_65nm
dram: ddr3
parameters:
  x: {values: [2, 4, 6, 8], scale: linear}
  y: {values: [2, 4, 8], scale: pow2}
  pad: {low: 32, high: 256, scale: pow2}
  line: {values: [1, 2, 4, 16], scale: pow2}
  kib: {values: [0, 16, 64, 256], scale: pow2}
  pj: {values: [0.5, 2.0, 3.0], scale: linear}
  bits: {values: [8, 16], scale: pow2}
  zeros: {values: [computed, gated, skipped]}
  format: {values: [dense, bitmask, run_length, csr]}
  clock_mhz: {values: [100, 300], scale: linear}
frequency_mhz: "= clock_mhz"
word_bits: "= bits"
pe_mesh: ["= x", "= y"]
vector_lanes: "= x"
effects: {weight_zeros: "= zeros", weight_format: "= format", network: mesh}
levels:
  - {name: taps, storage: register, keeps: [weights], mesh: ["= x", "= y"],
     capacity_bytes: "= pad", bandwidth_words: 1}
  - {name: sums, storage: "= 'register' if pad < 100 else 'sram'", keeps: [inputs, outputs],
     mesh: ["= x", "= y"], capacity_bytes: {inputs: "= pad", outputs: "= 2 * pad"},
     bandwidth_words: "= 1 + pad / 64", tensor_bits: {outputs: 32}, multiple_buffering: 2}
  - {name: row, storage: sram, keeps: [weights, outputs], mesh: ["= x", 1],
     capacity_bytes: "= 1024 * line", bandwidth_words: 8, width_words: "= line",
     cluster_size: 2, optional: true}
  - {name: bank, storage: sram, keeps: [weights, inputs, outputs], mesh: [2, 1],
     capacity_bytes: 4096, bandwidth_words: "= pj + 6", read_bandwidth_words: "= line",
     energy: {read_pj: "= pj", fill_pj: "= 2 * pj", update_pj: 1.5, leakage_pj: "= pj / 8"}}
  - {name: buffer, when: kib > 0, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: "= 1024 * kib", bandwidth_words: "= max(x, y) + line", width_words: "= line"}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: "= 8 / pj"}
"""


@cache
def structure_of(name: str, folder: Path) -> tuple[BoxStructure, Relaxation, list[Box]]:
    if name == "small":
        space = small_space(folder)
    elif name == "switches":
        path = folder / "switches.yaml"
        path.write_text(SWITCHES)
        space = HardwareSpace.load(path)
    else:
        space = HardwareSpace.load(name)
    structure = BoxStructure(BoxedSpace(space))
    return structure, Relaxation(structure), structure.decided_boxes(10_000) or []


@pytest.fixture(params=["small", "switches", "casco_edge", "fast"])
def space(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[BoxStructure, Relaxation, list[Box]]:
    return structure_of(request.param, tmp_path_factory.getbasetemp())


def cut_down(box: Box, rng: np.random.Generator) -> Box:
    """Return a part of a box after a few cuts."""
    for _ in range(int(rng.integers(8))):
        wide = [i for i, (start, stop) in enumerate(box) if stop - start > 1]
        if wide:
            i = int(rng.choice(wide))
            start, stop = box[i]
            box = cut(box, i, (start + stop) // 2)[int(rng.integers(2))]
    return box


def designs(structure: BoxStructure, box: Box, rng: np.random.Generator) -> list[Hardware]:
    parameters = structure.boxed.space.parameters
    found = []
    for _ in range(6):
        # ends are met more often than the middle
        at = [int(rng.choice((start, stop - 1, rng.integers(start, stop)))) for start, stop in box]
        point = {p.name: p.values[i] for p, i in zip(parameters, at, strict=True)}
        design = structure.boxed.space.build(point)
        if isinstance(design, Hardware):
            found.append(design)
    return found


def slice_of(relaxed: Relaxed, design: Hardware) -> int:
    low, high = relaxed.macs.T
    (place,) = np.flatnonzero((low <= design.macs) & (design.macs <= high))
    return int(place)


def test_no_design_beats_its_box(space: tuple[BoxStructure, Relaxation, list[Box]]) -> None:
    structure, relaxation, boxes = space
    rng, seen = np.random.default_rng(3), 0
    for box in (boxes[i] for i in rng.integers(len(boxes), size=20)):
        part = cut_down(box, rng)
        relaxed = relaxation.of(part)
        for design in designs(structure, part, rng):
            assert not relaxation.broken(part)
            seen += 1
            i, cost = slice_of(relaxed, design), hardware_cost(design)
            assert relaxed.area_mm2[i] <= cost.area_mm2
            assert relaxed.tdp_w[i] <= cost.tdp_w
            leakage = access_costs(design).leakage_pj_per_cycle
            assert relaxed.leakage_pj[i] <= leakage
            for n in NETWORKS:
                assert_below(n, relaxed, i, design)
    assert seen > 50


def test_tiles_that_fill_meshes_are_those_of_the_designs(
    space: tuple[BoxStructure, Relaxation, list[Box]],
) -> None:
    """Of boxes whose tilings are decided: bounds of nests look at the same sizes as searches."""
    structure, relaxation, boxes = space
    rng, seen = np.random.default_rng(5), 0
    for whole in (boxes[i] for i in rng.integers(len(boxes), size=20)):
        decided = {i: int(rng.integers(*whole[i])) for i in relaxation.tiling_parameters(whole)}
        box = tuple(
            (decided[i], decided[i] + 1) if i in decided else ends for i, ends in enumerate(whole)
        )
        relaxed = relaxation.of(box).hardware
        for design in designs(structure, box, rng):
            sides, own = ({side for fan in h.fanouts for side in fan} for h in (relaxed, design))
            assert sides | {1} == own | {1}
            seen += 1
    assert seen > 50


def test_no_plan_on_a_design_is_below_the_bounds_of_its_box(
    space: tuple[BoxStructure, Relaxation, list[Box]],
) -> None:
    structure, relaxation, boxes = space
    rng, seen, net = np.random.default_rng(8), 0, NETWORKS[2]
    for box in (boxes[i] for i in rng.integers(len(boxes), size=12)):
        part = cut_down(box, rng)
        relaxed = relaxation.of(part)
        for design in designs(structure, part, rng)[:2]:
            run = net.with_batch(design.native_batch)
            price = MemoizedPlanEvaluator(run, design, Mapper(LocalMapping(), 60, seed=1))
            cost = price.plan(layer_by_layer(run))
            if not isinstance(cost, NetworkCost):
                continue
            seen += 1
            i = slice_of(relaxed, design)
            leakage = float(relaxed.leakage_pj[i])
            compute = compute_cycles(net, relaxed.hardware, relaxed.macs[i : i + 1, 1])
            assert float(compute[0]) <= cost.latency_cycles
            bounds = [tight_pass_bounds(net, relaxed.hardware, plans) for plans in PLANS]
            for energy_pj, cycles in (pass_bounds(net, relaxed.hardware), *bounds):
                assert cycles <= cost.latency_cycles
                assert energy_pj + cycles * leakage <= cost.energy_pj
    assert seen > 7


def assert_below(run: Network, relaxed: Relaxed, i: int, design: Hardware) -> None:
    """Check loose and tight bounds of a network."""
    leakage = float(relaxed.leakage_pj[i])
    compute = float(compute_cycles(run, relaxed.hardware, relaxed.macs[i : i + 1, 1])[0])
    for steady in (False, True):
        least = pass_bounds(run, relaxed.hardware, steady)
        batched = run.with_batch(design.native_batch)
        assert compute <= latency_bound_cycles(batched, design, steady)
        compare(least, leakage, pass_bounds(run, design, steady))
    for plans in PLANS:
        tight = tight_pass_bounds(run, relaxed.hardware, plans)
        compare(tight, leakage, tight_pass_bounds(run, design, plans))


def compare(least: tuple[float, float], leakage: float, own: tuple[float, float]) -> None:
    # of a design, leakage is in the energy before that is rounded down
    assert grains_below(least[0] + least[1] * leakage) <= own[0]
    assert least[1] <= own[1]


def test_a_box_of_one_design_has_its_area_power_and_leakage(
    space: tuple[BoxStructure, Relaxation, list[Box]],
) -> None:
    structure, relaxation, _ = space
    rng = np.random.default_rng(4)
    for _ in range(60):
        point = structure.boxed.space.sample(rng)
        design = structure.boxed.space.build(point)
        box = tuple((i, i + 1) for i in structure.boxed.positions(point))
        assert size(box) == 1
        if not isinstance(design, Hardware):
            assert relaxation.broken(box)
            continue
        relaxed, cost = relaxation.of(box), hardware_cost(design)
        assert relaxed.macs.tolist() == [[design.macs, design.macs]]
        assert relaxed.area_mm2[0] == pytest.approx(cost.area_mm2, rel=1e-10)
        leakage = access_costs(design).leakage_pj_per_cycle
        assert relaxed.leakage_pj[0] == pytest.approx(leakage, rel=1e-10)
        # power of levels that share what others leave them is bounded for all of their tensors
        low = 0.7 if structure.boxed.space.name == "switches" else 1 - 1e-10
        assert low * cost.tdp_w <= relaxed.tdp_w[0] <= cost.tdp_w


@pytest.mark.parametrize("name", ["small", "switches"])
def test_levels_that_boxes_share_are_those_of_each(name: str, tmp_path: Path) -> None:
    structure, shared, boxes = structure_of(name, tmp_path)
    halves = [part for box in boxes for i in range(len(box)) for part in halved(box, i)]
    for box in halves[::7]:
        shared.of(box)
    for box in halves[::31]:
        found, alone = shared.of(box), Relaxation(structure).of(box)
        assert found.hardware == alone.hardware
        for ours, own in zip(figures(found), figures(alone), strict=True):
            assert np.array_equal(ours, own)


def test_rates_are_told_from_what_mappings_meet(tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    for change, rates in (
        ("", ["dram_channels", "clock_mhz"]),
        ("pe_x + pe_y * clock_mhz // 200", ["dram_channels"]),
    ):
        text = EDGE.read_text()
        file.write_text(text.replace("= pe_x + pe_y", f"= {change}") if change else text)
        space = HardwareSpace.load(file)
        structure = BoxStructure(BoxedSpace(space))
        names = [parameter.name for parameter in space.parameters]
        for box in structure.decided_boxes(100) or []:
            found = Relaxation(structure).rate_parameters(box)
            assert [names[i] for i in found] == rates


def halved(box: Box, parameter: int) -> tuple[Box, ...]:
    start, stop = box[parameter]
    return cut(box, parameter, (start + stop) // 2) if stop - start > 1 else ()


def figures(found: Relaxed) -> list[np.ndarray]:
    return [found.slices, found.macs, found.area_mm2, found.tdp_w, found.leakage_pj]
