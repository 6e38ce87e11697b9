"""``archloom compare``: several studies side by side."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.analysis import Run, arms_of, compare, exclusions, importances, read_run
from archloom.studies.config import Location
from archloom.studies.engine import design_problem, stored_config
from archloom.studies.rendering.pictures import check_picture, comparison as compare_plots
from archloom.studies.rendering.text import print_line, print_whole
from archloom.studies.storage import write_whole

from ...errors import UserError
from .tables import Findings, page, tables, to_json

if TYPE_CHECKING:
    from rich.console import Console

    from archloom.search.hardware import DesignProblem

KINDS = (".html", ".png", ".svg")


def compare_studies(
    locations: Sequence[Location], out: Path | None, as_json: bool, console: "Console"
) -> None:
    """Compare studies; print tables or JSON, and draw a picture if ``out`` is given.

    Raises:
        UserError: one is no study or has no trial, the studies are not comparable, or
            no trial has a price.
    """
    check_picture(out, "--out", KINDS)
    found = findings(locations)
    if as_json:
        console.file.write(json.dumps(to_json(found), indent=2) + "\n")
    else:
        for part in tables(found):
            print_whole(part, console)
    if out is None:
        return
    if out.suffix.lower() == ".html":
        write_whole(out, page(found))
    else:
        compare_plots.draw(found.comparison, out)
    if not as_json:
        print_line(f"wrote {out}", console)


def findings(locations: Sequence[Location]) -> Findings:
    """Read the studies, and work out everything that a comparison shows.

    Raises:
        UserError: as :func:`compare_studies`.
    """
    arms = arms_of([read_run(location) for location in locations])
    comparison = compare(arms)
    if comparison is None:
        raise UserError("no trial of these studies is feasible, so there is nothing to compare")
    spaces: dict[str, list[Run]] = {}
    for arm in arms:
        for run in arm.runs:
            spaces.setdefault(run.header.space_file.stem, []).append(run)
    front = [values for values, *_ in comparison.front]
    decided = {
        space: {
            objective.name: importances(runs, i)
            for i, objective in enumerate(comparison.objectives)
        }
        for space, runs in spaces.items()
    }
    excluded = {
        space: exclusions(_problem(runs[0]), front, [point for run in runs for point in run.ended])
        for space, runs in spaces.items()
    }
    return Findings(comparison, decided, excluded)


def _problem(run: Run) -> "DesignProblem":
    config = stored_config(run.location, run.header)
    return design_problem(config, config.space)
