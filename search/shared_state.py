"""What a search of plans and mappings with one budget remembers: plain enough for JSON."""

from dataclasses import dataclass, field
from typing import Any

from ..space.fusion import FusionPlan
from .fusion_state import UNPRICED, FusionState
from .improved_mapper import Effort


@dataclass(frozen=True)
class SharedState:
    """What a search with one budget remembers.

    Attributes:
        fusion: of the planner.
        ended: whether it has no more plans.
        best: the plan that is best with the improved mappings.
        efforts: problems that were searched again, by short key.
        paying: the problem that is being paid for, and the units that are still to be paid.
        promised, kept: ln J that all searched problems promised, and that they brought.
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
        """Return what was spent on what: units, plans priced, problems that were searched again,
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
