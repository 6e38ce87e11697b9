"""A study that is kept somewhere, as it was when somebody first looked."""

from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal

from archloom.studies.analysis import StudyView, load_view, read_front, trial_table
from archloom.studies.commands.study.export import frame
from archloom.studies.config import PICKED, Location, location_of
from archloom.studies.rendering.text import known
from archloom.studies.storage import (
    Header,
    Trial as Record,
    is_stack,
    read_baseline,
    read_header,
    read_trials,
)

from ..errors import UserError
from .boundary import mendable
from .cells import cell, short_table
from .design import Design
from .front import Front, Trial

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure


@dataclass(frozen=True, repr=False)
class Study:
    """A study, finished or not; :func:`load_study` and :func:`run_study` return one.

    Trials are read on first access and do not change afterwards; load the study again to see
    trials that were added later.
    """

    _location: Location
    _header: Header

    @property
    def location(self) -> str:
        """Directory, or URL of its database without the password."""
        return str(self._location)

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self._header.config["name"])

    @property
    def config(self) -> dict[str, Any]:
        """The study file with all defaults filled in."""
        return dict(self._header.config)

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        return tuple(read_trials(self._location))

    @cached_property
    @mendable
    def trials(self) -> tuple[Trial, ...]:
        """Finished trials, in the order of their numbers."""
        return tuple(map(Trial.of, self._records))

    @property
    def finished(self) -> bool:
        """Whether all trials of the study file have finished.

        A study may end with fewer trials, if no design is left that could improve the front.
        """
        return len(self._records) >= int(self._header.config["trials"])

    @cached_property
    @mendable
    def baseline(self) -> Trial | None:
        """The trial of the baseline preset; None if there is none, or not yet."""
        found = read_baseline(self._location)
        return None if found is None else Trial.of(found)

    @mendable
    def front(self, pick: str | None = None) -> Front:
        """Return the Pareto front.

        Args:
            pick: ``ideal``, ``knee`` or ``lexicographic`` (default: the rule of the study).

        Raises:
            ArchloomError: there is no such rule.
        """
        if pick is not None:
            known(pick, "pick", list(PICKED))
        return Front.of(read_front(self._location, pick))

    @mendable
    def design(self, trial: int | Literal["baseline"], outcome: int = 0) -> Design:
        """Return one design with its hardware, plans and costs.

        Args:
            trial: number of the trial, or ``"baseline"``.
            outcome: which of its outcomes, where ``trade_offs`` finds several; 0: least EDP.

        Raises:
            ArchloomError: no such trial, or this version computes other costs for its plan.
        """
        if trial == "baseline":
            found = read_baseline(self._location)
            if found is None:
                raise UserError(f"{self.location} has no baseline, or it is not evaluated yet")
            return Design.of(self._location, found, None)
        records = {record.number: record for record in self._records}
        if trial not in records:
            there = f"0 to {max(records)}" if records else "none yet"
            raise UserError(f"{self.location} has no finished trial {trial!r}; finished: {there}")
        outcomes = records[trial].outcomes
        if not 0 <= outcome < len(outcomes):
            raise UserError(
                f"trial {trial} of {self.location} has no outcome {outcome!r}; it has 0 to "
                f"{len(outcomes) - 1}"
            )
        return Design.of(self._location, outcomes[outcome], int(trial))

    @mendable
    def to_pandas(self) -> "DataFrame":
        """Return a row for each trial, with the columns of ``archloom export``: state, figures,
        whether it is on the front, parameters.

        Raises:
            ArchloomError: pandas is not installed.
        """
        return frame(trial_table(self._records, {one._record.label for one in self.front()}))

    @mendable
    def plot_front(self) -> "Figure":
        """Return a plotly figure of the trials in the first two objectives, coloured by the third.

        Raises:
            ArchloomError: no design satisfies the limits.
        """
        from archloom.studies.rendering.pictures import plots

        view = self._view_of_front()
        return plots.objectives(view, *view.axes[:3])

    @mendable
    def plot_hypervolume(self) -> "Figure":
        """Return a plotly figure of the front's hypervolume against the software evaluations.

        Raises:
            ArchloomError: no design satisfies the limits.
        """
        from archloom.studies.rendering.pictures import plots

        return plots.hypervolume(self._view_of_front())

    @mendable
    def plot_parallel(self) -> "Figure":
        """Return a plotly figure of the front's parameters as parallel coordinates.

        Raises:
            ArchloomError: no design satisfies the limits.
        """
        from archloom.studies.rendering.pictures import plots

        return plots.parallel_coordinates(self._view_of_front())

    def _view_of_front(self) -> StudyView:
        view = load_view(self._location)
        if not view.front:
            raise UserError(
                f"{self.location}: no design satisfies all limits, so the Pareto front is empty"
            )
        return view

    def __repr__(self) -> str:
        return f"<archloom.Study {self.name}: {self._progress()}, {self.location}>"

    def _progress(self) -> str:
        return f"{len(self._records)} of {self._header.config['trials']} trials"

    def _repr_html_(self) -> str:
        front = self.front()
        on_front = {trial.number for trial in front}
        rows = [
            [
                trial.number,
                trial.state,
                trial.edp_js,
                trial.area_mm2,
                trial.tdp_w,
                "yes" if trial.number in on_front else "",
            ]
            for trial in self.trials
        ]
        heads = ("trial", "state", "EDP (J s)", "area (mm²)", "TDP (W)", "on the front")
        notes = [f"{self._progress()}, {len(front)} on the front", self.location]
        return cell(f"Study {self.name}", notes, short_table(heads, rows, "trials"))


@mendable
def load_study(source: "str | PathLike[str]") -> Study:
    """Return an existing study; it may be finished, running or stopped.

    Args:
        source: directory of the study, or ``postgresql://HOST/DATABASE#STUDY``.

    Raises:
        ArchloomError: there is no study, or it is a study of another kind.
    """
    return study_at(location_of(fspath(source)))


def study_at(location: Location) -> Study:
    """Return the study at a location.

    Raises:
        UserError: there is none.
    """
    if is_stack(location):
        raise UserError(
            f"{location} is a study of kind stack, which 'archloom show' prints; this function is "
            "for studies of accelerators"
        )
    return Study(location, read_header(location))
