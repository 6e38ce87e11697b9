"""Lower bounds on energy and latency that hold for every fusion plan and every mapping.

They rest on three facts that no search choice can change: each operation whose result is read
later runs at least once (halos can only repeat it), each weight and each network input that is
read comes from DRAM at least once, and each network output goes there once. Maps between
layers may stay on the chip, so they count for nothing. Steady weights, which are in the buffer
before the pass begins, break the second fact: for plans with them the bounds are to be asked for.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, fsum, log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.space.fusion import computations
from archloom.space.hardware import Hardware, packed, pass_batch
from archloom.space.workload import DIMS, OUTPUTS, TENSORS, Layer, Network, Tensor, remembered

from ..hardware import edp_js, event_costs
from .mac_work import MacWork, Parallelism, parallelism
from .needed_outputs import needed
from .rounding import (
    HALF_GRAIN_PJ,
    ROUNDING,
    TileRounding,
    dram_access_pj,
    evaluation_pj,
    grains_below,
    serves_macs,
    tile_rounding,
    whole_cycles,
)


class Demand(NamedTuple):
    """Operations and words that one pass of a network takes, whatever runs it.

    Attributes:
        work: of the layers that run on MACs, as far as their results are read and no mask drops
            them.
        vector_ops: operations on the vector unit, likewise.
        serial_ops: those of layers that run by themselves, not folded into others.
        words: that DRAM moves at the least, of weights, inputs and results.
        evaluations: how often layers run by themselves at the most, if all do: once for each image.
    """

    work: MacWork
    vector_ops: int
    serial_ops: int
    words: tuple[int, int, int]
    evaluations: int

    @property
    def dram_words(self) -> int:
        """All words that DRAM moves at the least."""
        return sum(self.words)

    def with_steady(self, hardware: Hardware) -> "Demand":
        """Return what a pass takes if as many weights as fit never leave the fusion level."""
        buffer = hardware.fusion_level
        if buffer is None or "weights" not in hardware.levels[buffer].keeps:
            return self
        weights, inputs, results = self.words
        left = max(0, weights - buffer_words(hardware))
        return self._replace(words=(left, inputs, results))

    def served(self, hardware: Hardware) -> tuple[float, float, float]:
        """Return the least share of the MACs' accesses to each tensor that zeros leave."""
        effects = hardware.effects
        return self.work.served((effects.weight_zeros, effects.input_zeros))

    def paid_words(self, hardware: Hardware) -> float:
        """Return the words that DRAM takes energy and time for at the least.

        Where MACs may get a tensor from DRAM, zeros spare some of its words there.
        """
        served = self.served(hardware)
        if min(served) == 1.0:
            return float(self.dram_words)
        weights, inputs, results = dram_shares(hardware, served)
        # an input may be the second operand of a product, where other layers have weights
        shares = weights, min(weights, inputs), results
        return sum(words * share for words, share in zip(self.words, shares, strict=True))


