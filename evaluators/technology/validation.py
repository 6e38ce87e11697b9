"""Validation of the YAML of technology tables: every fault at once, each with its place."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from archloom.space import Faults, Place, did_you_mean, is_whole, shown

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


def check_table(data: Mapping[Any, Any], top: Place, faults: Faults) -> None:
    """Note everything wrong with a table, or with a table that is scaled from another."""
    derived = "scaled_from" in data
    entries = ("sram", *CURVES, *SCALARS, "drams")
    required = (*_HEAD, "scaled_from") if derived else (*_HEAD, *entries)
    known = (*_HEAD, *entries, *OPTIONAL, "scaled_from")
    for key in (key for key in data if key not in known):
        faults.add(top.key(key), f"unknown entry; {did_you_mean(str(key), known)}")
    for key in (key for key in required if key not in data):
        faults.add(top.key(key), "missing")
    _check_text(top.key("name"), data.get("name", "x"), faults)
    _check_whole(top.key("node_nm"), data.get("node_nm", 1), faults)
    for key in (*SCALARS, *OPTIONAL):
        if key in data:
            _check_scalar(top.key(key), key, data[key], faults)
    for key in CURVES:
        if key in data:
            _check_curve(top.key(key), data[key], faults)
    if derived:
        _check_entry(
            top.key("scaled_from"), data["scaled_from"], faults, _SCALED_FROM, texts=("table",)
        )
    if "sram" in data:
        _check_sram(top.key("sram"), data["sram"], derived, faults)
    if "drams" in data:
        _check_drams(top.key("drams"), data["drams"], derived, faults)


def check_widths(entries: Mapping[str, Any], top: Place, faults: Faults) -> None:
    """Note where the accumulator is wider or narrower than the adders."""
    bits = entries["accumulator_bits"]["value"]
    for key in ("add_pj", "add_um2"):
        low, high = min(entries[key]["by_bits"]), max(entries[key]["by_bits"])
        if not low <= bits <= high:
            place = top.key("accumulator_bits").key("value")
            faults.add(place, f"{bits} is not in {key}, {low} to {high} bits")


def _check_entry(
    place: Place,
    entry: Any,
    faults: Faults,
    numbers: tuple[str, ...] = (),
    *,
    texts: tuple[str, ...] = (),
    others: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> None:
    """Note what is wrong with one entry: a mapping of just these keys and a source.

    Args:
        place: where the entry stands.
        entry: what stands there.
        faults: gets what is wrong.
        numbers: keys of positive numbers.
        texts: keys of names.
        others: keys that the caller looks at.
        optional: which of the numbers may be missing.
    """
    allowed = (*numbers, *texts, *others, "source")
    if not isinstance(entry, dict):
        faults.add(place, f"must be a mapping with {', '.join(allowed)}, got {shown(entry)}")
        return
    for key in (key for key in entry if key not in allowed):
        faults.add(place.key(key), f"unknown key; {did_you_mean(str(key), allowed)}")
    for key in (key for key in allowed if key not in entry and key not in optional):
        faults.add(place.key(key), "missing")
    if "source" in entry and not (isinstance(entry["source"], str) and entry["source"].strip()):
        faults.add(place.key("source"), f"must name a source, got {shown(entry['source'])}")
    for key in (key for key in numbers if key in entry):
        _check_number(place.key(key), entry[key], faults)
    for key in (key for key in texts if key in entry):
        _check_text(place.key(key), entry[key], faults)


def _check_scalar(place: Place, key: str, entry: Any, faults: Faults) -> None:
    _check_entry(place, entry, faults, others=("value",))
    if not isinstance(entry, dict) or "value" not in entry:
        return
    value = entry["value"]
    if key in _WHOLE:
        _check_whole(place.key("value"), value, faults)
    elif key not in _MAY_BE_ZERO or value != 0 or isinstance(value, bool):
        _check_number(place.key("value"), value, faults)


def _check_curve(place: Place, entry: Any, faults: Faults) -> None:
    _check_entry(place, entry, faults, others=("by_bits",))
    if not isinstance(entry, dict) or "by_bits" not in entry:
        return
    points, below, found = entry["by_bits"], place.key("by_bits"), Faults()
    if not isinstance(points, dict) or len(points) < 2:
        faults.add(below, "must map at least two word widths to numbers")
        return
    for bits, value in points.items():
        _check_whole(below, bits, found)
        _check_number(below.key(shown(bits)), value, found)
    if not found:
        for (a, least), (b, value) in pairwise(sorted(points.items())):
            if value < least:
                found.add(below.key(b), f"{value} must be at least that for {a} bits, {least}")
    faults.include(found)


def _check_sram(place: Place, entry: Any, derived: bool, faults: Faults) -> None:
    if derived:
        _check_entry(place, entry, faults, SRAM_FACTORS, optional=SRAM_FACTORS)
        if isinstance(entry, dict) and not any(key in entry for key in SRAM_FACTORS):
            faults.add(place, f"must have at least one of {', '.join(SRAM_FACTORS)}")
        return
    _check_entry(place, entry, faults, texts=("file", "cell"), others=("node_nm",))
    if isinstance(entry, dict) and "node_nm" in entry:
        _check_whole(place.key("node_nm"), entry["node_nm"], faults)


def _check_drams(place: Place, drams: Any, derived: bool, faults: Faults) -> None:
    if not isinstance(drams, dict) or not (drams or derived):
        faults.add(place, "must be a mapping with at least one DRAM")
        return
    for name, entry in drams.items():
        below = place.key(name if isinstance(name, str) else shown(name))
        if not isinstance(name, str):
            faults.add(below, "the name must be text")
        _check_entry(below, entry, faults, DRAM_NUMBERS, others=("unit",))
        if isinstance(entry, dict) and "unit" in entry and entry["unit"] not in _UNITS:
            hint = did_you_mean(str(entry["unit"]), _UNITS)
            faults.add(below.key("unit"), f"{shown(entry['unit'])} is not known; {hint}")


def _check_number(place: Place, value: Any, faults: Faults) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not value > 0:  # NaN is not above 0 either
        faults.add(place, f"must be a positive number, got {shown(value)}")
    elif not _LEAST <= value <= _MOST:
        faults.add(place, f"must be from {_LEAST:g} to {_MOST:g}, got {shown(value)}")


def _check_whole(place: Place, value: Any, faults: Faults) -> None:
    if not is_whole(value, 1, _MOST_BITS):
        faults.add(place, f"must be a whole number from 1 to {_MOST_BITS}, got {shown(value)}")


def _check_text(place: Place, value: Any, faults: Faults) -> None:
    if not (isinstance(value, str) and value.strip()):
        faults.add(place, f"must be text, got {shown(value)}")
