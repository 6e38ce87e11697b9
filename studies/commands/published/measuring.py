"""``archloom reproduce``: tables of papers, measured, printed, written and drawn."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.space import did_you_mean
from archloom.studies.engine.progress import ProgressView, Watch
from archloom.studies.rendering.papers import draw_table
from archloom.studies.rendering.text import new_console, print_json, print_line, print_whole
from archloom.studies.solve.papers import (
    Results,
    measured,
    own_tables,
    read_results,
    read_table,
    results_text,
)
from archloom.studies.storage import write_whole

from ...errors import INTERRUPTED, UserError, writing
from .searching import studies_of
from .tables import markdown, printed

if TYPE_CHECKING:
    from rich.console import Console


def list_tables(as_json: bool, console: "Console") -> None:
    """Print what there is."""
    titles = {name: read_table(path).title for name, path in own_tables().items()}
    if as_json:
        print_json(titles, console)
        return
    for name, title in titles.items():
        print_line(f"archloom reproduce {name:24}{title}", console)


def reproduce_tables(
    texts: Sequence[str],
    sets: int | None,
    out: Path | None,
    as_json: bool,
    console: "Console",
) -> int:
    """Measure tables, print them, write them; return the exit code.

    Raises:
        UserError: no such table, everything that is wrong in a file, or a folder that cannot be
            written to.
    """
    files = _files(texts)
    wanted = {name: read_table(path) for name, path in files.items()}
    # before anything is measured
    kept = {
        name: _kept(Results(version("archloom"), t, sets, ()), out, name)
        for name, t in wanted.items()
    }
    notes = new_console(stderr=True)
    done: dict[str, Results] = {}
    try:
        with ProgressView(notes) as view:
            for name, results in kept.items():
                done[name] = _measure(results, out, name, view)
    except KeyboardInterrupt:
        print_line("stopped; with --out, finished results are kept", notes)
        return INTERRUPTED
    if as_json:
        import json

        print_json({name: json.loads(results_text(one)) for name, one in done.items()}, console)
        return 0
    for one in done.values():
        for part in printed(one):
            print_whole(part, console) if not isinstance(part, str) else print_line(part, console)
    for name in done if out is not None else ():
        print_line(f"wrote {out}/{name}.json, .md and .png", notes)
    return 0


def _files(texts: Sequence[str]) -> dict[str, Path]:
    """Return the files that names, papers or paths mean, by name."""
    own, found = own_tables(), dict[str, Path]()
    for text in texts:
        paper = {name: path for name, path in own.items() if name.startswith(f"{text}_")}
        if text in own:
            found[text] = own[text]
        elif paper:
            found |= paper
        elif Path(text).is_file():
            found[Path(text).stem] = Path(text)
        else:
            papers = sorted({name.partition("_")[0] for name in own})
            hint = did_you_mean(text, list(dict.fromkeys([*papers, *own])))
            raise UserError(f"{text}: no such table, paper or file; {hint}")
    return found


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
    return left if replace(left, rows=()) == asked else asked


def _measure(results: Results, out: Path | None, name: str, view: Watch) -> Results:
    found = replace(results, rows=())
    with studies_of(name, out, view) as studies:
        for row in measured(results.table, view, results.rows, results.sets, studies):
            found = replace(found, rows=(*found.rows, row))
            if out is not None:
                _write(out / f"{name}.json", results_text(found))
    if out is not None:
        _write(out / f"{name}.md", markdown(name, found))
        draw_table(found, out / f"{name}.png")
    return found


def _write(path: Path, text: str) -> None:
    with writing(path):
        write_whole(path, text)
