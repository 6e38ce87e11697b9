"""Times of kernels and of whole networks, each measured once and remembered.

A kernel's row is that of all networks that run it. What is compared takes turns: untuned and tuned
schedules of a kernel, and the networks of a model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from archloom.evaluators.host import (
    ChainSpec,
    ConvShape,
    KernelSpec,
    Schedule,
    StoredWeights,
    Timing,
    Untuned,
    read_schedule,
    schedule_record,
    tunable,
)
from archloom.evaluators.host.worker import Failed, Prepare, PrepareNetwork
from archloom.space import Infeasible
from archloom.studies.engine.progress import Stages
from archloom.studies.solve.measuring import Memory, status_record
from archloom.studies.storage import Event

from .crew import Crew
from .points import Kernel, Networks, Point
from .sessions import Sessions
from .tuning import TOGETHER, Tuning, Wish, handle

#: schedules of a search that are timed again with the untuned one
_AGAIN: Final = 2

#: a row or point as JSON
Row = dict[str, Any]


@dataclass
class _Task:
    """Kernels that get one schedule: one kernel, or those of a shape's layers in CSR.

    Attributes:
        kernels: by name.
        home: worker that they belong to.
        tuned: whether a tuned schedule is wanted too.
        searched: whether it is searched.
    """

    home: int
    kernels: dict[str, Kernel] = field(default_factory=dict)
    tuned: bool = False
    searched: bool = False

    @property
    def first(self) -> Kernel:
        """The kernel that schedules are tried on."""
        return next(iter(self.kernels.values()))


class Bench:
    """Measures points.

    Args:
        networks: of the points.
        crew: compiles and times.
        memory: what was measured before.
        tuning: searches schedules.
        sessions: rules of timing.
        stages: hears how far it is.
    """

    def __init__(
        self,
        networks: Networks,
        crew: Crew,
        memory: Memory,
        tuning: Tuning,
        sessions: Sessions,
        stages: Stages,
    ) -> None:
        self._networks, self._crew, self._memory = networks, crew, memory
        self._tuning, self._sessions, self._stages = tuning, sessions, stages
        self._homes: dict[str, object] = {}

    def measure(self, points: Sequence[Point]) -> None:
        """Measure all points that have a time, with their kernels."""
        missing = {point: self._networks.missing(point) for point in points}
        able = [point for point, why in missing.items() if why is None]
        self._memory.add_together(
            {"kind": "point", "name": str(point), **status_record(why)}
            for point, why in missing.items()
            if why is not None and self.point(point) is None
        )
        tasks = self._tasks(able)
        self._tuning.search(
            [Wish(t.first, t.home, t.searched) for t in tasks if t.tuned and tunable(t.first.spec)]
        )
        self._time_kernels([task for task in tasks if self._lacks(task)])
        for model in dict.fromkeys(point.model for point in able):
            self._time_networks([point for point in able if point.model == model])

    def kernel(self, kernel: Kernel, tuned: bool) -> Event | None:
        """Return the row of a kernel; None if it was not measured."""
        return self._memory.done("kernel", _event_name(kernel, tuned))

    def point(self, point: Point) -> Event | None:
        """Return the time of a point; None if it was not measured."""
        return self._memory.done("point", str(point))

    def _tasks(self, points: Sequence[Point]) -> list[_Task]:
        """Return the kernels of points, those of a worker in the order of the points."""
        sizes = Counter[object]()
        found: dict[tuple[str, KernelSpec], _Task] = {}
        uses = list(self._uses(points))
        for point, _, kernels in uses:
            for kernel in kernels:
                group = self._homes.setdefault(kernel.name, _group(point))
                sizes[group] += 1
        for point in points:
            sizes.setdefault(_group(point), 0)
        self._crew.settle(sizes)
        for point, shape_searched, kernels in uses:
            owner = point.model if kernels[0].stored else ""
            level = point.compression.label if owner else ""
            home = self._crew.home(self._homes[kernels[0].name])
            task = found.setdefault((f"{owner} {level}", kernels[0].code), _Task(home))
            task.kernels |= {kernel.name: kernel for kernel in kernels}
            task.tuned |= point.tuned
            task.searched |= point.tuned and shape_searched
        return list(found.values())

    def _uses(self, points: Sequence[Point]) -> Iterator[tuple[Point, bool, list[Kernel]]]:
        """Yield for each shape of each point whether it is searched, and its kernels."""
        for point in points:
            searched = self._networks.searched(point)
            shapes = self._networks.shapes(point.model, point.compression, point.algorithm)
            for shape, layers in shapes.items():
                yield point, shape in searched, [kernel for _, kernel in layers]

    def _lacks(self, task: _Task) -> bool:
        kernels = task.kernels.values()
        wanted = (False, True) if task.tuned else (False,)
        return any(self.kernel(k, tuned) is None for k in kernels for tuned in wanted)

    def _candidates(self, task: _Task) -> list[Schedule]:
        """Return the schedules that are timed."""
        tuned = task.tuned and tunable(task.first.spec)
        known = all(self.kernel(k, False) for k in task.kernels.values())
        found: list[Schedule] = [] if known else [Untuned()]
        return found + (self._tuning.best(task.first, _AGAIN) if tuned else [])

    def _time_kernels(self, tasks: Sequence[_Task]) -> None:
        schedules = {id(task): self._candidates(task) for task in tasks}
        wishes: dict[int, list[Prepare]] = {}
        for task in tasks:
            wishes.setdefault(task.home, []).extend(
                Prepare(handle(k, s), k.spec, s, stored=k.stored)
                for k in task.kernels.values()
                for s in schedules[id(task)]
            )
        self._crew.keep(wish.name for wanted in wishes.values() for wish in wanted)
        failures = self._crew.prepare("compiling kernels", wishes, self._sessions.kernels)
        self._stages.begin("timing kernels", len(tasks))
        for home in sorted(wishes):
            here = [task for task in tasks if task.home == home]
            for some in _chunks(here, schedules):
                names = [handle(k, s) for t in some for k in t.kernels.values()
                         for s in schedules[id(t)]]  # fmt: skip
                able = [name for name in names if name not in failures]
                found = self._sessions.timed({home: able}, self._sessions.kernels)
                found |= {name: failures[name] for name in names if name in failures}
                self._memory.add_together(
                    event for t in some for event in self._rows(t, schedules[id(t)], found)
                )
                self._stages.advance(str(some[-1].first.spec), len(some))
        self._stages.end()

    def _rows(
        self,
        task: _Task,
        schedules: Sequence[Schedule],
        found: Mapping[str, Timing | Failed | Infeasible],
    ) -> Iterator[Event]:
        """Yield the rows of kernels; tuned ones have the fastest schedule, or the untuned."""
        kernels, rows = list(task.kernels.values()), dict[tuple[str, Schedule], Row]()
        for kernel in kernels:
            if (known := self.kernel(kernel, False)) is not None:
                rows[kernel.name, Untuned()] = _row_of(known)
            for schedule in schedules:
                rows[kernel.name, schedule] = _row(found[handle(kernel, schedule)], schedule)
        for kernel in kernels:
            if self.kernel(kernel, False) is None:
                yield _event(kernel, False, {**rows[kernel.name, Untuned()], "tried": 0})
        if not task.tuned:
            return
        tried = self._tuning.tried(task.first)

        def total(schedule: Schedule) -> float:
            times = [rows[k.name, schedule].get("median_us") for k in kernels]
            return sum(t if t is not None else float("inf") for t in times)

        # the untuned one last: where nothing has a time, the best of the search is taken
        best = min([*(s for s in schedules if s != Untuned()), Untuned()], key=total)
        for kernel in kernels:
            yield _event(kernel, True, {**rows[kernel.name, best], "tried": tried})

    def _time_networks(self, points: Sequence[Point]) -> None:
        """Time the networks of a model, in turns."""
        left = [point for point in points if self.point(point) is None]
        wishes: dict[int, list[PrepareNetwork]] = {}
        events: dict[Point, Row] = {}
        for point in left:
            chain = self._chain(point)
            if isinstance(chain, str):
                text = f"{chain} has no kernel that runs"
                reason = {"reason": "no_kernel", "text": text}
                events[point] = {"status": "refused", "reason": reason}
            else:
                home = self._crew.home(_group(point))
                wishes.setdefault(home, []).append(PrepareNetwork(str(point), chain))
        if left:
            model = left[0].model
            plan = self._sessions.networks
            failures = self._crew.prepare(f"compiling whole networks of {model}", wishes, plan)
            self._stages.begin(f"timing whole networks of {model}")
            names = {
                home: [w.name for w in wanted if w.name not in failures]
                for home, wanted in wishes.items()
            }
            found = failures | self._sessions.timed(names, plan)
            self._stages.end()
            for point in left:
                if point not in events:
                    events[point] = _time(found[str(point)])
            self._memory.add_together(
                {"kind": "point", "name": str(point), **events[point]} for point in left
            )

    def _chain(self, point: Point) -> ChainSpec | str:
        """Return a network with its kernels; or the kernel that no schedule made run."""
        kernels: dict[ConvShape, tuple[KernelSpec, Schedule]] = {}
        stored: dict[str, StoredWeights] = {}
        shapes = self._networks.shapes(point.model, point.compression, point.algorithm)
        for shape, layers in shapes.items():
            row = self.kernel(layers[0][1], point.tuned)
            assert row is not None, "kernels are measured before networks"
            if "schedule" not in row:
                return layers[0][1].name
            kernels[shape] = layers[0][1].code, read_schedule(row["schedule"])
            stored |= {name: k.stored for name, k in layers if k.stored is not None}
        network = self._networks.network(point.model, point.compression)
        return ChainSpec(network, kernels, stored)


def _group(point: Point) -> tuple[str, str]:
    return point.compression.label, point.algorithm


def _chunks(
    tasks: Sequence[_Task], schedules: Mapping[int, Sequence[Schedule]]
) -> Iterator[list[_Task]]:
    """Yield tasks that take turns together."""
    some, count = list[_Task](), 0
    for task in tasks:
        size = len(task.kernels) * len(schedules[id(task)])
        if some and count + size > TOGETHER:
            yield some
            some, count = [], 0
        some.append(task)
        count += size
    if some:
        yield some


def _event_name(kernel: Kernel, tuned: bool) -> str:
    return f"{kernel.name} {'tuned' if tuned else 'untuned'}"


def _event(kernel: Kernel, tuned: bool, row: Row) -> Event:
    return {"kind": "kernel", "name": _event_name(kernel, tuned), **row}


def _row_of(event: Event) -> Row:
    return {key: value for key, value in event.items() if key not in ("kind", "name", "tried")}


def _row(found: Timing | Failed | Infeasible, schedule: Schedule) -> Row:
    """Return the row of a kernel; one that ran, if too noisily, has its schedule."""
    if not isinstance(found, Timing):
        ran = {} if isinstance(found, Failed) else {"schedule": schedule_record(schedule)}
        return {**status_record(found), **ran}
    low, high = found.quartiles_us
    return {
        **status_record(found.refusal),
        "schedule": schedule_record(schedule),
        "median_us": found.median_us,
        "low_us": low,
        "high_us": high,
        "noise": found.noise,
    }


def _time(found: Timing | Failed | Infeasible) -> Row:
    """Return the time of a point; one that is too noisy is refused."""
    why = found if not isinstance(found, Timing) else found.refusal
    if why is not None or not isinstance(found, Timing):
        assert why is not None, "what has no timing has a reason"
        return status_record(why)
    low, high = found.quartiles_us
    return {
        **status_record(None),
        "time_us": found.median_us,
        "low_us": low,
        "high_us": high,
        "noise": found.noise,
        "blocks_us": [block.middle for block in found.blocks],
    }
