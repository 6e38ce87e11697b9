"""One budget shared by fusion plans and mappings, spent where ln J is expected to fall most.

A unit of the budget evaluates one more fusion plan, or pays for :data:`_EVALUATIONS_PER_PLAN`
evaluations that search the mapping of one problem of the best plan anew. The planner compares its
plans with the first mappings, all of the same effort, so it does the same as without sharing; only
the best of its plans are compared with improved mappings. Both comparisons have one mapping for
each problem.
"""

from collections.abc import Callable, Iterable, Mapping as Dict, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, sqrt
from typing import Any, Final, cast

from archloom.evaluators.fusion import NetworkCost
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.fusion import (
    UNPRICED,
    FusionSearch,
    FusionState,
    MemoizedPlanEvaluator,
    ln_edp,
)
from archloom.search.mapping import Effort, ImprovedMapper, Mapper, gap_percent, objective
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, layer_by_layer
from archloom.space.hardware import Hardware
from archloom.space.workload import Network


def expected_gain(
    cost: NetworkCost, problem: MappingProblem, times: int, turns: int, tile: LayerCost
) -> float:
    """Return how much ln J of a plan may fall if one of its problems were mapped at best.

    J = E T, so d ln J = dE / E + dT / T. The tile's energy x cycles may fall by 1 + gap; both are
    taken to fall by its root, as what is gained is largest about there.

    Args:
        cost: of the plan.
        problem: the problem.
        times, turns: how often it runs in a pass, and how often one after another.
        tile: its mapping's cost.
    """
    gap = tile.gap_percent
    if gap == inf:
        # a search that proves nothing: docs/explanation/bounds.md still does
        gap = gap_percent(problem, tile)
    leaking = cost.leakage_pj / cost.latency_cycles
    cycles = turns * tile.latency_cycles
    share = (times * tile.dynamic_pj + leaking * cycles) / cost.energy_pj
    share += cycles / cost.latency_cycles
    return share * (1.0 - 1.0 / sqrt(1.0 + gap / 100.0))


