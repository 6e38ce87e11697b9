"""Designs, groups and tilings in words."""

from collections import Counter
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
    """Return what stays in the buffer beyond each group, by head of a column; none without any.

    Pinned feature maps stay for later groups, pinned weights from one pass to the next, and weights
    that are loaded once for all sub-batches of a pass.
    """
    columns = {
        "pinned feature maps": [_pins_text(group["pins"]) for group in groups],
        "pinned weights": [group_layers(group["steady"]) for group in groups],
        "weights loaded once": [group_layers(group.get("loaded_once", [])) for group in groups],
    }
    return {head: texts for head, texts in columns.items() if any(texts)}


def parts_of(groups: Sequence[Details]) -> int:
    """Return the sub-batches of a plan, which are those of all its groups."""
    parts: int = groups[0].get("sub_batches", 1) if groups else 1
    return parts


def _pins_text(pins: Sequence[dict[str, str]]) -> str:
    """Return feature maps that stay in the buffer, each with the layer that reads it last there."""
    return ", ".join(f"{pin['layer']} until {pin['reader']}" for pin in pins)


def capacity_text(capacity: Any) -> str:
    """Return the capacity of one instance of a level."""
    if capacity is None:
        return "unlimited"
    if isinstance(capacity, dict):
        return ", ".join(f"{tensor} {size:,}" for tensor, size in capacity.items())
    return f"{capacity:,}"


def tiling_text(group: Details) -> str:
    """Return rows and columns of a group's tiles and how many there are, or that it is unfused.

    Of tiles of several sizes: how many of each, the largest first. Of a nest: its loops, and how
    many iterations there are of all.
    """
    if nest := group.get("nest"):
        return f"{loops_text(nest)} ({_count(group['tiles'], 'iteration')})"
    if faces := group.get("faces"):
        sizes = Counter((rows, columns) for _, _, rows, columns in faces)
        largest = sorted(sizes.items(), key=lambda item: -item[0][0] * item[0][1])
        return ", ".join(f"{r}x{c} ({_count(times, 'tile')})" for (r, c), times in largest)
    if group["tile"] is None:
        return "folded" if group.get("folded") else "unfused"
    rows, columns = group["tile"]
    cores = f" on {group['cores']} cores" if "cores" in group else ""
    return f"{rows}x{columns} ({_count(group['tiles'], 'tile')}){cores}"


def halo_text(group: Details) -> str:
    """Return what happens to rows and columns that tiles share; nothing where there are none."""
    return group["halo"].replace("_", " ") if group["tiles"] > 1 and "nest" not in group else ""


def peak_text(group: Details) -> str:
    """Return the most KiB of the shared buffer in use.

    A group that is unfused keeps there what the plan pins, and the tiles of its mapping besides.
    """
    kept = f"{group['peak_bytes'] / KIB:,.1f}"
    if group["tile"] is not None or group.get("faces") or group.get("nest"):
        return kept
    return f"{kept} + mapping" if group["peak_bytes"] else "mapping"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def design_text(hardware: Details) -> str:
    """Return a design in one line."""
    columns, rows = hardware["pe_mesh"]
    array = "x".join(map(str, hardware["array"]))
    unit = "scalar PEs" if hardware["datapath"] == "scalar" else f"PEs of {array} MACs"
    return (
        f"{columns}x{rows} {unit} ({hardware['macs']} MACs of {hardware['word_bits']} bits), "
        f"{hardware['frequency_mhz']:g} MHz, {hardware['vector_lanes']} vector lanes, "
        f"{hardware['dram']} at {hardware['dram_gbytes_per_s']:.3g} GB/s and "
        f"{hardware['dram_pj_per_bit']:g} pJ/bit, technology table {hardware['technology']}"
        f"{_switched_on(hardware['effects'])}"
    )


def _switched_on(effects: dict[str, str]) -> str:
    """Say which effects are on, as the end of a sentence."""
    plain = asdict(PLAIN)
    on = [f"{name.replace('_', ' ')} {v}" for name, v in effects.items() if v != plain[name]]
    return f"; {', '.join(on)}" if on else ""
