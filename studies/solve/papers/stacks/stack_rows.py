"""Rows of a table of a stack study: the claims of the observations of DLAS, judged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Final

from archloom.studies.analysis.stack import OBSERVATIONS, SHARE, Finding, Verdict, judge
from archloom.studies.engine.progress import Stages
from archloom.studies.solve.stack import StackConfig

from .stack_table import OBSERVATION, StackTable

#: runs a study in a directory to its end, from wherever it is; returns its results
RunStack = Callable[[StackConfig, Path], Mapping[str, Any]]

_FIGURE: Final = "value"


@dataclass(frozen=True)
class StackRow:
    """A row of a table of a stack study.

    Attributes:
        observation: number of the observation, with that of the claim where it has several.
        claim: what is said.
        verdict: of the study.
        unit: of the figure.
        figures: the figure that decides; empty if there is none.
        interval: where it may lie; None if that is one value or unbounded.
        evidence: figures behind it, in words.
        infeasible: why the claim cannot be judged; empty if it was.
    """

    observation: str
    claim: str
    verdict: str
    unit: str
    figures: dict[str, float | None]
    interval: tuple[float, float] | None
    evidence: str
    infeasible: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What tells rows apart, by heading, and what the study says."""
        said = {"claim": self.claim, "verdict": self.verdict, "unit": self.unit}
        return {OBSERVATION: self.observation, **said}

    @property
    def share(self) -> float | None:
        """Share of the cases that support the claim; None where something else decides it."""
        return self.figures[_FIGURE] if self.figures and self.unit == SHARE else None

    def missing(self, metric: str) -> str:  # noqa: ARG002  # there is one figure
        """Return what stands in place of a figure that there is not."""
        return "none"

    def spread(self, metric: str) -> tuple[float, float] | None:  # noqa: ARG002  # there is one
        """Return the least and the greatest of several values; None of one."""
        return self.interval

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "StackRow":
        """Return the row of plain values."""
        interval = tuple(data["interval"]) if data["interval"] else None
        return cls(**{**data, "interval": interval, "infeasible": tuple(data["infeasible"])})


def judged(
    table: StackTable,
    stages: Stages,
    known: Sequence[StackRow],
    sets: int | None,
    folder: Path,
    run: RunStack,
) -> Iterator[StackRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again; they are kept when all are there.
        sets: models, the first ones; None for all.
        folder: where the study is kept, in a directory.
        run: runs it there.
    """
    # all rows are of one study
    if known and known[-1].observation.split(".")[0] == OBSERVATIONS[-1].number:
        yield from known
        return
    stages.begin(table.title)
    config = table.config("study", sets)
    for finding in judge(run(config, folder / config.name)):
        yield from _rows(finding)
    stages.end()


def _rows(finding: Finding) -> Iterator[StackRow]:
    """Yield a row for each claim of an observation; one where none can be judged."""
    about = finding.observation
    if not finding.parts:
        why = f"observation {about.number} {about.beyond}"
        yield StackRow(about.number, about.statement, str(Verdict.UNTOLD), "", {}, None, "", (why,))
    for number, part in enumerate(finding.parts, 1):
        name = f"{about.number}.{number}" if len(finding.parts) > 1 else about.number
        row = StackRow(name, part.claim, str(part.verdict), part.unit, {}, None, part.evidence)
        if part.value is None:
            yield replace(row, infeasible=(f"observation {name}: {part.figure}",))
            continue
        range_ = part.interval
        known = range_ is not None and range_[0] < range_[1] and all(map(isfinite, range_))
        yield replace(row, figures={_FIGURE: part.value}, interval=range_ if known else None)
