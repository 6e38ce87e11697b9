"""Hardware effects beyond the plain loop-nest model; each is a switch that is off by default."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from archloom.space.workload import Tensor

from ..errors import amount_fault, did_you_mean
from .weight_format import WeightFormat

#: what a datapath does with a zero operand
Zeros = Literal["computed", "gated", "skipped"]
#: whether moving words between a level and its children costs energy
Network = Literal["free", "mesh"]
#: what of an array's fill, drain and weight loading shows in the latency
FillDrain = Literal["none", "overlapped", "exposed"]
#: whether a buffer is read, at a cost, for results that it sends to DRAM
DrainReads = Literal["free", "counted"]


#: most energy of one event, a joule: beyond it energies of long runs are no finite numbers
MOST_PJ: Final = 1e12


@dataclass(frozen=True, slots=True)
class AccessEnergy:
    """Energies of one storage level that its design gives, in place of the technology's.

    Attributes:
        read_pj: energy of a read access of ``width_words`` words.
        fill_pj: energy of a write access of ``width_words`` words from the outer level.
        update_pj: energy of a write access of ``width_words`` words from the inner level (partial
            sums).
        leakage_pj: leakage energy of one used instance per cycle.
        hop_pj: energy per word and hop of the network between an instance and its children.
        router_pj: energy per word and router of that network.
        address_pj: energy of generating one address.

    Raises:
        ValueError: an energy that is negative, more than a joule or not a number.
    """

    read_pj: float
    fill_pj: float
    update_pj: float
    leakage_pj: float = 0.0
    hop_pj: float = 0.0
    router_pj: float = 0.0
    address_pj: float = 0.0

    def __post_init__(self) -> None:
        faults = [amount_fault(name, getattr(self, name), 0, MOST_PJ) for name in self.__slots__]
        if any(faults):
            raise ValueError("; ".join(filter(None, faults)))


@dataclass(frozen=True, slots=True)
class TensorEnergy(AccessEnergy):
    """Energies of a storage level of which each tensor has its own, as where it has a buffer of its
    own: what stands for the designs of a box has the least of each.

    Attributes:
        by_tensor: read, fill and update of each tensor that the level keeps; the fields before are
            the least of them.

    Raises:
        ValueError: an energy that is negative, more than a joule or not a number.
    """

    by_tensor: tuple[tuple[Tensor, tuple[float, float, float]], ...] = ()

    def __post_init__(self) -> None:
        for _, energies_pj in self.by_tensor:
            AccessEnergy(*energies_pj)


#: values of each field of Effects
EFFECT_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "network": get_args(Network),
    "fill_drain": get_args(FillDrain),
    "weight_zeros": get_args(Zeros),
    "input_zeros": get_args(Zeros),
    "weight_format": get_args(WeightFormat),
    "drain_reads": get_args(DrainReads),
}


@dataclass(frozen=True, slots=True)
class Effects:
    """Optional effects of the cost model, for the whole accelerator.

    Attributes:
        network: on-chip networks. ``free``: transfers between levels cost no energy. ``mesh``: each
            word pays for hops and routers (Timeloop's mesh: words enter at the middle of the left
            edge, go along the row, then up or down the columns).
        fill_drain: latency of filling, draining and loading the array of each PE (SCALE-Sim,
            Samajdar et al., ISPASS 2020). ``none``: it is ignored. ``exposed``: it is added for
            every stationary tile. ``overlapped``: PEs are double-buffered (FAST, section 3.1): fill
            and drain are added once, and loading only where a tile is too short to hide it.
        weight_zeros: zeros in weights. ``computed``: like any other value. ``gated``: a zero saves
            the energy of the MAC and of its accesses. ``skipped``: it also saves the cycle. Zeros
            are assumed to be spread evenly (Sparseloop, Wu et al., MICRO 2022, uniform density),
            and the work to be balanced.
        input_zeros: zeros in inputs, with the same values.
        weight_format: format of weights in DRAM and all levels outside the innermost one that keeps
            weights: ``dense``, or packed as ``bitmask``, ``run_length`` or ``csr``. Packing and
            unpacking are assumed to cost nothing.
        drain_reads: reads of results, finished ones and partial sums, as they leave the outermost
            on-chip level that keeps results for DRAM. ``free``: they cost no energy (Timeloop).
            ``counted``: each word written to DRAM takes the energy of one such read (as in
            AccelForge), which is reported with DRAM's. No cycles are added.

    Raises:
        ValueError: a value that no switch has.
    """

    network: Network = "free"
    fill_drain: FillDrain = "none"
    weight_zeros: Zeros = "computed"
    input_zeros: Zeros = "computed"
    weight_format: WeightFormat = "dense"
    drain_reads: DrainReads = "free"

    def __post_init__(self) -> None:
        faults = []
        for name, known in EFFECT_CHOICES.items():
            value: object = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                near = did_you_mean(str(value), known)
                faults.append(f"{name} must be one of {', '.join(known)}, got {value!r}; {near}")
        if faults:
            raise ValueError("; ".join(faults))


#: the plain loop-nest model
PLAIN = Effects()
