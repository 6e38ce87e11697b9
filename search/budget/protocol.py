"""Protocol of budget allocators: who goes on after a round, and with how much."""

from collections.abc import Mapping as Dict, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


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


class AllocatorFactory(Protocol):
    """Makes an allocator; what is registered as one.

    Options ``first_budget`` and ``evaluations`` have defaults that suit the fusion search
    (:class:`archloom.search.fusion.protocol.Abilities`), where a study says nothing of them.
    """

    def __call__(self, **options: Any) -> BudgetAllocator:
        """Return an allocator; ValueError says what is wrong with an option."""
        ...
