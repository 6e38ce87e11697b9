"""Lower bounds on what a network costs: layer by layer, and under any fusion plan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.loopnest import StreamedVectors, vector_least
from archloom.space import Infeasible
from archloom.space.fusion import computations
from archloom.space.hardware import Cores, Hardware, fusion_cores, packed, pass_batch
from archloom.space.workload import OUTPUTS, Layer, Network, Sparsity, remembered

from ..arrays import Floats, Ints
from ..hardware import access_costs, edp_js
from .compulsory import (
    demand,
    demanded,
    energy_bound_pj,
    latency_bound_cycles,
    least_dram_bits,
    rates_of,
)
from .layer import design_and_prices, layer_bound, word_bytes
from .layer_kernel import (
    CYCLES,
    ENERGY_PJ,
    LayerBatch,
    batch_costs,
    dram_words,
    fill_keys,
)
from .layer_work import Works, works_of
from .level_capacity import Design, Shares, shares_of
from .mac_work import MacWork, served_by
from .needed_outputs import needed
from .rounding import (
    HALF_GRAIN_PJ,
    TileRounding,
    evaluation_pj,
    grains_below,
    tile_rounding,
    whole_cycles,
)
from .word_prices import Prices

#: plans that a search of fusion may choose: none that fuses or pins anything, all but those with
#: steady weights, or all
Plans = Literal["layer_by_layer", "any", "steady"]

#: passes of a network that are remembered, levels, and meshes of designs: up to some kB for each;
#: then all are forgotten
_MOST_PASSES: Final = 1024
_MOST_LEVELS: Final = 1024
_MOST_MESHES: Final = 256

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class NetworkBound:
    """Figures that one pass of a network never goes below.

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


class _Fills(NamedTuple):
    """What it costs at the least to fill a level for each of B layers.

    Attributes:
        masks: int64[K], sets of tensors that a mapping may keep there.
        ports, pj: float64[B, K, 3] and [B, K, 1], units through its ports, and energy.
    """

    masks: Ints
    ports: Floats
    pj: Floats


class _Nests(NamedTuple):
    """Distinct layers on MACs that have the same zeros.

    Attributes:
        bounds, windows: int64[B, 8] and int64[B, 2, 4].
        times: int64[B], how often each runs.
        whole: float64[B], how often each runs and every result is read, as much as masks leave of
            it.
        works: of the layers.
        shares: what meshes leave to them, by meshes.
        fills: of levels, by :func:`fill_keys`.
    """

    bounds: Ints
    windows: Ints
    times: Ints
    whole: Floats
    works: Works
    shares: dict[bytes, Shares]
    fills: dict[bytes, _Fills]

    def costs(self, design: Design, prices: Prices) -> Floats:
        """Return energy and cycles of the layers, as :func:`layer_costs` does.

        Designs often have meshes or buffers in common, and what these leave to the layers is
        remembered.
        """
        keys, levels = fill_keys(design, prices), len(design.shared)
        ports, pj = (np.full((len(self.bounds), levels, 8, kinds), np.inf) for kinds in (3, 1))
        missing = np.ones(levels, np.int64)
        for p in range(levels):
            if (fills := self.fills.get(keys[p])) is not None:
                missing[p] = 0
                ports[:, p, fills.masks], pj[:, p, fills.masks] = fills.ports, fills.pj
        batch = LayerBatch(self.works, self._shares(design), ports, pj, missing)
        found: Floats = batch_costs(design, prices, batch)
        for p in np.flatnonzero(missing).tolist():
            # all that a mapping may keep there
            masks = np.flatnonzero(pj[0, p, :, 0] < np.inf)
            fills = _Fills(masks, ports[:, p, masks], pj[:, p, masks])
            _remember(self.fills, _MOST_LEVELS, keys[p], fills)
        return found

    def _shares(self, design: Design) -> Shares:
        meshes = b"".join(part.tobytes() for part in (design.fanout, design.dims, design.multicast))
        if (shares := self.shares.get(meshes)) is None:
            shares = shares_of(design, self.bounds)
            _remember(self.shares, _MOST_MESHES, meshes, shares)
        return shares