def dram_shares(
    hardware: Hardware, served: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the share of the words of each tensor that DRAM takes energy and time for at the
    least.

    Args:
        hardware: on which they move.
        served: share of the MACs' accesses that zeros leave: MACs may be what asks DRAM.
    """
    weights, inputs, results = (
        share if serves_macs(hardware, -1, t) else 1.0 for t, share in enumerate(served)
    )
    return weights, inputs, results


def energy_bound_pj(network: Network, hardware: Hardware, steady: bool = False) -> float:
    """Return an energy that no plan and mapping of one pass of ``network`` can go below, in pJ.

    Arithmetic, compulsory DRAM traffic, the accesses that every MAC makes to the innermost
    buffers, and leakage over the latency bound. ``steady`` says whether plans may have steady
    weights.
    """
    return _bounds(demanded(network, hardware, steady), hardware)[0]


def latency_bound_cycles(network: Network, hardware: Hardware, steady: bool = False) -> float:
    """Return cycles that no plan and mapping of one pass of ``network`` can go below.

    The larger of compute (layers one after another, each on as many MACs as its loops can
    occupy) and compulsory DRAM traffic at full bandwidth. ``steady`` says whether plans may have
    steady weights.
    """
    return _bounds(demanded(network, hardware, steady), hardware)[1]


def demanded(network: Network, hardware: Hardware, steady: bool) -> Demand:
    """Return what one pass takes on ``hardware``, by plans that may have steady weights or not."""
    need = demand(packed(network, hardware))
    return need.with_steady(hardware) if steady else need


def edp_bound(networks: Sequence[Network], hardware: Hardware) -> float:
    """Return a lower bound on the EDP of ``hardware``, in J*s: geometric mean over networks.

    Of plans without steady weights.

    A pass works on as many inferences as :func:`pass_batch` says.

    Raises:
        ValueError: no networks.
    """
    if not networks:
        raise ValueError("edp_bound needs at least one network, got none")
    logs = [
        log(edp_js(*pass_bounds(network, hardware), hardware, pass_batch(network, hardware)))
        for network in networks
    ]
    return exp(fsum(logs) / len(logs))


def pass_bounds(network: Network, hardware: Hardware, steady: bool = False) -> tuple[float, float]:
    """Return energy (pJ) and latency (cycles) that no pass over :func:`pass_batch` inferences
    goes below. ``steady`` says whether plans may have steady weights.
    """
    network = network.with_batch(pass_batch(network, hardware))
    return _bounds(demanded(network, hardware, steady), hardware)


def compute_cycles(
    network: Network, hardware: Hardware, macs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return float64[k], cycles that no pass goes below if at most so many MACs may work at once.

    A pass as in :func:`pass_bounds`; layers run one after another.
    """
    need = demand(network, pass_batch(network, hardware))
    cycles = need.work.cycles_on(parallelism(hardware), macs)
    cycles += need.serial_ops / hardware.vector_lanes
    least: NDArray[np.float64] = cycles * (1 - ROUNDING)
    return least


def demand(network: Network, batch: int | None = None) -> Demand:
    """Return what one pass takes, at the network's batch or at another."""
    return _demand(network if batch is None else network.with_batch(batch))


@remembered
def _demand(network: Network) -> Demand:
    least = needed(network)
    pairs = list(zip(network.layers, least.outputs, strict=True))
    macs = [(_least(la, out, la.macs, la.seen_macs), la) for la, out in pairs if la.uses_macs]
    # layers that share weights may share one fetch of them
    weights = sum(least_weight_words(layer) for layer in network.layers if not layer.weights_of)
    results = sum(layer.output_words for layer in network.layers if layer.name in network.leaving)
    work = MacWork(
        np.array([count for count, _ in macs], dtype=np.int64),
        np.array([layer.bounds for _, layer in macs], dtype=np.int64).reshape(-1, len(DIMS)),
        np.array([layer.density for _, layer in macs], dtype=np.float64).reshape(-1, 2),
    )
    operations = [_least(layer, out, layer.vector_ops, layer.seen_ops) for layer, out in pairs]
    hidden = {i for found in computations(network) for i in found.folded}
    return Demand(
        work,
        sum(operations),
        sum(count for i, count in enumerate(operations) if i not in hidden),
        (weights, least.input_words, results),
        network.batch * len(network.layers),
    )


def _least(layer: Layer, outputs: int, every: int, seen: int) -> int:
    """Return operations for so many of a layer's output positions; of a mask that drops some it is
    not known which positions see most."""
    positions = layer.p * layer.q
    return max(0, seen - every // positions * (positions - outputs))


def least_weight_words(layer: Layer) -> int:
    """Return the whole words among those that the weights of a layer take.

    Packed weights need not end with a whole one.
    """
    return layer.weight_words if layer.packed_words is None else max(0, layer.packed_words - 1)


class Rates(NamedTuple):
    """What a hardware takes for each thing that a network demands, at the least.

    Energies are what rounding leaves of exact ones, in any plan.

    Attributes:
        parallel: decides how many MACs work at once.
        lanes: vector operations of a cycle.
        words: that MACs or layers ask of DRAM, to words of the hardware that it moves in a cycle.
        leakage_pj: the chip, per cycle.
        mac_pj: a multiply-accumulate with its innermost accesses.
        vector_op_pj: a vector operation.
        word_pj: a word over DRAM.
        rounding: what it leaves of tiles.
        layer_pj: what rounding may take off a layer that runs by itself.
    """

    parallel: Parallelism
    lanes: int
    words: float
    leakage_pj: float
    mac_pj: float
    vector_op_pj: float
    word_pj: float
    rounding: TileRounding
    layer_pj: float

    def macs_pj(self, work: MacWork) -> float:
        """Energy of the MACs of layers."""
        energy = work.energetic(self.parallel.zeros) * self.mac_pj
        return max(0.0, energy - work.macs * self.rounding.mac_pj)

    def below_costs(self, energy_pj: float, need: Demand) -> float:
        """Return an energy that no cost is below, from that of a pass with these energies.

        Leakage of the pass is rounded once.
        """
        return grains_below(energy_pj - need.evaluations * self.layer_pj - HALF_GRAIN_PJ)


# networks are bounded one after another on the same hardware
@lru_cache(maxsize=16)
def _rates(hardware: Hardware, served: float) -> Rates:
    costs, rounding = event_costs(hardware), tile_rounding(hardware, served)
    bits, dram_words = least_dram_bits(hardware), hardware.levels[-1].bandwidth_words
    return Rates(
        parallelism(hardware),
        hardware.vector_lanes,
        bits / hardware.word_bits / dram_words,
        costs.leakage_pj_per_cycle,
        costs.mac_pj + operands_pj(hardware, rounding.buffer),
        max(0.0, costs.vector_op_pj - rounding.vector_op_pj),
        dram_access_pj(hardware) / _words_per_access(hardware, -1, bits) * rounding.dram,
        rounding,
        evaluation_pj(len(hardware.levels)),
    )


def rates_of(need: Demand, hardware: Hardware) -> Rates:
    """Return what ``hardware`` takes for what a network demands."""
    return _rates(hardware, need.served(hardware)[OUTPUTS])


def engine_cycles(need: Demand, hardware: Hardware) -> tuple[float, float]:
    """Return cycles of all that is on the chip, and of DRAM."""
    return _engine_cycles(need, rates_of(need, hardware), need.paid_words(hardware))


def _engine_cycles(need: Demand, rates: Rates, words: float) -> tuple[float, float]:
    return need.work.cycles(rates.parallel) + need.serial_ops / rates.lanes, words * rates.words


def _bounds(need: Demand, hardware: Hardware) -> tuple[float, float]:
    """Return (energy_pj, latency_cycles)."""
    rates, words = rates_of(need, hardware), need.paid_words(hardware)
    cycles = whole_cycles(max(_engine_cycles(need, rates, words)))
    energy = rates.macs_pj(need.work) + need.vector_ops * rates.vector_op_pj
    energy += words * rates.word_pj + cycles * rates.leakage_pj
    return rates.below_costs(energy, need), cycles


def operands_pj(hardware: Hardware, buffer: float) -> float:
    """Energy of the innermost accesses that each MAC makes, at the least.

    Of accesses to the level inside DRAM, which may hold maps of tiles, the share ``buffer``.

    A tensor's innermost buffer serves each of its MACs in every cycle, and one access can serve
    all MACs of an instance at best, with a full vector of words. A first partial sum is not read,
    so outputs count their writes alone. A tensor whose innermost buffer may be bypassed, or is
    DRAM, counts for nothing here.
    """
    accesses, fanouts = event_costs(hardware).accesses_pj, hardware.fanouts
    total, innermost = 0.0, _innermost(tuple([level.keeps for level in hardware.levels]))
    for t, (tensor, i) in enumerate(zip(TENSORS, innermost, strict=True)):
        level = hardware.levels[i]
        if level.optional or level.storage == "dram":
            continue
        read_pj, _, update_pj = accesses[i]
        pj = update_pj[t] if tensor == "outputs" else read_pj[t]
        served = prod([x * y for x, y in fanouts[: i + 1]])
        width = _words_per_access(hardware, i, hardware.bits(i, tensor))
        left = buffer if i == len(hardware.levels) - 2 else 1.0
        total += left * pj / (served * width * level.cluster_size)
    return total


def least_dram_bits(hardware: Hardware) -> int:
    """Bits of the narrowest words in DRAM."""
    return min(hardware.bits(-1, tensor) for tensor in TENSORS)


def _words_per_access(hardware: Hardware, level: int, bits: int) -> int:
    """Words of so many bits in one access to a level."""
    return max(1, hardware.levels[level].width_words * hardware.word_bits // bits)


@lru_cache(maxsize=256)
def _innermost(keeps: tuple[tuple[Tensor, ...], ...]) -> tuple[int, ...]:
    """Return for each tensor the innermost level that keeps it, by what levels keep."""
    return tuple(next(i for i, kept in enumerate(keeps) if tensor in kept) for tensor in TENSORS)
