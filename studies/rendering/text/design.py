"""Designs, groups and tilings in words."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from archloom.space.hardware import PLAIN
from archloom.studies.analysis import Details

from .nest import loops_text, resident_weights

KIB = 1024
LISTED = 4
"""Layers of a group that a table names; of longer groups, the first and the last."""


def group_layers(names: list[str]) -> str:
    """Return the layers of a group in a few words."""
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{names[0]} .. {names[-1]} ({len(names)} layers)"


def resident_layers(group: Details) -> str:
    """Return the layers of a group whose weights stay in the buffer for all of it."""
    nest = group.get("nest")
    return group_layers(resident_weights(nest) if nest else group["resident"])


def kept_columns(groups: Sequence[Details]) -> dict[str, list[str]]:
    """Return what stays in the buffer beyond each group, by head of a column; none without any."""
    columns = {
        "pinned for later groups": [_pins_text(group["pins"]) for group in groups],
        "weights that never leave": [group_layers(group["steady"]) for group in groups],
    }
    return {head: texts for head, texts in columns.items() if any(texts)}


def _pins_text(pins: Sequence[dict[str, str]]) -> str:
    """Return maps that stay in the buffer, each with the layer that reads it last there."""
    return ", ".join(f"{pin['layer']} until {pin['reader']}" for pin in pins)


def capacity_text(capacity: Any) -> str:
    """Return the capacity of one instance of a level."""
    if capacity is None:
        return "unlimited"
    if isinstance(capacity, dict):
        return ", ".join(f"{tensor} {size:,}" for tensor, size in capacity.items())
    return f"{capacity:,}"


def tiling_text(group: Details) -> str:
    """Return the tile of a group, how many there are, and what happens to their halos; of a nest
    its loops."""
    if nest := group.get("nest"):
        return f"{loops_text(nest)}, {group['tiles']} iterations"
    if faces := group.get("faces"):
        return f"{len(faces)} rectangles, {group['halo']}"
    if group["tile"] is None:
        return "whole maps"
    rows, columns = group["tile"]
    halo = f", {group['halo'].replace('_', ' ')}"
    cores = f" on {group['cores']} cores" if "cores" in group else ""
    if group["tiles"] == 1:
        return f"one tile{cores}"
    return f"{rows}x{columns}, {group['tiles']} tiles{cores}{halo}"


def design_text(hardware: Details) -> str:
    """Return a design in one line."""
    columns, rows = hardware["pe_mesh"]
    array = "x".join(map(str, hardware["array"]))
    unit = "scalar PEs" if hardware["datapath"] == "scalar" else f"PEs of {array} MACs"
    return (
        f"{columns}x{rows} {unit} ({hardware['macs']} MACs of {hardware['word_bits']} bits), "
        f"{hardware['frequency_mhz']:g} MHz, {hardware['vector_lanes']} vector lanes, "
        f"{hardware['dram']} at {hardware['dram_gbytes_per_s']:.3g} GB/s and "
        f"{hardware['dram_pj_per_bit']:g} pJ/bit, priced with {hardware['technology']}"
        f"{_switched_on(hardware['effects'])}"
    )


def _switched_on(effects: dict[str, str]) -> str:
    """Say which effects are on, as the end of a sentence."""
    plain = asdict(PLAIN)
    on = [f"{name.replace('_', ' ')} {v}" for name, v in effects.items() if v != plain[name]]
    return f"; {', '.join(on)}" if on else ""
