"""DRAM by its rows, banks and refresh, in place of one energy per bit at full bandwidth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from ..errors import did_you_mean, whole_fault

#: in which order words of a tensor lie in DRAM
Layout = Literal["channels_first", "channels_last"]

#: devices that have a model, as ``evaluators/technology/dram/devices.yaml`` has them
DRAM_DEVICES: Final = (
    "ddr3_1600_x16",
    "ddr3_1600_x8",
    "ddr4_2400_x8",
    "ddr4_3200_x8",
    "gddr6_8gbps_x16",
    "hbm2_2000",
    "lpddr3_1600_x32",
    "lpddr4_2400_x16",
)

#: values of the fields of :class:`DramTiming` that are names
DRAM_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "device": DRAM_DEVICES,
    "layout": get_args(Layout),
}

#: assumption: more are a slip (a package of HBM has 8 to 16 channels, a channel of DDR up to 8
#: ranks with stacked devices)
MOST_CHANNELS: Final = 1024
MOST_RANKS: Final = 16

#: fields of :class:`DramTiming` that are counts, from 1 up to this
DRAM_COUNTS: Final[dict[str, int]] = {"channels": MOST_CHANNELS, "ranks": MOST_RANKS}


@dataclass(frozen=True, slots=True)
class DramTiming:
    """What DRAM is made of, and how tensors lie in it.

    Attributes:
        device: kind of DRAM device, such as ``ddr4_3200_x8``; it has the width of a channel.
        channels: number of channels, over which addresses are spread.
        ranks: number of ranks of each channel.
        layout: order of words of a tensor in DRAM: ``channels_first`` (N, C, H, W and K, C, R, S)
            or ``channels_last`` (N, H, W, C and K, R, S, C).

    Raises:
        ValueError: a device or layout that is not known, or a number that is none; all at once.
    """

    device: str
    channels: int = 1
    ranks: int = 1
    layout: Layout = "channels_first"

    def __post_init__(self) -> None:
        faults = "; ".join(filter(None, self._faults()))
        if faults:
            raise ValueError(f"timing: {faults}")

    def _faults(self) -> Iterator[str]:
        for name, known in DRAM_CHOICES.items():
            value: object = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                near = did_you_mean(str(value), known)
                yield f"{name} must be one of {', '.join(known)}, got {value!r}; {near}"
        for name, most in DRAM_COUNTS.items():
            yield whole_fault(name, getattr(self, name), 1, most)
