"""Files that ask for a table of searches: a study, cases, methods, seeds, published figures.

docs/validation/papers.md ("Tables of searches") explains the keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Self

from archloom.space import did_you_mean
from archloom.studies.config import (
    each,
    whole,
    word,
)

from ..figures import Metric
from ..heading import Heading
from .search_sections import CHANGES, METRICS, Case, Mean, Method, PublishedSearch, picked_wrongly
from .search_studies import study_faults
from .source_file import StudySource, study_source

_TERMS: Final = """\
Each row is a search, and its figures are those of the design that the study's rule picks: medians
over seeds, with the least and the greatest in brackets where there are several. Energy is that of
an inference, latency that of a pass, and EDP their product. Gains are relative to the baseline of
the study, whose software is searched with the full budget. `over first` is relative to the median
of the first method of the table with the same networks; `over first's baseline` is relative to the
baseline with the first method's software search. `hypervolume of all known` is that of a search
over that of all searches of its case together, and `plans to 90% of it` counts the plans that a
search had evaluated when it was 0.9. `searched` are the networks of the search
together; others are held out. Perf/TDP is inferences per second over TDP; rates of several networks
are geometric means, as are the rows that stand for several cases. `best at half` is the best figure
of the first objective after half of the trials, relative to that at the end; `trials to 95% of
first` counts the trials until it is within 5% of what the first method ends with (median), and is
`never` where most searches do not get there."""

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
        means: rows that stand for several cases.
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
    means: Annotated[tuple[Mean, ...], each(Mean)] = field(default=())
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

    @property
    def seed_count(self) -> int:
        """Searches of each row."""
        return len(self.seeds)

    def with_seeds(self, count: int) -> Self:
        """Return the table with seeds from 0 on, so many for each row."""
        return replace(self, seeds=tuple(range(count)))

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between entries, and with the studies that they make."""
        labels = {"case": [c.name for c in self.cases], "method": [m.name for m in self.methods]}
        for key, found in {**labels, "seed": list(map(str, self.seeds))}.items():
            for label in sorted({one for one in found if found.count(one) > 1}):
                yield f"{key}s: {label!r} occurs twice; entries must differ"
        yield from self._wrong_means(labels["case"])
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
            if _OBJECTIVES in method.changes:
                yield (
                    f"methods[{i}].changes.{_OBJECTIVES}: all methods of a case need the same; "
                    "change them in the study or in cases"
                )
        if wrong := list(picked_wrongly(self.methods)):
            yield from wrong
            return
        yield from study_faults(self.study, self.changes, self.cases, self.methods, self.seeds[0])

    def astray(self) -> Iterator[str]:
        """Yield published figures whose row or metric there is not."""
        rows = [*(case.name for case in self.cases), *(mean.name for mean in self.means)]
        labels = {"case": rows, "method": [m.name for m in self.methods]}
        for i, theirs in enumerate(self.published):
            for key, known in labels.items():
                if (label := getattr(theirs, key)) not in known:
                    hint = did_you_mean(label, known)
                    yield f"published[{i}].{key}: {label!r} is unknown; {hint}"
            if theirs.metric not in self.figures:
                yield f"published[{i}].metric: {theirs.metric} is none of the figures"

    def _wrong_means(self, cases: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with the means of cases."""
        taken = list(cases)
        for i, mean in enumerate(self.means):
            for j, case in enumerate(mean.cases):
                if case not in cases:
                    yield f"means[{i}].cases[{j}]: {case!r} is unknown; {did_you_mean(case, cases)}"
            if mean.name in taken:
                yield f"means[{i}].name: {mean.name!r} is the name of another row"
            taken.append(mean.name)
