"""Shapes of Timeloop problems: given in place, known by name, or in a file of their own."""

from pathlib import Path
from typing import Any, Final

from ....errors import did_you_mean
from ....yaml_reader import Faults, Place, shown
from ..values import Entry, refuse_others, section
from ..yaml_dialect import load

#: shapes that Timeloop knows by name (NVlabs/timeloop, problem-shapes/)
_BUILT_IN: Final[dict[str, dict[str, Any]]] = {
    "cnn_layer": {
        "name": "CNN_Layer",
        "dimensions": ["R", "S", "P", "Q", "C", "K", "N"],
        "coefficients": [
            {"name": name, "default": 1}
            for name in ("Wstride", "Hstride", "Wdilation", "Hdilation")
        ],
        "data_spaces": [
            {"name": "Weights", "projection": ["C", "K", "R", "S"]},
            {
                "name": "Inputs",
                "projection": [
                    [["N"]],
                    [["C"]],
                    [["R", "Wdilation"], ["P", "Wstride"]],
                    [["S", "Hdilation"], ["Q", "Hstride"]],
                ],
            },
            {"name": "Outputs", "projection": ["N", "K", "Q", "P"], "read_write": True},
        ],
    },
    "gemm_abz": {
        "name": "gemm_ABZ",
        "dimensions": ["M", "N", "K"],
        "data_spaces": [
            {"name": "A", "projection": ["M", "K"]},
            {"name": "B", "projection": ["N", "K"]},
            {"name": "Z", "projection": ["M", "N"], "read_write": True},
        ],
    },
}
_NAMES: Final = ("cnn_layer", "gemm_ABZ")


def read_shape(entry: Entry | None, place: Place, faults: Faults) -> tuple[dict[str, Entry], Place]:
    """Return the keys of a shape: given here, known by name, or in a file beside this one."""
    if entry is None or isinstance(entry.value, str):
        name = "cnn_layer" if entry is None else str(entry.value)
        at = place.key("shape") if entry is None else entry.place
        found = _BUILT_IN.get(name.lower().replace("-", "_").removesuffix(".yaml"))
        if found is not None:
            return section(Entry(at, found), faults), at
        path = Path(place.file).parent / name
        if name.endswith((".yaml", ".yml")) and _is_file(path):
            held = section(Entry(Place(str(path)), load(path, faults)), faults)
            refuse_others(held, ("shape",), faults)
            return _shape_keys(held.get("shape", Entry(Place(str(path)), {})), faults)
        faults.add(at, f"{shown(name)} is not a known shape; {did_you_mean(name, _NAMES)}")
        return {}, at
    return _shape_keys(entry, faults)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _shape_keys(entry: Entry, faults: Faults) -> tuple[dict[str, Entry], Place]:
    keys = section(entry, faults)
    refuse_others(keys, ("name", "dimensions", "coefficients", "data_spaces", "version"), faults)
    return keys, entry.place
