"""A measurement from its first layer to the whole network; it goes on where a journal ends.

For each shape: schedules are searched, the best ones are timed again in turns with the untuned
schedule, other variants and the library, and rows are made of that. Then networks of the kernels
that were chosen are timed as a whole.
"""

import os
from collections.abc import Iterator
from typing import Any, Final

from archloom.evaluators.host import (
    COMPILED,
    ChainSpec,
    ConvShape,
    KernelSpec,
    Library,
    Schedule,
    Timing,
    Untuned,
    missing_chain,
    missing_kernel,
    read_schedule,
    tunable,
)
from archloom.evaluators.host.machine import too_busy
from archloom.evaluators.host.worker import (
    Failed,
    Measured,
    Plan,
    Prepare,
    PrepareNetwork,
    Worker,
    measure,
)
from archloom.search.hardware.schedules import Tuner, similar_schedules
from archloom.space import Infeasible
from archloom.studies.engine.progress import Stages
from archloom.studies.storage import Event

from .memory import Memory
from .rows import (
    Candidate,
    Row,
    failure_record,
    fastest_rows,
    layer_rows,
    refused,
)
from .wanted import LIBRARY, Variant, Wanted

#: microseconds of a schedule's first time
_FIRST_US: Final = 20_000.0

#: schedules of a search that are timed again
_AGAIN: Final = 3

#: kernels of a network that are the fastest of each layer, whatever their algorithm
FASTEST: Final = "fastest"

#: reasons that may not hold at another time
PASSING: Final = ("machine_busy", "control_moved", "noisy", "died", "crashed", "no_time")


