"""What is compared: the level of each compression, and the fastest of the paper's algorithms."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from archloom.evaluators.accuracy import LevelAccuracy, elbow_of
from archloom.evaluators.host import COMPILED

from .intervals import REFUSED, Time
from .record import PRUNED, Point, StackRecord

#: the paper's three algorithms (DLAS, section 4.3); rows of others are shown, and decide nothing
ALGORITHMS: Final = COMPILED

#: points by which accuracy may fall before it counts as lost, as in ``archloom compress``
TOLERANCE_POINTS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """The level of a compression at which a model is compared.

    Attributes:
        point: any point of it.
        kept: whether the accuracy is kept there.
    """

    point: Point
    kept: bool

    @property
    def name(self) -> str:
        """Compression, and whether the accuracy is lost."""
        return self.point.compression + ("" if self.kept else " (accuracy lost)")


def elbow_level(record: StackRecord, model: str, method: str) -> float | None:
    """Return the most compressed level before the first drop; None if there is none."""
    dense = record.dense(model)
    if dense is None or not dense.accuracies_percent:
        return None
    levels = [
        LevelAccuracy(point.level, point.accuracies_percent)
        for point in record.levels(model, method)
        if point.accuracies_percent
    ]
    found = elbow_of(dense.accuracies_percent, levels, TOLERANCE_POINTS)
    return None if found is None else found.level


def is_elbow(record: StackRecord, point: Point) -> bool:
    """Return whether a point has the level of its model's elbow."""
    return point.method in PRUNED and point.level == elbow_level(record, point.model, point.method)


def chosen(record: StackRecord, model: str, method: str) -> Chosen | None:
    """Return the level at the elbow, else the least compressed one; None without any.

    DLAS compares all times at the elbows (section 4.2).
    """
    levels = record.levels(model, method)
    if not levels:
        return None
    elbow = elbow_level(record, model, method)
    for point in levels:
        if point.level == elbow:
            return Chosen(point, True)
    return Chosen(levels[0], False)


def pruned(record: StackRecord, model: str, *methods: str) -> Iterator[Chosen]:
    """Yield what is chosen of each method that the model has."""
    for method in methods:
        found = chosen(record, model, method)
        if found is not None:
            yield found


def macs_left(record: StackRecord, point: Point) -> float | None:
    """Return the share of the dense model's MACs that a compressed one has; None if not known."""
    dense = record.dense(point.model)
    if dense is None or not dense.macs or not point.nonzero_macs:
        return None
    return point.nonzero_macs / dense.macs


def fastest(record: StackRecord, point: Point, tuned: bool) -> Time | None:
    """Return the time of a compressed model by its fastest algorithm; None without any kernel."""
    there = [time for each in rivals(record, point, tuned) if (time := time_of(each)) is not None]
    timed = [time for time in there if time is not REFUSED]
    if not timed:
        return REFUSED if there else None
    best = min(timed, key=lambda time: time.us)
    return Time(best.us, best.noise, at_most=len(timed) < len(there))


def rivals(record: StackRecord, point: Point, tuned: bool) -> list[Point]:
    """Return the points of a compressed model with the paper's algorithms."""
    return [
        each
        for each in record.of(point.model, point.compression)
        if each.algorithm in ALGORITHMS and each.tuned == tuned
    ]


def time_of(point: Point) -> Time | None:
    """Return the time of a point; None if there is no such kernel."""
    if point.time_us is not None:
        return Time(point.time_us, point.noise)
    return REFUSED if point.exists else None


def state_name(tuned: bool) -> str:
    """Return the word for a state of the code."""
    return "tuned" if tuned else "untuned"
