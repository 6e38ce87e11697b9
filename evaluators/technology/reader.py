"""Reader of technology tables in YAML, which reports everything that is wrong with one at once.

A table lists all its entries, or it is ``scaled_from`` another table: then each entry that it
does not give itself is that of the other, times the factors of
:mod:`archloom.evaluators.technology.node_scaling`.
"""

from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from archloom.space import Faults, Place, did_you_mean, read_yaml

from .node_scaling import area_factor, energy_factor, wire_factor
from .sram import SramTable, load_sram_table
from .table import Dram, Technology
from .validation import (
    CURVES,
    DRAM_NUMBERS,
    OPTIONAL,
    SCALARS,
    SRAM_FACTORS,
    check_table,
    check_widths,
)

#: tables that come with the package
FOLDER: Final = Path(__file__).parent / "tables"

Entries = dict[str, Any]
Kind = Literal["energy", "area", "density", "wire", "same"]

#: how each entry follows the node: as the energy or the area of gates, as power per area, as the
#: energy of wires, or not at all
_KINDS: Final[dict[str, Kind]] = {
    "multiply_pj": "energy",
    "add_pj": "energy",
    "multiply_um2": "area",
    "add_um2": "area",
    "accumulator_bits": "same",
    "register_pj_per_bit": "energy",
    "register_um2_per_bit": "area",
    # the leakage of a circuit follows its energy (as in Accelergy's hwcomponents), so leakage
    # per area follows energy over area
    "logic_leakage_mw_per_mm2": "density",
    "layout_factor": "same",
    "control_factor": "same",
    "test_factor": "same",
    "hop_pj_per_bit": "wire",
    "router_pj_per_bit": "wire",
    "register_access_pj_per_bit": "energy",
    "idle_mw_per_mm2": "density",
}


#: how the source of a scaled entry says so
_HOW_SCALED: Final[dict[Kind, str]] = {
    "energy": "energy",
    "area": "area",
    "density": "power per area",
    "wire": "energy of wires",
}


class _Scaling(NamedTuple):
    """What turns the entries of one table into those of another."""

    base: str
    source: str
    factors: dict[Kind, float]

    def note(self, source: str, how: str) -> str:
        """Return the source of an entry that was scaled."""
        return f"{source} Scaled from {self.base}: {how}, {self.source}"


def read_technology(path: Path) -> Technology:
    """Read a technology table from a YAML file; its SRAM runs lie beside it.

    A table that it is scaled from lies beside it or among those that come with the package.

    Raises:
        ValueError: every fault of the file at once, each with its key path.
    """
    entries = _entries(path, ())
    drams = entries["drams"]
    kept = (*CURVES, *SCALARS, *(key for key in OPTIONAL if key in entries))
    sources = {key: entries[key]["source"] for key in ("sram", *kept)}
    sources |= {f"drams.{key}": entry["source"] for key, entry in drams.items()}
    values: dict[str, Any] = {
        key: tuple(sorted(entries[key]["by_bits"].items()))
        if key in CURVES
        else entries[key]["value"]
        for key in kept
    }
    return Technology(
        name=entries["name"],
        node_nm=entries["node_nm"],
        sram=_sram(entries["sram"], path),
        drams={
            key: Dram(**{k: entry[k] for k in (*DRAM_NUMBERS, "unit")})
            for key, entry in drams.items()
        },
        sources=sources,
        **values,
    )


def _entries(path: Path, derived: tuple[Path, ...]) -> Entries:
    """Return every entry of a table, those that it inherits too; ``derived`` are read from it."""
    top, faults = Place(path.name), Faults()
    data = read_yaml(path, faults, path.name).data
    if isinstance(data, dict):
        check_table(data, top, faults)
    elif not faults:
        faults.add(top, "must be a mapping of entries")
    _refuse(faults)
    entries: Entries
    if "scaled_from" not in data:
        entries = data | {"sram": _root_sram(data["sram"], path)}
    else:
        base = _base_path(path, data["scaled_from"]["table"], (*derived, path))
        entries = _scaled(_entries(base, (*derived, path)), data, path)
    check_widths(entries, top, faults)
    _refuse(faults)
    return entries


