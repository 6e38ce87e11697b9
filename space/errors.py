"""Error messages: infeasible designs, numbers out of range, and the nearest valid choice."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from math import inf
from numbers import Integral, Real
from typing import Any


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether ``value`` is a whole number between the two; true and false are none."""
    # to ask for the very type first takes a third of the time: designs have thousands of numbers
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        return False
    number: Any = value
    return bool(least <= number <= most)


def is_amount(value: object, least: float, most: float) -> bool:
    """Whether ``value`` is a number between the two."""
    plain = type(value) is int or type(value) is float
    if not plain and (isinstance(value, bool) or not isinstance(value, Real)):
        return False
    number: Any = value
    return bool(least <= number <= most)


def whole_fault(name: str, value: object, least: int, most: int) -> str:
    """Say what is wrong with a number that should be whole; empty if nothing is."""
    if is_whole(value, least, most):
        return ""
    return f"{name} must be a whole number from {least} up to {most}, got {value!r}"


def amount_fault(
    name: str, value: object, least: float, most: float, *, unlimited: bool = False
) -> str:
    """Say what is wrong with a number; empty if nothing is. ``unlimited`` lets it be infinite."""
    if is_amount(value, least, most) or (unlimited and is_amount(value, inf, inf)):
        return ""
    infinite = ", or infinite" if unlimited else ""
    return f"{name} must be a number from {least:g} up to {most:g}{infinite}, got {value!r}"


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Reason why a design, mapping or fusion group is infeasible, as a study records it.

    Attributes:
        reason: name of the broken rule, such as ``glb_overflow`` or ``area_cap``.
        where: level, layer, parameter or group that breaks it.
        needed: amount that is needed.
        available: amount that is available.
        unit: unit of both amounts (``bytes``, ``mm2``, ``W``; empty for a count).
        hint: what would make it feasible. Where ``needed`` is 1, ``available`` 0 and the unit
            empty, no amount says why, and the hint says all.
    """

    reason: str
    where: str
    needed: float
    available: float
    unit: str
    hint: str

    def __str__(self) -> str:
        """One sentence for people: the rule, where, what is needed and available, a remedy."""
        amounts = f"{self.amounts}; " if self.amounts else ""
        return f"{self.reason} at {self.where}: {amounts}{self.hint}"

    @property
    def amounts(self) -> str:
        """What is needed and what is available; empty where something is absent as a whole."""
        if (self.needed, self.available, self.unit) == (1, 0, ""):
            return ""
        needed, available = _amount(self.needed), _amount(self.available)
        if needed == available:
            needed, available = f"{self.needed:,}", f"{self.available:,}"
        return (
            f"needs {_with_unit(needed, self.unit)}, {_with_unit(available, self.unit)} available"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        return asdict(self)


def _amount(value: float) -> str:
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"


def _with_unit(amount: str, unit: str) -> str:
    return f"{amount} {'byte' if amount == '1' and unit == 'bytes' else unit}".rstrip()


class InfeasibleError(Exception):
    """Raised where an infeasible choice is a caller's mistake rather than a search's finding."""

    def __init__(self, infeasible: Infeasible) -> None:
        super().__init__(str(infeasible))
        self.infeasible = infeasible


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the names nearest to ``name``, or a list of all that there are."""
    names = list(known)
    near = get_close_matches(name, names)
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
