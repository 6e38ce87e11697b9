"""Proposals of designs: the optimizer's, less what bounds exclude; and when the front is to be
proven, whatever bounds leave open, then those whose costs may still fall.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from archloom.search.hardware import ENUMERATE_LIMIT, Observation
from archloom.search.hardware.certify import DominancePruner
from archloom.space.design_space import Point
from archloom.studies.storage import NOTHING_FOUND, Asked, Trial

from ..errors import UserError

if TYPE_CHECKING:
    from archloom.search.hardware import DesignProblem, HardwareOptimizer
    from archloom.search.hardware.certify import Certificate, LastEffort

#: Times the effort before that a design gets which is searched again.
DEEPER: Final = 10

#: Asked that the optimizer proposes before a study that proves its front goes on without it:
#: about as many as it needs to find most of the front (docs/explanation/hardware_search.md).
LEAD: Final = 60

#: Proposals in a row that bounds may exclude before designs are taken out of what is open.
REFUSALS: Final = 1000

#: The same where designs out of open boxes are to follow.
FEW_REFUSALS: Final = 64

#: Tight bounds that are taken for each result: a twentieth of a CPU-second, for 4% more of the
#: hypervolume certified in the quickstart than with eight.
TIGHTENED: Final = 64

#: Results in a group, of those that are told at once, for which they are taken: with a hundred
#: workers, dozens of trials end while designs are proposed, and the workers would wait.
TIGHTENED_FOR: Final = 8


class Proposals:
    """Proposes designs, none of which bounds exclude.

    What it proposes depends on the trials that it has observed and on nothing else.

    Args:
        problem: what is searched.
        optimizer: that has observed nothing but what the study begins with.
        exact: whether to go on after the optimizer until the front is proven.
        effort: times the software search of other designs that designs get at most whose costs
            decide whether the front is proven for any budget; 1 if no design is searched again.

    Raises:
        UserError: the front of a space is to be proven whose designs differ in so many ways that
            not even boxes of them are followed.
    """

    def __init__(
        self,
        problem: "DesignProblem",
        optimizer: "HardwareOptimizer",
        exact: bool,
        effort: int = 1,
    ) -> None:
        self._pruner = DominancePruner(problem)
        self._key_of = problem.space.point_key
        if exact and not self._pruner.covers_space:
            raise UserError(
                f"mode exact: {problem.space.name} has {problem.space.cardinality} points, more "
                f"than {problem.enumerate_limit}, and too many structures for bounds over boxes; "
                "use mode search, raise enumerate, or give fewer values to parameters that decide "
                "about levels, batch or clock"
            )
        self._optimizer = optimizer
        self._exact = exact
        self._whole = problem.enumerable
        self._one_plan = problem.plans == "layer_by_layer"
        self._objective_set = problem.objective_set
        self._observed = 0
        self._restored = False
        self._most_effort = effort
        #: the most that each design got, and the design, by key
        self._efforts: dict[str, tuple[int, Point]] = {}

    def next(self, n: int, first: Sequence[Point] = (), pending: Sequence[Point] = ()) -> Asked:
        """Return up to ``n`` designs to run, and those that were proposed and are not run.

        Where there is no new one, those whose costs may still change the front are searched again.
        """
        asked = self._new(n, first, pending)
        if asked.points or not self._exact or self._most_effort == 1:
            return asked
        return self._deeper(n, pending, asked)

    def _deeper(self, n: int, pending: Sequence[Point], asked: Asked) -> Asked:
        """Return designs that get more effort, all as much: that of the first one, which could add
        most to the front."""
        running = set(map(self._key_of, pending))
        chosen: list[Point] = []
        wanted = 0
        for key in self._pruner.undecided():
            effort, point = self._efforts[key]
            more = min(effort * DEEPER, self._most_effort)
            if more > effort and key not in running and wanted in (0, more) and len(chosen) < n:
                chosen.append(point)
                wanted = more
        return replace(asked, points=chosen, effort=wanted) if chosen else asked

    def _new(self, n: int, first: Sequence[Point], pending: Sequence[Point]) -> Asked:
        """Return up to ``n`` designs to run, and those that were proposed and are not run.

        The optimizer observes the latter. Where it knows no more designs that bounds do not
        exclude, the others are taken out of what they leave open. No designs to run: the space has
        no others, or none that can add to the front. ``first`` are ``n`` designs at the most that
        somebody wants to run, whatever bounds say; ``pending`` those that run and have not ended.
        """
        chosen = list(first)
        if self._pruner.covers_space and not self._pruner.candidates_left:
            return Asked(chosen, [], 0)
        if self._exact and self._whole and self._observed >= LEAD and not chosen:
            return Asked(self._pruner.best_candidates(n, pending), [], 0)
        refused: list[Point] = []
        most = REFUSALS if self._whole or not self._exact else FEW_REFUSALS
        while len(chosen) < n and len(refused) < most:
            wanted = n - len(chosen)
            points = self._optimizer.ask(wanted, [*pending, *chosen])
            excluded = [point for point in points if self._pruner.pruned(point)]
            chosen += [point for point in points if point not in excluded]
            self.refuse(excluded)
            refused += excluded
            if len(points) < wanted:
                # there are no more, or none that the optimizer could tell from those excluded
                break
        left = n - len(chosen)
        if not (left and self._pruner.covers_space):
            return Asked(chosen, refused, 0)
        more = self._pruner.best_candidates(left, [*pending, *chosen])
        return Asked([*chosen, *more], refused, 0 if self._whole else left)

    def again(self, n: int, pending: Sequence[Point], asked: Asked) -> None:
        """Have designs proposed before, where a study goes on: what they changed changes again."""
        self.refuse(asked.refused)
        if asked.followed and not self._restored:
            left = min(asked.followed, n)
            self._pruner.best_candidates(left, [*pending, *asked.points[: n - left]])

    def refuse(self, points: Sequence[Point]) -> None:
        """Let the optimizer observe designs that are not run, again where a study goes on."""
        if points:
            self._optimizer.tell([Observation(p, None, 0) for p in points])

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from trials that ended.

        Those that machines failed, and those that broke a limit of time or memory before anything
        was found, say nothing of their designs, which are just not proposed again.
        """
        self._observed += len(trials)
        again = [trial for trial in trials if trial.effort > 1 and trial.state == "complete"]
        for trial in trials:
            # what failed with more effort is not tried with still more
            gave_up = trial.effort > 1 and trial.state != "complete"
            if trial.point and self._most_effort > 1:
                effort = self._most_effort if gave_up else trial.effort
                self._efforts[self._key_of(trial.point)] = effort, trial.point
        trials = [trial for trial in trials if trial.effort == 1]
        silent = [trial for trial in trials if _says_nothing(trial)]
        self.refuse([trial.point for trial in silent if trial.point])
        trials = [trial for trial in trials if trial not in silent]
        observations = [trial.observation(self._objective_set) for trial in trials]
        self._optimizer.tell(observations)
        if self._restored:
            return
        for trial, observation in zip(trials, observations, strict=True):
            settled = trial.state in ("complete", "infeasible")
            self._pruner.tell(observation, settled, self._least(trial))
            self._tell_again(trial.outcomes[1:], settled)
        for trial in again:
            self._tell_again(trial.outcomes, True)
        few = self._observed >= LEAD or self._pruner.candidates_left <= ENUMERATE_LIMIT
        every = self._exact and self._whole and few
        self._pruner.tighten(None if every else TIGHTENED * min(len(trials), TIGHTENED_FOR))

    def _tell_again(self, outcomes: Sequence[Trial], settled: bool) -> None:
        """Have the bounds learn from more software of a design that they know."""
        for one in outcomes:
            self._pruner.tell_again(one.observation(self._objective_set), self._least(one), settled)

    def needed(self, trial: Trial) -> Trial:
        """Return a trial with as much as is learned from it: what it runs takes most of the memory.

        Where there is but one plan, what is proven of its mappings bounds the design.
        """
        networks = trial.networks.items() if self._one_plan else ()
        kept = {name: replace(one, plan=[], mappings={}, gaps=None) for name, one in networks}
        others = tuple(replace(one, networks={}) for one in trial.trade_offs)
        return replace(trial, networks=kept, curve=NOTHING_FOUND, trade_offs=others)

    def _least(self, trial: Trial) -> tuple[float, ...]:
        """Return costs that no software of a trial's design goes below; empty if nothing is proven.

        A plan that could be another one proves nothing of the others.
        """
        if not self._one_plan or trial.edp_js is None:
            return ()
        edps = {name: one.least_edp_js() for name, one in trial.networks.items()}
        return self._objective_set.least(edps) if edps and all(edps.values()) else ()

    def state(self) -> dict[str, Any]:
        """Return what bounds were worked out, as JSON has it: most of what learning takes."""
        return self._pruner.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Take what :meth:`state` returned; until :meth:`catch_up` only the optimizer is told.

        Raises:
            KeyError, ValueError, TypeError, IndexError: it is no such state.
        """
        self._pruner.restore(state)
        self._restored = True

    def catch_up(self) -> None:
        """Have the optimizer and the bounds learn from now on: all is told that the state knew."""
        self._restored = False

    def certificate(self) -> "Certificate | None":
        """Return what bounds prove of the front; None if the space is not followed."""
        return self._pruner.certificate()

    def last_certificate(
        self, effort: "LastEffort", told: Callable[[int], None]
    ) -> "Certificate | None":
        """Return the certificate once no trials follow, with more effort; ``told`` hears of steps
        of the work."""
        if not effort.steps:
            return self._pruner.certificate()
        spaces = None
        if effort.plans:
            from archloom.search.fusion.joint import PlanSpaces

            spaces = PlanSpaces()
        return self._pruner.sharpened(effort, told, spaces)


def _says_nothing(trial: Trial) -> bool:
    """Whether nothing was found that would be the same on another machine."""
    return trial.state == "lost" or (trial.state == "over_limit" and trial.edp_js is None)
