"""All that a report shows of a study, gathered from its records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from archloom.space.workload import Network
from archloom.studies.analysis import (
    Design,
    Details,
    Exclusions,
    Run,
    StudyView,
    TrialReader,
    exclusions,
    importances,
    load_view,
    read_run,
)
from archloom.studies.config import Location
from archloom.studies.engine.progress import SILENT, Stages
from archloom.studies.rendering.pictures import BufferContents, buffer_contents
from archloom.studies.storage import Trial

from ...errors import UserError

if TYPE_CHECKING:
    from archloom.evaluators.fusion import NetworkCost

#: of a picture of the buffer's contents, about
_SEGMENTS: Final = 160

#: trees of the forests that say how important parameters are, and designs that are drawn to say
#: what is excluded of a space: a report is read for the largest shares, which fewer show as well
_TREES: Final = 16
_DRAWN: Final = 300

#: while a study runs, these two are worked out again after so many trials
_EVERY: Final = 20


@dataclass(frozen=True, slots=True)
class Apart:
    """A design taken apart.

    Attributes:
        details: of its trial; None if they cannot be had.
        buffers: contents of the shared buffer for each network, or why there is no picture;
            empty for designs that are not on the front.
        why: there are no details.
    """

    details: Details | None = None
    buffers: tuple[BufferContents | str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """All that a report shows of a study.

    Attributes:
        view: of the study.
        networks: of the study.
        apart: designs with an EDP by label, the baseline with them.
        shares: for each objective's label the share of its variance that each parameter explains;
            None where there are too few trials.
        excluded: what rules, limits and bounds exclude of the space; a text says why that is
            not known.
    """

    view: StudyView
    networks: tuple[Network, ...] = ()
    apart: Mapping[str, Apart] = field(default_factory=dict)
    shares: Mapping[str, Mapping[str, float] | None] = field(default_factory=dict)
    excluded: Exclusions | str = "not computed"

    @property
    def shown(self) -> tuple[Design, ...]:
        """Designs that can be opened: the picked one, the front, the baseline, all others."""
        view = self.view
        picked = [] if view.picked is None else [view.designs[view.picked]]
        baseline = [view.baseline] if view.baseline else []
        order = [*picked, *view.front, *baseline, *view.designs]
        return tuple({design.label: design for design in order}.values())


class Gatherer:
    """Gathers the material of one study, again and again while it runs.

    Args:
        location: of the study.
        pick: a rule in place of the study's.
    """

    def __init__(self, location: Location, pick: str | None = None) -> None:
        self._location, self._pick = location, pick
        self._details: dict[str, Apart] = {}
        self._buffers: dict[str, tuple[BufferContents | str, ...]] = {}
        self._slow: tuple[int, Mapping[str, Mapping[str, float] | None], Exclusions | str] | None
        self._slow = None

    def gather(self, stages: Stages = SILENT) -> Material:
        """Read the study as it is now.

        Raises:
            UserError: there is no study, or has no finished trial yet.
        """
        view = load_view(self._location, self._pick)
        stages.advance("computing details of designs")
        reader = TrialReader(self._location)
        shown = Material(view).shown
        heavy = {design.label for design in shown if design.on_front or design == view.baseline}
        apart = {d.label: self._apart(reader, d.trial, d.label in heavy) for d in shown}
        stages.advance("computing importances of parameters")
        shares, excluded = self._space(view)
        networks = tuple(workload.network for workload in reader.workloads)
        return Material(view, networks, apart, shares, excluded)

    def _apart(self, reader: TrialReader, trial: Trial, heavy: bool) -> Apart:
        label = trial.label
        if label not in self._details or (heavy and not self._details[label].details):
            self._details[label] = _details(reader, trial, heavy)
        found = self._details[label]
        if not heavy or found.details is None:
            return found
        if label not in self._buffers:
            self._buffers[label] = _buffers(reader, trial)
        return Apart(found.details, self._buffers[label])

    def _space(
        self, view: StudyView
    ) -> tuple[Mapping[str, Mapping[str, float] | None], Exclusions | str]:
        count = (len(view.designs) + len(view.losses)) // _EVERY
        if self._slow is None or self._slow[0] != count:
            run = read_run(self._location)
            self._slow = (count, _shares(run, view), _excluded(self._location, run, view))
        return self._slow[1:]


def _details(reader: TrialReader, trial: Trial, heavy: bool) -> Apart:
    """Take a trial apart; what has to be evaluated again is so for the front alone."""
    if not heavy and any(found.costs() is None for found in trial.networks.values()):
        return Apart(
            why="an older version of archloom recorded it without what its cost is made of"
        )
    try:
        return Apart(reader.details(trial))
    except UserError as error:
        return Apart(why=str(error))


def _buffers(reader: TrialReader, trial: Trial) -> tuple[BufferContents | str, ...]:
    try:
        return tuple(_buffer(cost) for cost in reader.costs(trial))
    except UserError as error:
        return (str(error),) * len(trial.networks)


def _buffer(cost: "NetworkCost") -> BufferContents | str:
    if cost.hardware.fusion_level is None:
        return f"{cost.hardware.name} has no buffer that is shared by all layers"
    try:
        return buffer_contents(cost, _SEGMENTS)
    except ValueError as error:
        return str(error)


def _shares(run: Run, view: StudyView) -> Mapping[str, Mapping[str, float] | None]:
    return {
        objective.label: importances([run], at, _TREES)
        for at, objective in enumerate(view.objective_set.objectives)
    }


def _excluded(location: Location, run: Run, view: StudyView) -> Exclusions | str:
    from archloom.studies.engine import design_problem, stored_config

    try:
        config = stored_config(location, run.header)
        problem = design_problem(config, config.space)
    except UserError as error:
        return str(error)
    front = [design.costs(view.objective_set.objectives) for design in view.front]
    return exclusions(problem, front, run.ended, _DRAWN)
