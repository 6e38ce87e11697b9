"""Limits that designs have to keep, and all that a study asks of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import TYPE_CHECKING, Final

from archloom.space import Infeasible

from .costs import DesignCosts
from .objective import AREA, EDP, TDP, Objective
from .tenants import Tenant

if TYPE_CHECKING:
    from archloom.space.workload import Network


#: the most that a percentage can be
_WHOLE: Final = 100.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint: at most ``value``, or at least where more is better.

    Attributes:
        objective: what is limited; area and TDP have caps instead.
        value: in the metric's unit.

    Raises:
        ValueError: a value that is not positive and finite, or a metric of the hardware.
    """

    objective: Objective
    value: float

    def __post_init__(self) -> None:
        if not (isfinite(self.value) and self.value > 0):
            raise ValueError(f"limit of {self.objective.name} is {self.value}, must be positive")
        if self.objective.facts.of_hardware:
            raise ValueError(f"{self.objective.metric} has a cap (area_mm2, tdp_w), not a limit")
        if self.objective.facts.of_forms and self.value > _WHOLE:
            raise ValueError(f"limit of {self.objective.name} is {self.value}, must be up to 100")

    @property
    def sign(self) -> str:
        """How people read the limit."""
        return "at least" if self.objective.facts.rising else "at most"

    @property
    def text(self) -> str:
        """The limit for people."""
        unit = self.objective.facts.unit
        return f"{self.objective.title} {self.sign} {self.value:g} {unit}".rstrip()

    def excess(self, cost: float) -> float:
        """Return ln(cost / its limit): at most 0 where the limit is kept."""
        return log(cost / self.objective.figure(self.value))

    def broken(self, least_cost: float) -> Infeasible | None:
        """Return why no software keeps the limit on a design of that least cost, or None."""
        if self.excess(least_cost) <= 0:
            return None
        facts, best = self.objective.facts, self.objective.figure(least_cost)
        needed, available = (self.value, best) if facts.rising else (best, self.value)
        hint = f"relax the limit, or {facts.hint}"
        reason = limit_reason(self.objective.metric)
        return Infeasible(reason, self.objective.name, needed, available, facts.unit, hint)


def limit_reason(metric: str) -> str:
    """Return the rule that a design breaks whose bound is beyond a limit."""
    return f"{metric}_limit"


@dataclass(frozen=True, slots=True)
class ObjectiveSet:
    """What a study minimises, in its order, and the limits that designs have to keep.

    Attributes:
        objectives: what is minimised, or maximised where more is better.
        limits: of what software decides.
        known_limits: of what is known of a design before; one that breaks them is never run.

    Raises:
        ValueError: no objective, two alike, none that software decides, two limits alike, or one
            that stands among the wrong ones.
    """

    objectives: tuple[Objective, ...] = (EDP, AREA, TDP)
    limits: tuple[Limit, ...] = ()
    known_limits: tuple[Limit, ...] = ()

    @classmethod
    def of(cls, objectives: Sequence[Objective], limits: Sequence[Limit]) -> "ObjectiveSet":
        """Return objectives and limits, those among them that are known of a design before."""
        known = tuple(limit for limit in limits if limit.objective.known)
        decided = tuple(limit for limit in limits if not limit.objective.known)
        return cls(tuple(objectives), decided, known)

    def __post_init__(self) -> None:
        names = [objective.name for objective in self.objectives]
        limited = [limit.objective.name for limit in self.every_limit]
        for expected, group in ((False, self.limits), (True, self.known_limits)):
            if wrong := [limit for limit in group if limit.objective.known is not expected]:
                known = "is not" if expected else "is"
                raise ValueError(f"{wrong[0].objective.name} {known} known before the software")
        for what, given in (("objective", names), ("limit", limited)):
            twice = next((name for name in given if given.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{twice} is an {what} twice")
        if all(objective.known for objective in self.objectives):
            raise ValueError("no objective depends on the software; add one such as edp")

    @property
    def every_limit(self) -> tuple[Limit, ...]:
        """Limits of what is known before, then those of what software decides."""
        return (*self.known_limits, *self.limits)

    @property
    def known(self) -> tuple[bool, ...]:
        """For each objective whether it is known before the software is searched."""
        return tuple(objective.known for objective in self.objectives)

    @property
    def measured(self) -> tuple[Objective, ...]:
        """Objectives and what is limited, each once: the figures that a design is shown with."""
        return tuple(
            dict.fromkeys([*self.objectives, *(limit.objective for limit in self.every_limit)])
        )

    def values(self, design: DesignCosts) -> tuple[float, ...]:
        """Return the cost of each objective."""
        return tuple(objective.cost(design) for objective in self.objectives)

    def least(self, edps_js: Mapping[str, float]) -> tuple[float, ...]:
        """Return lower bounds of the costs of a design of which only EDPs are bounded.

        Args:
            edps_js: lower bounds by network, above 0.

        Returns:
            One for each objective; 0, which says nothing, for those that are no EDP.
        """
        design = DesignCosts({}, tuple((name, {"edp": edp}) for name, edp in edps_js.items()))
        return tuple(o.cost(design) if o.metric == "edp" else 0.0 for o in self.objectives)

    def excess(self, design: DesignCosts) -> tuple[float, ...]:
        """Return ln(cost / limit) for each limit of what software decides."""
        return tuple(limit.excess(limit.objective.cost(design)) for limit in self.limits)

    def faults(self, networks: "Sequence[Network]", tenants: Sequence[Tenant] = ()) -> list[str]:
        """Return what is wrong with the objectives for these networks and tenants."""
        found = ((g.name, g.fault(networks, tenants)) for g in self.measured)
        return [f"{name}: {fault}" for name, fault in found if fault]
