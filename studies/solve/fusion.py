"""Search of a fusion plan for one network on one hardware, in a thread that can be stopped."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, inf
from time import process_time
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.fusion import NetworkCost
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search import MAPPING_SEARCHES, derived_seed
from archloom.search.fusion import (
    FusionSearch,
    FusionState,
    MemoizedPlanEvaluator,
    PlanEvaluator,
    ProvingSearch,
    ln_edp,
)
from archloom.search.fusion.casco import GeneticPlanner
from archloom.search.mapping import Mapper
from archloom.search.software import (
    ProvenPlan,
    SoftwareSettings,
    fusion_search,
    least_edp_of,
    nothing_fused,
    proven_plan,
    unable_to_fold,
    undivided,
    without_sub_batches,
)
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, layer_by_layer
from archloom.space.hardware import Hardware
from archloom.space.networks import network as network_named
from archloom.space.workload import Network
from archloom.studies.engine import Stopped

from ..errors import UserError
from .borders import Border, plan_borders
from .interruptible import stoppable

_LOG: Final = logging.getLogger("archloom.plans")

#: network, plans, and mappings of each layer that code is compiled with
_TINY, _TINY_PLANS, _TINY_MAPPINGS = "tiny_cnn", 3, 2000


@dataclass(frozen=True)
class FusionEffort:
    """How a plan is searched.

    Attributes:
        settings: planner and mapping search.
        evaluations: plans that are evaluated at most; a planner may need fewer.
        seed: of everything that is random.
        plan: to be evaluated instead of what a planner would find; None if a planner chooses.
        borders: whether to find out why neighbouring groups of the plan are not one.
        prove: steps that are looked at to bound all plans of the planner's space, once a plan is
            found; 0 for no such proof.
    """

    settings: SoftwareSettings
    evaluations: int
    seed: int = 0
    plan: FusionPlan | None = None
    borders: bool = False
    prove: int = 0


def in_sub_batches(effort: FusionEffort, parts: int | str, option: str) -> FusionEffort:
    """Return an effort whose planner cuts the batch into parts.

    Args:
        effort: with the planner.
        parts: a whole number from 1 on, or ``auto``; as text, too.
        option: that holds it, for messages.

    Raises:
        UserError: neither of both, or a planner without sub-batches.
    """
    if (why := without_sub_batches(effort.settings.fusion)) is not None:
        raise UserError(f"{option}: {why}")
    number: int | str = int(parts) if str(parts).isdecimal() else parts
    if isinstance(parts, bool) or (number != "auto" and not isinstance(number, int)) or number == 0:
        raise UserError(f"{option}: {parts!r} must be auto, or a whole number of at least 1")
    options = {**dict(effort.settings.fusion_options), "sub_batches": number}
    settings = replace(effort.settings, fusion_options=tuple(options.items()))
    return replace(effort, settings=settings)


@dataclass(frozen=True)
class FusionProgress:
    """Where a search stands.

    Attributes:
        evaluations: plans evaluated.
        edp_js: the least so far, and that of layer by layer; infinite while there is none.
        baseline_edp_js: of the first plan, which every planner begins with.
        mapped: distinct mapping problems solved.
        proof_steps: of the bound of all plans, once the plan is found.
    """

    evaluations: int
    edp_js: float
    baseline_edp_js: float
    mapped: int
    proof_steps: int = 0


@dataclass(frozen=True)
class Schedule:
    """The best plan that was found, and how far it may be from the least EDP.

    Attributes:
        cost: of the best plan.
        unfused: of layer by layer, with mappings of the same effort.
        evaluations: plans evaluated.
        mapped: distinct mapping problems solved.
        bound_edp_js: what the planner proved that no plan of its space goes below; None if it
            proved nothing.
        any_mappings_edp_js: the same whatever the mappings, if ``bound_edp_js`` is of those that
            its search finds; else None.
        cpu_s: seconds of CPU time of the search, without compilation.
        interrupted: whether somebody stopped it.
        notes: what the planner says of its plan.
        borders: why neighbouring groups are not one; None if that was not asked for, or the search
            was stopped before it was known.
        least: an EDP (pJ cycles) that the plan has at least with any mappings, as far as that was
            asked for; 0 if nothing is known.
    """

    cost: NetworkCost
    unfused: NetworkCost
    evaluations: int
    mapped: int
    bound_edp_js: float | None
    any_mappings_edp_js: float | None
    cpu_s: float
    interrupted: bool
    notes: tuple[str, ...]
    borders: tuple[Border, ...] | None = None
    least: float = 0.0


def search_plan(
    network: Network,
    hardware: Hardware,
    effort: FusionEffort,
    tell: Callable[[FusionProgress], None] = lambda _: None,
) -> Schedule | Infeasible | None:
    """Search a plan; Ctrl-C ends the search, not the program.

    Args:
        network: what runs, with the batch of a pass.
        hardware: where it runs.
        effort: how, and for how long.
        tell: called from time to time, from the calling thread, with where the search stands.

    Returns:
        The best plan; why layer by layer cannot run; or None if it was stopped before anything
        was evaluated.

    Raises:
        UserError: a planner that cannot run folded layers, or sub-batches that do not divide the
            batch.
    """
    settings = effort.settings
    why = unable_to_fold(settings.fusion, [network])
    why = why or undivided(dict(settings.fusion_options), [network])
    if why is not None and effort.plan is None:
        raise UserError(why)
    chosen = (settings.fusion, settings.mapping, effort.seed, effort.evaluations)
    about = (network.name, hardware.name, *chosen)
    _LOG.info("%s on %s: planner %s, mapping %s, seed %d, %d plans at the most", *about)
    stop = np.zeros(1, np.uint8)
    mapper = _StoppableMapper(effort, stop)
    evaluator = MemoizedPlanEvaluator(network, hardware, mapper)
    running = _Running(evaluator, effort, stop)
    state, interrupted = stoppable(running.search, stop, lambda: tell(running.stand(mapper.mapped)))
    proven = running.proven
    evaluator = evaluator if proven is None else proven.evaluator
    done = (state.evaluations, mapper.mapped, running.cpu_s)
    _LOG.info("%d plans evaluated, %d mapping problems solved, %.2f CPU-s", *done)
    if not state.history:
        return None
    cost, unfused = evaluator.plan(state.best), evaluator.plan(layer_by_layer(network))
    for found in (unfused, cost):
        if isinstance(found, Infeasible):
            return found
    assert isinstance(cost, NetworkCost)
    assert isinstance(unfused, NetworkCost)
    bound, any_mappings = (
        None if of is None else exp(of) for of in (state.bound, state.any_mappings)
    )
    if proven is not None:
        # the planner's proof was of the mappings that it had
        bound, any_mappings = (
            None if of is None or cost.edp_js < of else of for of in (bound, any_mappings)
        )
    return Schedule(
        cost,
        unfused,
        state.evaluations,
        mapper.mapped,
        bound,
        any_mappings,
        running.cpu_s,
        interrupted,
        _notes(effort, hardware, state),
        running.borders,
        least_edp_of(evaluator, state.best, closely=True) if proven is None else proven.least,
    )


def _notes(effort: FusionEffort, hardware: Hardware, state: FusionState) -> tuple[str, ...]:
    """Return notes on a plan, and first why nothing can be fused if a planner should."""
    why = nothing_fused(effort.settings.fusion, hardware)
    if why is None or effort.plan is not None or effort.settings.fusion == "none":
        return state.notes
    return (why, *state.notes)


class _Running:
    """A search at work."""

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, effort: FusionEffort, stop: NDArray[np.uint8]
    ) -> None:
        settings = effort.settings
        self.cpu_s = 0.0
        self.borders: tuple[Border, ...] | None = None
        self.proven: ProvenPlan | None = None
        self._effort = effort
        self._evaluator, self._asks_borders = evaluator, effort.borders
        self._warm = _warming(evaluator.hardware, effort, stop)
        self._search: FusionSearch = (
            fusion_search(
                settings.fusion, evaluator, settings.population, dict(settings.fusion_options)
            )
            if effort.plan is None
            else _Given(evaluator, effort.plan)
        )
        self._evaluations, self._prove_steps = effort.evaluations, effort.prove
        self._stop, self._proof_steps = stop, 0
        self._state = self._search.start(
            derived_seed(effort.seed, "fusion", evaluator.network.name)
        )

    def search(self) -> FusionState:
        """Evaluate plan after plan until the budget or the planner's plans are used up."""
        with suppress(Stopped):
            self._warm()
        began = process_time()
        # a stop comes in the middle of a plan, which is left out
        with suppress(Stopped):
            while self._state.evaluations < self._evaluations and not self._stop[0]:
                after = self._search.advance(self._state, 1)
                if after == self._state:
                    break
                self._state = after
        with suppress(Stopped):
            self._prove_plans()
            self._prove_mappings()
        self.cpu_s = process_time() - began
        with suppress(Stopped):
            self._find_borders()
        return self._state

    def _prove_plans(self) -> None:
        """Bound the plans of the planner's space, if that was asked for."""
        steps = self._prove_steps
        if steps and not self._stop[0] and isinstance(self._search, ProvingSearch):
            self._state = self._search.prove(self._state, steps, self._tell_proof)

    def _tell_proof(self, steps: int) -> None:
        """Keep how far the proof is; end it after a stop."""
        if self._stop[0]:
            raise Stopped
        self._proof_steps = steps

    def _prove_mappings(self) -> None:
        """Find the best mappings of the plan as a whole, if that is asked for and it can run."""
        most = self._effort.settings.prove_mappings
        if not most or not self._state.history or self._stop[0]:
            return
        if isinstance(self._evaluator.plan(self._state.best), NetworkCost):
            settings = replace(self._effort.settings, mapping_evaluations=most)
            mapper = _StoppableMapper(replace(self._effort, settings=settings), self._stop)
            self.proven = proven_plan(self._evaluator, self._state.best, mapper)

    def _find_borders(self) -> None:
        """Look at the plan's borders, if it can run at all."""
        if not self._asks_borders or not self._state.history or self._stop[0]:
            return
        plan = self._state.best
        if isinstance(self._evaluator.plan(plan), NetworkCost):
            self.borders = plan_borders(self._evaluator, plan)

    def stand(self, mapped: int) -> FusionProgress:
        """Return where the search stands."""
        history = self._state.history
        best, first = (exp(history[-1]), exp(history[0])) if history else (inf, inf)
        return FusionProgress(len(history), best, first, mapped, self._proof_steps)


