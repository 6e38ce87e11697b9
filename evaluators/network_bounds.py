"""Lower bounds on what a network costs: layer by layer, and under any fusion plan."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..space.hardware import Hardware
from ..space.layer import Layer
from ..space.network import Network
from .bounds import (
    demand,
    dram_word_pj,
    energy_bound_pj,
    latency_bound_cycles,
    least_dram_bits,
    occupied,
    operands_pj,
    remembered,
)
from .cost_bounds import Prices, dram_words, layer_costs
from .hardware_cost import access_costs, edp_js
from .layer_bounds import design_and_prices, layer_bound, nest_arrays, word_bytes
from .level_room import Design
from .needed import needed
from .words import Int


@dataclass(frozen=True)
class NetworkBound:
    """What nothing goes below in one pass of a network.

    Attributes:
        energy_pj: with leakage.
        latency_cycles: of the whole pass.
        dram_bytes: over DRAM.
        edp_js: energy per image times latency of the pass, in J s.
    """

    energy_pj: float
    latency_cycles: float
    dram_bytes: float
    edp_js: float


class _Nests(NamedTuple):
    """The distinct layers of a network, and the layers of which only a part is read.

    Attributes:
        bounds, windows: int64[B, 8] and int64[B, 2, 4], distinct layers that run on MACs.
        times: int64[B], how often each runs.
        whole: int64[B], how often each runs and every result is read.
        vector: layers on the vector unit.
        partly: bool over all layers that run on MACs: only a part of the result is read.
    """

    bounds: Int
    windows: Int
    times: Int
    whole: Int
    vector: tuple[Layer, ...]
    partly: np.ndarray


@remembered
def _nests(network: Network) -> _Nests:
    read = needed(network).outputs
    rows: dict[bytes, tuple[Int, Int]] = {}
    times: dict[bytes, list[int]] = {}
    partly = []
    for layer, outputs in zip(network.layers, read, strict=True):
        if layer.uses_macs:
            arrays = nest_arrays(layer)
            key = arrays[0].tobytes() + arrays[1].tobytes()
            whole = outputs == layer.p * layer.q
            rows.setdefault(key, arrays)
            often = times.setdefault(key, [0, 0])
            often[0] += 1
            often[1] += int(whole)
            partly.append(not whole)
    counts = np.array(list(times.values()), np.int64).reshape(-1, 2)
    return _Nests(
        np.array([bounds for bounds, _ in rows.values()], np.int64).reshape(-1, 8),
        np.array([window for _, window in rows.values()], np.int64).reshape(-1, 2, 4),
        counts[:, 0],
        counts[:, 1],
        tuple(layer for layer in network.layers if not layer.uses_macs),
        np.array(partly, np.bool_),
    )


def layer_by_layer_bound(network: Network, hardware: Hardware) -> NetworkBound:
    """Return what no mappings go below if every layer runs by itself, its maps in DRAM."""
    nests = _nests(network, None)
    design, prices = design_and_prices(hardware)
    costs = nests.times @ layer_costs(design, prices, nests.bounds, nests.windows)
    sizes = word_bytes(hardware)
    moved = nests.times @ dram_words(design, sizes, nests.bounds, nests.windows)
    energy_pj, cycles, dram_bytes = float(costs[0]), float(costs[1]), float(moved)
    for layer in nests.vector:
        bound = layer_bound(layer, hardware)
        energy_pj += bound.dynamic_pj
        cycles += bound.latency_cycles
        dram_bytes += bound.dram_bytes
    energy_pj += cycles * access_costs(hardware).leakage_pj_per_cycle
    edp = edp_js(energy_pj, cycles, hardware, network.batch)
    return NetworkBound(energy_pj, cycles, dram_bytes, edp)


def any_plan_bound(network: Network, hardware: Hardware) -> NetworkBound:
    """Return what no fusion plan and no mappings go below.

    Maps between layers may stay in the buffer, and weights may live there: what DRAM and that
    buffer exchange counts only where each word must pass once. What the buffer serves counts
    as if all operands lived in it. Without such a buffer layers run one by one.
    """
    if hardware.fusion_level is None:
        return layer_by_layer_bound(network, hardware)
    nests, need, costs = _nests(network, None), demand(network), access_costs(hardware)
    whole = nests.whole @ layer_costs(*_in_buffer(hardware), nests.bounds, nests.windows)
    partly = float(need.macs[nests.partly].sum())
    parallel = occupied(need.loops[nests.partly], hardware)
    cycles = float(whole[1]) + float((need.macs[nests.partly] / parallel).sum())
    cycles += need.vector_ops / hardware.vector_lanes
    cycles = max(cycles, latency_bound_cycles(network, hardware))
    energy_pj = float(whole[0]) + partly * (costs.mac_pj + operands_pj(hardware))
    energy_pj += need.vector_ops * costs.vector_op_pj
    energy_pj += need.dram_words * dram_word_pj(hardware) + cycles * costs.leakage_pj_per_cycle
    energy_pj = max(energy_pj, energy_bound_pj(network, hardware))
    dram_bytes = need.dram_words * least_dram_bits(hardware) / 8
    edp = edp_js(energy_pj, cycles, hardware, network.batch)
    return NetworkBound(energy_pj, cycles, dram_bytes, edp)


@lru_cache(maxsize=1024)
def _in_buffer(hardware: Hardware) -> tuple[Design, Prices]:
    """Design and prices as if all operands lived in the fusion level, and DRAM cost nothing."""
    level = hardware.levels[-2]
    design, prices = design_and_prices(hardware, ("weights" in level.keeps, True, True))
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    if level.optional:
        # a layer that runs by itself may let operands pass the buffer, and DRAM serves them
        accesses[-2] = np.minimum(accesses[-2], accesses[-1])
        ports[:, -2] = 0.0
    accesses[-1] = ports[:, -1] = 0.0
    return design, prices._replace(accesses_pj=accesses, ports=ports)
