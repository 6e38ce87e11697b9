"""What a fusion search remembers: a small value that is plain enough for JSON."""

from dataclasses import dataclass
from typing import Any, Final

from ..space.fusion import FusionPlan
from .partition import Partition, normalise

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
        notes: what to know of the plan, a sentence each: what was left out, what was mended.
    """

    seed: int
    population: tuple[tuple[Partition, float], ...] = ()
    best: FusionPlan = UNPRICED
    history: tuple[float, ...] = ()
    bound: float | None = None
    notes: tuple[str, ...] = ()
    plans: tuple[tuple[FusionPlan, float], ...] = ()

    @property
    def evaluations(self) -> int:
        """Plans priced so far."""
        return len(self.history)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return {
            "seed": self.seed,
            "population": [[[list(g) for g in p], cost] for p, cost in self.population],
            "best": self.best.to_list(),
            "history": list(self.history),
            "bound": self.bound,
            "notes": list(self.notes),
            "plans": [[plan.to_list(), cost] for plan, cost in self.plans],
        }

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
        )