class Campaign:
    """A measurement under way.

    Args:
        wanted: what is to be measured.
        memory: what was done before.
        worker: prepares and times kernels.
        stages: hears how far it is.
        plan: of a session.
        again: whether rows are measured again that a busy machine refused.
    """

    def __init__(
        self,
        wanted: Wanted,
        memory: Memory,
        worker: Worker,
        stages: Stages,
        plan: Plan,
        again: bool = False,
    ) -> None:
        self._wanted, self._memory, self._worker = wanted, memory, worker
        self._stages, self._plan, self._again = stages, plan, again
        self._best: dict[KernelSpec, list[Schedule]] = {}

    def run(self) -> dict[str, Any]:
        """Measure what is not measured yet; return all results."""
        shapes = self._wanted.layers
        self._stages.begin(f"measuring {self._wanted.name}", len(shapes) + 1)
        layers = []
        for shape in shapes:
            event = self._layer(shape)
            self._learn(shape, event["rows"])
            layers.append(event)
            self._stages.advance(str(shape))
            self._worker.rest()
        network = self._network(layers) if self._wanted.network else None
        self._stages.end()
        return {"layers": layers, "network": network}

    def _layer(self, shape: ConvShape) -> Event:
        known = self._memory.done("layer", str(shape))
        if known and not (self._again and _passing(known["rows"])):
            return known
        candidates, missing = [], {}
        searched: dict[str, int] = {}
        # a search on a clock that others disturb would choose at random
        searches = self._wanted.effort.trials > 0 and self._busy() is None
        for variant in self._wanted.variants:
            spec = variant.spec(shape)
            why = missing_kernel(spec)
            if why is not None:
                missing[variant] = why
            elif variant.algorithm != "library":
                untuned = Candidate(f"{variant.label} untuned", variant, False, Untuned())
                candidates.append(untuned)
                if searches and tunable(spec):
                    found, searched[variant.label] = self._tuned(spec)
                    for number, schedule in enumerate(found):
                        name = f"{variant.label} tuned {number}"
                        candidates.append(Candidate(name, variant, True, schedule))
        candidates += _library(shape)
        kernels = [Prepare(c.name, c.variant.spec(shape), c.schedule) for c in candidates]
        measured = self._measure(f"timing {shape}", kernels)
        rows = layer_rows(shape, candidates, measured, missing)
        if LIBRARY not in self._wanted.variants:
            rows = [row for row in rows if row["algorithm"] != "library"]
        for row in rows:
            row["tried"] = searched.get(row["kernel"], 0) if row["tuned"] else 0
        about = {
            "layers": list(self._wanted.layers[shape]),
            "macs": shape.macs,
            "rows": rows,
            **_conditions(measured),
        }
        return self._memory.add_done("layer", str(shape), about)

    def _tuned(self, spec: KernelSpec) -> tuple[list[Schedule], int]:
        """Return the best schedules that a search finds, and how many it tried."""
        tuner = Tuner(spec, self._wanted.effort, similar_schedules(spec, self._best))
        self._stages.begin(f"tuning {spec}", self._wanted.effort.trials)
        while (schedule := tuner.propose()) is not None:
            event = self._memory.tried(str(spec), schedule) or self._try(spec, schedule)
            tuner.tell(schedule, event["time_us"])
            self._stages.advance(_best_text(tuner))
        self._stages.end()
        return tuner.best(_AGAIN), len(tuner.tried)

    def _try(self, spec: KernelSpec, schedule: Schedule) -> Event:
        wish = Prepare("tried", spec, schedule, _FIRST_US)
        found = self._worker.ask(wish, self._plan.compile_s)
        if isinstance(found, Failed):
            return self._memory.add_try(str(spec), schedule, None, found)
        return self._memory.add_try(str(spec), schedule, found[1], None)

    def _learn(self, shape: ConvShape, rows: list[Row]) -> None:
        """Remember which schedules were the best of a shape, for similar ones."""
        for row in rows:
            if row["tuned"] and "schedule" in row and row["algorithm"] in COMPILED:
                spec = Variant(row["algorithm"], row["dtype"], row["density"]).spec(shape)
                self._best[spec] = [read_schedule(row["schedule"])]

    def _network(self, layers: list[Event]) -> Event:
        network, name = self._wanted.network, self._wanted.name
        assert network is not None, "the caller has looked"
        known = self._memory.done("network", name)
        if known and not (self._again and _passing(known["rows"])):
            return known
        why: Infeasible | None = missing_chain(network)
        if why is not None:
            about: Event = {"rows": [], "reason": failure_record(why)}
            return self._memory.add_done("network", name, about)
        shapes = dict(zip(self._wanted.layers, layers, strict=True))
        candidates, chains, rows = [], {}, []
        for variant, tuned in _kinds(self._wanted, layers):
            label = f"{variant.label} {'tuned' if tuned else 'untuned'}"
            chosen = {s: _chosen(e["rows"], variant, tuned) for s, e in shapes.items()}
            if lacking := [str(s) for s, row in chosen.items() if row is None]:
                reason = {"reason": "no_time", "text": f"no kernel was timed for {lacking[0]}"}
                rows.append(refused(variant.label, variant, tuned, reason))
                continue
            candidates.append(Candidate(label, variant, tuned, Untuned()))
            kernels = {s: _kernel(s, row) for s, row in chosen.items() if row is not None}
            chains[label] = ChainSpec(network, kernels)
        for number, way in enumerate(_ways()):
            if any(way.fault(LIBRARY.spec(s)) for s in shapes):
                continue
            label = f"{LIBRARY.label} {number}"
            candidates.append(Candidate(label, LIBRARY, number > 0, way))
            kernels = {s: (LIBRARY.spec(s), way) for s in shapes}
            chains[label] = ChainSpec(network, kernels)
        wishes = [PrepareNetwork(label, chain) for label, chain in chains.items()]
        measured = self._measure(f"timing {name} as a whole", wishes)
        rows += self._network_rows(candidates, measured, layers)
        about = {"rows": rows, "reason": None, **_conditions(measured)}
        return self._memory.add_done("network", name, about)

    def _network_rows(
        self, candidates: list[Candidate], measured: Measured, layers: list[Event]
    ) -> list[Row]:
        def more(fastest: Candidate, _: Timing) -> Row:
            return {"sum_of_layers_us": _sum(layers, fastest.variant, fastest.tuned)}

        rows = fastest_rows(candidates, measured, more)
        if LIBRARY not in self._wanted.variants:
            rows = [row for row in rows if row["algorithm"] != "library"]
        return rows

    def _measure(self, what: str, kernels: "list[Prepare] | list[PrepareNetwork]") -> Measured:
        self._stages.begin(what, len(kernels) + self._plan.blocks)
        load = os.getloadavg()[0]
        busy = too_busy(self._wanted.threads, load, self._plan.cores)
        if busy is None:
            found = measure(self._worker, kernels, self._plan, self._stages.advance)
        else:
            found = Measured(refusal=busy, load=load)
        self._stages.end()
        return found

    def _busy(self) -> Infeasible | None:
        """Return why nothing can be timed now."""
        return too_busy(self._wanted.threads, os.getloadavg()[0], self._plan.cores)


