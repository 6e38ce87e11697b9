"""Entries of a table of searches: cases, methods, published figures; and what rows have."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from archloom.studies.config import (
    METHODS,
    NAME_FORM,
    STUDY_NAME,
    Section,
    each,
    named_one,
    number,
    text,
    word,
)

from ..budgets import changes_of
from ..figures import Metric

#: figures of a row: of the picked design, over the baseline's, over those of the first method
METRICS: Final = {
    "energy_mj": Metric("energy mJ", ".3g"),
    "latency_ms": Metric("latency ms", ".3g"),
    "edp_mj_ms": Metric("EDP mJ x ms", ".3g"),
    "area_mm2": Metric("area mm2", ".2f"),
    "tdp_w": Metric("TDP W", ".2f"),
    "plans": Metric("plans evaluated", ".0f"),
    "energy_gain": Metric("energy gain", ".2f"),
    "speedup": Metric("speedup", ".2f"),
    "edp_gain": Metric("EDP gain", ".2f"),
    "energy_over_first": Metric("energy over first", ".3g"),
    "latency_over_first": Metric("latency over first", ".3g"),
    "edp_over_first": Metric("EDP over first", ".3g"),
    "images_per_s": Metric("images/s", ".0f"),
    "perf_per_tdp": Metric("Perf/TDP 1/(s W)", ".3g"),
    "throughput_gain": Metric("throughput gain", ".2f"),
    "perf_per_tdp_gain": Metric("Perf/TDP gain", ".2f"),
    "throughput_over_first": Metric("throughput over first", ".2f"),
    "perf_per_tdp_over_first": Metric("Perf/TDP over first", ".2f"),
    "best_at_half_percent": Metric("best at half %", ".1f"),
    "trials_to_95_percent": Metric("trials to 95% of first", ".0f"),
    "energy_gain_over_first_baseline": Metric("energy gain over first's baseline", ".2f"),
    "speedup_over_first_baseline": Metric("speedup over first's baseline", ".2f"),
    "edp_gain_over_first_baseline": Metric("EDP gain over first's baseline", ".2f"),
    "hypervolume": Metric("hypervolume of all known", ".2f"),
    "plans_to_90_percent": Metric("plans to 90% of it", ".0f"),
}

#: of rows, the networks of the search together
SEARCHED: Final = "searched"

#: what stands for the networks of cases that are averaged
AVERAGE: Final = "average"

_NAME: Final = text(STUDY_NAME, 60, NAME_FORM)


def _names(entry: Any) -> Any:
    """Return names as a list; one may stand by itself."""
    return [entry] if isinstance(entry, str) else entry


#: other values for keys of the study
CHANGES: Final = changes_of("a study file")


@dataclass(frozen=True, kw_only=True)
class Case(Section):
    """Something that all methods search.

    Attributes:
        name: in the table.
        average: rows of averages that it belongs to: a name, or several.
        changes: keys of the study file.
    """

    name: Annotated[str, _NAME]
    average: Annotated[tuple[str, ...], each(_NAME).prepared(_names)] = ()
    changes: Annotated[dict[str, Any], CHANGES] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(Section):
    """A way to search.

    Attributes:
        name: in the table.
        method: as ``archloom run --method`` takes it; None for the study as it is.
        changes: keys of the study file.
    """

    name: Annotated[str, _NAME]
    method: Annotated[str | None, named_one("method", lambda: list(METHODS)).or_none()] = None
    changes: Annotated[dict[str, Any], CHANGES] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PublishedSearch(Section):
    """A figure that somebody published, and where its row is.

    Attributes:
        metric: of a row.
        value: theirs.
        source: where it stands.
        case, method, network: labels of the row.
        why: what makes ours another.
    """

    metric: Annotated[str, word(*METRICS)]
    value: Annotated[float, number(above=0)]
    source: Annotated[str, text()]
    case: Annotated[str, text()]
    method: Annotated[str, text()]
    network: Annotated[str, text()] = SEARCHED
    why: Annotated[str, text()] = ""

    @property
    def row(self) -> str:
        """The row, for people."""
        return f"{self.case}, {self.method}, {self.network}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the row."""
        return {"case": self.case, "network": self.network, "method": self.method}
