"""DRAM devices by name, from ``devices.yaml``: structure, timing, currents, and their channel."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from archloom.space import did_you_mean

_FILE: Final = Path(__file__).with_name("devices.yaml")


@dataclass(frozen=True, slots=True)
class DramChannel:
    """One channel: ranks of devices side by side on one data bus.

    Attributes:
        name: of the device.
        bus_bits: width of the data bus.
        ranks: groups of devices that share the bus.
        device_bits, row_bits: data pins of a device, and what one of its rows holds.
        bank_groups, banks_per_group: of a rank.
        burst_length: transfers of a burst; ``burst_cycles``: clock cycles its energy counts for.
        address_map: parts of an address, from its highest bits to its lowest.
        timing: clock cycles by JEDEC's names, and ``tCK_ns``.
        power: ``VDD`` in V and currents of a device in mA, by JEDEC's names.
        closed_page: whether a row is closed after every burst.

    Raises:
        ValueError: a bus that devices do not fill, or no rank.
    """

    name: str
    bus_bits: int
    ranks: int
    device_bits: int
    row_bits: int
    bank_groups: int
    banks_per_group: int
    burst_length: int
    burst_cycles: int
    address_map: tuple[str, ...]
    timing: dict[str, float]
    power: dict[str, float]
    closed_page: bool = False

    def __post_init__(self) -> None:
        if self.bus_bits % self.device_bits or self.bus_bits < self.device_bits:
            raise ValueError(
                f"bus_bits of {self.name} must be a multiple of {self.device_bits}, the pins of a "
                f"device, got {self.bus_bits}"
            )
        if self.ranks < 1:
            raise ValueError(f"ranks of {self.name} must be at least 1, got {self.ranks}")

    @property
    def devices(self) -> int:
        """Devices of a rank."""
        return self.bus_bits // self.device_bits

    @property
    def banks(self) -> int:
        """Banks of a rank."""
        return self.bank_groups * self.banks_per_group

    @property
    def burst_bytes(self) -> int:
        """Bytes of a burst."""
        return self.bus_bits * self.burst_length // 8

    @property
    def row_bytes(self) -> int:
        """Bytes of a row over all devices of a rank."""
        return self.row_bits * self.devices // 8

    @property
    def slot_cycles(self) -> float:
        """Clock cycles from one burst to the next at best."""
        return max(float(self.burst_cycles), self.timing["tCCD_S"])

    @property
    def row_cycle(self) -> float:
        """Clock cycles from opening a row to opening another one in its bank (tRC)."""
        return self.timing["tRAS"] + self.timing["tRP"]

    @property
    def peak_gbytes_per_s(self) -> float:
        """Bandwidth with a burst in every slot."""
        return self.burst_bytes / (self.slot_cycles * self.timing["tCK_ns"])

    @property
    def refresh_share(self) -> float:
        """Share of the time that refresh takes."""
        return self.timing["tRFC"] / self.timing["tREFI"]

    @property
    def groups_low(self) -> bool:
        """Whether consecutive bursts go to other bank groups."""
        return self.address_map[-1] == "group"


def dram_names() -> list[str]:
    """Return the names of all devices."""
    return sorted(_devices())


def dram_channel(name: str, ranks: int = 1, bus_bits: int | None = None) -> DramChannel:
    """Return a channel of a device.

    Args:
        name: of the device.
        ranks: on the channel.
        bus_bits: width of its bus; None for that of the device's file.

    Raises:
        ValueError: an unknown name (the message names the nearest), or no such channel.
    """
    known = _devices()
    if name not in known:
        raise ValueError(f"DRAM {name!r} is not known; {did_you_mean(name, sorted(known))}")
    return replace(known[name], ranks=ranks, bus_bits=bus_bits or known[name].bus_bits)


@cache
def _devices() -> dict[str, DramChannel]:
    data: dict[str, dict[str, Any]] = yaml.safe_load(_FILE.read_text())
    made = {}
    for name, entry in data.items():
        channel = dict(entry["channel"])
        address_map = tuple(channel.pop("address_map"))
        parts = entry["structure"] | channel
        timing, power = dict(entry["timing"]), dict(entry["power"])
        parts |= {"address_map": address_map, "timing": timing, "power": power}
        made[name] = DramChannel(name, ranks=1, **parts)
    return made
