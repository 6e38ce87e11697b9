"""One design as compact data: every number that the page shows of it, with five digits."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from archloom.studies.analysis import Details
from archloom.studies.rendering.pictures import (
    BufferContents,
    enclosed_lines,
    fused_groups,
    pinned_lines,
)
from archloom.studies.rendering.text import (
    capacity_text,
    design_text,
    gap_text,
    gaps_text,
    kept_columns,
    layer_gap_text,
    nest_lines,
    resident_layers,
    spent_text,
    tiling_text,
)

from .network_data import NetworkPlace

_UJ_PER_PJ: Final = 1e-6
_KIB: Final = 1024


def short(value: float | None) -> float | int | None:
    """Return a number with five digits, as JSON can have it."""
    if value is None or not isfinite(value):
        return None
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return int(value)
    return float(f"{value:.5g}")


def design_data(details: Details, known: Mapping[str, NetworkPlace]) -> dict[str, Any]:
    """Return what the page shows of a design: hardware, costs by level and layer, plans.

    Args:
        details: of its trial.
        known: the study's networks by name.
    """
    hardware = details["hardware"]
    area, power = hardware["area_mm2"], hardware["tdp_w"]
    return {
        "text": design_text(hardware),
        "parameters": details["point"] or {},
        "levels": [
            [
                level["name"],
                level["storage"],
                ", ".join(level["keeps"]),
                "x".join(map(str, level["mesh"])),
                capacity_text(level["capacity_bytes"]),
                short(level["bandwidth_words"]),
            ]
            for level in hardware["levels"]
        ],
        "parts": [
            [part, short(area.get(part)), short(power.get(part))]
            for part in dict.fromkeys([*area, *power])
        ],
        "area_mm2": short(details["area_mm2"]),
        "tdp_w": short(details["tdp_w"]),
        "macs": hardware["macs"],
        "lanes": hardware["vector_lanes"],
        "word_bytes": hardware["word_bits"] / 8,
        # words a cycle of all instances of a level together
        "rates": [
            short(level["bandwidth_words"] * level["mesh"][0] * level["mesh"][1])
            for level in hardware["levels"]
        ],
        "networks": [_network(plan, known[plan["name"]]) for plan in details["networks"]],
    }


def more_data(
    details: Details, buffers: Sequence[BufferContents | str], known: Mapping[str, NetworkPlace]
) -> list[dict[str, Any]]:
    """Return what the page shows of designs of the front only: loop nests, buffers over time."""
    return [
        {
            "nests": {
                known[plan["name"]].layers[layer["name"]]: [
                    [
                        f"{tile['tiles']} x " if tile["tiles"] > 1 else "",
                        " ".join(f"{d}:{size}" for d, size in tile["covers"].items() if size > 1),
                        gap_text(tile["gap_percent"]),
                        "\n".join(tile["nest"]),
                    ]
                    for tile in layer["mappings"]
                ]
                for layer in plan["layers"]
                if layer["mappings"]
            },
            "buffer": contents if isinstance(contents, str) else _buffer(contents),
        }
        for plan, contents in zip(details["networks"], buffers, strict=True)
    ]


def _network(plan: Details, place: NetworkPlace) -> dict[str, Any]:
    groups = plan["groups"]
    return {
        "network": place.number,
        "sums": [_sums(plan), _sums(plan["unfused"])],
        "gaps": gaps_text(plan["gaps"]),
        "spent": spent_text(plan["spent"]) if plan["spent"] else "",
        "kept": list(kept_columns(groups)),
        "groups": [_group(group, place, n, kept_columns(groups)) for n, group in enumerate(groups)],
        "fused": _fused(groups, place),
        "pinned": _pinned(groups, place),
        "nests": "\n".join(nest_lines(groups)),
        "layers": [
            [
                place.layers[layer["name"]],
                layer["group"],
                layer["operations"],
                layer["latency_cycles"],
                short(layer["compute_pj"] * _UJ_PER_PJ),
                [short(energy * _UJ_PER_PJ) for energy in layer["levels_pj"].values()],
                [sum(words.values()) for words in layer["words"].values()],
                layer_gap_text(layer),
            ]
            for layer in plan["layers"]
        ],
    }


def _sums(plan: Details) -> list[Any]:
    return [
        short(plan["edp_js"]),
        short(plan["energy_pj"] * _UJ_PER_PJ),
        plan["latency_cycles"],
        short(plan["latency_s"] * 1e3),
        short(plan["dram_read_bytes"] / _KIB),
        short(plan["dram_write_bytes"] / _KIB),
        [short(energy * _UJ_PER_PJ) for energy in plan["levels_pj"].values()],
        short(plan["compute_pj"] * _UJ_PER_PJ),
        short(plan["leakage_pj"] * _UJ_PER_PJ),
    ]


def _group(
    group: Details, place: NetworkPlace, number: int, kept: Mapping[str, Sequence[str]]
) -> list[Any]:
    return [
        [place.layers[name] for name in group["layers"]],
        tiling_text(group),
        resident_layers(group),
        [texts[number] for texts in kept.values()],
        short(group["peak_bytes"] / _KIB),
        short(group["dram_bytes_unfused"] / _KIB),
        short(group["dram_bytes"] / _KIB),
        group["latency_cycles"],
        group["wait_cycles"],
    ]


def _fused(groups: Sequence[Details], place: NetworkPlace) -> list[Any]:
    """Return label, tip, nodes and inner lines of each group that fuses layers."""
    drawn = place.drawn
    if drawn is None:
        return []
    found = []
    for group in fused_groups(groups):
        members = {drawn.named[name] for name in group.layers}
        lines = enclosed_lines(drawn.layout, members)
        found.append([group.label, group.about, sorted(members), lines])
    return found


def _pinned(groups: Sequence[Details], place: NetworkPlace) -> list[int]:
    return [] if place.drawn is None else pinned_lines(place.drawn, place.pinned(groups))


def _buffer(contents: BufferContents) -> dict[str, Any]:
    names = list(dict.fromkeys(name for name, *_ in contents.boxes))
    looks = list(dict.fromkeys((kind, colour) for _, kind, colour, *_ in contents.boxes))
    return {
        "level": contents.level,
        "capacity": short(contents.capacity_kib),
        "cycles": contents.cycles,
        "names": names,
        "looks": looks,
        "boxes": [
            [names.index(name), looks.index((kind, colour)), *map(short, corners)]
            for name, kind, colour, *corners in contents.boxes
        ],
    }
