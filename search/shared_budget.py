"""One budget for fusion plans and for mappings, spent where ln J is expected to fall most.

A unit of the budget prices one more fusion plan, or pays for :data:`PLAN_WORTH` evaluations that
search the mapping of one problem of the best plan anew. The planner compares its plans with the
first mappings, all of the same effort, so it does the same as without sharing; only the best of its
plans are compared with improved mappings. Both comparisons have one mapping for each problem.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final, cast

from ..evaluators.network_cost import NetworkCost
from ..evaluators.problem import MappingProblem
from ..space.fusion import FusionPlan, layer_by_layer
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from .factors import objective
from .improved_mapper import Effort, ImprovedMapper, promise
from .mapper import Mapper
from .planned import ln_edp
from .pricing import PlanPricer
from .protocols import FusionSearch
from .shared_state import SharedState

#: evaluations of mappings that take about as long as pricing a plan: 80,000 of the first 64 plans,
#: 20,000 of the first 448 (benchmarks/shared_budget.py, ResNet-18 on the edge design)
PLAN_WORTH: Final = 50_000

#: how much larger each search of a problem is than the last
GROWTH: Final = 4

#: plans before anything else: with 8, gains of plans were underrated (benchmarks/shared_budget.py)
FIRST_PLANS: Final = 32

#: what half of all plans are expected to gain at least, in ln J: a search that stands still may
#: still find something
PLANS_GAIN: Final = 1e-3

#: share of what a mapping promises that it keeps, before there is any experience, and the promises
#: (ln J) that weigh as much as that belief
BELIEF: Final = 0.2
EXPERIENCE: Final = 0.02

#: ln J of a unit below which mappings are left as they are
LEAST_RATE: Final = 1e-5


@dataclass(frozen=True)
class _Stand:
    """The best plan with the mappings of a state, and what its problems promise.

    Attributes:
        best, efforts: of the state.
        pricer: of plans with the improved mappings.
        promises: ln J that each problem of the plan may bring, by short key.
    """

    best: FusionPlan
    efforts: Dict[str, Effort]
    pricer: PlanPricer
    promises: Dict[str, float]


class SharedSearch:
    """Fusion and mapping of one network with one budget.

    Args:
        network, hardware: what runs where.
        planner: makes the search of plans from what prices them.
        mapper: finds mappings with as many evaluations as it is told.
        evaluations: of the first mappings.
        factors: as mappings are searched.
    """

    def __init__(
        self,
        network: Network,
        hardware: Hardware,
        planner: Callable[[PlanPricer], FusionSearch],
        mapper: Callable[[int], Mapper],
        evaluations: int,
        factors: str,
    ) -> None:
        self._mapper = mapper
        self._first = mapper(evaluations)
        self._evaluations = evaluations
        self._factors = factors
        self._problems: dict[str, MappingProblem] = {}
        #: prices plans with the first mappings
        self.price = PlanPricer(network, hardware, self._improved({}))
        self._planner = planner(self.price)
        self._last: _Stand | None = None

    def start(self, seed: int) -> SharedState:
        """Return the state before anything was spent."""
        return SharedState(self._planner.start(seed))

    def advance(self, state: SharedState, budget: int) -> SharedState:
        """Spend up to ``budget`` more units; fewer if neither plans nor mappings are left."""
        end = len(state.history) + budget
        while len(state.history) < end:
            after = self._step(state)
            if after is None:
                break
            state = after
        return state

    def pricer(self, state: SharedState) -> PlanPricer:
        """Return what prices plans with the mappings of a state."""
        return self._stand(state).pricer

    def _step(self, state: SharedState) -> SharedState | None:
        """Spend one unit; None if there is nothing to spend it on."""
        if state.paying is not None:
            return self._pay(state, *state.paying)
        rate = plan_rate(state.fusion.history, state.ended)
        choice = self._choice(state) if rate < inf else None
        if choice is not None and choice[1] > rate:
            return self._pay(state, choice[0], ceil(self._next(state, choice[0]) / PLAN_WORTH))
        if state.ended:
            return None
        return self._plan(state) or self._step(replace(state, ended=True))

    def _plan(self, state: SharedState) -> SharedState | None:
        """Price one more plan; None if the planner has no more."""
        fusion = self._planner.advance(state.fusion, 1)
        if fusion.evaluations == state.fusion.evaluations:
            return None
        best, value = state.best, state.history[-1] if state.history else inf
        if fusion.best != state.fusion.best:
            best, value = least(self._stand(state).pricer, (state.best, fusion.best))
        return replace(state, fusion=fusion, best=best, history=(*state.history, value))

    def _choice(self, state: SharedState) -> tuple[str, float] | None:
        """The problem of which a unit is expected to bring most, and that; None if too little."""
        believed = (BELIEF * EXPERIENCE + state.kept) / (EXPERIENCE + state.promised)
        rates = {
            key: believed * gain * PLAN_WORTH / self._next(state, key)
            for key, gain in self._stand(state).promises.items()
        }
        key = min(rates, key=lambda key: (-rates[key], key), default=None)
        return None if key is None or rates[key] < LEAST_RATE else (key, rates[key])

    def _next(self, state: SharedState, key: str) -> int:
        """Evaluations of the next search of a problem."""
        last = state.efforts[key].evaluations if key in state.efforts else self._evaluations
        return GROWTH * last

    def _pay(self, state: SharedState, key: str, units: int) -> SharedState:
        """Pay one of the units that a problem still costs, and search it once all are paid."""
        value = state.history[-1]
        if units > 1:
            return replace(state, paying=(key, units - 1), history=(*state.history, value))
        stand = self._stand(state)
        found, kept = self._searched(key, stand.pricer, self._next(state, key))
        efforts = {**state.efforts, key: found}
        pricer = stand.pricer.changed(self._improved(efforts), key)
        best, now = least(pricer, (state.best, state.fusion.best, layer_by_layer(pricer.network)))
        if now > value:
            # better for the layer alone: what it saves of one, the network needs of the other
            best, now, efforts = state.best, value, {**state.efforts, key: kept}
            pricer = stand.pricer.changed(self._improved(efforts), key)
        after = replace(
            state,
            best=best,
            efforts=efforts,
            paying=None,
            promised=state.promised + stand.promises[key],
            kept=state.kept + value - now,
            history=(*state.history, now),
        )
        self._last = self._stand_with(after, pricer)
        return after

    def _searched(self, key: str, pricer: PlanPricer, evaluations: int) -> tuple[Effort, Effort]:
        """Search a problem; return what was found, and what to remember if the plan is worse."""
        problem = self._problems[key]
        mapper = self._mapper(evaluations)
        before, found = pricer.mapper(problem), mapper(problem)
        if isinstance(before, Infeasible) or isinstance(found, Infeasible):
            raise AssertionError(f"no mapping for {problem.key}, though there was one")
        if before.mapping is None or found.mapping is None:
            raise AssertionError(f"{problem.key} is no problem of mappings")
        done, gap = mapper.ended(problem), before.gap_percent
        kept = Effort(evaluations, before.mapping.to_text(), gap, done)
        if objective(problem, found) < objective(problem, before):
            return Effort(evaluations, found.mapping.to_text(), found.gap_percent, done), kept
        # what is proven of the one holds for the other, which is no worse
        return replace(kept, gap_percent=min(gap, found.gap_percent)), kept

    def _stand(self, state: SharedState) -> _Stand:
        last = self._last
        if last is None or last.efforts != state.efforts:
            fresh = PlanPricer(
                self.price.network, self.price.hardware, self._improved(state.efforts)
            )
            self._last = self._stand_with(state, fresh if state.efforts else self.price)
        elif last.best != state.best:
            self._last = self._stand_with(state, last.pricer)
        return cast("_Stand", self._last)

    def _stand_with(self, state: SharedState, pricer: PlanPricer) -> _Stand:
        cost = pricer.plan(state.best) if state.best.groups else None
        promises: dict[str, float] = {}
        if isinstance(cost, NetworkCost):
            for key, times, turns, tile in pricer.mapped(cost):
                problem = self._problems[key]
                if self._first.ended(problem) or (key in state.efforts and state.efforts[key].done):
                    continue
                gain = promise(cost, problem, times, turns, tile)
                promises[key] = promises.get(key, 0.0) + gain
        worth = {key: gain for key, gain in promises.items() if gain > 0}
        return _Stand(state.best, state.efforts, pricer, worth)

    def _improved(self, efforts: Dict[str, Effort]) -> ImprovedMapper:
        return ImprovedMapper(self._first, self._factors, efforts, self._problems)


def plan_rate(history: Sequence[float], ended: bool) -> float:
    """Return how much ln J one more plan is expected to gain, from the best ones so far.

    What the later half of all plans gained, shared out among them; infinite before there are some.
    """
    if ended:
        return 0.0
    if len(history) < FIRST_PLANS:
        return inf
    half = len(history) // 2
    return (history[-1 - half] - history[-1] + PLANS_GAIN) / half


def least(pricer: PlanPricer, plans: Iterable[FusionPlan]) -> tuple[FusionPlan, float]:
    """Return the first of the plans of least ln J, and that."""
    priced = [(plan, ln_edp(pricer, plan)) for plan in dict.fromkeys(plans) if plan.groups]
    return min(priced, key=lambda found: found[1])
