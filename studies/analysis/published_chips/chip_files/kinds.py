"""Kinds of figures that a chip file may have, and how each is computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import access_costs, hardware_cost
from archloom.evaluators.loopnest import LayerCost
from archloom.space.hardware import Hardware
from archloom.space.workload import TENSORS, Layer

#: bits beside each nonzero value where runs of zeros are packed: a run of 5 bits for each, and one
#: bit for three of them (Chen et al., JSSC 52(1), 2017, section V: 64 bits for three values of 16)
_RUN_BITS: Final = 5 + 1 / 3


@dataclass(frozen=True)
class LayerRun:
    """A layer, and what it costs on a chip.

    Attributes:
        layer, cost: the layer, and its cost.
        nonzero: shares of nonzero values among its inputs and its outputs.
    """

    layer: Layer
    cost: LayerCost
    nonzero: tuple[float, float] = (1.0, 1.0)

    def packed_share(self, bits: float) -> NDArray[np.float64]:
        """Return what is left of each tensor's words of so many bits if runs of zeros in feature
        maps are packed, where that is less.
        """
        each = (bits + _RUN_BITS) / bits
        return np.array([1.0, *(min(1.0, share * each) for share in self.nonzero)])


@dataclass(frozen=True)
class Runs:
    """Layers that were measured together, one after another.

    Attributes:
        hardware: the chip.
        layers: those of the row.
        all_layers: all of the network that run on the MAC array; only where a figure is a share of
            them.
        batch: inputs of the network that the layers work on in a pass.
    """

    hardware: Hardware
    layers: Sequence[LayerRun]
    all_layers: Sequence[LayerRun] = ()
    batch: int = 1

    @property
    def cycles(self) -> int:
        """Cycles of the layers."""
        return sum(run.cost.latency_cycles for run in self.layers)

    @property
    def seconds(self) -> float:
        """Time of the layers."""
        return self.cycles / (self.hardware.frequency_mhz * 1e6)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layers."""
        return sum(run.layer.macs for run in self.layers)

    def energy_pj(self, dram: bool) -> float:
        """Energy with leakage, with or without that of DRAM accesses."""
        end = None if dram else -1
        moved = sum(float(run.cost.energy_pj[:end].sum()) for run in self.layers)
        leaked = access_costs(self.hardware).leakage_pj_per_cycle * self.cycles
        return moved + self.compute_pj + leaked

    @property
    def compute_pj(self) -> float:
        """Energy of the multiply-accumulates."""
        return sum(run.cost.compute_pj for run in self.layers)

    def level_pj(self, level: int) -> float:
        """Energy of the words read and written at a level, without leakage."""
        return sum(float(run.cost.energy_pj[level].sum()) for run in self.layers)

    def traffic_mb(self, level: int) -> float:
        """Words read and written at a level, in 10^6 bytes."""
        bits = np.array([self.hardware.bits(level, tensor) for tensor in TENSORS])
        words = sum(np.asarray(run.cost.words)[level] for run in self.layers)
        return float((words * bits).sum()) / 8e6

    def packed_mb(self, level: int) -> float:
        """The same, with runs of zeros in feature maps packed."""
        bits = np.array([self.hardware.bits(level, tensor) for tensor in TENSORS])
        own = self.hardware.word_bits
        words = sum(np.asarray(r.cost.words)[level] * r.packed_share(own) for r in self.layers)
        return float((words * bits).sum()) / 8e6

    def over_all(self) -> "Runs":
        """Return all layers of the network."""
        return Runs(self.hardware, self.all_layers, batch=self.batch)


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes:
        name: of the figure, with its unit.
        about: what it is, for people.
        of_runs: its value for the layers of a row.
        share: whether it is a share of the whole network.
        sense: 1 if it grows with time, energy or traffic, -1 if it falls, 0 for neither.
    """

    name: str
    about: str
    of_runs: Callable[[Runs], float]
    share: bool = False
    sense: int = 1


def _peak_tops(hardware: Hardware) -> float:
    return 2e-6 * hardware.macs * hardware.frequency_mhz


#: by key; those of levels are beside them (``LEVEL_mb``, ``LEVEL_energy_mj``)
KINDS: Final[dict[str, Kind]] = {
    "latency_ms": Kind("latency, ms", "time of the layers, in ms", lambda r: r.seconds * 1e3),
    "latency_cycles": Kind("latency, cycles", "cycles of the layers", lambda r: float(r.cycles)),
    "power_mw": Kind(
        "power without DRAM, mW",
        "mean power of the chip without DRAM, in mW",
        lambda r: r.energy_pj(False) * 1e-9 / r.seconds,
    ),
    "power_with_dram_mw": Kind(
        "power with DRAM, mW",
        "mean power of the chip with DRAM accesses, in mW",
        lambda r: r.energy_pj(True) * 1e-9 / r.seconds,
    ),
    "energy_mj": Kind(
        "energy without DRAM, mJ",
        "energy of the chip without DRAM, in mJ",
        lambda r: r.energy_pj(False) * 1e-9,
    ),
    "energy_with_dram_mj": Kind(
        "energy with DRAM, mJ",
        "energy of the chip with DRAM accesses, in mJ",
        lambda r: r.energy_pj(True) * 1e-9,
    ),
    "mac_energy_mj": Kind(
        "energy of MACs, mJ",
        "energy of the multiply-accumulates alone, in mJ",
        lambda r: r.compute_pj * 1e-9,
    ),
    "pj_per_op": Kind(
        "energy without DRAM, pJ/operation",
        "energy without DRAM for each operation, two for a MAC, in pJ",
        lambda r: r.energy_pj(False) / (2 * r.macs),
    ),
    "inferences_per_s": Kind(
        "inferences/s",
        "inputs for which the layers are computed in a second",
        lambda r: r.batch / r.seconds,
        sense=-1,
    ),
    "achieved_tops": Kind(
        "achieved TOP/s",
        "operations in a second, two for a MAC, in 10^12",
        lambda r: 2e-12 * r.macs / r.seconds,
        sense=-1,
    ),
    "peak_tops": Kind(
        "peak, TOP/s",
        "peak of the hardware that the layers run on, in 10^12 operations per second",
        lambda r: _peak_tops(r.hardware),
        sense=0,
    ),
    "utilisation_percent": Kind(
        "utilisation, %",
        "MACs divided by cycles and MAC units, in percent",
        lambda r: 100 * r.macs / (r.cycles * r.hardware.macs),
        sense=-1,
    ),
    "macs_share_percent": Kind(
        "share of MACs, %",
        "part of the network's MACs, in percent",
        lambda r: 100 * r.macs / r.over_all().macs,
        share=True,
        sense=0,
    ),
    "latency_share_percent": Kind(
        "share of latency, %",
        "part of the latency of all layers of the MAC array, in percent",
        lambda r: 100 * r.cycles / r.over_all().cycles,
        share=True,
        sense=0,
    ),
}

#: ends of the keys of a level's figures, each with what it is
TRAFFIC: Final = "_mb"
PACKED: Final = f"_packed{TRAFFIC}"
LEVEL_ENERGY: Final = "_energy_mj"
LEVEL_AREA: Final = "_area_mm2"
OF_LEVELS: Final = {
    TRAFFIC: "bytes read and written at a level, in MB (10^6 bytes), as LEVEL_mb",
    LEVEL_ENERGY: "energy of the words read and written at a level, in mJ, as LEVEL_energy_mj",
}
CHIP_OF_LEVELS: Final = {LEVEL_AREA: "area of all instances of a level, in mm2, as LEVEL_area_mm2"}


def row_kinds(hardware: Hardware) -> dict[str, Kind]:
    """Return the kinds of figures that rows of a chip may have, by key."""
    found = dict(KINDS)
    for number, level in enumerate(hardware.levels):
        name = "DRAM" if level.storage == "dram" else level.name
        about = f"bytes read and written at level {level.name}, in MB (10^6 bytes)"
        found[f"{level.name}{TRAFFIC}"] = Kind(f"{name} traffic, MB", about, _traffic(number))
        if level.storage == "dram":
            about += ", runs of zeros in feature maps packed by input_zeros and output_zeros"
            kind = Kind("DRAM traffic, maps packed, MB", about, _packed_traffic(number))
            found[f"{level.name}{PACKED}"] = kind
        about = f"energy of the words read and written at level {level.name}, in mJ"
        kind = Kind(f"energy of {name}, mJ", about, _level_energy(number))
        found.setdefault(f"{level.name}{LEVEL_ENERGY}", kind)
    return found


def _traffic(level: int) -> Callable[[Runs], float]:
    return lambda runs: runs.traffic_mb(level)


def _packed_traffic(level: int) -> Callable[[Runs], float]:
    return lambda runs: runs.packed_mb(level)


def _level_energy(level: int) -> Callable[[Runs], float]:
    return lambda runs: runs.level_pj(level) * 1e-9


@dataclass(frozen=True)
class ChipKind:
    """A kind of figure of a whole chip.

    Attributes:
        name: of the figure, with its unit.
        about: what it is, for people.
        of_chip: its value.
        sense: 1 if it grows with area or power, -1 if it falls, 0 for neither.
    """

    name: str
    about: str
    of_chip: Callable[[Hardware], float]
    sense: int = 1


def _area_mm2(hardware: Hardware) -> float:
    parts = hardware_cost(hardware).area_breakdown_mm2
    return sum(mm2 for part, mm2 in parts.items() if part != "dram phy")


def _part_area(part: str) -> Callable[[Hardware], float]:
    return lambda hardware: hardware_cost(hardware).area_breakdown_mm2[part]


CHIP_KINDS: Final[dict[str, ChipKind]] = {
    "area_mm2": ChipKind("area, mm2", "area without the DRAM interface, in mm2", _area_mm2),
    "mac_area_mm2": ChipKind("area of MACs, mm2", "area of the MACs, in mm2", _part_area("macs")),
    "tdp_w": ChipKind(
        "TDP, W", "thermal design power, in W", lambda hardware: hardware_cost(hardware).tdp_w
    ),
    "peak_tops": ChipKind(
        "peak, TOP/s",
        "two operations for each MAC unit and cycle, in 10^12 per second",
        _peak_tops,
        sense=0,
    ),
    "tops_per_mm2": ChipKind(
        "peak over area, TOP/s/mm2",
        "peak operations for each mm2 without the DRAM interface, in 10^12 per second",
        lambda hardware: _peak_tops(hardware) / _area_mm2(hardware),
        sense=-1,
    ),
    "ridge_ops_per_byte": ChipKind(
        "ridge, operations/byte",
        "peak operations for each byte that DRAM transfers",
        lambda hardware: _peak_tops(hardware) * 1e3 / hardware.dram_gbytes_per_s,
        sense=0,
    ),
}


def chip_kinds(hardware: Hardware) -> dict[str, ChipKind]:
    """Return the kinds of figures that a whole chip may have, by key."""
    found = dict(CHIP_KINDS)
    for level in hardware.levels[:-1]:
        about = f"area of all instances of level {level.name}, in mm2"
        kind = ChipKind(f"area of {level.name}, mm2", about, _part_area(level.name))
        found.setdefault(f"{level.name}{LEVEL_AREA}", kind)
    return found


def sense_of(key: str) -> int:
    """Return :attr:`Kind.sense` of the kind of a key, whether of rows or of the chip."""
    of_rows = KINDS[key].sense if key in KINDS else 1
    return CHIP_KINDS[key].sense if key in CHIP_KINDS else of_rows
