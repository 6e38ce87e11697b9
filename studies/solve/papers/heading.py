"""What every table file says of itself, whatever its rows are measured with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self

from archloom.studies.config import Section, text

#: where the tables that come along are, and the files that they name
TABLES: Final = Path(__file__).resolve().parent / "tables"


@dataclass(frozen=True, kw_only=True)
class Heading(Section):
    """Keys that all kinds of tables have.

    Attributes:
        title: what the table shows.
        note: what a reader must know.
        paper: short name of the paper that it is compared with.
        source: where that has it: numbers of tables, figures or sections.
    """

    #: what is said before the reason why a row has no figures
    unable: ClassVar[str] = "Infeasible"

    title: Annotated[str, text()]
    note: Annotated[str, text()] = ""
    paper: Annotated[str, text()] = ""
    source: Annotated[str, text()] = ""

    @property
    def seed_count(self) -> int:
        """Searches of each row, which differ in their seeds; 0 where nothing is random."""
        return 0

    def with_seeds(self, count: int) -> Self:  # noqa: ARG002  # nothing is random
        """Return the table with seeds from 0 on, so many for each row."""
        return self
