"""Expected and achieved speed-ups of every compressed model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .choice import fastest, macs_left
from .intervals import Quotient, quotient
from .record import PRUNED, Point, StackRecord

# DLAS, section 6.3.2: 2x for float16 and 4x for int8 relative to float32
#: times as fast as float32 that a type should be: by its bits
BY_TYPE: Final = {"float16": 2.0, "int8": 4.0, "int8_uncalibrated": 4.0, "int4": 8.0}


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How much faster a compressed model is than the dense one, and should be.

    Attributes:
        point: any point of the compressed model.
        tuned: whether both are tuned.
        expected: by MACs left, or by the bits of its type.
        achieved: by the fastest algorithm of each.
    """

    point: Point
    tuned: bool
    expected: float
    achieved: Quotient

    @property
    def share(self) -> Quotient:
        """What is achieved of what is expected."""
        return self.achieved.scaled(1 / self.expected)


def speed_up(record: StackRecord, point: Point, tuned: bool) -> SpeedUp | None:
    """Return the speed-up of a compressed model; None if it or the dense one has no kernel."""
    dense, expected = record.dense(point.model), _expected(record, point)
    if dense is None or expected is None:
        return None
    before, after = fastest(record, dense, tuned), fastest(record, point, tuned)
    if before is None or after is None:
        return None
    return SpeedUp(point, tuned, expected, quotient(before, after))


def _expected(record: StackRecord, point: Point) -> float | None:
    if point.method in PRUNED:
        left = macs_left(record, point)
        return None if left is None else 1 / left
    return BY_TYPE.get(point.method)


def speed_ups(record: StackRecord) -> Iterator[SpeedUp]:
    """Yield those of all compressed models, untuned and tuned."""
    for point in record.compressed():
        for tuned in record.states:
            found = speed_up(record, point, tuned)
            if found is not None:
                yield found
