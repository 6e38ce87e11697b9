"""Infeasibility as data: what was needed, what there is, and what would mend it."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why a design, mapping or fusion group cannot be, as a record that a study keeps.

    Attributes:
        reason: name of the broken rule, such as ``glb_overflow`` or ``area_cap``.
        where: what broke it (level, layer, parameter or group).
        needed: the amount that it needs.
        available: the amount that there is.
        unit: unit of both amounts (``bytes``, ``mm2``, ``W``; empty for a count).
        hint: what would make it feasible.
    """

    reason: str
    where: str
    needed: float
    available: float
    unit: str
    hint: str

    def __str__(self) -> str:
        """One sentence for people."""
        amounts = f"needs {_amount(self.needed)}, has {_amount(self.available)}"
        return f"{self.reason} at {self.where}: {amounts} {self.unit}".rstrip() + f"; {self.hint}"

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        return asdict(self)


def _amount(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


class InfeasibleError(Exception):
    """Raised where an infeasible choice is a caller's mistake rather than a search's finding."""

    def __init__(self, infeasible: Infeasible) -> None:
        super().__init__(str(infeasible))
        self.infeasible = infeasible
