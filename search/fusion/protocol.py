"""Protocol of fusion searches, their state, and the plan evaluator that they ask."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from archloom.evaluators.bounds import Plans
from archloom.evaluators.fusion import GroupCost, NetworkCost
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from .partition import Group, Partition, normalise

#: no plan yet
UNPRICED: Final = FusionPlan(())


@dataclass(frozen=True)
class FusionState:
    """Population and history of a fusion search.

    Attributes:
        seed: of this search.
        population: (partition, ln J), in the order in which they joined; for searches that breed.
        plans: (plan, ln J), the same; for searches that breed plans.
        best: the best plan ever priced; no groups before the first evaluation.
        history: best ln J after each evaluation.
        bound: ln of what no plan of the space that is searched has less J than, as far as the
            search could prove; None if it proves nothing.
        any_mappings: the same as ``bound`` whatever the mappings, where that is of the mappings
            that the search finds; None if it is of any, or of nothing.
        notes: what to know of the plan, a sentence each: what was left out, what was mended.
    """

    seed: int
    population: tuple[tuple[Partition, float], ...] = ()
    best: FusionPlan = UNPRICED
    history: tuple[float, ...] = ()
    bound: float | None = None
    notes: tuple[str, ...] = ()
    plans: tuple[tuple[FusionPlan, float], ...] = ()
    any_mappings: float | None = None

    @property
    def evaluations(self) -> int:
        """Plans priced so far."""
        return len(self.history)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        data = {
            "seed": self.seed,
            "population": [[[list(g) for g in p], cost] for p, cost in self.population],
            "best": self.best.to_list(),
            "history": list(self.history),
            "bound": self.bound,
            "notes": list(self.notes),
            "plans": [[plan.to_list(), cost] for plan, cost in self.plans],
        }
        if self.any_mappings is not None:
            data["any_mappings"] = self.any_mappings
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "FusionState":
        """Build a state from :meth:`to_dict`."""
        return cls(
            seed=int(data["seed"]),
            population=tuple((normalise(p), float(cost)) for p, cost in data["population"]),
            best=FusionPlan.from_list(data["best"]),
            history=tuple(data["history"]),
            bound=data["bound"],
            notes=tuple(data.get("notes", ())),
            plans=tuple((FusionPlan.from_list(p), float(c)) for p, c in data.get("plans", ())),
            any_mappings=data.get("any_mappings"),
        )


class PlanEvaluator(Protocol):
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


@runtime_checkable
class ProvingSearch(FusionSearch, Protocol):
    """A search that can bound all plans of its space, and so prove its own."""

    def prove(
        self, state: FusionState, steps: int, tell: Callable[[int], None] = lambda _: None
    ) -> FusionState:
        """Return the state of a search at its end with a bound of its space, after at most so many
        steps; ``tell`` hears how many were taken, and may end it by an exception."""
        ...


@dataclass(frozen=True)
class Abilities:
    """Properties of a fusion search that a study needs to know before there is one.

    Attributes:
        several_cores: whether it fuses on chips of several cores
            (:mod:`archloom.space.hardware.cores`) too.
        plans: which plans it may choose, for lower bounds that hold for them.
        folds: whether it runs folded layers together (:mod:`archloom.space.fusion.folding`).
        proves: whether it can bound all plans of its space, as a :class:`ProvingSearch`.
        first_budget: plans that a trial's first round prices where a study says nothing; a
            population needs many.

    Raises:
        ValueError: the first budget is below 1.
    """

    several_cores: bool = False
    plans: Plans = "any"
    folds: bool = False
    proves: bool = False
    first_budget: int = 64

    def __post_init__(self) -> None:
        if self.first_budget < 1:
            raise ValueError(f"first_budget is {self.first_budget}, must be at least 1")


class FusionFactory(Protocol):
    """Makes a fusion search; what is registered as one.

    It may have an attribute ``abilities``, of :class:`Abilities`. The option ``population`` is
    ``software.population`` of a study; others stand beside the search's name.
    """

    def __call__(self, evaluator: PlanEvaluator, /, **options: Any) -> FusionSearch:
        """Return a search of the plan of the evaluator's network on its hardware."""
        ...