def _remember(known: dict[Key, Value], most: int, key: Key, value: Value) -> None:
    """Add to what is known; all of it is forgotten when it is too much."""
    if len(known) >= most:
        known.clear()
    known[key] = value


class _Operator(NamedTuple):
    """A distinct layer on the vector unit.

    Attributes:
        layer: one of those that are the same.
        times: how often it runs.
        whole: how often it runs and every result is read, as much as a mask leaves of it.
        folded: whether it runs in the time of the array.
    """

    layer: Layer
    times: int
    whole: float
    folded: bool


class _Work(NamedTuple):
    """Work of one pass of a network.

    Attributes:
        nests: layers on MACs, by their zeros.
        partly: work of the layers on MACs of whose result only a part is read.
        vector: distinct layers on the vector unit.
        streamed: the distinct layers on the vector unit, each by itself.
        runs: float64[n], how often each of them runs.
        passes: tight bounds of a pass so far: parts of a box often relax to the same hardware.
    """

    nests: dict[Sparsity, _Nests]
    partly: MacWork
    vector: tuple[_Operator, ...]
    streamed: StreamedVectors
    runs: Floats
    passes: dict[tuple[Hardware, Plans], tuple[float, float]]


@remembered
def network_work(network: Network) -> _Work:
    """Return the work of one pass."""
    read = needed(network).outputs
    # what makes a nest, as often as it runs, and as all of it is read; a mask leaves the same part
    # of all that are equal
    counts: dict[Sparsity, dict[tuple[Any, ...], list[int]]] = {}
    partly = []
    for layer, outputs in zip(network.layers, read, strict=True):
        if layer.uses_macs:
            window = zip(layer.stride, layer.dilation, layer.padding, layer.input_size, strict=True)
            count = counts.setdefault(_zeros(layer), {}).setdefault(
                (layer.bounds, tuple(window), layer.pairs), [0, 0]
            )
            partly.append(outputs < layer.p * layer.q)
            count[0] += 1
            count[1] += int(not partly[-1])
    nests = {}
    for zeros, found in counts.items():
        bounds, windows, pairs = (np.array(part, np.int64) for part in zip(*found, strict=True))
        times, runs_whole = np.array(list(found.values()), np.int64).T
        whole = runs_whole * (pairs[:, 0] / pairs[:, 1])
        works = works_of(bounds, windows)
        nests[zeros] = _Nests(bounds, windows, times, whole, works, {}, {})
    vector = _operators(network, read)
    streamed = StreamedVectors([one.layer for one in vector])
    runs = np.array([float(one.times) for one in vector])
    some = demand(network).work.some(np.array(partly, np.bool_))
    return _Work(nests, some, vector, streamed, runs, {})


def _zeros(layer: Layer) -> Sparsity:
    """Zeros of a layer; rows of its weights matter only where these are packed."""
    return Sparsity(*layer.density) if layer.packed_words is None else layer.sparsity


def _operators(network: Network, read: Sequence[int]) -> tuple[_Operator, ...]:
    """Operators of the vector unit: each costs the same wherever it stands."""
    hidden = {i for found in computations(network) for i in found.folded}
    runs, whole = Counter[tuple[Layer, bool]](), Counter[tuple[Layer, bool]]()
    for i, (layer, outputs) in enumerate(zip(network.layers, read, strict=True)):
        if not layer.uses_macs:
            operator = replace(layer, name="operator", weights_of=""), i in hidden
            runs[operator] += 1
            whole[operator] += int(outputs == layer.p * layer.q)
    return tuple(
        _Operator(layer, times, whole[layer, folded] * (layer.pairs[0] / layer.pairs[1]), folded)
        for (layer, folded), times in runs.items()
    )


