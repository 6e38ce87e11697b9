"""Streams that a table asks for: each set of networks woven, and rows of their means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from math import isfinite
from typing import Any, Final

import numpy as np

from archloom.evaluators.weaving import (
    NPUS,
    Chain,
    Npu,
    Ticks,
    map_peak,
    simulated,
    ticked,
    weight_stationary_chain,
)
from archloom.search import WEAVERS
from archloom.search.weaving import FREE, LEAD, Stream
from archloom.space import InfeasibleError
from archloom.space.networks import network, options
from archloom.studies.engine.progress import Stages

from .stream_table import METRICS, Chip, Scheduler, StreamTable

_MIB: Final = 2**20


@dataclass(frozen=True)
class Figures:
    """Figures of one set of networks under one scheduler.

    Attributes:
        networks: of the set.
        rule: what made the stream.
        stp, bound: of the stream, and what no stream is above.
        antt, worst_slowdown: None where a network is not served; the slowdown is the geometric
            mean over networks.
        array_active, dram_active: shares of the time.
        map_peak_bytes: the most that maps take at once.
    """

    networks: tuple[str, ...]
    rule: str
    stp: float
    bound: float
    antt: float | None
    worst_slowdown: float | None
    array_active: float
    dram_active: float
    map_peak_bytes: int


@dataclass(frozen=True)
class StreamRow:
    """A row of a table.

    Attributes:
        npu, batch, layout: of the chip.
        sequence_length, weight_buffer_mib: of networks and chip.
        scheduler: as tables name it.
        figures: by metric; empty where no set can run. ANTT is None if a network is not served.
        starved: sets in which one is not served.
        sets: figures of each set.
        infeasible: why sets cannot run, each reason once.
    """

    npu: str
    batch: int
    layout: str
    sequence_length: int
    weight_buffer_mib: int
    scheduler: str
    figures: dict[str, float | None]
    starved: int
    sets: tuple[Figures, ...]
    infeasible: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str | int, ...]:
        """What tells rows of a table apart."""
        return (
            self.npu,
            self.batch,
            self.layout,
            self.sequence_length,
            self.weight_buffer_mib,
            self.scheduler,
        )

    @property
    def labels(self) -> dict[str, str]:
        """The same, by heading."""
        heads = ("NPU", "batch", "layout", "sequence length", "weight buffer MiB", "scheduler")
        return dict(zip(heads, map(str, self.key), strict=True))

    def missing(self, metric: str) -> str:
        """Return what stands in place of a figure that there is not."""
        if not self.figures:
            return "infeasible" if metric == "bound_gain_percent" else ""
        return f"{self.starved} starved" if metric in ("antt", "worst_slowdown") else ""

    def spread(self, metric: str) -> tuple[float, float] | None:  # noqa: ARG002  # nothing is random
        """Return the least and the greatest of several values; None of one."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "StreamRow":
        """Return the row of plain values."""
        sets: Sequence[Mapping[str, Any]] = data["sets"]
        read = tuple(Figures(**{**one, "networks": tuple(one["networks"])}) for one in sets)
        return cls(**{**data, "sets": read, "infeasible": tuple(data["infeasible"])})


@dataclass(frozen=True)
class _Case:
    """Chip, length and buffer of some rows."""

    chip: Chip
    length: int
    buffer_mib: int

    @property
    def npu(self) -> Npu:
        npu, _ = NPUS[self.chip.npu]
        return replace(npu, weight_buffer_bytes=self.buffer_mib * _MIB)


