"""Files that ask for a table of searches: a study, cases, methods, seeds, published figures.

docs/validation/papers.md ("Tables of searches") explains the keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final

from archloom.space import did_you_mean
from archloom.studies.config import (
    each,
    whole,
    word,
)

from ..figures import Metric
from ..heading import Heading
from .search_sections import CHANGES, METRICS, Case, Method, PublishedSearch
from .search_studies import study_faults
from .study_source import StudySource, study_source

_TERMS: Final = """\
Each row is a search, and its figures are those of the design that the study's rule picks: medians
over seeds, with the least and the greatest in brackets where there are several. Energy is that of
an inference, latency that of a pass, and EDP their product. Gains are relative to the baseline of
the study, whose software is searched with the full budget. `over first` is relative to the median
of the first method of the table with the same networks; `over first's baseline` is relative to the
baseline with the first method's software search. `hypervolume of all known` is that of a search
over that of all searches of its case together, and `plans to 90% of it` how many plans a search
had evaluated when it was 0.9. `average` is a geometric mean over cases. `searched` are the networks
of the search together; others are held out. Perf/TDP is inferences per second over TDP; rates of
several networks are geometric means. `best at half` is the best figure of the first objective after
half of the trials, relative to that at the end. `trials to 95% of first` counts the trials until it
is within 5% of what the first method ends with (median)."""

#: figures of rows that ask for none
_USUAL: Final = ("plans", "area_mm2", "energy_mj", "latency_ms", "edp_mj_ms", "edp_over_first")

#: what a method decides: changes of it would not be heeded
_OF_METHODS: Final = ("optimizer", "halving")

#: what fronts of methods are compared in
_OBJECTIVES: Final = "objectives"


def _seeds(entry: Any) -> Any:
    """Return seeds as a list; a number of them is those from 0 on."""
    return list(range(entry)) if type(entry) is int and 0 < entry <= 1000 else entry


@dataclass(frozen=True, kw_only=True)
class SearchTable(Heading):
    """A table of searches.

    Attributes:
        kind: of tables.
        study: the study file that all searches are made of.
        changes: keys of the study file, for all searches.
        cases: what is searched.
        methods: how each case is searched.
        seeds: of the studies, each of them for all rows.
        picture: ``bars`` of figures, ``curves`` of the best figure so far, or the ``front`` of two
            objectives.
        together: how figures of the networks of a search are put together.
        figures: of rows, as they are shown.
        published: figures to stand beside ours.
    """

    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    terms: ClassVar[str] = _TERMS
    always_shown: ClassVar[tuple[str, ...]] = ("method",)

    kind: Annotated[str, word("searches")]
    study: Annotated[StudySource, study_source()]
    changes: Annotated[dict[str, Any], CHANGES] = field(default_factory=dict)
    cases: Annotated[tuple[Case, ...], each(Case, 1)]
    methods: Annotated[tuple[Method, ...], each(Method, 1)]
    seeds: Annotated[tuple[int, ...], each(whole(0, most=2**63 - 1), 1).prepared(_seeds)] = (0,)
    picture: Annotated[str, word("bars", "curves", "front")] = "bars"
    together: Annotated[str, word("geometric_mean", "sum")] = "geometric_mean"
    figures: Annotated[tuple[str, ...], each(word(*METRICS), 1)] = _USUAL
    published: Annotated[tuple[PublishedSearch, ...], each(PublishedSearch)] = field(default=())

    @property
    def shown(self) -> tuple[str, ...]:
        """Those that the file names."""
        return self.figures

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The cases."""
        return [(case.name,) for case in self.cases]

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between entries, and with the studies that they make."""
        labels = {"case": [c.name for c in self.cases], "method": [m.name for m in self.methods]}
        averages = {name for case in self.cases for name in case.average}
        for label in sorted(averages.intersection(labels["case"])):
            yield f"cases: {label!r} is a case and an average; their names must differ"
        for key, found in {**labels, "seed": list(map(str, self.seeds))}.items():
            for label in sorted({one for one in found if found.count(one) > 1}):
                yield f"{key}s: {label!r} occurs twice; entries must differ"
        for i, method in enumerate(self.methods):
            fusion = method.changes.get("software")
            heedless: list[str] = [key for key in _OF_METHODS if key in method.changes]
            if isinstance(fusion, dict) and "fusion" in fusion:
                heedless.append("software.fusion")
            for key in heedless if method.method is not None else ():
                yield (
                    f"methods[{i}].changes.{key}: method {method.method} decides it; leave out one "
                    "of the two"
                )
        for i, method in enumerate(self.methods):
            if _OBJECTIVES in method.changes:
                yield (
                    f"methods[{i}].changes.{_OBJECTIVES}: all methods of a case need the same; "
                    "change them in the study or in cases"
                )
        yield from study_faults(self.study, self.changes, self.cases, self.methods, self.seeds[0])

    def astray(self) -> Iterator[str]:
        """Yield published figures whose row or metric there is not."""
        averages = {name for case in self.cases for name in case.average}
        labels = {"case": [c.name for c in self.cases], "method": [m.name for m in self.methods]}
        for i, theirs in enumerate(self.published):
            for key, known in {**labels, "case": [*labels["case"], *sorted(averages)]}.items():
                if (label := getattr(theirs, key)) not in known:
                    hint = did_you_mean(label, known)
                    yield f"published[{i}].{key}: {label!r} is unknown; {hint}"
            if theirs.metric not in self.figures:
                yield f"published[{i}].metric: {theirs.metric} is none of the figures"
