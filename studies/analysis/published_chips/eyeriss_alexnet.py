"""Eyeriss on AlexNet: the preset runs the mappings that the chip ran."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from archloom.evaluators import access_costs, hardware_cost
from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.design_space import preset
from archloom.space.hardware import Effects, Hardware
from archloom.space.mapping import Mapping
from archloom.space.networks import network
from archloom.space.workload import C, G, K, Layer, N, P, Q, R, S

from .figures import Chapter, Figure
from .fixed_mappings import level

JSSC: Final = "Chen et al., JSSC 52(1), 2017"
BATCH: Final = 4


@dataclass(frozen=True)
class Measured:
    """One layer on the chip: table V of the paper, with the shape of its mapping in table III.

    Attributes:
        m, n, e: filters, images and output rows of one pass.
        p, q: filters and channels that one PE works on in turn.
        r, t: channels and filters that lie side by side in the array.
        processing_ms, power_mw, glb_mb, dram_mb: of four images.
        zeros: share of zeros among the inputs.
    """

    m: int
    n: int
    e: int
    p: int
    q: int
    r: int
    t: int
    processing_ms: float
    power_mw: float
    glb_mb: float
    dram_mb: float
    zeros: float


CHIP: Final = {
    "conv1": Measured(96, 1, 7, 16, 1, 1, 2, 16.5, 332, 18.5, 5.0, 0.0001),
    "conv2": Measured(64, 1, 27, 16, 2, 1, 1, 39.2, 288, 77.6, 4.0, 0.387),
    "conv3": Measured(64, 4, 13, 16, 4, 1, 4, 21.8, 266, 50.2, 3.0, 0.725),
    "conv4": Measured(64, 4, 13, 16, 3, 2, 2, 16.0, 235, 37.4, 2.1, 0.793),
    "conv5": Measured(64, 4, 13, 16, 3, 2, 2, 10.0, 236, 24.9, 1.3, 0.776),
}

#: switches that the chip has: it gates zeros, and words cross its array
EFFECTS: Final = Effects(network="mesh", input_zeros="gated")


def row_stationary(layer: Layer, shape: Measured, hardware: Hardware) -> Mapping:
    """Return the chip's mapping of a layer: filter rows along y, output rows along x.

    A PE slides one filter row along one input row. Output rows that are more than the array is
    wide go on below, in the same pass; filters and channels fill what rows are left.
    """
    columns = hardware.pe_mesh[0]
    x, y = {P: min(shape.e, columns)}, {R: layer.r}
    if shape.e > columns:
        y[P] = -(-shape.e // columns)
    elif shape.e * shape.t <= columns:
        x[K] = shape.t
    else:
        y[K], y[C] = shape.t, shape.r
    rows = x[P] * y.get(P, 1)
    spad = level({S: layer.s, K: shape.p, C: shape.q}, (S, C, K), (True, True, True))
    # weights stay in the PE while all columns and images of the pass go by
    passes = {Q: layer.q, N: shape.n, K: shape.m // (shape.p * shape.t)}
    glb = level(passes, (Q, N, K), (False, True, True), x, y)
    outer = {
        C: layer.c // (shape.q * shape.r),
        N: layer.n // shape.n,
        P: -(-layer.p // rows),
        K: layer.k // shape.m,
        G: layer.g,
    }
    # partial sums stay in the buffer until all channels are in
    dram = level(outer, (C, N, P, K, G), (True, True, True))
    return Mapping((spad, glb, dram))


def layer_run(name: str, effects: Effects, chip: Hardware | None = None) -> tuple[LayerCost, float]:
    """Return the cost of a layer of AlexNet for four images, and its power on the chip in mW.

    The chip is the preset, unless another one is given that its mappings fit.
    """
    shape, hardware = CHIP[name], replace(chip or preset("eyeriss"), effects=effects)
    alexnet = network("alexnet_original").with_batch(BATCH)
    layer = alexnet.layers[alexnet.index(name)]
    layer = replace(layer, density=(1.0, 1.0 - shape.zeros))
    mapping = row_stationary(layer, shape, hardware)
    problem = MappingProblem.of_layer(layer, hardware)
    # 55 rows take 8 strips of 7, 27 rows two of 14: the last is not full
    cost = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
    seconds = cost.latency_cycles / (hardware.frequency_mhz * 1e6)
    on_chip_pj = float(cost.energy_pj[:-1].sum()) + cost.compute_pj
    idle_pj = access_costs(hardware).leakage_pj_per_cycle * cost.latency_cycles
    return cost, (on_chip_pj + idle_pj) * 1e-9 / seconds


def _megabytes(cost: LayerCost, level: int) -> float:
    return float(np.asarray(cost.words)[level].sum()) * 2 / 1e6


def eyeriss() -> Chapter:
    """Latency, power, traffic and area of Eyeriss beside the chip's."""
    hardware = preset("eyeriss")
    figures = []
    for name, shape in CHIP.items():
        cost, power = layer_run(name, EFFECTS)
        _, dense = layer_run(name, Effects())
        ms = cost.latency_cycles / (hardware.frequency_mhz * 1e3)
        figures += [
            _latency(name, ms, shape),
            _power(name, power, dense, shape),
            _traffic(name, "buffer", _megabytes(cost, 1), shape.glb_mb),
            _traffic(name, "DRAM", _megabytes(cost, 2), shape.dram_mb),
        ]
    area = hardware_cost(hardware).area_breakdown_mm2
    figures.append(
        Figure(
            "area of the core, mm2",
            sum(mm2 for part, mm2 in area.items() if part != "dram phy"),
            12.25,
            JSSC,
            (0.75, 1.25),
            "the model has no network, FIFOs and compression, and builds all scratchpads from "
            "flip-flops, where the chip has SRAM for weights",
        )
    )
    return Chapter("Eyeriss on AlexNet", TEXT, tuple(figures))


