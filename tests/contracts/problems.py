"""Small design problems over real spaces, and an analytic EDP for them."""

from functools import cache
from math import exp, log2, sin
from pathlib import Path

from archloom.evaluators.hardware import hardware_cost
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

SMALL_TEMPLATE = """
description: A mesh of scalar PEs below one buffer.
technology: cacti_45nm
dram: lpddr4
parameters:
  pe_x: {values: [1, 2, 4, 8], scale: pow2}
  pe_y: {values: [1, 2, 4, 8], scale: pow2}
  l2_kib: {low: 8, high: 64, scale: pow2}
  dataflow: {values: [wide, narrow]}
rules:
  - {name: max_pes, needed: pe_x * pe_y, available: 32, unit: PEs, hint: use fewer PEs}
frequency_mhz: 200
word_bits: 8
pe_mesh: ["= pe_x", "= pe_y"]
vector_lanes: "= pe_x"
levels:
  - {name: spad, storage: register, keeps: [weights, inputs, outputs],
     mesh: ["= pe_x", "= pe_y"], capacity_bytes: 64, bandwidth_words: 4}
  - {name: l2, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: "= 1024 * l2_kib", bandwidth_words: "= 8 if dataflow == 'wide' else 4"}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: 16}
"""


@cache
def small_space(folder: Path) -> HardwareSpace:
    """Return a space of 128 points, 120 of which keep its rule."""
    path = folder / "small.yaml"
    path.write_text(SMALL_TEMPLATE)
    return HardwareSpace.load(path)


@cache
def small_problem(folder: Path, area_cap_mm2: float) -> DesignProblem:
    """Return that space under a cap; one problem for all tests, which never changes a bound."""
    return DesignProblem(small_space(folder), [network("tiny_cnn")], area_cap_mm2=area_cap_mm2)


@cache
def edge_problem() -> DesignProblem:
    """Return CASCO's edge space, too large to enumerate, under caps."""
    space = HardwareSpace.load("casco_edge")
    return DesignProblem(space, [network("tiny_cnn")], area_cap_mm2=8.0, tdp_cap_w=2.0)


def analytic_edp(problem: DesignProblem, point: Point) -> float:
    """Return the bound times a smooth factor of at least 1.02 that has a best mesh and buffer."""
    candidate, hardware = problem.assess(point), problem.space.build(point)
    assert isinstance(candidate, Candidate)
    assert isinstance(hardware, Hardware)
    x, y = hardware.pe_mesh
    pad, buffer = (log2(level.total_bytes) for level in hardware.levels[:2])
    excess = 0.06 * (8 - pad) ** 2 + 0.08 * (20 - buffer) + 0.06 * abs(log2(x / y))
    return candidate.values[0] * exp(max(excess + 0.15 * sin(3 * log2(x * y)), 0.02))


def observe(problem: DesignProblem, points: list[Point]) -> list[Observation]:
    """Return what trials at ``points`` would tell, if EDP, area and TDP are the objectives."""
    return [
        Observation(p, (analytic_edp(problem, p), *known(problem, p)), evaluations=100)
        for p in points
    ]


def known(problem: DesignProblem, point: Point) -> tuple[float, float]:
    """Return area and TDP."""
    candidate = problem.assess(point)
    if isinstance(candidate, Candidate):
        return candidate.area_mm2, candidate.tdp_w
    hardware = problem.space.build(point)
    assert isinstance(hardware, Hardware)
    cost = hardware_cost(hardware)
    return cost.area_mm2, cost.tdp_w