def _library(shape: ConvShape) -> Iterator[Candidate]:
    """Yield all ways to call the library: the plain one is untuned."""
    spec = LIBRARY.spec(shape)
    for number, way in enumerate(_ways()):
        if way.fault(spec) is None:
            yield Candidate(f"{LIBRARY.label} {number}", LIBRARY, number > 0, way)


def _ways() -> list[Library]:
    """Return all ways to call the library, the plain one first."""
    plain = Library()
    every = [Library(layout, packed) for layout in ("nchw", "nhwc") for packed in (False, True)]
    return [plain, *(way for way in every if way != plain)]


def _kinds(wanted: Wanted, layers: list[Event]) -> Iterator[tuple[Variant, bool]]:
    """Yield the variants that any layer has, untuned and tuned, and mixtures of the fastest."""
    rows = [row for event in layers for row in event["rows"] if "schedule" in row]
    have = {(row["kernel"], row["tuned"]) for row in rows}
    for variant in wanted.variants:
        for tuned in (False, True):
            if variant != LIBRARY and (variant.label, tuned) in have:
                yield variant, tuned
    for dtype, density in dict.fromkeys((v.dtype, v.density) for v in wanted.variants):
        for tuned in (False, True):
            mixed = [
                v
                for v in wanted.variants
                if (v.dtype, v.density) == (dtype, density)
                and v.algorithm in COMPILED
                and (v.label, tuned) in have
            ]
            if len(mixed) > 1:
                yield Variant(FASTEST, dtype, density), tuned


def _chosen(rows: list[Row], variant: Variant, tuned: bool) -> Row | None:
    """Return the row of a layer for a variant; of a mixture, the fastest compiled kernel's."""
    kind = (variant.dtype, variant.density, tuned)
    found = [
        row
        for row in rows
        if (row["dtype"], row["density"], row["tuned"]) == kind
        and "schedule" in row
        and (
            row["algorithm"] == variant.algorithm
            or (variant.algorithm == FASTEST and row["algorithm"] in COMPILED)
        )
    ]
    return min(found, key=lambda row: float(row["median_us"]), default=None)


def _kernel(shape: ConvShape, row: Row) -> tuple[KernelSpec, Schedule]:
    variant = Variant(row["algorithm"], row["dtype"], row["density"])
    return variant.spec(shape), read_schedule(row["schedule"])


def _sum(layers: list[Event], variant: Variant, tuned: bool) -> float | None:
    """Return the sum of the layers' times; None if one has none."""
    total = 0.0
    for event in layers:
        row = _chosen(event["rows"], variant, tuned)
        if row is None:
            return None
        total += row["median_us"] * len(event["layers"])
    return total


def _passing(rows: list[Row]) -> bool:
    """Whether a row was refused for a reason that may not hold any more."""
    return any(row["reason"] and row["reason"]["reason"] in PASSING for row in rows)


def _conditions(measured: Measured) -> dict[str, Any]:
    return {
        "control_us": [list(pair) for pair in measured.control_us],
        "repeated_turns": measured.repeats,
        "load": measured.load,
    }


def _best_text(tuner: Tuner) -> str:
    times = [t.time_us for t in tuner.tried if t.time_us is not None]
    return f"best {min(times):,.0f} us" if times else "none compiled"
