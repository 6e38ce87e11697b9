"""``archloom technology``: a technology table with its sources, for a terminal or as JSON."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from archloom.studies.analysis import Details, fit_details
from archloom.studies.rendering.text import fit_rows, plain_table, print_json, source_rows

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from archloom.evaluators.technology import Technology

#: entries of a table that are one number, with their units
_SCALARS = {
    "accumulator_bits": "bits",
    "register_pj_per_bit": "pJ/bit",
    "register_access_pj_per_bit": "pJ/bit",
    "register_um2_per_bit": "um2/bit",
    "logic_leakage_mw_per_mm2": "mW/mm2",
    "idle_mw_per_mm2": "mW/mm2",
    "hop_pj_per_bit": "pJ/bit",
    "router_pj_per_bit": "pJ/bit",
    "layout_factor": "x",
    "control_factor": "x",
    "test_factor": "x",
}
_CURVES = {
    "multiply_pj": "pJ",
    "add_pj": "pJ",
    "multiply_um2": "um2",
    "add_um2": "um2",
}
_SAMPLES = ((8 << 10, 8), (128 << 10, 8), (1 << 20, 64), (16 << 20, 64))
"""SRAMs whose prices are shown: bytes, and bytes of an access."""


def show_technologies(as_json: bool, console: "Console") -> None:
    """Print the tables that there are."""
    from archloom.evaluators.technology import technology, technology_names

    tables = [technology(name) for name in technology_names()]
    if as_json:
        print_json([_summary(table) for table in tables], console)
        return
    rows = plain_table("Technology tables (SRAM: read energy of buffers of 8 KiB and 1 MiB)")
    heads = ("8-bit MAC pJ", "16-bit MAC pJ", "8 KiB pJ/bit", "1 MiB pJ/bit", "SRAM um2/byte")
    for head in ("name", "node nm", *heads):
        rows.add_column(head, justify="left" if head == "name" else "right")
    for s in map(_summary, tables):
        figures = list(s.values())
        rows.add_row(s["name"], str(s["node_nm"]), *(f"{value:.3g}" for value in figures[2:]))
    console.print(rows)
    console.print("archloom technology NAME shows a table with its sources.", markup=False)


def show_technology(name: str, as_json: bool, console: "Console") -> None:
    """Print one table.

    Raises:
        UserError: there is none of that name.
    """
    from archloom.evaluators.technology import technology

    try:
        details = technology_details(technology(name))
    except ValueError as error:
        raise UserError(str(error)) from None
    if as_json:
        print_json(details, console)
        return
    for part in _renderables(details):
        console.print(part, markup=False, highlight=False)


def technology_details(table: "Technology") -> Details:
    """Return everything that a table says, and how good its SRAM fit is, as JSON values."""
    entries: Details = {}
    for key, unit in _CURVES.items():
        entries[key] = {
            "by_bits": {str(bits): value for bits, value in getattr(table, key)},
            "unit": unit,
            "source": table.sources[key],
        }
    for key, unit in _SCALARS.items():
        value = getattr(table, key)
        if value is not None:
            entries[key] = {"value": value, "unit": unit, "source": table.sources[key]}
    return {
        "name": table.name,
        "node_nm": table.node_nm,
        "entries": entries,
        "sram": {
            "samples": [_sram_sample(table, *sample) for sample in _SAMPLES],
            "fit_error": fit_details(table),
            "source": table.sources["sram"],
        },
        "drams": {
            name: {
                "pj_per_bit": dram.pj_per_bit,
                "unit": dram.unit,
                "gbytes_per_s": dram.gbytes_per_s,
                "phy_mm2_per_gbytes_per_s": dram.phy_mm2_per_gbytes_per_s,
                "source": table.sources[f"drams.{name}"],
            }
            for name, dram in table.drams.items()
        },
    }


def _summary(table: "Technology") -> Details:
    small, large = (table.buffer("sram", size, 8) for size in (8 << 10, 1 << 20))
    return {
        "name": table.name,
        "node_nm": table.node_nm,
        "mac_8_pj": table.mac_pj(8),
        "mac_16_pj": table.mac_pj(16),
        "sram_8_kib_read_pj_per_bit": small.read_pj / 64,
        "sram_1_mib_read_pj_per_bit": large.read_pj / 64,
        "sram_1_mib_um2_per_byte": large.area_mm2 * 1e6 / (1 << 20),
    }


def _sram_sample(table: "Technology", size_bytes: int, width_bytes: int) -> Details:
    cost = table.buffer("sram", size_bytes, width_bytes)
    return {"size_bytes": size_bytes, "width_bytes": width_bytes, **cost._asdict()}


def _renderables(details: Details) -> "Iterator[RenderableType]":
    yield f"{details['name']}: {details['node_nm']} nm"
    yield _entry_rows(details["entries"])
    yield _sample_rows(details["sram"]["samples"])
    yield fit_rows(details["sram"]["fit_error"])
    yield _dram_rows(details["drams"])
    sources = [(name, entry["source"]) for name, entry in details["entries"].items()]
    sources.append(("sram", details["sram"]["source"]))
    sources += [(name, dram["source"]) for name, dram in details["drams"].items()]
    yield source_rows("Sources", sources)


def _entry_rows(entries: Details) -> "Table":
    rows = plain_table("Entries")
    rows.add_column("entry")
    rows.add_column("value")
    for name, entry in entries.items():
        if "by_bits" in entry:
            points = entry["by_bits"].items()
            text = ", ".join(f"{v:.4g} {entry['unit']} ({bits} bits)" for bits, v in points)
        else:
            text = f"{entry['value']:.4g} {entry['unit']}"
        rows.add_row(name, text)
    return rows


def _sample_rows(samples: list[Details]) -> "Table":
    rows = plain_table("SRAM buffers of some sizes (area with layout factor)")
    for head in ("bytes", "access (bytes)", "read pJ", "write pJ", "leakage mW", "area mm2"):
        rows.add_column(head, justify="right")
    for sample in samples:
        prices = [sample[key] for key in ("read_pj", "write_pj", "leakage_mw", "area_mm2")]
        rows.add_row(
            f"{sample['size_bytes']:,}",
            str(sample["width_bytes"]),
            *(f"{price:.4g}" for price in prices),
        )
    return rows


def _dram_rows(drams: Details) -> "Table":
    rows = plain_table("DRAM (published energies of one type differ by a factor of several)")
    for head in ("type", "pJ/bit", "unit", "GB/s per unit", "PHY mm2 per GB/s"):
        rows.add_column(head, justify="left" if head in ("type", "unit") else "right")
    for name, dram in drams.items():
        rows.add_row(
            name,
            f"{dram['pj_per_bit']:g}",
            dram["unit"],
            f"{dram['gbytes_per_s']:g}",
            f"{dram['phy_mm2_per_gbytes_per_s']:g}",
        )
    return rows
