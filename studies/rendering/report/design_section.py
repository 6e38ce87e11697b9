"""The part of a report that takes the picked design apart."""

from archloom.studies.analysis import Details
from archloom.studies.rendering.pictures import stacked_bars
from archloom.studies.rendering.text import (
    capacity_text,
    design_text,
    fused_text,
    gaps_text,
    group_layers,
    kept_columns,
    layer_gap_text,
    resident_layers,
    spent_text,
    tiling_text,
)

from ..html import card, definitions, fold, plot, table

_UJ_PER_PJ = 1e-6
_KIB = 1024


def design_sections(details: Details) -> list[str]:
    """Return HTML about one design: what it is, and where its energy and its bytes go."""
    return [
        f"<h2>Picked design: trial {details['trial']}</h2>",
        _hardware(details),
        f'<div class="pair wide">{_energy(details)}{_traffic(details)}</div>',
        *(f'<div class="wide">{_network(network)}</div>' for network in details["networks"]),
    ]


def _hardware(details: Details) -> str:
    hardware = details["hardware"]
    area, power = hardware["area_mm2"], hardware["tdp_w"]
    parts = [
        [part, _fixed(area.get(part)), _fixed(power.get(part))]
        for part in dict.fromkeys([*area, *power])
    ]
    parts.append(["all", _fixed(details["area_mm2"]), _fixed(details["tdp_w"])])
    levels = [
        [
            level["name"],
            level["storage"],
            ", ".join(level["keeps"]),
            "x".join(map(str, level["mesh"])),
            capacity_text(level["capacity_bytes"]),
            level["bandwidth_words"],
        ]
        for level in hardware["levels"]
    ]
    heads = ["level", "built of", "keeps", "instances", "bytes each", "words/cycle each"]
    parameters = [(name, str(value)) for name, value in (details["point"] or {}).items()]
    design = card(
        "Hardware",
        design_text(hardware),
        definitions(parameters) + table(heads, levels),
    )
    costs = card("Area and TDP by part", "", table(["part", "area (mm\u00b2)", "TDP (W)"], parts))
    return f'<div class="pair uneven">{design}{costs}</div>'


def _fixed(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _energy(details: Details) -> str:
    """Return energy by level, with and without fusion."""
    rows, plans = _plans(details)
    names = list(plans[0]["levels_pj"]) if plans else []
    parts = {name: [plan["levels_pj"][name] * _UJ_PER_PJ for plan in plans] for name in names}
    parts["compute"] = [plan["compute_pj"] * _UJ_PER_PJ for plan in plans]
    parts["leakage"] = [plan["leakage_pj"] * _UJ_PER_PJ for plan in plans]
    figure = stacked_bars(rows, parts, "energy of one pass (uJ)")
    return card(
        "Energy by level",
        "The plan found, and the plan that fuses nothing.",
        plot(figure, "energy"),
    )


def _traffic(details: Details) -> str:
    """Return the bytes to and from DRAM, with and without fusion."""
    rows, plans = _plans(details)
    parts = {
        "read": [plan["dram_read_bytes"] / _KIB for plan in plans],
        "written": [plan["dram_write_bytes"] / _KIB for plan in plans],
    }
    figure = stacked_bars(rows, parts, "DRAM traffic of one pass (KiB)")
    return card(
        "DRAM traffic",
        "What fusion saves: maps that never leave the chip.",
        plot(figure, "traffic"),
    )


def _plans(details: Details) -> tuple[list[str], list[Details]]:
    rows, plans = [], []
    for network in details["networks"]:
        rows += [f"{network['name']}, fused", f"{network['name']}, layer by layer"]
        plans += [network, network["unfused"]]
    return rows, plans


def _network(network: Details) -> str:
    ratio = network["unfused"]["edp_js"] / network["edp_js"]
    note = (
        f"EDP {network['edp_js']:.3g} J s, {ratio:.3g}x lower than layer by layer; "
        f"{network['energy_pj'] * _UJ_PER_PJ:,.1f} uJ and {network['latency_cycles']:,} cycles "
        f"({network['latency_s'] * 1e3:,.3g} ms); {network['dram_bytes'] / _KIB:,.1f} KiB of DRAM "
        f"traffic, {network['unfused']['dram_bytes'] / _KIB:,.1f} layer by layer. "
        f"Mappings: {gaps_text(network['gaps'])}."
    )
    if network["spent"]:
        note += f" Of a {spent_text(network['spent'])}."
    fused = sum(len(group["layers"]) > 1 for group in network["groups"])
    groups = fold(fused_text(len(network["groups"]), fused), _groups(network))
    layers = fold(f"{len(network['layers'])} layers", _layers(network))
    return card(network["name"], note, groups + layers)


def _groups(network: Details) -> str:
    kept = kept_columns(network["groups"])
    heads = [
        "group",
        "layers",
        "tiles",
        "resident weights",
        *kept,
        "peak KiB",
        "DRAM KiB without",
        "DRAM KiB with",
        "cycles",
    ]
    rows = [
        [
            number,
            group_layers(group["layers"]),
            tiling_text(group),
            resident_layers(group),
            *(texts[number] for texts in kept.values()),
            group["peak_bytes"] / _KIB if group["peak_bytes"] else None,
            group["dram_bytes_unfused"] / _KIB,
            group["dram_bytes"] / _KIB,
            group["latency_cycles"],
        ]
        for number, group in enumerate(network["groups"])
    ]
    return table(heads, rows)


def _layers(network: Details) -> str:
    levels = list(network["levels_pj"])
    heads = [
        "layer",
        "operator",
        "group",
        "operations",
        "cycles",
        *(f"{level} (uJ)" for level in levels),
        "compute (uJ)",
        "all (uJ)",
        "gap",
    ]
    rows = [
        [
            layer["name"],
            layer["operator"],
            layer["group"],
            layer["operations"],
            layer["latency_cycles"],
            *(layer["levels_pj"][level] * _UJ_PER_PJ for level in levels),
            layer["compute_pj"] * _UJ_PER_PJ,
            layer["energy_pj"] * _UJ_PER_PJ,
            layer_gap_text(layer),
        ]
        for layer in network["layers"]
    ]
    return table(heads, rows)
