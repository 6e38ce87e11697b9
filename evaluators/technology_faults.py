"""What can be wrong with the YAML of a technology table."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from ..space.suggest import did_you_mean

CURVES: Final = ("multiply_pj", "add_pj", "multiply_um2", "add_um2")
SCALARS: Final = (
    "accumulator_bits",
    "register_pj_per_bit",
    "register_um2_per_bit",
    "logic_leakage_mw_per_mm2",
    "layout_factor",
    "control_factor",
    "test_factor",
    "hop_pj_per_bit",
    "router_pj_per_bit",
)
OPTIONAL: Final = ("register_access_pj_per_bit", "idle_mw_per_mm2")
SRAM_FACTORS: Final = ("read_factor", "write_factor", "leakage_factor", "area_factor")
DRAM_NUMBERS: Final = ("pj_per_bit", "phy_mm2_per_gbytes_per_s", "gbytes_per_s")
_UNITS: Final = ("channel", "device", "stack")
_SCALED_FROM: Final = ("from_volts", "to_volts")
_HEAD: Final = ("name", "node_nm")
#: entries that may be 0: what a design may do without
_MAY_BE_ZERO: Final = ("router_pj_per_bit",)
#: entries that are counts
_WHOLE: Final = ("accumulator_bits",)
_MOST_BITS: Final = 1024
#: beyond these a number is a slip in its unit, and products might overflow or vanish
_LEAST, _MOST = 1e-9, 1e9


def table_faults(data: Mapping[Any, Any]) -> list[str]:
    """Return what is wrong with a table, or with a table that is scaled from another.

    Each fault starts with its key path.
    """
    derived = "scaled_from" in data
    entries = ("sram", *CURVES, *SCALARS, "drams")
    required = (*_HEAD, "scaled_from") if derived else (*_HEAD, *entries)
    known = (*_HEAD, *entries, *OPTIONAL, "scaled_from")
    faults = [
        f"{key}: unknown entry; {did_you_mean(str(key), known)}" for key in data if key not in known
    ]
    faults += [f"{key}: missing" for key in required if key not in data]
    faults += _text_faults("name", data.get("name", "x"))
    faults += _whole_faults("node_nm", data.get("node_nm", 1))
    for key in (*SCALARS, *OPTIONAL):
        if key in data:
            faults += _scalar_faults(key, data[key])
    for key in CURVES:
        if key in data:
            faults += _curve_faults(key, data[key])
    if derived:
        faults += entry_faults("scaled_from", data["scaled_from"], _SCALED_FROM, ("table",))
    if "sram" in data:
        faults += _sram_faults(data["sram"], derived)
    if "drams" in data:
        faults += _dram_faults(data["drams"], derived)
    return faults


def entry_faults(
    path: str,
    entry: Any,
    numbers: tuple[str, ...],
    texts: tuple[str, ...] = (),
    others: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> list[str]:
    """Return what is wrong with one entry: a mapping of just these keys and a source.

    Args:
        path: key path of the entry.
        entry: what stands there.
        numbers: keys of positive numbers.
        texts: keys of names.
        others: keys that the caller looks at.
        optional: which of the numbers may be missing.
    """
    allowed = (*numbers, *texts, *others, "source")
    if not isinstance(entry, dict):
        return [f"{path}: must be a mapping with {', '.join(allowed)}, got {_shown(entry)}"]
    faults = [
        f"{path}.{k}: unknown key; {did_you_mean(str(k), allowed)}"
        for k in entry
        if k not in allowed
    ]
    faults += [f"{path}.{k}: missing" for k in allowed if k not in entry and k not in optional]
    if "source" in entry and not (isinstance(entry["source"], str) and entry["source"].strip()):
        faults.append(f"{path}.source: must name a source, got {_shown(entry['source'])}")
    for key in numbers:
        if key in entry:
            faults += _number_faults(f"{path}.{key}", entry[key])
    for key in texts:
        if key in entry:
            faults += _text_faults(f"{path}.{key}", entry[key])
    return faults


def _scalar_faults(key: str, entry: Any) -> list[str]:
    faults = entry_faults(key, entry, (), others=("value",))
    if not isinstance(entry, dict) or "value" not in entry:
        return faults
    path, value = f"{key}.value", entry["value"]
    if key in _WHOLE:
        return faults + _whole_faults(path, value)
    if key in _MAY_BE_ZERO and value == 0 and not isinstance(value, bool):
        return faults
    return faults + _number_faults(path, value)


def _curve_faults(path: str, entry: Any) -> list[str]:
    faults = entry_faults(path, entry, (), others=("by_bits",))
    if not isinstance(entry, dict) or "by_bits" not in entry:
        return faults
    points = entry["by_bits"]
    if not isinstance(points, dict) or len(points) < 2:
        return [*faults, f"{path}.by_bits: must map at least two word widths to numbers"]
    found = []
    for bits, value in points.items():
        found += _whole_faults(f"{path}.by_bits", bits)
        found += _number_faults(f"{path}.by_bits.{_shown(bits)}", value)
    if not found:
        for (a, below), (b, above) in pairwise(sorted(points.items())):
            if above < below:
                found.append(f"{path}.by_bits.{b}: {above} is less than for {a} bits, {below}")
    return faults + found


def _sram_faults(entry: Any, derived: bool) -> list[str]:
    if derived:
        faults = entry_faults("sram", entry, SRAM_FACTORS, optional=SRAM_FACTORS)
        if isinstance(entry, dict) and not any(key in entry for key in SRAM_FACTORS):
            faults.append(f"sram: must give some of {', '.join(SRAM_FACTORS)}")
        return faults
    faults = entry_faults("sram", entry, (), ("file", "cell"), ("node_nm",))
    if isinstance(entry, dict) and "node_nm" in entry:
        faults += _whole_faults("sram.node_nm", entry["node_nm"])
    return faults


def _dram_faults(drams: Any, derived: bool) -> list[str]:
    if not isinstance(drams, dict) or not (drams or derived):
        return ["drams: must be a mapping with at least one DRAM"]
    faults = []
    for name, entry in drams.items():
        path = f"drams.{_shown(name)}" if not isinstance(name, str) else f"drams.{name}"
        if not isinstance(name, str):
            faults.append(f"{path}: the name must be text")
        faults += entry_faults(path, entry, DRAM_NUMBERS, others=("unit",))
        if isinstance(entry, dict) and "unit" in entry and entry["unit"] not in _UNITS:
            hint = did_you_mean(str(entry["unit"]), _UNITS)
            faults.append(f"{path}.unit: {_shown(entry['unit'])} is not known; {hint}")
    return faults


def _number_faults(path: str, value: Any) -> list[str]:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not value > 0:  # NaN is not above 0 either
        return [f"{path}: must be a positive number, got {_shown(value)}"]
    if not _LEAST <= value <= _MOST:
        return [f"{path}: must be from {_LEAST:g} to {_MOST:g}, got {_shown(value)}"]
    return []


def _whole_faults(path: str, value: Any) -> list[str]:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and 1 <= value <= _MOST_BITS:
        return []
    return [f"{path}: must be a whole number from 1 to {_MOST_BITS}, got {_shown(value)}"]


def _text_faults(path: str, value: Any) -> list[str]:
    if isinstance(value, str) and value.strip():
        return []
    return [f"{path}: must be text, got {_shown(value)}"]


def _shown(value: Any) -> str:
    """Return a value in a few words; the full text of a slip may be very long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a knot of lists
        return f"something of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
