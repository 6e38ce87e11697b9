"""Entries of a table of searches: cases, methods, published figures; and what rows have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from archloom.space import did_you_mean
from archloom.studies.config import (
    METHODS,
    NAME_FORM,
    PICKED,
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

#: figures that a mean of cases has
MEANS: Final = (
    *("throughput_gain", "perf_per_tdp_gain"),
    *("throughput_over_first", "perf_per_tdp_over_first"),
    *("energy_gain", "speedup", "edp_gain"),
    *("energy_over_first", "latency_over_first", "edp_over_first"),
    *("energy_gain_over_first_baseline", "speedup_over_first_baseline"),
    *("edp_gain_over_first_baseline", "hypervolume"),
)

_NAME: Final = text(STUDY_NAME, 60, NAME_FORM)

#: other values for keys of the study
CHANGES: Final = changes_of("a study file")


@dataclass(frozen=True, kw_only=True)
class Case(Section):
    """Something that all methods search.

    Attributes:
        name: in the table.
        changes: keys of the study file.
    """

    name: Annotated[str, _NAME]
    changes: Annotated[dict[str, Any], CHANGES] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method(Section):
    """A way to search.

    Attributes:
        name: in the table.
        method: as ``archloom run --method`` takes it; None for the study as it is.
        picked_from: another method, whose searches these are; None for its own.
        pick: rule that picks their designs, with its defaults; None for that of the study.
        changes: keys of the study file.
    """

    name: Annotated[str, _NAME]
    method: Annotated[str | None, named_one("method", lambda: list(METHODS)).or_none()] = None
    picked_from: Annotated[str | None, text().or_none()] = None
    pick: Annotated[str | None, named_one("pick rule", lambda: list(PICKED)).or_none()] = None
    changes: Annotated[dict[str, Any], CHANGES] = field(default_factory=dict)


def searcher(methods: Sequence[Method], method: Method) -> Method:
    """Return the method whose searches a method's designs are picked from."""
    if method.picked_from is None:
        return method
    return next(one for one in methods if one.name == method.picked_from)


def picked_wrongly(methods: Sequence[Method]) -> Iterator[str]:
    """Yield what is wrong with methods that have no searches of their own."""
    own = [method.name for method in methods if method.picked_from is None]
    for i, method in enumerate(methods):
        if method.picked_from is None:
            continue
        if method.picked_from not in own:
            hint = did_you_mean(method.picked_from, own)
            yield f"methods[{i}].picked_from: {method.picked_from!r} does not search; {hint}"
        for key in ("method", "changes"):
            if getattr(method, key):
                yield (
                    f"methods[{i}].{key}: the searches are those of {method.picked_from}; leave it "
                    "out"
                )


@dataclass(frozen=True, kw_only=True)
class Mean(Section):
    """Geometric means of ratios over some cases.

    Attributes:
        name: in the table, where others have the name of a case.
        cases: names of cases.
    """

    name: Annotated[str, _NAME]
    cases: Annotated[tuple[str, ...], each(text(), 1)]


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
