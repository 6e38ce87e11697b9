"""``archloom hardware``: what a design is, costs and rests on, for a terminal or as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

from archloom.studies.analysis import fit_details
from archloom.studies.config import ChosenHardware
from archloom.studies.rendering.text import (
    capacity_text,
    design_text,
    fit_rows,
    plain_table,
    print_json,
    source_rows,
)

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from archloom.evaluators import AccessCosts
    from archloom.evaluators.technology import Technology
    from archloom.space.hardware import Hardware, StorageLevel

Details = dict[str, Any]
_LISTED = 12
"""Values of a parameter that are listed at most."""

_BAR = 24
"""Characters of the longest bar."""


def show_hardware(found: ChosenHardware, as_json: bool, console: "Console") -> None:
    """Print a design.

    Raises:
        UserError: the technology cannot price it.
    """
    try:
        details = full_details(found)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{found.hardware.name}: {error}") from None
    if as_json:
        print_json(details, console)
        return
    if found.parameters:
        console.print(_parameter_rows(found), markup=False, highlight=False)
    for part in _renderables(details):
        console.print(part, markup=False, highlight=False)


def _parameter_rows(found: ChosenHardware) -> "Table":
    """Return the parameters of the template, with those values in brackets that nobody set."""
    rows = plain_table(
        f"Parameters of {found.file} (in brackets: first value, change it with --set)"
    )
    for head in ("parameter", "value", "allowed values"):
        rows.add_column(head, overflow="fold")
    for name, p in found.parameters.items():
        listed = [*map(str, p.values)]
        shown = listed if len(listed) <= _LISTED else [*listed[: _LISTED - 2], "...", listed[-1]]
        rows.add_row(name, str(p.value) if p.given else f"({p.value})", " ".join(shown))
    return rows


def full_details(found: ChosenHardware) -> Details:
    """Return everything about a design as JSON values; what has no limit is None.

    Raises:
        ValueError: the technology cannot price it.
    """
    from archloom.evaluators import access_costs
    from archloom.evaluators.technology import technology
    from archloom.studies.analysis import hardware_details

    hardware = found.hardware
    table = technology(hardware.technology)
    costs = access_costs(hardware)
    details = hardware_details(hardware)
    peak = 2 * hardware.macs * hardware.frequency_mhz * 1e6
    dram = table.dram(hardware.dram)
    return details | {
        "file": str(found.file),
        "parameters": {name: p._asdict() for name, p in found.parameters.items()},
        "node_nm": table.node_nm,
        "native_batch": hardware.native_batch,
        "effects": asdict(hardware.effects),
        "peak_tops": peak / 1e12,
        # two operations in a multiply-accumulate
        "ridge_macs_per_byte": peak / 2 / (hardware.dram_gbytes_per_s * 1e9),
        "ridge_ops_per_byte": peak / (hardware.dram_gbytes_per_s * 1e9),
        "on_chip_bytes": hardware.on_chip_bytes,
        "mac_pj": costs.mac_pj,
        "vector_op_pj": costs.vector_op_pj,
        "static_pj_per_cycle": costs.leakage_pj_per_cycle,
        "dram_unit": dram.unit,
        "dram_units": hardware.dram_gbytes_per_s / dram.gbytes_per_s,
        "dram_unit_gbytes_per_s": dram.gbytes_per_s,
        "levels": [
            level | _level(hardware, costs, details, i) for i, level in enumerate(details["levels"])
        ],
        "area_total_mm2": sum(details["area_mm2"].values()),
        "tdp_total_w": sum(details["tdp_w"].values()),
        "sram_fit_error": fit_details(table) if _has_sram(hardware) else None,
        "sources": _sources(hardware, table),
    }


def _level(hardware: "Hardware", costs: "AccessCosts", details: Details, i: int) -> Details:
    from archloom.space.workload import TENSORS

    level = hardware.levels[i]
    kept = [TENSORS.index(tensor) for tensor in level.keeps]
    dram = i == len(hardware.levels) - 1
    bytes_per_s = level.bandwidth_words * hardware.word_bits / 8 * hardware.frequency_mhz * 1e6
    watts = details["tdp_w"]["dram" if dram else level.name]
    by_tensor = {
        f"{event}_pj": {TENSORS[t]: float(energies[i, t]) for t in kept}
        for event, energies in (
            ("read", costs.read_pj),
            ("fill", costs.fill_pj),
            ("update", costs.update_pj),
        )
    }
    return {
        "instances": prod(level.mesh),
        "bandwidth_words": _finite(level.bandwidth_words),
        "gbytes_per_s": _finite(bytes_per_s * level.instances / 1e9),
        "line_bits": level.width_words * hardware.word_bits,
        "word_bits": {t: hardware.bits(i, t) for t in level.keeps},
        **_switches(level),
        **by_tensor,
        "hop_pj_per_word": float(costs.hop_pj[i]),
        "router_pj_per_word": float(costs.router_pj[i]),
        "energies_from": hardware.technology if level.energy is None else "the design",
        "area_mm2": details["area_mm2"]["dram phy" if dram else level.name],
        "tdp_w": watts,
        "tdp_share": watts / sum(details["tdp_w"].values()),
    }


def _switches(level: "StorageLevel") -> Details:
    """Return what a level may have beyond the plain model."""
    return {
        "read_bandwidth_words": _finite(level.read_bandwidth_words),
        "write_bandwidth_words": _finite(level.write_bandwidth_words),
        "multiple_buffering": level.multiple_buffering,
        "cluster_size": level.cluster_size,
        "multicast": list(level.multicast),
        "optional": level.optional,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _has_sram(hardware: "Hardware") -> bool:
    return any(level.storage == "sram" for level in hardware.levels)


def _sources(hardware: "Hardware", table: "Technology") -> dict[str, str]:
    """Return the sources of the entries that price this design."""
    unused = {f"drams.{name}" for name in table.drams if name != hardware.dram}
    if not any(level.storage == "register" for level in hardware.levels):
        unused |= {key for key in table.sources if key.startswith("register_")}
    if hardware.effects.network != "mesh":
        unused |= {"hop_pj_per_bit", "router_pj_per_bit"}
    return {key: source for key, source in table.sources.items() if key not in unused}


def _renderables(details: Details) -> "Iterator[RenderableType]":
    yield f"{details['name']}\n{design_text(details)}"
    units = f"{details['dram_units']:.3g} {details['dram_unit']}"
    yield (
        f"Peak performance: {details['peak_tops']:.4g} TOPS (1 MAC = 2 operations); ridge point of "
        f"the roofline: {details['ridge_macs_per_byte']:.4g} MACs "
        f"({details['ridge_ops_per_byte']:.4g} operations) per byte of DRAM traffic\n"
        f"DRAM: {details['dram']}, {units}{'' if details['dram_units'] == 1 else 's'} of "
        f"{details['dram_unit_gbytes_per_s']:g} GB/s, {details['dram_pj_per_bit']:g} pJ/bit\n"
        f"On-chip memory: {details['on_chip_bytes'] / 1024:,.1f} KiB\n"
        f"Energy: {details['mac_pj']:.4g} pJ per MAC, {details['vector_op_pj']:.4g} pJ per vector "
        f"operation, leakage {details['static_pj_per_cycle']:.4g} pJ per cycle"
    )
    yield _size_rows(details["levels"], details["word_bits"])
    switches = list(_switched_on(details))
    if switches:
        yield "\n".join(["Properties of levels that differ from the defaults:", *switches])
    yield _price_rows(details["levels"])
    yield _part_rows(details)
    if details["sram_fit_error"]:
        yield fit_rows(details["sram_fit_error"])
    title = f"Sources of energy and area ({details['technology']}, {details['node_nm']} nm)"
    yield source_rows(title, list(details["sources"].items()))
    yield f"The sources of sizes and bandwidths are comments in {details['file']}."


def _switched_on(details: Details) -> Iterator[str]:
    """Yield what levels have beyond the plain model."""
    for level in details["levels"]:
        if said := list(_beyond(level, details)):
            yield f"  {level['name']}: {'; '.join(said)}"


def _beyond(level: Details, details: Details) -> Iterator[str]:
    """Yield what one level has beyond the plain model."""
    if level["hop_pj_per_word"]:
        yield f"network to its children: {level['hop_pj_per_word']:.4g} pJ per word and hop"
    for port in ("read", "write"):
        if (words := level[f"{port}_bandwidth_words"]) is not None:
            yield f"{port} bandwidth {words:g} words/cycle"
    if level["multiple_buffering"] != 1:
        yield f"multiple buffering: {level['multiple_buffering']:g} copies of each tile"
    if level["cluster_size"] != 1:
        yield f"{level['cluster_size']} instances share an access"
    if alone := [tensor for tensor in level["keeps"] if tensor not in level["multicast"]]:
        yield f"no multicast of {', '.join(alone)}"
    if any(bits != details["word_bits"] for bits in level["word_bits"].values()):
        yield f"word width in bits: {_by_name(level['word_bits'], 'd')}"
    if level["energies_from"] != details["technology"]:
        yield "access energies given by the design"


def _size_rows(levels: list[Details], word_bits: int) -> "Table":
    rows = plain_table(
        "Storage levels, innermost first; bytes and words per instance, GB/s in total"
    )
    words = f"{word_bits}-bit words/cycle"
    for head in ("level", "type", "tensors", "instances", "bytes", words, "GB/s"):
        right = head in ("instances", words, "GB/s")
        rows.add_column(head, justify="right" if right else "left")
    for level in levels:
        rows.add_row(
            level["name"],
            level["storage"],
            ", ".join(level["keeps"]),
            f"{level['instances']:,}",
            capacity_text(level["capacity_bytes"]),
            _limit(level["bandwidth_words"]),
            _limit(level["gbytes_per_s"]),
        )
    return rows


def _price_rows(levels: list[Details]) -> "Table":
    rows = plain_table(
        "Energy per access; area and TDP of all instances (the area of DRAM is that of its PHY)"
    )
    for head in ("level", "access", "read pJ", "write pJ", "area mm2", "TDP W", "of TDP"):
        right = head in ("area mm2", "TDP W", "of TDP")
        rows.add_column(head, justify="right" if right else "left")
    for level in levels:
        writes = _by_name(level["fill_pj"], ".4g")
        if level["update_pj"] != level["fill_pj"]:
            writes = f"fill {writes}; update {_by_name(level['update_pj'], '.4g')}"
        rows.add_row(
            level["name"],
            f"{level['line_bits']} bits",
            _by_name(level["read_pj"], ".4g"),
            writes,
            f"{level['area_mm2']:.4g}",
            f"{level['tdp_w']:.4g}",
            f"{level['tdp_share']:.1%}",
        )
    return rows


def _part_rows(details: Details) -> "Table":
    rows = plain_table("Area and thermal design power (TDP) by part")
    for head in ("part", "area mm2", "", "TDP W", ""):
        rows.add_column(head, justify="left" if head in ("part", "") else "right")
    area, power = details["area_mm2"], details["tdp_w"]
    most_area, most_power = max(area.values()), max(power.values())
    for part in dict.fromkeys([*area, *power]):
        rows.add_row(
            part,
            f"{area[part]:.4g}" if part in area else "",
            _bar(area.get(part, 0.0) / most_area),
            f"{power[part]:.4g}" if part in power else "",
            _bar(power.get(part, 0.0) / most_power),
        )
    rows.add_section()
    rows.add_row(
        "total", f"{details['area_total_mm2']:.4g}", "", f"{details['tdp_total_w']:.4g}", ""
    )
    return rows


def _by_name(values: Details, style: str) -> str:
    """Return one number if all names share it, else each with its name."""
    if len(set(values.values())) == 1:
        return format(next(iter(values.values())), style)
    return ", ".join(f"{name} {value:{style}}" for name, value in values.items())


def _limit(value: float | None) -> str:
    if value is None:
        return "unlimited"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _bar(share: float) -> str:
    """Return a bar of a length in proportion; what is there shows at least a sliver."""
    eighths = round(share * _BAR * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