def _refuse(faults: Faults) -> None:
    if faults:
        raise ValueError("\n".join(faults.sentences))


def _base_path(path: Path, name: str, derived: tuple[Path, ...]) -> Path:
    known = {p.stem: p for folder in (FOLDER, path.parent) for p in folder.glob("*.yaml")}
    if name not in known:
        raise ValueError(
            f"{path.name}: scaled_from.table: {name!r} is not known; {did_you_mean(name, known)}"
        )
    if known[name] in derived:
        raise ValueError(f"{path.name}: scaled_from.table: {name!r} is scaled from this table")
    return known[name]


def _scaled(base: Entries, data: Entries, path: Path) -> Entries:
    scaling = _scaling(base, data, path)
    entries: Entries = {key: data[key] for key in ("name", "node_nm")}
    for key, kind in _KINDS.items():
        if key in data:
            entries[key] = data[key]
        elif key in base:
            entries[key] = _scaled_entry(base[key], kind, scaling)
    entries["sram"] = _scaled_sram(base["sram"], data.get("sram"), scaling)
    # DRAM is made in a process of its own
    entries["drams"] = base["drams"] | data.get("drams", {})
    return entries


def _scaling(base: Entries, data: Entries, path: Path) -> _Scaling:
    given = data["scaled_from"]
    nodes = (base["node_nm"], given["from_volts"], data["node_nm"], given["to_volts"])
    try:
        energy, wire = energy_factor(*nodes), wire_factor(*nodes)
        area = area_factor(base["node_nm"], data["node_nm"])
    except ValueError as error:
        raise ValueError(f"{path.name}: scaled_from: {error}") from None
    factors: dict[Kind, float] = {
        "energy": energy,
        "area": area,
        "density": energy / area,
        "wire": wire,
        "same": 1.0,
    }
    return _Scaling(base["name"], given["source"], factors)


def _scaled_entry(entry: Entries, kind: Kind, scaling: _Scaling) -> Entries:
    factor = scaling.factors[kind]
    if kind == "same":
        return entry
    if factor == 1:
        return entry | {"source": f"{entry['source']} As in {scaling.base}."}
    scaled = {"source": scaling.note(entry["source"], f"{_HOW_SCALED[kind]} x{factor:.4g}")}
    if "by_bits" in entry:
        return scaled | {"by_bits": {bits: v * factor for bits, v in entry["by_bits"].items()}}
    return scaled | {"value": entry["value"] * factor}


def _root_sram(entry: Entries, path: Path) -> Entries:
    return entry | {"folder": path.parent} | dict.fromkeys(SRAM_FACTORS, 1.0)


def _scaled_sram(base: Entries, given: Entries | None, scaling: _Scaling) -> Entries:
    given = given or {}
    energy, area = scaling.factors["energy"], scaling.factors["area"]
    general = dict(zip(SRAM_FACTORS, (energy, energy, energy, area), strict=True))
    factors = general | {key: given[key] for key in SRAM_FACTORS if key in given}
    source = base["source"]
    if given:
        source = f"{source} {given['source']}"
    rest = {k: factors[k] for k in SRAM_FACTORS if k not in given and factors[k] != 1}
    if rest:
        how = ", ".join(f"{key.replace('_factor', '')} x{f:.4g}" for key, f in rest.items())
        source = scaling.note(source, how)
    return base | {key: base[key] * f for key, f in factors.items()} | {"source": source}


def _sram(entry: Entries, path: Path) -> SramTable:
    try:
        table = load_sram_table(entry["folder"] / entry["file"], entry["node_nm"], entry["cell"])
    except ValueError as error:
        raise ValueError(f"{path.name}: sram: {error}") from None
    return table.scaled(*(entry[key] for key in SRAM_FACTORS))
