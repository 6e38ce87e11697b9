"""Rows of averages: what each method found in cases that belong together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import geometric_mean

from .search_row import SearchRow
from .search_sections import AVERAGE, SEARCHED, Case
from .search_studies import SeedFigures

#: figures of searches that have a mean; others are of one design, or of a study
_MEANS = (
    *("area_mm2", "tdp_w", "energy_mj", "latency_ms", "images_per_s"),
    *("baseline_energy_mj", "baseline_latency_ms", "baseline_images_per_s", "baseline_tdp_w"),
)


def averaged(
    groups: Sequence[str], cases: Sequence[Case], rows: Sequence[SearchRow]
) -> Iterator[SearchRow]:
    """Yield a row for each average and method: geometric means over its cases, seed by seed.

    Ratios of geometric means are the geometric means of the ratios. A seed with which some case has
    no design is left out, and so is what only some cases have, as a baseline.

    Args:
        groups: names of averages whose cases were all searched.
        cases: of the table.
        rows: of these cases.
    """
    methods = dict.fromkeys(row.method for row in rows)
    for group in groups:
        names = [case.name for case in cases if group in case.average]
        for method in methods:
            found = [
                row
                for row in rows
                if row.case in names and (row.method, row.network) == (method, SEARCHED)
            ]
            infeasible = tuple(reason for row in found for reason in row.infeasible)
            seeds = tuple(_mean(those) for those in _by_seed(found))
            yield SearchRow(group, AVERAGE, method, seeds, {}, {}, infeasible)


def _by_seed(rows: Sequence[SearchRow]) -> Iterator[list[SeedFigures]]:
    """Yield the figures of all rows for each seed that all have."""
    by_seed = [{one.seed: one for one in row.seeds} for row in rows]
    for seed in by_seed[0]:
        if all(seed in those for those in by_seed):
            yield [those[seed] for those in by_seed]


def _mean(those: Sequence[SeedFigures]) -> SeedFigures:
    means = {}
    for key in _MEANS:
        values = [getattr(one, key) for one in those]
        means[key] = None if None in values else geometric_mean(values)
    return replace(
        those[0], plans=sum(one.plans for one in those), steps=(), progress=None, **means
    )
