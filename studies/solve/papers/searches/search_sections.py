"""Entries of a table of searches: cases, methods, published figures; and what rows have."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from archloom.studies.config import (
    METHODS,
    NAME_FORM,
    STUDY_NAME,
    Key,
    Reading,
    Section,
    named_one,
    number,
    text,
    word,
)

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


def _mapping(entry: Any, _: Reading) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} must be a mapping of keys of a study file")
    return entry


@dataclass(frozen=True, kw_only=True)
class Case(Section):
    """Something that all methods search.

    Attributes:
        name: in the table.
        average: rows of averages that it belongs to; None for none.
        changes: keys of the study file.
    """

    name: Annotated[str, _NAME]
    average: Annotated[str | None, _NAME.or_none()] = None
    changes: Annotated[dict[str, Any], Key(_mapping)] = field(default_factory=dict)


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
    changes: Annotated[dict[str, Any], Key(_mapping)] = field(default_factory=dict)


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