def woven(
    table: StreamTable,
    stages: Stages,
    known: Sequence[StreamRow] = (),
    sets: int | None = None,
) -> Iterator[StreamRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: of networks, the first ones; None for all.
    """
    cases = [
        _Case(chip, length, buffer)
        for chip in table.chips
        for length in table.sequence_lengths
        for buffer in table.weight_buffers_mib
    ]
    chosen = table.sets[:sets]
    stages.begin(table.title, len(cases) * len(table.schedulers) * len(chosen))
    for case in cases:
        before: list[StreamRow] = []
        works, reasons = _works(table, case, chosen)
        for scheduler in table.schedulers:
            key, make = _row(case, scheduler, works, reasons, stages)
            row = next((old for old in known if old.key == key), None)
            if row is None:
                row = make(before)
            else:
                stages.advance(steps=len(chosen))
            before.append(row)
            yield row
    stages.end()


def _works(
    table: StreamTable, case: _Case, sets: Sequence[tuple[str, ...]]
) -> tuple[list[tuple[tuple[str, ...], Ticks]], tuple[str, ...]]:
    """Return all sets that can run, in ticks, and why others cannot."""
    found: list[tuple[tuple[str, ...], Ticks]] = []
    reasons: dict[str, None] = {}
    for names in sets:
        chains = [_chain(name, case.chip, case.length, table.maps == "dram") for name in names]
        try:
            work = ticked(chains, case.npu, maps_bounded=table.maps == "fit")
        except InfeasibleError as error:
            reasons[str(error)] = None
        else:
            found.append((names, work))
    return found, tuple(reasons)


@cache
def _chain(name: str, chip: Chip, length: int, in_dram: bool) -> Chain:
    chosen = {"sequence_length": length} if "sequence_length" in options(name) else {}
    npu, array = NPUS[chip.npu]
    array = replace(array, layout=chip.array_layout)  # type: ignore[arg-type]  # the file has checked it
    largest = npu.map_buffer_bytes if in_dram else None
    return weight_stationary_chain(network(name, **chosen), array, chip.batch, largest)


def _row(
    case: _Case,
    scheduler: Scheduler,
    works: Sequence[tuple[tuple[str, ...], Ticks]],
    reasons: tuple[str, ...],
    stages: Stages,
) -> tuple[tuple[str | int, ...], Callable[[Sequence[StreamRow]], StreamRow]]:
    """Return the key of a row, and what makes it beside those of other schedulers."""
    chip = case.chip
    head = (chip.npu, chip.batch, chip.array_layout, case.length, case.buffer_mib, scheduler.label)

    def make(before: Sequence[StreamRow]) -> StreamRow:
        streams = _streams(scheduler, [work for _, work in works])
        found = []
        for (names, work), stream in zip(works, streams, strict=True):
            found.append(_figures(names, work, stream))
            stages.advance(f"{' and '.join(names)} by {scheduler.label}")
        sets = tuple(found)
        starved = sum(one.antt is None for one in sets)
        return StreamRow(*head, _means(sets, before), starved, sets, reasons)

    return head, make


def _streams(scheduler: Scheduler, works: Sequence[Ticks]) -> Iterator[Stream]:
    if scheduler.sweep == "each":
        weaver = WEAVERS[scheduler.name]()
        yield from (weaver.stream(work) for work in works)
        return
    tries = []
    for free, lead in product(FREE, LEAD):
        weaver = WEAVERS[scheduler.name](free=free, lead=lead)
        tries.append([weaver.stream(work) for work in works])
    # the first of equal ones
    yield from max(tries, key=lambda streams: sum(np.log(s.metrics.stp) for s in streams))


def _figures(names: tuple[str, ...], work: Ticks, stream: Stream) -> Figures:
    metrics = stream.metrics
    peak = map_peak(work, stream.order.chain, simulated(work, stream.order))
    worst = float(np.exp(np.log(metrics.worst_slowdown).mean()))
    return Figures(
        names,
        stream.rule,
        metrics.stp,
        stream.bound.value,
        metrics.antt if isfinite(metrics.antt) else None,
        worst if isfinite(worst) else None,
        metrics.compute_active,
        metrics.memory_active,
        int(peak.all_bytes),
    )


def _means(sets: Sequence[Figures], before: Sequence[StreamRow]) -> dict[str, float | None]:
    """Return the figures of a row."""
    if not sets:
        return {}
    shares = [100 * one.stp / one.bound for one in sets]
    gains = [100 * (one.stp - 1) for one in sets]
    found: dict[str, float | None] = {
        "bound_gain_percent": _mean([100 * (one.bound - 1) for one in sets]),
        "stp_gain_percent": _mean(gains),
        "most_gain_percent": max(gains),
        "share_percent": _mean(shares),
        "least_share_percent": min(shares),
        "antt": _mean([one.antt for one in sets]),
        "worst_slowdown": _geometric_mean([one.worst_slowdown for one in sets]),
        "array_active_percent": _mean([100 * one.array_active for one in sets]),
        "dram_active_percent": _mean([100 * one.dram_active for one in sets]),
        "map_peak_mib": max(one.map_peak_bytes for one in sets) / _MIB,
    }
    for row in before:
        if row.scheduler.startswith("ai_mt"):
            ratios = [one.stp / other.stp for one, other in zip(sets, row.sets, strict=True)]
            over = _geometric_mean(ratios)
            found["over_ai_mt_percent"] = None if over is None else 100 * (over - 1)
            break
    assert set(found) <= set(METRICS), "each has a heading"
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _geometric_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.exp(np.log(known).mean())) if len(known) == len(values) else None