def one_by_one(network: Network, hardware: Hardware, plans: Plans) -> bool:
    """Whether every layer of the plans runs by itself, its maps in DRAM.

    Folded layers do so on hardware without a buffer for maps between layers.
    """
    alone = isinstance(fusion_cores(hardware), Infeasible)
    return alone or (plans == "layer_by_layer" and not network.folded)


def layer_by_layer_bound(network: Network, hardware: Hardware) -> NetworkBound:
    """Return what no mappings go below if every layer runs by itself, its maps in DRAM."""
    work, dram_bytes = network_work(packed(network, hardware)), 0.0
    for zeros, nests in work.nests.items():
        design, _ = design_and_prices(hardware, zeros)
        sizes = word_bytes(hardware, zeros)
        moved = dram_words(design, sizes, nests.bounds, nests.windows)
        dram_bytes += float(nests.times @ moved)
    for one in work.vector:
        dram_bytes += one.times * layer_bound(one.layer, hardware).dram_bytes
    energy_pj, cycles = layer_by_layer_pass(network, hardware)
    edp = edp_js(energy_pj, cycles, hardware, network.batch)
    return NetworkBound(energy_pj, cycles, dram_bytes, edp)


def layer_by_layer_pass(network: Network, hardware: Hardware) -> tuple[float, float]:
    """Return energy (pJ) and cycles of :func:`layer_by_layer_bound`, which take half its time."""
    work = network_work(packed(network, hardware))
    # what rounding takes off each layer, for each image at most, and off the leakage
    energy_pj = -network.batch * len(network.layers) * evaluation_pj(len(hardware.levels))
    energy_pj, cycles = energy_pj - HALF_GRAIN_PJ, 0.0
    for zeros, nests in work.nests.items():
        design, prices = design_and_prices(hardware, zeros)
        costs = nests.times @ nests.costs(design, prices)
        energy_pj += float(costs[0])
        cycles += float(costs[1])
    if work.vector:
        dynamic_pj, busy = work.streamed.costs(hardware)
        energy_pj += float(work.runs @ dynamic_pj)
        cycles += float(work.runs @ busy)
    energy_pj += cycles * access_costs(hardware).leakage_pj_per_cycle
    return grains_below(energy_pj), cycles


def tight_pass_bounds(network: Network, hardware: Hardware, plans: Plans) -> tuple[float, float]:
    """Return energy (pJ) and cycles that no pass over
    :func:`archloom.space.hardware.hardware.pass_batch` inferences goes below by any of the plans.

    They take ten times as long as those of
    :func:`archloom.evaluators.bounds.compulsory.pass_bounds`.
    """
    network = packed(network.with_batch(pass_batch(network, hardware)), hardware)
    known, key = network_work(network).passes, (hardware, plans)
    if key not in known:
        _remember(known, _MOST_PASSES, key, _tight_pass(network, hardware, plans))
    return known[key]


def _tight_pass(network: Network, hardware: Hardware, plans: Plans) -> tuple[float, float]:
    if one_by_one(network, hardware, plans):
        return layer_by_layer_pass(network, hardware)
    bound = any_plan_bound(network, hardware, plans == "steady")
    return bound.energy_pj, bound.latency_cycles


