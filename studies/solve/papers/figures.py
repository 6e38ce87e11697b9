"""What tables of papers have in common, whatever their rows are measured with."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self


class Metric(NamedTuple):
    """A figure that rows have.

    Attributes:
        heading: of its column, with the unit.
        style: format of its values.
    """

    heading: str
    style: str


class PublishedFigure(Protocol):
    """A figure that somebody published, and the row that it stands beside."""

    @property
    def metric(self) -> str:
        """Key of the figure in rows."""
        ...

    @property
    def value(self) -> float:
        """As published."""
        ...

    @property
    def source(self) -> str:
        """Where it stands."""
        ...

    @property
    def why(self) -> str:
        """What makes ours another."""
        ...

    @property
    def row(self) -> str:
        """The row, for people."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the row; of several rows the first."""
        ...


class PaperTable(Protocol):
    """What a file asks for."""

    #: all figures that rows may have
    metrics: ClassVar[Mapping[str, Metric]]
    #: what the figures are, for readers
    terms: ClassVar[str]
    #: labels that are shown even where all rows have the same
    always_shown: ClassVar[tuple[str, ...]]
    #: what is said before the reason why a row has no figures
    unable: ClassVar[str]

    @property
    def title(self) -> str:
        """Of the table."""
        ...

    @property
    def note(self) -> str:
        """What a reader must know."""
        ...

    @property
    def paper(self) -> str:
        """That it is compared with; empty for none."""
        ...

    @property
    def source(self) -> str:
        """Where the paper has it."""
        ...

    @property
    def published(self) -> Sequence[PublishedFigure]:
        """Figures to stand beside ours."""
        ...

    @property
    def shown(self) -> Sequence[str]:
        """Figures that are shown, in their order."""
        ...

    @property
    def sets(self) -> Sequence[tuple[str, ...]]:
        """Networks that are measured together, for all sets."""
        ...

    @property
    def seed_count(self) -> int:
        """Searches of each row, which differ in their seeds; 0 where nothing is random."""
        ...

    def with_seeds(self, count: int) -> Self:
        """Return the table with seeds from 0 on, so many for each row."""
        ...

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between entries, but for what is published."""
        ...

    def astray(self) -> Iterator[str]:
        """Yield published figures whose row or metric there is not."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        ...


class PaperRow(Protocol):
    """A row of a table."""

    @property
    def labels(self) -> Mapping[str, str]:
        """What tells rows apart, by heading."""
        ...

    @property
    def figures(self) -> Mapping[str, float | None]:
        """By metric; empty where nothing can run."""
        ...

    @property
    def infeasible(self) -> tuple[str, ...]:
        """Why something cannot run, each reason once."""
        ...

    def missing(self, metric: str) -> str:
        """Return what stands in place of a figure that there is not."""
        ...

    def spread(self, metric: str) -> tuple[float, float] | None:
        """Return the least and the greatest of several values; None of one."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        ...


def beside(rows: Sequence[PaperRow], theirs: PublishedFigure) -> float | None:
    """Return our figure for one that is published; None where no row has it."""
    wanted = theirs.labels.items()
    for row in rows:
        # what follows a comma is how something was done
        same = all(row.labels[head].split(",")[0] == label for head, label in wanted)
        if same and row.figures:
            return row.figures.get(theirs.metric)
    return None