class _Given:
    """Evaluates layer by layer, then one plan, which counts whatever it costs."""

    def __init__(self, evaluator: PlanEvaluator, plan: FusionPlan) -> None:
        self._evaluator = evaluator
        self._plans = (layer_by_layer(evaluator.network), plan)

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate the plans that were not evaluated yet."""
        for plan in self._plans[state.evaluations :][:budget]:
            history = (*state.history, ln_edp(self._evaluator, plan))
            state = replace(state, best=plan, history=history)
        return state


def _warming(
    hardware: Hardware, effort: FusionEffort, stop: NDArray[np.uint8]
) -> Callable[[], None]:
    """Return what compiles, or loads from the disk, the code that a search needs."""
    few = min(effort.settings.mapping_evaluations, _TINY_MAPPINGS)
    tiny = replace(effort, settings=replace(effort.settings, mapping_evaluations=few))
    net = network_named(_TINY)

    def warm() -> None:
        evaluator = MemoizedPlanEvaluator(net, hardware, _StoppableMapper(tiny, stop))
        search = GeneticPlanner(evaluator)
        search.advance(search.start(0), _TINY_PLANS)

    return warm


class _StoppableMapper:
    """A mapper that begins nothing after a stop, and counts what it was asked for."""

    def __init__(self, effort: FusionEffort, stop: NDArray[np.uint8]) -> None:
        settings, seed = effort.settings, derived_seed(effort.seed, "mapping")
        self._mapper = Mapper(
            MAPPING_SEARCHES[settings.mapping](),
            settings.mapping_evaluations,
            seed,
            settings.factors,
            settings.constraints,
        )
        self._stop = stop
        self._known: set[str] = set()

    @property
    def mapped(self) -> int:
        """Distinct problems so far."""
        return len(self._known)

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the cost of the best mapping found, or why there is none.

        Raises:
            Stopped: the problem is new, and somebody stopped the search.
        """
        if problem.key not in self._known:
            if self._stop[0]:
                raise Stopped
            self._known.add(problem.key)
        return self._mapper(problem)
