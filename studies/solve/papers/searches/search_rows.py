"""Rows of a table of searches: medians over seeds of what each method picked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Final

from archloom.studies.engine.progress import Stages

from .hypervolumes import Found, compared
from .progress import aim_of
from .search_sections import MEANS, SEARCHED, Case, Method, searcher
from .search_studies import RunStudy, SeedFigures, figures_of, study_name, study_of
from .search_table import SearchTable

#: figures over those of the first method, and what they are made of
_OVER_FIRST: Final = {
    "energy_over_first": "energy_mj",
    "latency_over_first": "latency_ms",
    "edp_over_first": "edp_mj_ms",
    "throughput_over_first": "images_per_s",
    "perf_per_tdp_over_first": "perf_per_tdp",
}

#: gains over the baseline as the first method maps and fuses it, and what they are made of
_OVER_FIRST_BASELINE: Final = {
    "energy_gain_over_first_baseline": "energy_mj",
    "speedup_over_first_baseline": "latency_ms",
    "edp_gain_over_first_baseline": "edp_mj_ms",
}


@dataclass(frozen=True)
class SearchRow:
    """A row of a table of searches.

    Attributes:
        case, network, method: labels.
        seeds: figures of each search that found a design.
        figures: medians of these by metric; empty where none did.
        ranges: the least and the greatest of several.
        infeasible: searches that found none.
    """

    case: str
    network: str
    method: str
    seeds: tuple[SeedFigures, ...]
    figures: dict[str, float | None]
    ranges: dict[str, tuple[float, float]]
    infeasible: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What tells rows apart, by heading."""
        return {"case": self.case, "network": self.network, "method": self.method}

    def missing(self, metric: str) -> str:
        """Return what stands in place of a figure that there is not."""
        if self.figures:
            return "never" if metric in self.figures else ""
        return "infeasible"

    def spread(self, metric: str) -> tuple[float, float] | None:
        """Return the least and the greatest of several values; None of one."""
        return self.ranges.get(metric)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "SearchRow":
        """Return the row of plain values."""
        parts = {
            "seeds": tuple(map(SeedFigures.from_json, data["seeds"])),
            "ranges": {key: (least, most) for key, (least, most) in data["ranges"].items()},
            "infeasible": tuple(data["infeasible"]),
        }
        return cls(**{**data, **parts})


def searched(
    table: SearchTable,
    stages: Stages,
    known: Sequence[SearchRow],
    sets: int | None,
    folder: Path,
    run: RunStudy,
) -> Iterator[SearchRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: cases, the first ones; None for all.
        folder: where the studies are kept, each in a directory.
        run: runs a study there.
    """
    cases = table.cases[:sets]
    done: list[SearchRow] = []
    stages.begin(table.title, len(cases) * len(table.methods) * len(table.seeds))
    for case in cases:
        rows = [
            row
            for method in table.methods
            for row in _known(table, case, method, stages, known)
            or _rows(table, case, method, stages, folder, run)
        ]
        # hypervolumes are relative to those of all methods of a case
        for row in _with_figures(rows):
            done.append(row)
            yield row
    yield from mean_rows(table, done)
    stages.end()


def mean_rows(table: SearchTable, rows: Sequence[SearchRow]) -> Iterator[SearchRow]:
    """Yield the means of cases, by method, where all of them found a design."""
    for mean in table.means:
        for method in table.methods:
            those = [
                row.figures
                for row in rows
                if row.case in mean.cases
                and (row.method, row.network) == (method.name, SEARCHED)
                and row.figures
            ]
            if len(those) < len(mean.cases):
                continue
            figures: dict[str, float | None] = {
                metric: geometric_mean(values)
                for metric in MEANS
                if len(values := [one for own in those if (one := own.get(metric))]) == len(those)
            }
            yield SearchRow(mean.name, SEARCHED, method.name, (), figures, {})


def _known(
    table: SearchTable, case: Case, method: Method, stages: Stages, known: Sequence[SearchRow]
) -> list[SearchRow]:
    """Return the rows of a search that need not be measured again; empty if some may be missing."""
    rows = [row for row in known if (row.case, row.method) == (case.name, method.name)]
    first = [row for row in known if (row.case, row.method) == (case.name, table.methods[0].name)]
    # the last of a search may be missing, unless there are as many as of another one; studies that
    # are there cost nothing
    last = bool(rows) and rows[-1] is known[-1]
    if not rows or (last and (method is table.methods[0] or len(rows) < len(first))):
        return []
    stages.advance(steps=len(table.seeds))
    return rows


def _rows(
    table: SearchTable,
    case: Case,
    method: Method,
    stages: Stages,
    folder: Path,
    run: RunStudy,
) -> list[SearchRow]:
    """Return a row of the networks of the search, and one of each that is held out."""
    searching = searcher(table.methods, method)
    found: dict[str, list[SeedFigures]] = {SEARCHED: []}
    nothing = []
    for seed in table.seeds:
        name = study_name(case, searching, seed)
        stages.advance(f"{case.name}, {method.name}, seed {seed}", steps=0)
        run(study_of(table.study, table.changes, case, searching, seed), folder / name)
        figures = figures_of(table.together, folder / name, seed, method.pick)
        for network, one in figures.items():
            found.setdefault(network, []).append(one)
        if not figures:
            nothing.append(f"{name}: no design keeps all limits")
        stages.advance()
    return [
        SearchRow(case.name, network, method.name, tuple(seeds), {}, {}, tuple(nothing))
        for network, seeds in found.items()
    ]


def _with_figures(rows: Sequence[SearchRow]) -> Iterator[SearchRow]:
    """Yield the rows of a case with their figures."""
    optimised = [row for row in rows if row.network == SEARCHED]
    found = iter(compared([one.steps for row in optimised for one in row.seeds]))
    first: dict[str, SearchRow] = {}
    for row in rows:
        # as many as the row has searches, in the order in which they were compared
        those = [next(found) for _ in row.seeds] if row.network == SEARCHED else []
        yield _with_medians(row, first.setdefault(row.network, row), those)


def _with_medians(row: SearchRow, first: SearchRow, found: Sequence[Found]) -> SearchRow:
    """Return a row with its figures, given that of the first method for the same networks, and what
    each search found of all that is known of its case."""
    values = [dict(one.values) for one in row.seeds]
    for metric, base in _OVER_FIRST.items() if first.seeds else ():
        unit = median(one.values[base] for one in first.seeds)
        for one in values:
            one[metric] = one[base] / unit
    baselines = [one.baseline for one in first.seeds if one.baseline]
    for metric, base in _OVER_FIRST_BASELINE.items() if baselines else ():
        unit = median(one[base] for one in baselines)
        for one in values:
            one[metric] = unit / one[base]
    for one, theirs in zip(values, found, strict=bool(found)):
        one["hypervolume"] = theirs.share
        one["plans_to_90_percent"] = theirs.plans
    if first.seeds:
        aim = aim_of([one.progress for one in first.seeds])
        for one, own in zip(values, row.seeds, strict=True):
            one["trials_to_95_percent"] = own.progress.trials_to(aim)
    figures: dict[str, float | None] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for metric in values[0] if values else ():
        those = [one[metric] for one in values if metric in one]
        # what most searches never reach has no number
        figures[metric] = middle if isfinite(middle := median(those)) else None
        if len(those) > 1 and isfinite(max(those)):
            ranges[metric] = (min(those), max(those))
    return replace(row, figures=figures, ranges=ranges)