def _latency(name: str, ms: float, shape: Measured) -> Figure:
    return Figure(
        f"{name}, processing, ms",
        ms,
        shape.processing_ms,
        f"{JSSC}, table V",
        (0.8, 1.0),
        "the chip fills and drains its array between passes, and loads filters before each",
    )


def _power(name: str, power: float, dense: float, shape: Measured) -> Figure:
    return Figure(
        f"{name}, power without DRAM, mW",
        power,
        shape.power_mw,
        f"{JSSC}, table V",
        (0.6, 1.0),
        f"clock tree and control are not modelled; {dense / shape.power_mw:.2f} if zeros are "
        "computed and the array's wires cost no energy",
    )


def _traffic(name: str, level: str, ours: float, theirs: float) -> Figure:
    compressed = "the chip compresses feature maps in DRAM; the model does not"
    counted = "follows from the mapping; the paper does not say how its figure was counted"
    reason = compressed if level == "DRAM" else counted
    return Figure(f"{name}, {level} traffic, MB", ours, theirs, f"{JSSC}, table V", None, reason)


TEXT: Final = """
The preset `eyeriss` (`archloom hardware eyeriss`) runs the convolutions of AlexNet, four images at
a time, with the mappings that the chip ran: filter rows are unrolled along the columns of PEs and
output rows along the rows; the numbers of filters, channels, rows and images of a pass are those of
table III of the paper. Strips of rows that do not fill the array are counted exactly. Energies are
those of table `eyeriss_65nm`: 2 pJ for a MAC; 1, 4 and 15 pJ per 16 bits for a scratchpad, a hop in
the array and the buffer; and 30 mW that do not depend on the work. Two options are on, because
the chip has both features: `input_zeros: gated`, with the fractions of zeros in the inputs from
table V, and `network: mesh`. The mesh charges energy for every hop, while the chip has buses, so
this is an upper estimate of the energy of the array's wires.
"""
