"""``archloom reproduce``: tables of papers, measured, printed, written and drawn.

``files.py`` finds the tables, ``tables.py`` puts them in words, ``pages.py`` in HTML, and
``overview.py`` is about all results in a directory.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.commands.machine import core_count, python_seconds
from archloom.studies.engine.progress import ProgressView, Watch
from archloom.studies.rendering.papers import draw_table
from archloom.studies.rendering.text import new_console, print_json, print_line, print_whole
from archloom.studies.solve.papers import (
    Measurement,
    Results,
    measured,
    read_results,
    results_name,
    results_text,
)
from archloom.studies.storage import write_whole

from ...errors import FAULT, INTERRUPTED, NOTHING_FOUND, UserError, faults, writing
from .files import asked_tables
from .overview import overview, results_in
from .pages import overview_page, table_page
from .searching import studies_of
from .tables import markdown, printed

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Wish:
    """How tables are measured, and where they are written.

    Attributes:
        budget: of all.
        sets: networks, or cases, of each, the first ones; None for all.
        seeds: of each search, from 0 on; None for those of the budget.
        out: directory; None to write nothing.
    """

    budget: str
    sets: int | None
    seeds: int | None
    out: Path | None


def reproduce_tables(texts: Sequence[str], wish: Wish, as_json: bool, console: "Console") -> int:
    """Measure tables, print them, write them; return the exit code.

    A table that fails, be it for a fault of ours, does not keep others from being measured.

    Raises:
        UserError: no such table, everything that is wrong in a file, or a folder that cannot be
            written to.
    """
    tables = asked_tables(texts, wish.budget, wish.seeds)
    # before anything is measured
    kept = {
        results_name(name, wish.budget): Results(
            version("archloom"), table, wish.sets, (), wish.budget
        )
        for name, table in tables.items()
    }
    kept = {name: _kept(asked, wish.out, name) for name, asked in kept.items()}
    notes = new_console(stderr=True)
    done, failed = dict[str, Results](), dict[str, UserError | SystemExit]()
    try:
        with ProgressView(notes) as view:
            for number, (name, results) in enumerate(kept.items(), 1):
                if len(kept) > 1:
                    view.found(f"table {number} of {len(kept)}: {name}")
                try:
                    with faults():
                        done[name] = _measure(results, wish.out, name, view)
                except (UserError, SystemExit) as error:
                    failed[name] = error
    except KeyboardInterrupt:
        print_line("stopped; with --out, finished results are kept", notes)
        return INTERRUPTED
    if len(kept) == 1 and failed:
        raise failed.popitem()[1]
    _show(done, as_json, console)
    if wish.out is not None and done:
        for name in done:
            print_line(f"wrote {wish.out}/{name}.json, .md, .png and .html", notes)
        _write_overview(wish.out)
        print_line(f"wrote {wish.out}/papers.md and index.html", notes)
    nothing = [name for name, results in done.items() if not results.feasible]
    for name in nothing:
        print_line(f"{name}: nothing in this table can run", notes)
    codes = [_told(name, wrong, notes) for name, wrong in failed.items()]
    return max(codes + [NOTHING_FOUND] * bool(nothing), default=0)


def _told(name: str, wrong: UserError | SystemExit, notes: "Console") -> int:
    """Say what kept a table from being measured; return its exit code."""
    fault = isinstance(wrong, SystemExit)
    print_line(f"{name}: stopped by a bug, told above" if fault else f"{name}: {wrong}", notes)
    return wrong.exit_code if isinstance(wrong, UserError) else FAULT


def _show(done: dict[str, Results], as_json: bool, console: "Console") -> None:
    if as_json:
        import json

        print_json({name: json.loads(results_text(one)) for name, one in done.items()}, console)
        return
    for one in done.values():
        for part in printed(one):
            print_whole(part, console) if not isinstance(part, str) else print_line(part, console)


def _kept(asked: Results, out: Path | None, name: str) -> Results:
    """Return what an earlier run has left of the same table of this version."""
    if out is None:
        return asked
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    if not path.is_file():
        return asked
    left = read_results(path)
    if not left.answers(asked):
        return asked
    return replace(asked, rows=left.rows, measurement=left.measurement)


def _measure(results: Results, out: Path | None, name: str, view: Watch) -> Results:
    found, clock = replace(results, rows=()), _Clock(results.measurement)
    with studies_of(name, out, view, clock.add) as studies:
        for row in measured(results.table, view, results.rows, results.sets, studies):
            # what was there cost nothing, and was measured elsewhere
            fresh = not any(row is old or row == old for old in results.rows)
            found = replace(found, rows=(*found.rows, row))
            found = replace(found, measurement=clock.read()) if fresh else found
            if out is not None:
                _write(out / f"{name}.json", results_text(found))
    if out is not None:
        _write(out / f"{name}.md", markdown(name, found))
        draw_table(found, out / f"{name}.png")
        _write(out / f"{name}.html", table_page(name, found, out / f"{name}.png"))
    return found


def _write_overview(out: Path) -> None:
    found = results_in(out)
    _write(out / "papers.md", overview(found))
    _write(out / "index.html", overview_page(found))


class _Clock:
    """Adds up what rows cost: in this process, its children, and workers elsewhere."""

    def __init__(self, before: Measurement | None) -> None:
        self._elsewhere = before.cpu_s if before else 0.0
        self._began = _cpu_s()
        self._python_s = 0.0

    def add(self, cpu_s: float) -> None:
        """Note CPU-seconds of others."""
        self._elsewhere += cpu_s

    def read(self) -> Measurement:
        """Return what was spent so far."""
        spent = _cpu_s() - self._began + self._elsewhere
        self._python_s = self._python_s or python_seconds()
        day = datetime.now(UTC).date().isoformat()
        return Measurement(day, core_count(), round(self._python_s, 3), round(spent, 3))


def _cpu_s() -> float:
    return sum(os.times()[:4])


def _write(path: Path, text: str) -> None:
    with writing(path):
        write_whole(path, text)