def any_plan_bound(network: Network, hardware: Hardware, steady: bool = False) -> NetworkBound:
    """Return what no fusion plan and no mappings go below; plans with steady weights only if
    ``steady`` is true.

    Maps between layers may stay in the buffer, and weights may live there: what DRAM and
    that buffer exchange counts only where each word must pass once. What the buffer serves counts
    as if all operands lived in it, or not at all if they may bypass it. Where each of several
    cores has such a buffer, a layer runs on them or by itself on the whole chip, whichever costs
    less. Without such buffers layers run one by one. Steady weights need not come from DRAM, as far
    as one buffer holds them.
    """
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return layer_by_layer_bound(network, hardware)
    network = packed(network, hardware)
    work, need = network_work(network), demanded(network, hardware, steady)
    rates, energy_pj, cycles = rates_of(need, hardware), 0.0, 0.0
    for zeros, nests in work.nests.items():
        inside = inside_costs(hardware, cores, zeros, nests)
        energy_pj += float(nests.whole @ inside[:, ENERGY_PJ])
        cycles += float(nests.whole @ inside[:, CYCLES])
    for one in work.vector:
        # the unit works from the buffer, whose ports may take longer than it does
        access_pj, port_cycles = vector_least(one.layer, hardware)
        energy_pj += one.whole * access_pj * rates.rounding.vectors
        if not one.folded:
            own = one.layer.vector_ops / hardware.vector_lanes
            cycles += one.whole * max(0.0, port_cycles - own)
    cycles += work.partly.cycles(rates.parallel) + need.serial_ops / rates.lanes
    cycles = max(whole_cycles(cycles), latency_bound_cycles(network, hardware, steady))
    energy_pj += rates.macs_pj(work.partly) + need.vector_ops * rates.vector_op_pj
    energy_pj += need.paid_words(hardware) * rates.word_pj
    energy_pj = rates.below_costs(energy_pj + cycles * rates.leakage_pj, need)
    energy_pj = max(energy_pj, energy_bound_pj(network, hardware, steady))
    dram_bytes = need.dram_words * least_dram_bits(hardware) / 8
    edp = edp_js(energy_pj, cycles, hardware, network.batch)
    return NetworkBound(energy_pj, cycles, dram_bytes, edp)


def inside_costs(
    hardware: Hardware, cores: Cores, zeros: Sparsity, nests: _Nests
) -> NDArray[np.float64]:
    """float64[B, 2], energy and cycles of each nest without DRAM.

    The energy is what rounding leaves of that of tiles; what it takes off a layer by itself is not
    subtracted.
    """
    rounding = _rounding(hardware, zeros)
    fused = nests.costs(*_in_buffer(cores.one, zeros, rounding.buffer))
    if rounding.mac_pj:
        spared = nests.bounds.prod(axis=1, dtype=np.float64) * rounding.mac_pj
        fused[:, ENERGY_PJ] = np.maximum(0.0, fused[:, ENERGY_PJ] - spared)
    if cores.count == 1:
        return fused
    # at best all cores work on it all the time
    fused[:, CYCLES] /= cores.count
    alone = nests.costs(*without_dram(hardware, zeros))
    return np.minimum(fused, alone)


@lru_cache(maxsize=1024)
def without_dram(hardware: Hardware, zeros: Sparsity) -> tuple[Design, Prices]:
    """Design and prices of a layer by itself, as if DRAM cost nothing."""
    design, prices = design_and_prices(hardware, zeros)
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-1] = ports[:, -1] = 0.0
    return design, prices._replace(accesses_pj=accesses, ports=ports)


@lru_cache(maxsize=1024)
def _rounding(hardware: Hardware, zeros: Sparsity) -> TileRounding:
    return tile_rounding(hardware, served_by(hardware, zeros)[OUTPUTS])


@lru_cache(maxsize=1024)
def _in_buffer(hardware: Hardware, zeros: Sparsity, left: float) -> tuple[Design, Prices]:
    """Design and prices as if all operands lived in the fusion level, and DRAM cost nothing.

    Rounding leaves the share ``left`` of what that level's accesses cost.
    """
    level = hardware.levels[-2]
    staged = ("weights" in level.keeps, True, True)
    design, prices = design_and_prices(hardware, zeros, staged)
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-2] *= left
    if level.optional:
        # operands of a layer that runs by itself may pass the buffer, and cost nothing there
        accesses[-2] = ports[:, -2] = 0.0
    accesses[-1] = ports[:, -1] = 0.0
    return design, prices._replace(accesses_pj=accesses, ports=ports)
