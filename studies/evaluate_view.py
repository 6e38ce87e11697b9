"""What ``archloom evaluate`` shows: words and energy of each tensor at each level, and the sums."""

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..evaluators.conformance import Evaluated
from ..space.case_problem import CASE_TENSORS
from ..space.cases import Case
from .whole_table import new_table, plain, print_line, print_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_TEXTS = ("level", "tensor")
_COLUMNS = ("level", "used", "tensor", "tile", "reads", "fills", "updates", "energy, pJ", "share")


def print_evaluated(
    case: Case, result: Evaluated, names: dict[str, str], table: str | None, console: "Console"
) -> None:
    """Print an evaluated case, levels from the outermost.

    Args:
        case: what was evaluated.
        result: what it costs.
        names: the user's name of each tensor.
        table: technology that priced something; None if the files gave every energy.
        console: where to.
    """
    shown = new_table(f"{case.layer.name} on {case.hardware.name}", _COLUMNS, _TEXTS)
    for v in reversed(range(len(case.hardware.levels))):
        _add_level(shown, case, result, names, v)
    shown.add_row("multipliers", _used(result, case), *[""] * 5, *_energy(result.mac_pj, result))
    if result.chip_leakage_pj:
        shown.add_row("leakage", *[""] * 6, *_energy(result.chip_leakage_pj, result))
    print_whole(shown, console)
    for line in _summary(case, result, table):
        print_line(line, console)


def _add_level(
    shown: "Table", case: Case, result: Evaluated, names: dict[str, str], v: int
) -> None:
    level = case.hardware.levels[v]
    rows = []
    for t, tensor in enumerate(CASE_TENSORS):
        # a network may cost something where a level keeps nothing
        if result.tiles[v, t] or result.level_pj[v, t]:
            words = (result.tiles[v, t], *result.counts[v, t])
            counts = (f"{int(n):,}" for n in words)
            energy = _energy(float(result.level_pj[v, t]), result)
            rows.append((plain(names.get(tensor, tensor)), *counts, *energy))
    if result.leaked_pj[v]:
        rows.append(("leakage", *[""] * 4, *_energy(float(result.leaked_pj[v]), result)))
    for i, row in enumerate(rows):
        head = (plain(level.name), f"{result.used[v]}/{level.instances}") if i == 0 else ("", "")
        shown.add_row(*head, *row)
    if rows:
        shown.add_section()


def _used(result: Evaluated, case: Case) -> str:
    macs = prod(case.layer.bounds) // result.compute_cycles
    return f"{macs}/{case.hardware.macs}"


def _energy(pj: float, result: Evaluated) -> tuple[str, str]:
    share = pj / result.energy_pj if result.energy_pj else 0.0
    return f"{pj:,.2f}" if pj < 1e15 else f"{pj:.6e}", f"{share:.1%}"


def _summary(case: Case, result: Evaluated, table: str | None) -> list[str]:
    macs = prod(case.layer.bounds)
    utilisation = macs / (result.cycles * case.hardware.macs)
    lines = [
        f"energy {result.energy_pj:,.10g} pJ, {result.energy_pj / macs:.4g} pJ for each of "
        f"{macs:,} multiply-accumulates",
        f"cycles {int(result.cycles):,}, {utilisation:.1%} of {case.hardware.macs} multipliers"
        f"{_limit(case, result)}",
        f"EDP {result.energy_pj * result.cycles:.6e} pJ cycles",
        "Tile, reads, fills and updates are words of one instance in use; energies are of all.",
    ]
    if table:
        levels = case.hardware.levels
        open_levels = [level.name for level in levels if level.energy is None]
        what = ", ".join([*open_levels, *(["multipliers"] if case.hardware.mac_pj is None else [])])
        lines.append(f"Table {table} prices what the files leave open: {what}.")
        if levels[-1].energy is None:
            lines.append(f"It takes {levels[-1].name} for {case.hardware.dram.upper()}.")
    return lines


def _limit(case: Case, result: Evaluated) -> str:
    """Say what makes the run longer than its steps."""
    if result.cycles <= result.compute_cycles:
        return ""
    slowest = int(np.argmax(result.port_cycles))
    name = case.hardware.levels[slowest].name
    return f"; the steps alone take {result.compute_cycles:,}, the ports of {name} take longer"
