"""``archloom evaluate``: one mapping of one layer on one architecture, from Timeloop's files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluators.conformance import COUNTS, Evaluated, evaluated
from ..space.case_problem import CASE_TENSORS
from ..space.case_record import RecordError
from ..space.cases import Case, case_of
from ..space.timeloop import TimeloopError, read_timeloop
from .errors import UserError

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Files:
    """What the user named."""

    arch: Sequence[Path]
    problem: Path
    mapping: Path
    energies: Path | None
    components: Sequence[Path]
    technology: str


def read_case(files: Files) -> tuple[Case, dict[str, str]]:
    """Return the case that the files hold, and their own name of each tensor.

    Raises:
        UserError: everything that is wrong in them.
    """
    try:
        record = read_timeloop(
            files.arch,
            files.problem,
            files.mapping,
            ert_path=files.energies,
            component_paths=files.components,
        )
        return case_of(record, files.mapping.stem, files.technology), record["data_space_names"]
    except (TimeloopError, RecordError) as error:
        count = len(error.faults)
        head = f"{count} thing{'s' if count > 1 else ''} cannot be evaluated"
        raise UserError("\n".join([head, *(f"  {fault}" for fault in error.faults)])) from None


def evaluate(files: Files, as_json: bool, console: "Console") -> None:
    """Evaluate the mapping and print what it costs.

    Raises:
        UserError: a fault of the files, or a mapping that does not fit; with the numbers.
    """
    case, names = read_case(files)
    try:
        result = evaluated(case)
    except ValueError as error:
        raise UserError(f"{files.mapping}: {error}") from None
    if as_json:
        print(json.dumps(_json(case, result, names)))
    else:
        _print(case, result, names, console)


def _json(case: Case, result: Evaluated, names: dict[str, str]) -> dict[str, Any]:
    levels = []
    for v, level in enumerate(case.hardware.levels):
        tensors = {
            names.get(tensor, tensor): {
                **dict(zip(COUNTS, map(int, result.counts[v, t]), strict=True)),
                "tile_words": int(result.tiles[v, t]),
                "energy_pj": float(result.level_pj[v, t]),
            }
            for t, tensor in enumerate(CASE_TENSORS)
        }
        levels.append({"name": level.name, "instances": int(result.used[v]), "tensors": tensors})
    macs = prod(case.layer.bounds)
    return {
        "energy_pj": result.energy_pj,
        "cycles": int(result.cycles),
        "edp_pj_cycles": result.energy_pj * result.cycles,
        "macs": macs,
        "mac_energy_pj": result.mac_pj,
        "utilisation": macs / (result.cycles * case.hardware.macs),
        "technology": _technology(case),
        "levels": levels,
    }


def _technology(case: Case) -> str | None:
    """Name of the table that priced something; None if the files gave every energy."""
    own = case.hardware.mac_pj is not None and all(v.energy for v in case.hardware.levels)
    return None if own else case.hardware.technology


def _print(case: Case, result: Evaluated, names: dict[str, str], console: "Console") -> None:
    from rich.table import Table

    table = Table(title=f"{case.layer.name} on {case.hardware.name}", title_justify="left")
    for column in ("level", "used", "tensor", "tile", "reads", "fills", "updates", "energy, pJ"):
        table.add_column(column, justify="left" if column in ("level", "tensor") else "right")
    for v in reversed(range(len(case.hardware.levels))):
        level = case.hardware.levels[v]
        first = True
        for t, tensor in enumerate(CASE_TENSORS):
            if result.tiles[v, t] == 0 and result.level_pj[v, t] == 0:
                continue
            head = (level.name, f"{result.used[v]} of {level.instances}") if first else ("", "")
            words = (result.tiles[v, t], *result.counts[v, t])
            table.add_row(
                *head,
                names.get(tensor, tensor),
                *(f"{int(n):,}" for n in words),
                f"{result.level_pj[v, t]:,.6g}",
            )
            first = False
        table.add_section()
    table.add_row("MACs", "", "", "", "", "", "", f"{result.mac_pj:,.6g}")
    console.print(table)
    macs = prod(case.layer.bounds)
    console.print(
        f"{result.energy_pj:,.10g} pJ ({result.energy_pj / macs:.4g} a MAC), "
        f"{result.cycles:,.0f} cycles, {macs / (result.cycles * case.hardware.macs):.1%} of "
        f"{case.hardware.macs} MACs, EDP {result.energy_pj * result.cycles:.6e} pJ cycles"
    )
    console.print("reads, fills and updates are words of one instance; energy is that of all")
    table_name = _technology(case)
    if table_name:
        console.print(f"energies that the files leave open are those of table {table_name}")
