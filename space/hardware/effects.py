"""Hardware effects beyond the plain loop-nest model; each is a switch that is off by default."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from ..errors import amount_fault, did_you_mean
from .weight_format import WeightFormat

#: what a datapath does with a zero operand
Zeros = Literal["computed", "gated", "skipped"]
#: whether moving words between a level and its children costs energy
Network = Literal["free", "mesh"]
#: what of an array's fill, drain and weight loading shows in the latency
FillDrain = Literal["none", "overlapped", "exposed"]


#: most energy of one event, a joule: beyond it energies of long runs are no finite numbers
MOST_PJ: Final = 1e12


@dataclass(frozen=True, slots=True)
class AccessEnergy:
    """Energies of one storage level that its design gives, in place of the technology's.

    Attributes:
        read_pj, fill_pj, update_pj: one access of ``width_words`` words: read, written from the
            level outside, written from inside (a partial sum).
        leakage_pj: one instance in use, per cycle.
        hop_pj, router_pj: a word over one hop, or through one router, of the network between
            one instance and its children.
        address_pj: making one address.

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


#: values of each field of Effects
EFFECT_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "network": get_args(Network),
    "fill_drain": get_args(FillDrain),
    "weight_zeros": get_args(Zeros),
    "input_zeros": get_args(Zeros),
    "weight_format": get_args(WeightFormat),
}


@dataclass(frozen=True, slots=True)
class Effects:
    """Switches of a whole accelerator.

    Attributes:
        network: ``free``, or ``mesh``: words that a level sends to its children or takes from
            them pay for hops and routers (Timeloop's mesh: they enter at the middle of the left
            edge, run along the row, then up and down the columns).
        fill_drain: latency of filling, draining and loading the array of each PE (SCALE-Sim,
            Samajdar et al., ISPASS 2020): ``none``; ``exposed``, all of it for every tile that
            the array holds still; ``overlapped``, for double-buffered cells (FAST section 3.1):
            fill and drain once, and loading only where a tile is too short to hide it.
        weight_zeros, input_zeros: ``computed`` like any value; ``gated``: a zero saves the
            energy of the MAC and of what the MAC would have accessed; ``skipped``: it saves the
            cycle too. Zeros are spread evenly (Sparseloop, Wu et al., MICRO 2022, uniform
            density), and work is balanced.
        weight_format: how weights are held in all levels outside the innermost one that keeps them,
            DRAM with them: ``dense``, or packed as
            :func:`.weight_format.bits_per_weight` says, in ``bitmask``, ``run_length`` or ``csr``.
            What packs and unpacks costs nothing (an assumption).

    Raises:
        ValueError: a value that no switch has.
    """

    network: Network = "free"
    fill_drain: FillDrain = "none"
    weight_zeros: Zeros = "computed"
    input_zeros: Zeros = "computed"
    weight_format: WeightFormat = "dense"

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
