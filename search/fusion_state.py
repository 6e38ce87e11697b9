"""What a fusion search remembers: a small value that is plain enough for JSON."""

from dataclasses import dataclass
from typing import Any

from .partition import Partition, normalise


@dataclass(frozen=True)
class FusionState:
    """Population and history of a fusion search.

    Attributes:
        seed: of this search.
        population: (partition, ln J), in the order in which they joined.
        best: the best partition ever priced; empty before the first evaluation.
        history: best ln J after each evaluation.
    """

    seed: int
    population: tuple[tuple[Partition, float], ...]
    best: Partition
    history: tuple[float, ...]

    @property
    def evaluations(self) -> int:
        """Plans priced so far."""
        return len(self.history)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        return {
            "seed": self.seed,
            "population": [[_lists(p), cost] for p, cost in self.population],
            "best": _lists(self.best),
            "history": list(self.history),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "FusionState":
        """Build a state from :meth:`to_dict`."""
        members = tuple((normalise(p), float(cost)) for p, cost in data["population"])
        best = normalise(data["best"])
        return cls(int(data["seed"]), members, best, tuple(data["history"]))


def _lists(partition: Partition) -> list[list[int]]:
    return [list(g) for g in partition]
