"""The Pareto front of a study's trials in EDP, area and TDP, and how it is printed."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .store import read_baseline, read_header, read_trials
from .trial import Record, mappings_proven

if TYPE_CHECKING:
    from rich.table import Table

OBJECTIVES = ("edp_js", "area_mm2", "tdp_w")


def front_of(records: Sequence[Record]) -> list[Record]:
    """Return the non-dominated trials by ascending EDP.

    A trial that halving stopped counts too: its EDP was found, more search would only have
    lowered it.
    """
    from ..search.pareto import non_dominated

    priced = [r for r in records if r["edp_js"] is not None]
    if not priced:
        return []
    best = non_dominated([[r[name] for name in OBJECTIVES] for r in priced])
    front = [r for r, keep in zip(priced, best, strict=True) if keep]
    return sorted(front, key=lambda r: (r["edp_js"], r["trial"]))


def pick(front: Sequence[Record]) -> Record:
    """Return the design of the front that is nearest to the ideal (CASCO section IV)."""
    from ..search.pareto import nearest_to_ideal

    return front[nearest_to_ideal([[r[name] for name in OBJECTIVES] for r in front])]


def read_front(folder: Path) -> list[Record]:
    """Return the front of a study's directory, which may be running.

    Raises:
        UserError: the directory is no study.
    """
    read_header(folder)
    return front_of(read_trials(folder))


def front_json(front: Sequence[Record]) -> str:
    """Return ``{"front": [{"trial", "edp", "area_mm2", "tdp_w", "hardware"}, ...]}``."""
    rows = [
        {
            "trial": r["trial"],
            "edp": r["edp_js"],
            "area_mm2": r["area_mm2"],
            "tdp_w": r["tdp_w"],
            "hardware": r["point"],
        }
        for r in front
    ]
    return json.dumps({"front": rows}, indent=2)


def front_csv(front: Sequence[Record]) -> str:
    """Return one line per design: trial, objectives, then every parameter of the hardware."""
    text = io.StringIO()
    parameters = list(front[0]["point"]) if front else []
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", *OBJECTIVES, *parameters])
    for r in front:
        writer.writerow(
            [r["trial"], *(r[name] for name in OBJECTIVES), *(r["point"][p] for p in parameters)]
        )
    return text.getvalue()


def front_table(front: Sequence[Record]) -> "Table":
    """Return the front for a terminal; the picked design has a star.

    The column ``proven`` has the recorded mappings that are proven to be the best, of all.
    Parameters that all designs share stand below the table once.
    """
    from rich.table import Table

    described = [_parameters(r["hardware"]) for r in front]
    shared = [p for p in described[0] if all(p in d for d in described)] if len(front) > 1 else []
    table = Table(
        title=f"Pareto front: {len(front)} designs",
        title_justify="left",
        caption=f"All have {' '.join(shared)}" if shared else None,
        caption_justify="left",
    )
    for name in ("trial", "EDP (J s)", "area (mm2)", "TDP (W)", "proven"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("hardware", overflow="fold")
    chosen = pick(front)["trial"] if front else None
    for r, parameters in zip(front, described, strict=True):
        star = " *" if r["trial"] == chosen else ""
        numbers = (f"{r['edp_js']:.3e}", f"{r['area_mm2']:.2f}", f"{r['tdp_w']:.2f}")
        proven = "{}/{}".format(*mappings_proven(r))
        own = " ".join(p for p in parameters if p not in shared)
        table.add_row(f"{r['trial']}{star}", *numbers, proven, own)
    return table


def _parameters(hardware: str) -> list[str]:
    """Return what a design's name says in brackets: its parameters.

    Those that count for nothing in it (FAST's private buffers in a design with shared ones) are
    not in its name.
    """
    return hardware.partition("(")[2].removesuffix(")").split(", ")


def comparison(folder: Path) -> str | None:
    """Return a line that compares the picked design with the baseline; None if there is none."""
    front, baseline = read_front(folder), read_baseline(folder)
    if baseline is None or not front:
        return None
    chosen = pick(front)
    names = f"trial {chosen['trial']} against {baseline['hardware']}"
    if baseline["edp_js"] is None:
        why = baseline["reason"] or baseline["crash"]
        return f"{names}: the baseline has no EDP ({baseline['state']}: {why})"
    ratios = ", ".join(
        f"{label} x {chosen[key] / baseline[key]:.3g}"
        for key, label in zip(OBJECTIVES, ("EDP", "area", "TDP"), strict=True)
    )
    return f"{names}, on the same cost model: {ratios}"
