"""Parameter of a hardware space: its values, when it is active, and how it is encoded."""

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Literal

from ..errors import did_you_mean
from .expression import Expression, Value

Point = dict[str, Value]
Scale = Literal["linear", "pow2", "categorical"]


@dataclass(frozen=True)
class Parameter:
    """A named choice.

    Attributes:
        name: name in points and expressions.
        values: ascending numbers, or texts in any order.
        scale: numbers are encoded by their position on a linear or a logarithmic axis
            (``pow2``), texts one-hot.
        when: condition on earlier parameters under which it has any effect; None for always.

    Raises:
        ValueError: no values, values that repeat, descend or mix numbers and texts, or a
            scale that does not suit them.
    """

    name: str
    values: tuple[Value, ...]
    scale: Scale
    when: Expression | None = None

    def __post_init__(self) -> None:
        numbers = [v for v in self.values if isinstance(v, int | float)]
        if not self.values or len(set(self.values)) != len(self.values):
            raise ValueError(f"values must not repeat, got {list(self.values)}")
        if 0 < len(numbers) < len(self.values) or any(isinstance(v, bool) for v in self.values):
            raise ValueError(f"values must be all numbers or all texts, got {list(self.values)}")
        if numbers != sorted(numbers):
            raise ValueError(f"values must be in ascending order, got {list(self.values)}")
        if (self.scale == "categorical") == bool(numbers):
            raise ValueError(
                f"scale {self.scale} cannot be used with the values {list(self.values)}"
            )
        if self.scale == "pow2" and (numbers[0] < 0 or numbers[-1] == 0):
            raise ValueError(f"scale pow2 needs values of 0 or more, got {list(self.values)}")

    @cached_property
    def index(self) -> dict[Value, int]:
        """Position of each value."""
        return {value: i for i, value in enumerate(self.values)}

    @cached_property
    def columns(self) -> tuple[tuple[float, ...], ...]:
        """Encoding of each value, in [0, 1]: one column for a number, one-hot for a text.

        On the ``pow2`` scale a zero (a part that is left out) stands one halving below the
        smallest positive value.
        """
        if self.scale == "categorical":
            n = len(self.values)
            return tuple(tuple(float(i == j) for j in range(n)) for i in range(n))
        places = [float(v) for v in self.values]
        if self.scale == "pow2":
            smallest = next(v for v in places if v > 0)
            places = [log2(v or smallest / 2) for v in places]
        span = places[-1] - places[0]
        return tuple(((v - places[0]) / span if span else 0.0,) for v in places)

    def active(self, point: Point) -> bool:
        """Whether the parameter has an effect, given the earlier ones in ``point``."""
        return self.when is None or bool(self.when.evaluate(point))

    def check(self, value: object) -> int:
        """Return the position of ``value``; raises ValueError naming the nearest valid one."""
        try:
            i = self.index.get(value)  # type: ignore[call-overload]
        except TypeError:
            i = None
        if i is None:
            raise ValueError(
                f"parameter {self.name}: {value!r} is not one of its values; {self._nearest(value)}"
            )
        return int(i)

    def _nearest(self, value: object) -> str:
        if isinstance(value, int | float) and self.scale != "categorical":
            near = min(
                (v for v in self.values if not isinstance(v, str)), key=lambda v: abs(v - value)
            )
            return f"the nearest is {near}"
        return did_you_mean(str(value), [str(v) for v in self.values])
