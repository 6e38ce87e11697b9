"""Technology tables: what one operation, bit or square millimetre costs, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from math import exp2, isfinite, log, log2
from pathlib import Path
from typing import Any, Final

import yaml

from ..space.hardware import Storage
from .sram import BufferCost, SramTable, load_sram_table

_FOLDER: Final = Path(__file__).parent / "technologies"
_UM2: Final = 1e-6  # mm2 in a um2

ByBits = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dram:
    """One kind of DRAM.

    Attributes:
        pj_per_bit: energy of reading or writing a bit, with its way across the board.
        phy_mm2_per_gbytes_per_s: area on the chip of PHY and controller, per peak bandwidth.
    """

    pj_per_bit: float
    phy_mm2_per_gbytes_per_s: float


@dataclass(frozen=True)
class Technology:
    """One consistent set of energies, areas and leakages.

    Attributes:
        name: name of the table.
        node_nm: feature size of logic and SRAM.
        sram: CACTI runs of that node.
        multiply_pj, add_pj: energy of an integer operation by bits, ascending.
        multiply_um2, add_um2: cell area of an integer unit by bits, ascending.
        accumulator_bits: bits in which products are added up and vector operations run.
        register_pj_per_bit, register_um2_per_bit: one flip-flop.
        logic_leakage_mw_per_mm2: leakage of logic per cell area.
        layout_factor: silicon area of SRAM macros and arithmetic over their own.
        control_factor, test_factor: chip with control, and with design for test, over without.
        drams: kinds of DRAM by name.
        sources: where each entry comes from, by its name in the YAML file.
    """

    name: str
    node_nm: int
    sram: SramTable
    multiply_pj: ByBits
    add_pj: ByBits
    multiply_um2: ByBits
    add_um2: ByBits
    accumulator_bits: int
    register_pj_per_bit: float
    register_um2_per_bit: float
    logic_leakage_mw_per_mm2: float
    layout_factor: float
    control_factor: float
    test_factor: float
    drams: Mapping[str, Dram]
    sources: Mapping[str, str]

    def mac_pj(self, word_bits: int) -> float:
        """Energy of one multiply-accumulate of ``word_bits`` words.

        Raises:
            ValueError: words narrower or wider than the table's multipliers.
        """
        add = by_bits(self.add_pj, self.accumulator_bits, "add_pj")
        return by_bits(self.multiply_pj, word_bits, "multiply_pj") + add

    def mac_mm2(self, word_bits: int) -> float:
        """Cell area of one multiply-accumulate unit; raises ValueError as :meth:`mac_pj`."""
        add = by_bits(self.add_um2, self.accumulator_bits, "add_um2")
        return (by_bits(self.multiply_um2, word_bits, "multiply_um2") + add) * _UM2

    @property
    def vector_op_pj(self) -> float:
        """Energy of one vector operation: an add (a compare of max pooling is one too)."""
        return by_bits(self.add_pj, self.accumulator_bits, "add_pj")

    @property
    def vector_lane_mm2(self) -> float:
        """Cell area of one vector lane: an adder."""
        return by_bits(self.add_um2, self.accumulator_bits, "add_um2") * _UM2

    def dram(self, name: str) -> Dram:
        """Return the DRAM called ``name``; raises ValueError that names the nearest."""
        if name not in self.drams:
            raise ValueError(
                f"technology {self.name} has no DRAM {name!r}; {_near(name, self.drams)}"
            )
        return self.drams[name]

    def logic_mw(self, cell_mm2: float) -> float:
        """Leakage of logic of a cell area."""
        return self.logic_leakage_mw_per_mm2 * cell_mm2

    def buffer(self, storage: Storage, size_bytes: float, width_bytes: float) -> BufferCost:
        """Price of one buffer; its area is silicon.

        ``sram`` is CACTI's macro (:meth:`SramTable.cost`), with the layout factor on its area
        as Gemini has it. ``register`` is a file of flip-flops:

        - area and leakage: its bits, without the layout factor. Assumption: rows of equal cells
          lie as densely as the cells allow.
        - energy of an access: one access alone is its bits' flip-flops. A file of many words
          pays for decoders and multiplexers too. No source tabulates those, but both ends are
          known: at one word the flip-flops, at CACTI's smallest size a macro of the same access
          width. Between them the energy follows a straight line in log-log; beyond, the macro.
          It never falls below the flip-flops of the word itself.

        Raises:
            ValueError: a size or width that is not positive, or DRAM.
        """
        if storage == "dram":
            raise ValueError("DRAM is not a buffer on the chip; its prices are in drams")
        if storage == "sram":
            macro = self.sram.cost(size_bytes, width_bytes)
            return macro._replace(area_mm2=macro.area_mm2 * self.layout_factor)
        smallest = self.sram.sizes_bytes[0]
        macro = self.sram.cost(max(size_bytes, smallest), width_bytes)
        word = self.register_pj_per_bit * 8 * width_bytes
        inside = 1.0
        if width_bytes < smallest:
            inside = min(1.0, max(0.0, log(size_bytes / width_bytes) / log(smallest / width_bytes)))
        read, write = (
            max(word, word ** (1 - inside) * pj**inside) for pj in (macro.read_pj, macro.write_pj)
        )
        area = self.register_um2_per_bit * 8 * size_bytes * _UM2
        return BufferCost(read, write, self.logic_mw(area), area)


def by_bits(points: ByBits, bits: int, entry: str) -> float:
    """Interpolate a quantity between the word widths of a table, in log-log.

    Raises:
        ValueError: a width outside the table.
    """
    low, high = points[0][0], points[-1][0]
    if not low <= bits <= high:
        raise ValueError(
            f"{entry}: words of {bits} bits are outside the table, which has {low} to {high} bits"
        )
    for (a, below), (b, above) in pairwise(points):
        if bits <= b:
            part = log2(bits / a) / log2(b / a)
            return exp2((1 - part) * log2(below) + part * log2(above))
    return points[-1][1]


def technology_names() -> list[str]:
    """Return the names of the tables that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


