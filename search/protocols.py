"""The seams of the search: what every optimizer, allocator and software search promises.

Each protocol has a contract test class in ``tests/contracts`` that every implementation
passes.
"""

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol, TypeVar, runtime_checkable

from ..evaluators.group_cost import GroupCost
from ..evaluators.network_cost import NetworkCost
from ..evaluators.problem import MappingProblem
from ..space.fusion import FusionGroup, FusionPlan
from ..space.hardware import Hardware
from ..space.hardware_space import Point
from ..space.infeasible import Infeasible
from ..space.mapping import Mapping
from ..space.network import Network
from .exact_frame import Flags
from .exact_proof import Watch
from .fusion_state import FusionState
from .partition import Group, Partition

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Observation:
    """What one finished trial taught.

    Attributes:
        point: the hardware point.
        values: best cost found for each objective of the study (:mod:`archloom.search.goals`);
            None if the trial ended without them (infeasible, or it crashed).
        evaluations: fusion plans that were priced for it; a trial that was stopped early has
            fewer than the others, and costs that more search would have lowered.
        failure: name of the rule that no software could keep; None if there was none.
        excess: ln(cost / limit) for each limit of the study, above 0 where it is not kept; empty
            without ``values``.
    """

    point: Point
    values: tuple[float, ...] | None
    evaluations: int
    failure: str | None = None
    excess: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.values is not None and not all(isfinite(v) and v > 0 for v in self.values):
            raise ValueError(f"values are {self.values}, must be positive and finite, or None")
        if not all(map(isfinite, self.excess)):
            raise ValueError(f"excess is {self.excess}, must be finite")

    @property
    def kept(self) -> bool:
        """Whether there are values, and every limit is kept."""
        return self.values is not None and all(e <= 0 for e in self.excess)


class HardwareOptimizer(Protocol):
    """Proposes hardware points; is told what became of them.

    ``ask`` is a pure function of what was told before, of ``pending`` and of the seed that
    the optimizer was made with; so replaying a log rebuilds the optimizer exactly.
    """

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points, none told before or pending, none twice.

        Fewer (perhaps none) means that the space has no more feasible points.
        """
        ...

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials, in the order in which they were asked."""
        ...


@dataclass(frozen=True, slots=True)
class Curve:
    """Best EDP of one trial against evaluations spent.

    Attributes:
        evaluations: ascending; the last one is what the trial has spent so far.
        edp: best so far at each of them, non-increasing; inf while nothing feasible is found.
    """

    evaluations: tuple[int, ...]
    edp: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a trial stands after a round.

    Attributes:
        curve: of its whole life.
        costs: of each objective, as in :class:`Observation`; None while nothing feasible is found.
        bounds: lower bounds of the costs, which no more search gets below; equal to the costs
            where the hardware alone determines them. None likewise.
    """

    curve: Curve
    costs: tuple[float, ...] | None = None
    bounds: tuple[float, ...] | None = None


class BudgetAllocator(Protocol):
    """Shares out software search among the trials of a batch, round by round."""

    @property
    def rounds(self) -> int:
        """Number of rounds in a batch."""
        ...

    def budget(self, round_index: int) -> int:
        """Evaluations that each surviving trial gets in the round."""
        ...

    def survivors(
        self,
        standings: Dict[int, Standing],
        round_index: int,
        rivals: Sequence[tuple[float, ...]],
    ) -> list[int]:
        """Return the trials that go on after the round, ascending.

        Args:
            standings: of the trials of the round, by trial id.
            round_index: from 0 on.
            rivals: costs of all designs that are measured and not in the round: those of
                earlier batches, and those of this batch that were stopped before.
        """
        ...


@dataclass(frozen=True, slots=True)
class MappedLayer:
    """The best mapping found for a problem, or why there is none.

    ``energy_pj`` and ``latency_cycles`` are the kernel's, for the problem's own traffic. The
    objective is at most ``gap_percent`` above the least there can be: 0 where that is proven,
    infinite where nothing is known.
    """

    mapping: Mapping | None
    energy_pj: float
    latency_cycles: float
    evaluations: int
    infeasible: Infeasible | None = None
    gap_percent: float = inf


class MappingSearch(Protocol[State]):
    """Searches the mapping of one problem; the state is a value and can be stored."""

    def start(self, problem: MappingProblem, seed: int) -> State:
        """Return the state before anything was evaluated."""
        ...

    def advance(self, problem: MappingProblem, state: State, budget: int) -> State:
        """Evaluate up to ``budget`` more mappings."""
        ...

    def best(self, problem: MappingProblem, state: State) -> MappedLayer:
        """Return the best mapping found so far, re-scored by the batch kernel."""
        ...


@runtime_checkable
class InterruptibleSearch(MappingSearch[State], Protocol[State]):
    """A mapping search that can be stopped at any moment, and tells how far it is."""

    def until(
        self, problem: MappingProblem, seed: int, budget: int, stop: Flags, watch: Watch
    ) -> State:
        """Search until nothing better can be found, the budget is spent, or ``stop`` is set.

        Args:
            problem: what is mapped.
            seed: as of ``start``.
            budget: evaluations at most; the state says how many were spent.
            stop: uint8[1], which another thread may set.
            watch: told whenever the best mapping or the bound gets better.
        """
        ...


class PlanPrices(Protocol):
    """Prices fusion plans of one network on one hardware, the same plan always the same."""

    @property
    def network(self) -> Network:
        """What runs."""
        ...

    @property
    def hardware(self) -> Hardware:
        """Where it runs."""
        ...

    def plan(self, plan: FusionPlan) -> NetworkCost | Infeasible:
        """Return the price of a plan, or why it has none."""
        ...

    def group(self, group: FusionGroup) -> GroupCost | Infeasible:
        """Return the price of one group, or why it has none."""
        ...

    def __call__(self, partition: Partition) -> tuple[Partition, float]:
        """Price the plan that :meth:`plan_of` gives a partition, as ln EDP (J s).

        Groups that fit no tiling are cut; returns what is left as well. inf if there is no price.
        """
        ...

    def fitted(self, partition: Partition) -> Partition:
        """Return the partition with groups that do not fit cut."""
        ...

    def tiling(self, layers: Group) -> FusionGroup | Infeasible:
        """Return the chosen tiling of a group, or why it has none."""
        ...

    def plan_of(self, partition: Partition) -> FusionPlan:
        """Return the plan of a partition whose groups all fit: tilings chosen, groups in order."""
        ...


class FusionSearch(Protocol):
    """Searches the fusion plan of one network; the state is a value and can be stored.

    Advancing by a and then b evaluations gives the state that advancing by a + b gives.
    """

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated."""
        ...

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price up to ``budget`` more plans."""
        ...
