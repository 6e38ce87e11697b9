"""A row of a table of searches, and the figures that it has of its searches."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from statistics import median
from typing import Any, Final

from .hypervolumes import Found
from .progress import aim_of
from .search_studies import SeedFigures

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

#: figures of a search that may never have happened
_SOME_DAY: Final = ("plans_to_90_percent", "trials_to_95_percent")


@dataclass(frozen=True)
class SearchRow:
    """A row of a table of searches.

    Attributes:
        case, network, method: labels.
        seeds: figures of each search that found a design.
        figures: medians of these by metric; empty where none did, and None of what less than half
            of the searches came to.
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
        if not self.figures:
            return "infeasible"
        return "not reached" if metric in _SOME_DAY and metric in self.figures else ""

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

    def with_figures(self, first: "SearchRow", found: Sequence[Found] = ()) -> "SearchRow":
        """Return the row with medians and ranges of its searches.

        Args:
            first: of the first method, for the same networks.
            found: what each search found of all that is known of the case; empty for a row that
                no search optimises.
        """
        values = [dict(one.values) for one in self.seeds]
        for one, theirs in zip(values, found, strict=bool(found)):
            one["hypervolume"] = theirs.share
            one["plans_to_90_percent"] = inf if theirs.plans is None else float(theirs.plans)
        for metric, base in _OVER_FIRST.items() if first.seeds else ():
            unit = median(one.values[base] for one in first.seeds)
            for one in values:
                one[metric] = one[base] / unit
        aim = aim_of([one.progress for one in first.seeds if one.progress])
        for one, own in zip(values, self.seeds, strict=True):
            if own.progress and aim is not None:
                one["trials_to_95_percent"] = own.progress.trials_to(aim)
        baselines = [one.baseline for one in first.seeds if one.baseline]
        for metric, base in _OVER_FIRST_BASELINE.items() if baselines else ():
            unit = median(one[base] for one in baselines)
            for one in values:
                one[metric] = unit / one[base]
        return self._summarised(values)

    def _summarised(self, values: Sequence[Mapping[str, float]]) -> "SearchRow":
        figures: dict[str, float | None] = {}
        ranges: dict[str, tuple[float, float]] = {}
        for metric in dict.fromkeys(key for one in values for key in one):
            those = [one[metric] for one in values if metric in one]
            middle = median(those)
            figures[metric] = middle if isfinite(middle) else None
            if len(those) > 1 and isfinite(max(those)):
                ranges[metric] = (min(those), max(those))
        return replace(self, figures=figures, ranges=ranges)