@dataclass(frozen=True)
class SharedState:
    """State of a search with one shared budget.

    Attributes:
        fusion: of the planner.
        ended: whether it has no more plans.
        best: the plan that is best with the improved mappings.
        efforts: problems that were searched again, by short key.
        paying: the problem that is being paid for, and the units that are still to be paid.
        promised, kept: ln J that all searched problems were expected to gain, and that they gained.
        history: best ln J after each unit.
    """

    fusion: FusionState
    ended: bool = False
    best: FusionPlan = UNPRICED
    efforts: dict[str, Effort] = field(default_factory=dict)
    paying: tuple[str, int] | None = None
    promised: float = 0.0
    kept: float = 0.0
    history: tuple[float, ...] = ()

    def shares(self) -> dict[str, int]:
        """Return what was spent on what: units, plans evaluated, problems that were searched again,
        and units that these cost."""
        plans = self.fusion.evaluations
        return {
            "units": len(self.history),
            "plans": plans,
            "mappings": len(self.efforts),
            "mapping_units": len(self.history) - plans,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return {
            "fusion": self.fusion.to_dict(),
            "ended": self.ended,
            "best": self.best.to_list(),
            "efforts": {key: effort.to_list() for key, effort in self.efforts.items()},
            "paying": list(self.paying) if self.paying else None,
            "promised": self.promised,
            "kept": self.kept,
            "history": list(self.history),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SharedState":
        """Build a state from :meth:`to_dict`."""
        paying = data["paying"]
        return cls(
            fusion=FusionState.from_dict(data["fusion"]),
            ended=data["ended"],
            best=FusionPlan.from_list(data["best"]),
            efforts={key: Effort.from_list(e) for key, e in data["efforts"].items()},
            paying=(paying[0], paying[1]) if paying else None,
            promised=data["promised"],
            kept=data["kept"],
            history=tuple(data["history"]),
        )


#: evaluations of mappings that take about as long as evaluating a plan: 80,000 of the first 64
#: plans, 20,000 of the first 448 (benchmarks/fusion/shared_budget.py, ResNet-18 on the edge design)
_EVALUATIONS_PER_PLAN: Final = 50_000

#: how much larger each search of a problem is than the last
_SEARCH_GROWTH: Final = 4

#: plans before anything else: with 8, gains of plans were underrated (the same script)
FIRST_PLANS: Final = 32

#: what half of all plans are expected to gain at least, in ln J: a search that stands still may
#: still find something
_PLANS_GAIN: Final = 1e-3

#: prior share of its expected gain that a mapping search brings, and the expected gains (ln J) that
#: weigh as much as that prior
_PRIOR_KEPT_SHARE: Final = 0.2
_PRIOR_WEIGHT: Final = 0.02

#: ln J of a unit below which mappings are left as they are
_LEAST_RATE: Final = 1e-5


@dataclass(frozen=True)
class _EvaluatedBest:
    """The best plan with the mappings of a state, and the expected gains of its problems.

    Attributes:
        best, efforts: of the state.
        evaluator: of plans with the improved mappings.
        expected_gains: ln J that each problem of the plan may bring, by short key.
    """

    best: FusionPlan
    efforts: Dict[str, Effort]
    evaluator: MemoizedPlanEvaluator
    expected_gains: Dict[str, float]


class SharedSearch:
    """Fusion and mapping of one network with one budget.

    Args:
        network, hardware: what runs where.
        planner: makes the search of plans from their evaluator.
        mapper: makes a mapper of so many evaluations.
        evaluations: of the first mappings.
        factors: as mappings are searched.
    """

    def __init__(
        self,
        network: Network,
        hardware: Hardware,
        planner: Callable[[MemoizedPlanEvaluator], FusionSearch],
        mapper: Callable[[int], Mapper],
        evaluations: int,
        factors: str,
    ) -> None:
        self._mapper = mapper
        self._first = mapper(evaluations)
        self._evaluations = evaluations
        self._factors = factors
        self._problems: dict[str, MappingProblem] = {}
        #: evaluates plans with the first mappings
        self.first_evaluator = MemoizedPlanEvaluator(network, hardware, self._improved({}))
        self._planner = planner(self.first_evaluator)
        self._last: _EvaluatedBest | None = None

    def start(self, seed: int) -> SharedState:
        """Return the state before anything was spent."""
        return SharedState(self._planner.start(seed))

    def advance(self, state: SharedState, budget: int) -> SharedState:
        """Spend up to ``budget`` more units; fewer if neither plans nor mappings are left."""
        end = len(state.history) + budget
        while len(state.history) < end:
            after = self._advance_by_one(state)
            if after is None:
                break
            state = after
        return state

    def evaluator(self, state: SharedState) -> MemoizedPlanEvaluator:
        """Return the evaluator of plans with the mappings of a state."""
        return self._evaluated(state).evaluator

    def _advance_by_one(self, state: SharedState) -> SharedState | None:
        """Spend one unit; None if there is nothing to spend it on."""
        if state.paying is not None:
            return self._pay_for_mapping(state, *state.paying)
        rate = plan_rate(state.fusion.history, state.ended)
        choice = self._best_problem(state) if rate < inf else None
        if choice is not None and choice[1] > rate:
            return self._pay_for_mapping(
                state,
                choice[0],
                ceil(self._next_evaluations(state, choice[0]) / _EVALUATIONS_PER_PLAN),
            )
        if state.ended:
            return None
        return self._plan(state) or self._advance_by_one(replace(state, ended=True))

    def _plan(self, state: SharedState) -> SharedState | None:
        """Evaluate one more plan; None if the planner has no more."""
        fusion = self._planner.advance(state.fusion, 1)
        if fusion.evaluations == state.fusion.evaluations:
            return None
        best, value = state.best, state.history[-1] if state.history else inf
        if fusion.best != state.fusion.best:
            best, value = _best_of(self._evaluated(state).evaluator, (state.best, fusion.best))
        return replace(state, fusion=fusion, best=best, history=(*state.history, value))

    def _best_problem(self, state: SharedState) -> tuple[str, float] | None:
        """The problem of which a unit is expected to bring most, and that; None if too little."""
        kept_share = (_PRIOR_KEPT_SHARE * _PRIOR_WEIGHT + state.kept) / (
            _PRIOR_WEIGHT + state.promised
        )
        rates = {
            key: kept_share * gain * _EVALUATIONS_PER_PLAN / self._next_evaluations(state, key)
            for key, gain in self._evaluated(state).expected_gains.items()
        }
        key = min(rates, key=lambda key: (-rates[key], key), default=None)
        return None if key is None or rates[key] < _LEAST_RATE else (key, rates[key])

    def _next_evaluations(self, state: SharedState, key: str) -> int:
        """Evaluations of the next search of a problem."""
        last = state.efforts[key].evaluations if key in state.efforts else self._evaluations
        return _SEARCH_GROWTH * last

    def _pay_for_mapping(self, state: SharedState, key: str, units: int) -> SharedState:
        """Pay one of the units that a problem still costs, and search it once all are paid."""
        value = state.history[-1]
        if units > 1:
            return replace(state, paying=(key, units - 1), history=(*state.history, value))
        current = self._evaluated(state)
        found, kept = self._searched(key, current.evaluator, self._next_evaluations(state, key))
        efforts = {**state.efforts, key: found}
        evaluator = current.evaluator.with_mapper(self._improved(efforts), key)
        best, now = _best_of(
            evaluator, (state.best, state.fusion.best, layer_by_layer(evaluator.network))
        )
        if now > value:
            # better for the layer alone: what it saves of one, the network needs of the other
            best, now, efforts = state.best, value, {**state.efforts, key: kept}
            evaluator = current.evaluator.with_mapper(self._improved(efforts), key)
        after = replace(
            state,
            best=best,
            efforts=efforts,
            paying=None,
            promised=state.promised + current.expected_gains[key],
            kept=state.kept + value - now,
            history=(*state.history, now),
        )
        self._last = self._evaluated_with(after, evaluator)
        return after

    def _searched(
        self, key: str, evaluator: MemoizedPlanEvaluator, evaluations: int
    ) -> tuple[Effort, Effort]:
        """Search a problem; return what was found, and what to remember if the plan is worse."""
        problem = self._problems[key]
        mapper = self._mapper(evaluations)
        before, found = evaluator.mapper(problem), mapper(problem)
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

    def _evaluated(self, state: SharedState) -> _EvaluatedBest:
        last = self._last
        if last is None or last.efforts != state.efforts:
            fresh = MemoizedPlanEvaluator(
                self.first_evaluator.network,
                self.first_evaluator.hardware,
                self._improved(state.efforts),
            )
            self._last = self._evaluated_with(
                state, fresh if state.efforts else self.first_evaluator
            )
        elif last.best != state.best:
            self._last = self._evaluated_with(state, last.evaluator)
        return cast("_EvaluatedBest", self._last)

    def _evaluated_with(
        self, state: SharedState, evaluator: MemoizedPlanEvaluator
    ) -> _EvaluatedBest:
        cost = evaluator.plan(state.best) if state.best.groups else None
        expected_gains: dict[str, float] = {}
        if isinstance(cost, NetworkCost):
            for key, times, turns, tile in evaluator.mapped_problems(cost):
                problem = self._problems[key]
                if self._first.ended(problem) or (key in state.efforts and state.efforts[key].done):
                    continue
                gain = expected_gain(cost, problem, times, turns, tile)
                expected_gains[key] = expected_gains.get(key, 0.0) + gain
        positive = {key: gain for key, gain in expected_gains.items() if gain > 0}
        return _EvaluatedBest(state.best, state.efforts, evaluator, positive)

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
    return (history[-1 - half] - history[-1] + _PLANS_GAIN) / half


def _best_of(
    evaluator: MemoizedPlanEvaluator, plans: Iterable[FusionPlan]
) -> tuple[FusionPlan, float]:
    """Return the first of the plans of least ln J, and that."""
    costs = [(plan, ln_edp(evaluator, plan)) for plan in dict.fromkeys(plans) if plan.groups]
    return min(costs, key=lambda found: found[1])
