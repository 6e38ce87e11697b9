"""Files that ask for a table of a stack study.

docs/validation/papers.md ("Tables of stack studies") explains the keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final

from archloom.space import Faults, did_you_mean
from archloom.studies.analysis.stack import OBSERVATIONS
from archloom.studies.config import Reading, Section, collecting, each, number, text, word
from archloom.studies.solve.papers.searches import StudySource, origin, study_source
from archloom.studies.solve.stack import StackConfig, stack_of

from ..budgets import changes_of, merged
from ..figures import Metric
from ..heading import Heading

#: label by which rows are told apart
OBSERVATION: Final = "observation"

#: figures of a row
METRICS: Final = {"value": Metric("figure", ".2f")}

_TERMS: Final = """\
Each row is a claim of an observation of the paper, with the verdict of the study: the claim holds,
does not hold, or is inconclusive. The figure decides it; its unit stands beside it, and the range
in brackets is what it may be, given the noise of times and the seeds of models."""


@dataclass(frozen=True, kw_only=True)
class PublishedClaim(Section):
    """A figure that somebody published, and which claim it is about.

    Attributes:
        metric: of a row.
        value: theirs.
        source: where it stands.
        observation: as the table names it, with the number of the claim where it has several.
        why: what makes ours another.
    """

    metric: Annotated[str, word(*METRICS)] = "value"
    value: Annotated[float, number(above=0)]
    source: Annotated[str, text()]
    observation: Annotated[str, text()]
    why: Annotated[str, text()] = ""

    @property
    def row(self) -> str:
        """The row, for people."""
        return f"observation {self.observation}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the row."""
        return {OBSERVATION: self.observation}


@dataclass(frozen=True, kw_only=True)
class StackTable(Heading):
    """A table of a stack study.

    Attributes:
        kind: of tables.
        study: the study file.
        changes: keys of it with other values.
        figures: of rows, as they are shown.
        published: figures to stand beside ours.
    """

    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    terms: ClassVar[str] = _TERMS
    always_shown: ClassVar[tuple[str, ...]] = (OBSERVATION, "claim", "verdict")
    unable: ClassVar[str] = "Not judged"

    kind: Annotated[str, word("stack")]
    study: Annotated[StudySource, study_source()]
    changes: Annotated[dict[str, Any], changes_of("a study file")] = field(default_factory=dict)
    figures: Annotated[tuple[str, ...], each(word(*METRICS), 1)] = tuple(METRICS)
    published: Annotated[tuple[PublishedClaim, ...], each(PublishedClaim)] = field(default=())

    @property
    def shown(self) -> tuple[str, ...]:
        """Those that the file names."""
        return self.figures

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The models, each by itself."""
        return [(name,) for name in self._keys.get("models", ())]

    @property
    def _keys(self) -> Mapping[str, Any]:
        return merged(self.study.keys, self.changes)

    def config(self, name: str, models: int | None = None) -> StackConfig:
        """Return the study, with the first so many models; None for all.

        Raises:
            EntryError: everything that is wrong in it.
        """
        found = stack_of({**self._keys, "name": name}, Reading(self.study.folder))
        return replace(found, models=found.models[:models])

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong with the study."""
        faults = Faults()
        with collecting(faults):
            self.config("study")
        for fault in faults:
            at = origin(fault.place.keys, [("changes.", self.changes)])
            yield f"{at}{fault.place.path}: {fault.message}"

    def astray(self) -> Iterator[str]:
        """Yield published figures whose observation there is not."""
        numbers = [one.number for one in OBSERVATIONS]
        for i, theirs in enumerate(self.published):
            if theirs.observation.split(".")[0] not in numbers:
                hint = did_you_mean(theirs.observation, numbers)
                yield f"published[{i}].observation: {theirs.observation!r} is unknown; {hint}"