@cache
def technology(name: str) -> Technology:
    """Return the technology table called ``name``.

    Raises:
        ValueError: an unknown name (the message names the nearest), or a faulty table.
    """
    known = technology_names()
    if name not in known:
        raise ValueError(f"technology {name!r} is not known; {_near(name, known)}")
    return read_technology(_FOLDER / f"{name}.yaml")


def _near(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(sorted(known))}"


_SCALARS: Final = (
    "accumulator_bits",
    "register_pj_per_bit",
    "register_um2_per_bit",
    "logic_leakage_mw_per_mm2",
    "layout_factor",
    "control_factor",
    "test_factor",
)
_CURVES: Final = ("multiply_pj", "add_pj", "multiply_um2", "add_um2")
_DRAM_KEYS: Final = ("pj_per_bit", "phy_mm2_per_gbytes_per_s")


def read_technology(path: Path) -> Technology:
    """Read a technology table from a YAML file; its SRAM table lies beside it.

    Raises:
        ValueError: every fault of the file at once, each with its key path.
    """
    data = yaml.safe_load(path.read_text())
    if not isinstance(data, dict):
        raise ValueError(f"{path.name}: must be a mapping of entries")
    faults = _faults(data)
    if faults:
        raise ValueError("\n".join(f"{path.name}: {fault}" for fault in faults))
    sram = data["sram"]
    table = load_sram_table(path.parent / sram["file"], sram["node_nm"], sram["cell"])
    sources = {key: data[key]["source"] for key in ("sram", *_CURVES, *_SCALARS)}
    sources |= {f"drams.{key}": entry["source"] for key, entry in data["drams"].items()}
    curves: dict[str, Any] = {key: tuple(sorted(data[key]["by_bits"].items())) for key in _CURVES}
    scalars: dict[str, Any] = {key: data[key]["value"] for key in _SCALARS}
    return Technology(
        name=data["name"],
        node_nm=data["node_nm"],
        sram=table,
        drams={key: Dram(*(entry[k] for k in _DRAM_KEYS)) for key, entry in data["drams"].items()},
        sources=sources,
        **curves,
        **scalars,
    )


def _faults(data: dict[Any, Any]) -> list[str]:
    expected = {"name", "node_nm", "sram", "drams", *_CURVES, *_SCALARS}
    faults = [
        f"{key}: unknown entry; {_near(str(key), expected)}" for key in data if key not in expected
    ]
    faults += [f"{key}: missing" for key in sorted(expected - set(data))]
    if not isinstance(data.get("name", ""), str):
        faults.append(f"name: must be text, got {data['name']!r}")
    faults += _number_faults("node_nm", data.get("node_nm", 1))
    for key in _SCALARS:
        faults += _entry_faults(key, data.get(key), ("value",))
    for key in _CURVES:
        faults += _curve_faults(key, data.get(key))
    faults += _entry_faults("sram", data.get("sram"), (), ("file", "node_nm", "cell"))
    drams = data.get("drams", {})
    if not isinstance(drams, dict) or ("drams" in data and not drams):
        return [*faults, "drams: must be a mapping with at least one DRAM"]
    for name, entry in drams.items():
        faults += _entry_faults(f"drams.{name}", entry, _DRAM_KEYS)
    return faults


def _entry_faults(
    path: str, entry: Any, numbers: tuple[str, ...], others: tuple[str, ...] = ()
) -> list[str]:
    """Return what is wrong with one entry: a mapping of just these keys and a source."""
    if entry is None:
        return []  # reported as missing
    if not isinstance(entry, dict):
        return [f"{path}: must be a mapping with {', '.join((*numbers, *others, 'source'))}"]
    allowed = {*numbers, *others, "source"}
    faults = [
        f"{path}.{k}: unknown key; {_near(str(k), allowed)}" for k in entry if k not in allowed
    ]
    faults += [f"{path}.{k}: missing" for k in sorted(allowed - set(entry))]
    if "source" in entry and not (isinstance(entry["source"], str) and entry["source"].strip()):
        faults.append(f"{path}.source: must name a source")
    for key in numbers:
        if key in entry:
            faults += _number_faults(f"{path}.{key}", entry[key])
    return faults


def _curve_faults(path: str, entry: Any) -> list[str]:
    faults = _entry_faults(path, entry, (), ("by_bits",))
    points = entry.get("by_bits") if isinstance(entry, dict) else None
    if points is None:
        return faults
    if not isinstance(points, dict) or len(points) < 2:
        return [*faults, f"{path}.by_bits: must map at least two word widths to numbers"]
    for bits, value in points.items():
        faults += _number_faults(f"{path}.by_bits", bits)
        faults += _number_faults(f"{path}.by_bits.{bits}", value)
    return faults


def _number_faults(path: str, value: Any) -> list[str]:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and isfinite(value) and value > 0:
        return []
    return [f"{path}: must be a positive number, got {value!r}"]
