"""Least work of a network for each of the two engines of a chip: the array and the pins.

Where several networks share a chip, the array works on one while words of another come from DRAM.
So the cycles of both are counted apart: what everything on the chip takes with DRAM infinitely
fast, and what DRAM takes with everything else infinitely fast (docs/explanation/bounds.md, "Several
networks on one chip"). Steady weights are out of the question: networks that share a buffer cannot
keep theirs in it for ever.
"""

from typing import NamedTuple

from archloom.evaluators.loopnest import vector_least
from archloom.space import Infeasible
from archloom.space.hardware import Hardware, fusion_cores, packed, pass_batch
from archloom.space.workload import Network

from ..compulsory import demand, dram_shares, engine_cycles
from ..layer import layer_bound, word_bytes
from ..layer_kernel import CYCLES, dram_words
from ..mac_work import parallelism, served_by
from ..rounding import ROUNDING
from .inside import inside_costs, without_dram
from .plans import one_by_one
from .work import Plans, network_work


class EngineDemand(NamedTuple):
    """Cycles that no pass over :func:`archloom.space.hardware.pass_batch` inferences goes below.

    Attributes:
        compute_cycles: of all that is on the chip.
        pin_cycles: of DRAM.
    """

    compute_cycles: float
    pin_cycles: float


def engine_demand(network: Network, hardware: Hardware) -> EngineDemand:
    """Return what no plan and no mappings go below, from compulsory work alone."""
    need = demand(packed(network, hardware), pass_batch(network, hardware))
    return _surely(*engine_cycles(need, hardware))


def _surely(compute_cycles: float, pin_cycles: float) -> EngineDemand:
    """Return sums of cycles that no other order of adding up makes less."""
    return EngineDemand(compute_cycles * (1 - ROUNDING), pin_cycles * (1 - ROUNDING))


def tight_engine_demand(network: Network, hardware: Hardware, plans: Plans) -> EngineDemand:
    """Return the tightest demand that there is; like tight bounds of a pass it takes ten times as
    long.

    Raises:
        ValueError: plans that keep weights on the chip for ever.
    """
    if plans == "steady":
        raise ValueError("networks that share a chip have no steady weights")
    network = packed(network.with_batch(pass_batch(network, hardware)), hardware)
    least = engine_demand(network, hardware)
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible) or one_by_one(network, hardware, plans):
        tight = _surely(*_layer_by_layer(network, hardware))
        return EngineDemand(*map(max, least, tight))
    work, compute = network_work(network), 0.0
    for zeros, nests in work.nests.items():
        inside = inside_costs(hardware, cores, zeros, nests)
        compute += float(nests.whole @ inside[:, CYCLES])
    for one in (one for one in work.vector if not one.folded):
        # the unit works from the buffer, whose ports may take longer than it does
        _, port_cycles = vector_least(one.layer, hardware)
        own = one.layer.vector_ops / hardware.vector_lanes
        compute += one.whole * max(0.0, port_cycles - own)
    compute += work.partly.cycles(parallelism(hardware))
    compute += demand(network).serial_ops / hardware.vector_lanes
    tight = _surely(compute, 0.0)
    return EngineDemand(*map(max, least, tight))


def _layer_by_layer(network: Network, hardware: Hardware) -> tuple[float, float]:
    """Return cycles of the chip and of DRAM if every layer runs by itself, its maps in DRAM."""
    work = network_work(network)
    compute = dram_bytes = 0.0
    for zeros, nests in work.nests.items():
        design, prices = without_dram(hardware, zeros)
        sizes = word_bytes(hardware, zeros) * dram_shares(hardware, served_by(hardware, zeros))
        costs = nests.costs(design, prices)
        compute += float(nests.times @ costs[:, CYCLES])
        dram_bytes += float(nests.times @ dram_words(design, sizes, nests.bounds, nests.windows))
    for one in work.vector:
        compute += one.times * one.layer.vector_ops / hardware.vector_lanes
        dram_bytes += one.times * layer_bound(one.layer, hardware).dram_bytes
    return compute, dram_bytes * 8 / hardware.word_bits / hardware.levels[-1].bandwidth_words
