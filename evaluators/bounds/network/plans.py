"""Lower bounds on what a network costs: layer by layer, and under any fusion plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import vector_least
from archloom.space import Infeasible
from archloom.space.hardware import Cores, Hardware, fusion_cores, packed, pass_batch
from archloom.space.workload import C, G, K, N, Network, P, Q, Sparsity

from ...arrays import Floats
from ...hardware import access_costs, edp_js
from ..compulsory import (
    Rates,
    demanded,
    dram_shares,
    energy_bound_pj,
    latency_bound_cycles,
    least_dram_bits,
    rates_of,
)
from ..layer import design_and_prices, layer_bound, word_bytes
from ..layer_kernel import (
    CYCLES,
    ENERGY_PJ,
    dram_words,
)
from ..rounding import (
    HALF_GRAIN_PJ,
    ROUNDING,
    evaluation_pj,
    grains_below,
    whole_cycles,
)
from .inside import inside_costs, on_one_core, waits
from .maps import best_corner, least_crossings, room_of
from .work import Nests, Plans, Work, network_work, remember_in

#: passes of a network that are remembered
_MOST_PASSES: Final = 1024

#: shares of the chip's time in mixtures with that of DRAM
_MIXTURES: Final = np.array([0.0, 1 / 32, 1 / 8, 1 / 4, 1 / 2])


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


def layer_by_layer_pass(
    network: Network, hardware: Hardware, joint: bool = False
) -> tuple[float, float]:
    """Return energy (pJ) and cycles of :func:`layer_by_layer_bound`, which take half its time.

    With ``joint`` the energy is that of all levels together, which is higher and takes longer.
    """
    work = network_work(packed(network, hardware))
    # what rounding takes off each layer, for each image at most, and off the leakage
    energy_pj = -network.batch * len(network.layers) * evaluation_pj(len(hardware.levels))
    energy_pj, cycles = energy_pj - HALF_GRAIN_PJ, 0.0
    for zeros, nests in work.nests.items():
        design, prices = design_and_prices(hardware, zeros)
        design = design._replace(strict=True)
        each = nests.costs(design, prices, uncut=True)
        if joint:
            if hardware.effects.fill_drain != "none" and hardware.pe_mesh == (1, 1):
                loading = nests.loading_cycles(design, prices)
                each[:, CYCLES] = np.maximum(each[:, CYCLES], loading)
            together = nests.joint_energies(design, prices, each[:, CYCLES])
            each[:, ENERGY_PJ] = np.maximum(each[:, ENERGY_PJ], together)
        costs = nests.times @ each
        energy_pj += float(costs[ENERGY_PJ])
        cycles += float(costs[CYCLES])
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
        remember_in(known, _MOST_PASSES, key, _pass(network, hardware, plans, closest=False))
    return known[key]


def closest_pass_bounds(network: Network, hardware: Hardware, plans: Plans) -> tuple[float, float]:
    """Return :func:`tight_pass_bounds` with what takes up to as long again: the energy of layers
    one by one on all levels together, or what maps between layers cost that the buffer does not
    hold (docs/explanation/bounds_proofs.md, lemmas 12 to 19).
    """
    network = packed(network.with_batch(pass_batch(network, hardware)), hardware)
    known, key = network_work(network).closest, (hardware, plans)
    if key not in known:
        remember_in(known, _MOST_PASSES, key, _pass(network, hardware, plans, closest=True))
    return known[key]


def _pass(network: Network, hardware: Hardware, plans: Plans, closest: bool) -> tuple[float, float]:
    if one_by_one(network, hardware, plans):
        return layer_by_layer_pass(network, hardware, joint=closest)
    bound = any_plan_bound(network, hardware, plans == "steady", large_maps=closest)
    return bound.energy_pj, bound.latency_cycles


def any_plan_bound(
    network: Network, hardware: Hardware, steady: bool = False, large_maps: bool = True
) -> NetworkBound:
    """Return what no fusion plan and no mappings go below; plans with steady weights only if
    ``steady`` is true.

    Maps between layers may stay in the buffer, and weights may live there: what DRAM and that
    buffer exchange counts only where each word must pass once and, with ``large_maps``, for maps
    that one buffer does not hold, which cost something whatever runs them. What the buffer serves
    counts as if all operands lived in it, or not at all if they may bypass it. Where each of
    several cores has such a buffer, a layer runs on them or by itself on the whole chip, whichever
    costs less. Without such buffers layers run one by one. Steady weights need not come from DRAM,
    as far as one buffer holds them.
    """
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return layer_by_layer_bound(network, hardware)
    network = packed(network, hardware)
    work, need = network_work(network), demanded(network, hardware, steady)
    rates = rates_of(need, hardware)
    energy_pj, chip_cycles = _vectors(work, hardware, cores, rates)
    costs = dict[Sparsity, Floats]()
    for zeros, nests in work.nests.items():
        inside = costs[zeros] = inside_costs(hardware, cores, zeros, nests)
        energy_pj += float(nests.whole @ inside[:, ENERGY_PJ])
        chip_cycles += float(nests.whole @ inside[:, CYCLES])
        chip_cycles += float(nests.owned @ waits(hardware, zeros, nests, inside[:, CYCLES]))
    chip_cycles += work.partly.cycles(rates.parallel) + need.serial_ops / rates.lanes
    share, dram_words = min(dram_shares(hardware, need.served(hardware))), float(need.dram_words)
    cycles = max(whole_cycles(chip_cycles), latency_bound_cycles(network, hardware, steady))
    energy_pj += rates.macs_pj(work.partly) + need.vector_ops * rates.vector_op_pj
    paid_words = need.paid_words(hardware)
    dynamic_pj = energy_pj + paid_words * rates.word_pj
    if large_maps and cores.count == 1 and len(work.crossing):
        dram_cycles = paid_words * rates.words
        large = _large_maps(work, hardware, costs, rates, share, (chip_cycles, dram_cycles))
        dynamic_pj += large.energy_pj
        dram_words += large.words
        cycles = max(cycles, whole_cycles(large.cycles))
    energy_pj = rates.below_costs(dynamic_pj + cycles * rates.leakage_pj, need)
    energy_pj = max(energy_pj, energy_bound_pj(network, hardware, steady))
    dram_bytes = dram_words * least_dram_bits(hardware) / 8
    edp = edp_js(energy_pj, cycles, hardware, network.batch)
    word_pj = rates.word_pj * share
    # maps that a buffer needs whole take energy or time, not neither
    at_corners = [
        edp_js(
            rates.below_costs(dynamic_pj + more_pj + (chip_cycles + late) * rates.leakage_pj, need),
            (chip_cycles + late) * (1 - ROUNDING),
            hardware,
            network.batch,
        )
        for more_pj, late in _corners(work, hardware, cores, costs, word_pj)
    ]
    return NetworkBound(energy_pj, cycles, dram_bytes, max(edp, min(at_corners, default=0.0)))


def _vectors(work: Work, hardware: Hardware, cores: Cores, rates: Rates) -> tuple[float, float]:
    """Return energy (pJ) of the buffer for operators of the vector unit, and cycles for which
    they take longer than the unit itself.

    The unit works from the buffer. On several cores an operator may run by itself instead, on the
    whole chip and without a buffer: then DRAM moves its maps.
    """
    energy_pj = cycles = 0.0
    if cores.count == 1:
        for one in work.vector:
            access_pj, port_cycles = vector_least(one.layer, hardware)
            energy_pj += one.whole * access_pj * rates.rounding.vectors
            if not one.folded:
                own = one.layer.vector_ops / hardware.vector_lanes
                cycles += one.whole * max(0.0, port_cycles - own)
        return energy_pj, cycles
    for each in work.staged:
        access_pj, port_cycles = vector_least(each.layer, cores.one)
        alone_pj, alone_cycles = each.words * rates.word_pj, each.words * rates.words
        energy_pj += each.whole * min(access_pj * rates.rounding.vectors, alone_pj)
        own = each.layer.vector_ops / hardware.vector_lanes
        cycles += each.whole * max(0.0, min(port_cycles / cores.count, alone_cycles) - own)
    return energy_pj, cycles


def _corners(
    work: Work, hardware: Hardware, cores: Cores, inside: dict[Sparsity, Floats], word_pj: float
) -> Iterator[tuple[float, float]]:
    """Yield energy (pJ) and cycles that maps add which a buffer needs whole, if it is not to be
    written to DRAM and read again: at the corners of all that plans may choose. None if no map
    adds anything.

    ``inside`` has the costs of nests by :func:`inside_costs`, a word over DRAM costs ``word_pj``.
    """
    if not work.gathered:
        return
    costs = {
        zeros: _held_whole(hardware, cores, zeros, work.nests[zeros], inside[zeros])
        for zeros in {zeros for _, zeros, _ in work.gathered}
    }
    again_pj, late = np.array([costs[zeros][row] for _, zeros, row in work.gathered]).T
    if not late.any():
        return
    moved_pj = np.array([one.words * word_pj for one, _, _ in work.gathered])
    least_pj = np.minimum(moved_pj, again_pj)
    # what costs less over DRAM takes no time
    late = np.where(moved_pj > least_pj, late, 0.0)
    more_pj, waited = best_corner(moved_pj - least_pj, late)
    yield from zip((more_pj + least_pj.sum()).tolist(), waited.tolist(), strict=True)


class _LargeMaps(NamedTuple):
    """What maps take that the buffer does not hold: energy (pJ), and words over DRAM, beyond all
    else; and cycles of the pass with them."""

    energy_pj: float
    words: float
    cycles: float


def _large_maps(
    work: Work,
    hardware: Hardware,
    inside: dict[Sparsity, Floats],
    rates: Rates,
    share: float,
    engines: tuple[float, float],
) -> _LargeMaps:
    """Return what maps between layers take at the least that cross DRAM, or cost something else.

    DRAM takes energy and time for the ``share`` of their words. ``engines`` are cycles of the chip
    and of DRAM without them: a pass takes no less than either, nor than any mixture.
    """
    again = np.zeros((2, len(work.crossing)))
    for zeros, (numbers, rows) in work.remade.items():
        busy = inside[zeros][:, CYCLES]
        # who waits for its weights may run again meanwhile
        longer = np.maximum(0.0, busy - waits(hardware, zeros, work.nests[zeros], busy))
        again[:, numbers] = inside[zeros][rows, ENERGY_PJ], longer[rows]
    # energies; words, as if nothing but these cost; and cycles at each mixture
    words = np.array([rates.word_pj * share, 1.0, *((1 - _MIXTURES) * rates.words * share)])
    prices = np.stack([again[0], 0 * again[0], *np.multiply.outer(_MIXTURES, again[1])])
    energy_pj, moved, *late = least_crossings(work.crossing, room_of(hardware), words, prices)
    cycles = _MIXTURES * engines[0] + (1 - _MIXTURES) * engines[1] + late
    return _LargeMaps(float(energy_pj), float(moved), float(cycles.max()))


def _held_whole(
    hardware: Hardware, cores: Cores, zeros: Sparsity, nests: Nests, inside: Floats
) -> Floats:
    """Return float64[B, 2], energy (pJ) and cycles that each layer takes more if it makes its map
    in one group with a reader that needs all of it.

    On one core for each image, or on each anew. A single buffer that does not hold the map of an
    image has it made again, as far as it does not hold it.
    """
    images = nests.bounds[:, N]
    if cores.count > 1:
        one_core = on_one_core(hardware, cores, zeros, nests)[:, CYCLES]
        known = inside[:, CYCLES] + waits(hardware, zeros, nests, inside[:, CYCLES])
        longer = np.maximum(0.0, one_core / np.minimum(cores.count, images) - known)
        return np.stack([np.zeros(len(longer)), longer], axis=1)
    level = len(hardware.levels) - 2
    bits = min(hardware.bits(level, tensor) for tensor in ("inputs", "outputs"))
    held = buffer_words(hardware) * hardware.word_bits / bits
    words = nests.bounds[:, [G, K, P, Q]].prod(axis=1, dtype=np.float64)
    # a layer that adds up channels might add the last of them alone
    again = np.where(nests.bounds[:, C] == 1, np.maximum(0.0, 1.0 - held / words), 0.0)
    more: Floats = again[:, None] * inside
    return more
