"""``archloom evaluate``: one mapping of one layer on one architecture, from Timeloop's files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from archloom.evaluators.technology import technology
from archloom.space.importers.cases import CASE_TENSORS, Case, RecordError, case_of
from archloom.space.importers.timeloop import TimeloopError, read_timeloop
from archloom.studies.analysis import EvaluatedCase, MisfitError, evaluated
from archloom.studies.rendering.text import new_table, plain, print_line, print_whole

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


@dataclass(frozen=True)
class Files:
    """Files that the user named."""

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
    except TimeloopError as error:
        raise _refusal(error.faults) from None
    except RecordError as error:
        raise _refusal([_in_file(fault, files) for fault in error.faults]) from None


def _refusal(faults: Sequence[str]) -> UserError:
    head = f"{len(faults)} thing{'s' if len(faults) > 1 else ''} cannot be evaluated"
    return UserError("\n".join([head, *(f"  {fault}" for fault in faults)]))


def _in_file(fault: str, files: Files) -> str:
    """Say which file a fault of the record comes from, in place of a key that is in none."""
    key, _, rest = fault.partition(": ")
    parts = {"arch": files.arch, "problem": [files.problem], "mapping": [files.mapping]}
    for part, paths in parts.items():
        if key.startswith(part):
            # levels are named in the sentence, dimensions and ranks in the key
            dim = key.removeprefix("problem.dims.")
            text = rest if part != "problem" else f"{dim} {rest}" if dim != key else fault
            return f"{', '.join(map(str, paths))}: {text}"
    return fault


def evaluate_files(files: Files, as_json: bool, console: "Console") -> None:
    """Evaluate the mapping and print what it costs.

    Raises:
        UserError: a fault of the files, a technology that does not exist or has no price for
            something, or a mapping that does not fit; with the numbers.
    """
    try:
        technology(files.technology)
    except ValueError as error:
        raise UserError(f"--technology: {error}") from None
    case, names = read_case(files)
    try:
        result = evaluated(case)
    except MisfitError as error:
        raise UserError(f"{files.mapping}: {error}") from None
    except ValueError as error:
        named = ", ".join(map(str, files.arch))
        raise UserError(f"{named}: {error}{_in_files(str(error))}") from None
    table = None if _priced(case) else case.hardware.technology
    if as_json:
        print(json.dumps(evaluated_json(case, result, names, table), allow_nan=False))
    else:
        print_evaluated(case, result, names, table, console)


def _in_files(message: str) -> str:
    """Say a key of ours in the words of Timeloop's files."""
    if "bandwidth_words" not in message:
        return ""
    return "; in the architecture file this is shared_bandwidth, in words per cycle"


def _priced(case: Case) -> bool:
    """Whether the files gave every energy."""
    return case.hardware.mac_pj is not None and all(v.energy for v in case.hardware.levels)


def evaluated_json(
    case: Case, result: EvaluatedCase, names: dict[str, str], table: str | None
) -> dict[str, Any]:
    """Return what ``--json`` prints, levels from the innermost.

    Args:
        case: what was evaluated.
        result: what it costs.
        names: the user's name of each tensor.
        table: technology that priced something; None if the files gave every energy.
    """
    macs = prod(case.layer.bounds)
    return {
        "layer": case.layer.name,
        "architecture": case.hardware.name,
        "energy_pj": result.energy_pj,
        "cycles": int(result.cycles),
        "compute_cycles": result.compute_cycles,
        "edp_pj_cycles": result.energy_pj * result.cycles,
        "macs": macs,
        "mac_energy_pj": result.mac_pj,
        "leakage_pj": result.chip_leakage_pj,
        "utilisation": macs / (result.cycles * case.hardware.macs),
        "technology": table,
        "levels": [_level_json(case, result, names, v) for v in range(len(case.hardware.levels))],
    }


def _level_json(case: Case, result: EvaluatedCase, names: dict[str, str], v: int) -> dict[str, Any]:
    level = case.hardware.levels[v]
    tensors = {}
    for t, tensor in enumerate(CASE_TENSORS):
        reads, fills, updates = map(int, result.counts[v, t])
        tensors[names.get(tensor, tensor)] = {
            "tile_words": int(result.tiles[v, t]),
            "reads_per_instance": reads,
            "fills_per_instance": fills,
            "updates_per_instance": updates,
            "energy_pj": float(result.level_pj[v, t]),
        }
    return {
        "name": level.name,
        "instances": level.instances,
        "used_instances": int(result.used[v]),
        "port_cycles": int(result.port_cycles[v]),
        "leakage_pj": float(result.leaked_pj[v]),
        "tensors": tensors,
    }


_TEXTS = ("level", "tensor")
_COLUMNS = ("level", "used", "tensor", "tile", "reads", "fills", "updates", "energy pJ", "share")


def print_evaluated(
    case: Case, result: EvaluatedCase, names: dict[str, str], table: str | None, console: "Console"
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
    shown: "Table", case: Case, result: EvaluatedCase, names: dict[str, str], v: int
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


def _used(result: EvaluatedCase, case: Case) -> str:
    macs = prod(case.layer.bounds) // result.compute_cycles
    return f"{macs}/{case.hardware.macs}"


def _energy(pj: float, result: EvaluatedCase) -> tuple[str, str]:
    share = pj / result.energy_pj if result.energy_pj else 0.0
    return f"{pj:,.2f}" if pj < 1e15 else f"{pj:.6e}", f"{share:.1%}"


def _summary(case: Case, result: EvaluatedCase, table: str | None) -> list[str]:
    macs = prod(case.layer.bounds)
    utilisation = macs / (result.cycles * case.hardware.macs)
    lines = [
        f"energy: {result.energy_pj:,.10g} pJ ({result.energy_pj / macs:.4g} pJ per MAC, {macs:,} "
        "MACs)",
        f"latency: {int(result.cycles):,} cycles, utilisation {utilisation:.1%} of "
        f"{case.hardware.macs} multipliers{_limit(case, result)}",
        f"EDP: {result.energy_pj * result.cycles:.6e} pJ x cycles",
        "Tile, reads, fills and updates are in words per used instance; energies are sums over all "
        "instances.",
    ]
    if table:
        levels = case.hardware.levels
        open_levels = [v.name for v in levels if v.energy is None and v.timing is None]
        what = ", ".join([*open_levels, *(["multipliers"] if case.hardware.mac_pj is None else [])])
        lines.append(f"Energies that the files do not give come from table {table}: {what}.")
        if levels[-1].name in open_levels:
            lines.append(f"Level {levels[-1].name} is modelled as {case.hardware.dram.upper()}.")
    return lines


def _limit(case: Case, result: EvaluatedCase) -> str:
    """Say what makes the run longer than its steps."""
    if result.cycles <= result.compute_cycles:
        return ""
    slowest = int(np.argmax(result.port_cycles))
    name = case.hardware.levels[slowest].name
    return f"; limited by the bandwidth of {name} (computation takes {result.compute_cycles:,})"
