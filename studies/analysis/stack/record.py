"""Results of a study across the stack as values: points, what was timed and what was refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

#: words of refusals that mean that there is no such kernel on any machine; all others mean that
#: this measurement failed, and another one may succeed
ABSENT: Final = ("no_host_kernel", "no_whole_network")

#: methods that leave fewer MACs
PRUNED: Final = ("weights", "channels")


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of model, compression, algorithm and tuning.

    Attributes:
        model, compression: names.
        method: of the compression: dense, weights, channels, float16, int8 and so on.
        level: share pruned; 0 where nothing is.
        algorithm: of the convolutions.
        tuned: whether their schedules were searched.
        accuracies_percent: top-1 of each seed; empty if not known.
        before_percent: mean accuracy before fine-tuning; None if there was none.
        stored_bytes: of all weights.
        params, nonzero_params, macs, nonzero_macs: of the model as it is compressed.
        time_us: median of the whole network; None if refused.
        quartiles_us: of the time; None if refused.
        noise: of the time, as a share; 0 if refused.
        reason: word and sentence of a refusal; None if timed.
    """

    model: str
    compression: str
    method: str
    level: float
    algorithm: str
    tuned: bool
    accuracies_percent: tuple[float, ...]
    before_percent: float | None
    stored_bytes: int
    params: int
    nonzero_params: int
    macs: int
    nonzero_macs: int
    time_us: float | None
    quartiles_us: tuple[float, float] | None
    noise: float
    reason: tuple[str, str] | None

    @property
    def exists(self) -> bool:
        """Whether there are such kernels, timed or not."""
        return self.reason is None or self.reason[0] not in ABSENT

    @property
    def accuracy_percent(self) -> float | None:
        """Mean over seeds; None if not known."""
        found = self.accuracies_percent
        return sum(found) / len(found) if found else None


@dataclass(frozen=True)
class StackRecord:
    """A study's points, in the order of its axes.

    Attributes:
        name: of the study.
        machine: facts of the machine.
        study: settings.
        points: all that were asked for.
        front: positions of the points that no other beats in accuracy, time and size.
    """

    name: str
    machine: Mapping[str, Any]
    study: Mapping[str, Any]
    points: tuple[Point, ...]
    front: tuple[int, ...]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names, in the order of the study."""
        return tuple(dict.fromkeys(point.model for point in self.points))

    @cached_property
    def compressions(self) -> tuple[str, ...]:
        """Names, in the order of the study."""
        return tuple(dict.fromkeys(point.compression for point in self.points))

    @cached_property
    def algorithms(self) -> tuple[str, ...]:
        """Names, in the order of the study."""
        return tuple(dict.fromkeys(point.algorithm for point in self.points))

    @cached_property
    def states(self) -> tuple[bool, ...]:
        """Whether untuned kernels, tuned ones, or both were timed."""
        return tuple(sorted({point.tuned for point in self.points}))

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[Point]]:
        places: dict[tuple[str, str], list[Point]] = {}
        for point in self.points:
            places.setdefault((point.model, point.compression), []).append(point)
        return places

    def of(self, model: str, compression: str) -> list[Point]:
        """Return the points of a compressed model; none if the study has it not."""
        return self._places.get((model, compression), [])

    def compressed(self) -> Iterator[Point]:
        """Yield one point of each compressed model, in the order of the axes."""
        for model in self.models:
            for compression in self.compressions:
                yield from self.of(model, compression)[:1]

    def at(self, model: str, compression: str, algorithm: str, tuned: bool) -> Point | None:
        """Return a point; None if the study has it not."""
        for point in self.of(model, compression):
            if (point.algorithm, point.tuned) == (algorithm, tuned):
                return point
        return None

    def levels(self, model: str, method: str) -> list[Point]:
        """Return one point of each level of a method, from the least compressed up."""
        found = {
            point.compression: point
            for point in self.points
            if (point.model, point.method) == (model, method)
        }
        return sorted(found.values(), key=lambda point: point.level)

    def dense(self, model: str) -> Point | None:
        """Return a point of the model that is not compressed; None if the study has it not."""
        found = self.levels(model, "dense")
        return found[0] if found else None


def read_record(results: Mapping[str, Any]) -> StackRecord:
    """Return the ``results.json`` of a study as values."""
    return StackRecord(
        name=results["name"],
        machine=results["machine"],
        study=results["study"],
        points=tuple(_point(entry) for entry in results["points"]),
        front=tuple(results["front"]),
    )


def _point(entry: Mapping[str, Any]) -> Point:
    timed = entry["status"] == "timed"
    reason = entry.get("reason")
    return Point(
        model=entry["model"],
        compression=entry["compression"],
        method=entry["method"],
        level=entry["level"] or 0.0,
        algorithm=entry["algorithm"],
        tuned=entry["tuned"],
        accuracies_percent=tuple(entry.get("accuracies_percent") or ()),
        before_percent=entry.get("before_fine_tuning_percent"),
        stored_bytes=entry["stored_bytes"],
        params=entry["params"],
        nonzero_params=entry["nonzero_params"],
        macs=entry["macs"],
        nonzero_macs=entry["nonzero_macs"],
        time_us=entry["time_us"] if timed else None,
        quartiles_us=(entry["low_us"], entry["high_us"]) if timed else None,
        noise=entry["noise"] if timed else 0.0,
        reason=(reason["reason"], reason["text"]) if reason else None,
    )
