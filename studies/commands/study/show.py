"""``archloom show``: one trial taken apart, for a terminal or as JSON."""

import json
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from archloom.studies.analysis import Details, trial_details, trial_number
from archloom.studies.config import Location
from archloom.studies.rendering.text import (
    KIB,
    capacity_text,
    design_text,
    gap_text,
    gaps_text,
    group_layers,
    halo_text,
    kept_columns,
    layer_gap_text,
    nest_lines,
    parts_of,
    peak_text,
    resident_layers,
    spent_text,
    tiling_text,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_PJ_PER_UJ = 1e6


def show_trial(location: Location, trial: str, as_json: bool, console: "Console") -> None:
    """Print a trial.

    Args:
        location: of the study.
        trial: number of the trial, or ``baseline``; behind a dot which of its outcomes.
        as_json: print all of :func:`trial_details` instead of tables.
        console: where to print.

    Raises:
        UserError: no such study or trial.
    """
    details = trial_details(location, *trial_number(trial))
    if as_json:
        console.print(json.dumps(details, indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    for part in renderables(details):
        console.print(part, markup=False, highlight=False)


def renderables(details: Details) -> "Iterator[RenderableType]":
    """Yield what is printed, from top to bottom."""
    yield _heading(details)
    yield _design(details["hardware"])
    yield _levels(details["hardware"])
    yield _parts(details["hardware"])
    if details["crash"]:
        yield f"\nThe last round {_end(details['crash'])}\n"
        yield details["crash"]["traceback"]
    if details["reason"]:
        from archloom.space import Infeasible

        yield f"\nInfeasible: {Infeasible(**details['reason'])}"
    for network in details["networks"]:
        yield ""
        yield from _network(network)


def _heading(details: Details) -> str:
    name = "baseline" if details["point"] is None else f"trial {details['trial']}"
    name += f", outcome {details['outcome']}" if "outcome" in details else ""
    rounds = "1 round" if details["rounds"] == 1 else f"{details['rounds']} rounds"
    effort = details["effort"]
    again = "" if effort == 1 else f", with {effort:,} times the study's mapping evaluations"
    edp = "no EDP" if details["edp_js"] is None else f"EDP {details['edp_js']:.4g} J s"
    lines = [
        f"{name}: {details['state']} after {rounds} and "
        f"{details['evaluations']} evaluated fusion plans per network{again}",
        f"{edp}, area {details['area_mm2']:.4g} mm2, TDP {details['tdp_w']:.4g} W",
    ]
    others = {k: v for k, v in details["values"].items() if k not in details}
    if others:
        lines.append(", ".join(f"{name} {figure:.4g}" for name, figure in others.items()))
    if details["held_out"]:
        lines += _held_out(details["held_out"])
    return "\n".join(lines)


def _held_out(found: Details) -> Iterator[str]:
    together = ", ".join(f"{name} {figure:.4g}" for name, figure in found["values"].items())
    yield f"held-out networks: {together or 'no aggregate, because some are infeasible'}"
    for name, network in found["networks"].items():
        yield (
            f"  {name}: EDP {network['edp_js']:.4g} J s, energy "
            f"{network['energy_pj'] / network['batch'] / _PJ_PER_UJ:.4g} uJ, "
            f"latency {network['latency_s']:.4g} s"
        )
    for name, why in found["missing"].items():
        yield f"  {name}: {_missing(why)}"


def _missing(why: Details) -> str:
    from archloom.space import Infeasible

    if why.get("reason"):
        return str(Infeasible(**why["reason"]))
    return _end(why["crash"])


def _end(crash: Details) -> str:
    """Say how a round ended that gave nothing."""
    if "limit" in crash:
        by = "software.fusion.work_limit" if crash["reproducible"] else "round_limits"
        return f"exceeded {by}: it {crash['message']}"
    return f"crashed: {crash['error']}: {crash['message']}"


def _design(hardware: Details) -> str:
    return f"\n{hardware['name']}\n{design_text(hardware)}"


def _levels(hardware: Details) -> "Table":
    table = _table("\nStorage levels, innermost first (sizes and bandwidths per instance)")
    words = f"{hardware['word_bits']}-bit words/cycle"
    for head in ("level", "type", "tensors", "instances", "bytes", words):
        table.add_column(head, justify="right" if head in ("instances",) else "left")
    for level in hardware["levels"]:
        table.add_row(
            level["name"],
            level["storage"],
            ", ".join(level["keeps"]),
            f"{prod(level['mesh'])}",
            capacity_text(level["capacity_bytes"]),
            f"{level['bandwidth_words']:g}",
        )
    return table


def _parts(hardware: Details) -> "Table":
    table = _table("\nArea and TDP by part")
    table.add_column("part")
    table.add_column("area (mm2)", justify="right")
    table.add_column("TDP (W)", justify="right")
    area, power = hardware["area_mm2"], hardware["tdp_w"]
    for part in dict.fromkeys([*area, *power]):
        table.add_row(
            part,
            f"{area[part]:.4f}" if part in area else "",
            f"{power[part]:.4f}" if part in power else "",
        )
    table.add_section()
    table.add_row("total", f"{sum(area.values()):.4f}", f"{sum(power.values()):.4f}")
    return table


def _network(network: Details) -> "Iterator[RenderableType]":
    yield f"== {network['name']} =="
    yield _sums(network)
    yield f"\nMappings: {gaps_text(network['gaps'])}."
    if network["spent"]:
        yield f"Effort: {spent_text(network['spent'])}."
    yield _energy(network)
    yield _groups(network)
    if trees := list(nest_lines(network["groups"])):
        yield "\n" + "\n".join(trees).rstrip()
    yield _layers(network)
    yield from _mappings(network)


def _sums(network: Details) -> "Table":
    """Compare the plan with the one that fuses nothing."""
    table = _table("\nTotals of one pass")
    for head in ("", "this plan", "unfused", "ratio"):
        table.add_column(head, justify="right" if head else "left")
    for label, key, scale in (
        ("EDP (J s)", "edp_js", 1.0),
        ("energy (uJ)", "energy_pj", _PJ_PER_UJ),
        ("latency (cycles)", "latency_cycles", 1.0),
        ("DRAM read (KiB)", "dram_read_bytes", KIB),
        ("DRAM written (KiB)", "dram_write_bytes", KIB),
    ):
        mine, other = network[key] / scale, network["unfused"][key] / scale
        style = ".4g" if key == "edp_js" else ",.0f" if key == "latency_cycles" else ",.2f"
        ratio = f"{mine / other:.3f}" if other else ""
        table.add_row(label, format(mine, style), format(other, style), ratio)
    return table


def _energy(network: Details) -> "Table":
    table = _table("\nEnergy by level")
    table.add_column("level")
    table.add_column("energy uJ", justify="right")
    table.add_column("share", justify="right")
    parts = {
        **network["levels_pj"],
        "compute": network["compute_pj"],
        "leakage": network["leakage_pj"],
    }
    for name, energy in parts.items():
        table.add_row(name, f"{energy / _PJ_PER_UJ:,.4f}", f"{energy / network['energy_pj']:.1%}")
    table.add_section()
    table.add_row("total", f"{network['energy_pj'] / _PJ_PER_UJ:,.4f}", "100.0%")
    return table


def _groups(network: Details) -> "Table":
    parts = parts_of(network["groups"])
    table = _table(
        "\nGroups in order of execution"
        + (f", for each of {parts} sub-batches; figures of all of them" if parts > 1 else "")
    )
    kept = kept_columns(network["groups"])
    numbers = ("peak KiB", "DRAM KiB", "DRAM KiB unfused")
    for head in ("group", "layers", "tiles", "halo", "resident weights", *kept, *numbers):
        right = head in ("group", *numbers)
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for number, group in enumerate(network["groups"]):
        table.add_row(
            str(number),
            group_layers(group["layers"]),
            tiling_text(group),
            halo_text(group),
            resident_layers(group),
            *(texts[number] for texts in kept.values()),
            peak_text(group),
            f"{group['dram_bytes'] / KIB:,.1f}",
            f"{group['dram_bytes_unfused'] / KIB:,.1f}",
        )
    table.add_section()
    sums = (network["dram_bytes"], network["unfused"]["dram_bytes"])
    totals = [f"{moved / KIB:,.1f}" for moved in sums]
    table.add_row("", "total", "", "", "", *[""] * len(kept), "", *totals)
    return table


def _layers(network: Details) -> "Table":
    table = _table(
        "\nLayers (energy in uJ, by level; gap: how far the mapping may be from the best)"
    )
    levels = list(network["levels_pj"])
    heads = (
        "layer", "operator", "group", "operations", "cycles", *levels, "compute", "total", "gap",
    )  # fmt: skip
    for head in heads:
        table.add_column(head, justify="left" if head in ("layer", "operator") else "right")
    for layer in network["layers"]:
        energies = [*layer["levels_pj"].values(), layer["compute_pj"], layer["energy_pj"]]
        table.add_row(
            layer["name"],
            layer["operator"],
            str(layer["group"]),
            f"{layer['operations']:,}",
            f"{layer['latency_cycles']:,}",
            *(f"{energy / _PJ_PER_UJ:,.4f}" for energy in energies),
            layer_gap_text(layer),
        )
    wait = sum(group["wait_cycles"] for group in network["groups"])
    table.add_section()
    nothing = [""] * (len(levels) + 1)
    table.add_row("waiting for memory", "", "", "", f"{wait:,}", *nothing, "")
    leakage = f"{network['leakage_pj'] / _PJ_PER_UJ:,.4f}"
    table.add_row("leakage", "", "", "", "", *nothing, leakage)
    sums = [*network["levels_pj"].values(), network["compute_pj"], network["energy_pj"]]
    table.add_section()
    table.add_row(
        "total",
        "",
        "",
        f"{sum(layer['operations'] for layer in network['layers']):,}",
        f"{network['latency_cycles']:,}",
        *(f"{energy / _PJ_PER_UJ:,.4f}" for energy in sums),
    )
    return table


def _mappings(network: Details) -> Iterator[str]:
    yield (
        "\nMappings: levels from the outermost (DRAM) to the innermost. [WIO]: tensors held at a "
        "level\n(weights, inputs, outputs). Loops: outermost first; x and y are spatial (unrolled "
        "on the mesh).\nBehind each layer: whether the EDP of the mapping is proven optimal, or "
        "how far it may be above the optimum."
    )
    if any("nest" in group for group in network["groups"]):
        yield (
            "Where loops of a nest cut the sums of a layer, the first mapping of a size of tiles "
            "begins them,\nand the second one adds to them."
        )
    for layer in network["layers"]:
        for mapping in layer["mappings"]:
            times = f", used for {mapping['tiles']} tiles" if mapping["tiles"] > 1 else ""
            loops = " ".join(f"{dim}:{size}" for dim, size in mapping["covers"].items() if size > 1)
            nest = "\n".join(f"    {line}" for line in mapping["nest"])
            gap = gap_text(mapping["gap_percent"])
            yield f"  {layer['name']} ({loops}){times}; {gap}\n{nest}"


def _table(title: str) -> "Table":
    from archloom.studies.rendering.text import FittingTable

    return FittingTable(title)
