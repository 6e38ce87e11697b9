"""Figures of a woven schedule, as values, as JSON, and as CSV."""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.weaving import (
    Chain,
    MapPeak,
    QueryMetrics,
    Stamps,
    Ticks,
    query_metrics,
)
from archloom.search.weaving import Stream, Woven
from archloom.studies.analysis import Details

from .chain_table import chain_record
from .chip import Chip

if TYPE_CHECKING:
    from .command import Weaving

_US: Final = 10**6

CSV_HEADS: Final = (
    "step", "network", "layer", "part", "weight_bytes", "map_bytes", "compute_us", "fetched_us",
    "start_us", "done_us",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Result:
    """A schedule of some networks on a chip.

    Attributes:
        chains: of the networks.
        batches: inferences of a query of each; None where a table does not say.
        chip: that they share.
        work: the chains in ticks.
        weaving: what was asked for.
        found: the schedule with its bounds: of one query each, or of endless ones.
        stamps: its times.
        peak: when it needs most room for maps.
    """

    chains: tuple[Chain, ...]
    batches: tuple[int | None, ...]
    chip: Chip
    work: Ticks
    weaving: "Weaving"
    found: Woven | Stream
    stamps: Stamps
    peak: MapPeak

    @property
    def title(self) -> str:
        """What runs where, and who scheduled it."""
        names = [chain.name for chain in self.chains]
        queries = "streams of queries" if self.weaving.stream else "one query each"
        return (
            f"{', '.join(names[:-1])} and {names[-1]} on {self.chip.npu.name}, {queries}, "
            f"scheduler {self.weaving.name}"
        )

    @property
    def us_per_tick(self) -> float:
        """Microseconds of a tick, which is the time of one byte from DRAM."""
        return float(_US / Fraction(self.chip.npu.dram_bytes_per_s))

    @cached_property
    def query(self) -> QueryMetrics:
        """Figures of one query each."""
        return query_metrics(self.work, self.found.order, self.stamps)

    def us(self, ticks: float) -> float:
        """Return microseconds."""
        return float(ticks) * self.us_per_tick

    def of_chain(self, column: Ints, m: int) -> int:
        """Return the sum of a column of the work over the layers of a network."""
        return int(column[self.work.first[m] : self.work.first[m + 1]].sum())


def result_record(result: Result) -> Details:
    """Return what ``--json`` prints."""
    npu = result.chip.npu
    return {
        "hardware": npu.name,
        "npu": {
            "dram_gbytes_per_s": float(npu.dram_bytes_per_s) / 1e9,
            "clock_mhz": npu.clock_hz / 1e6,
            "weight_buffer_bytes": npu.weight_buffer_bytes,
            "map_buffer_bytes": npu.map_buffer_bytes,
        },
        "scheduler": result.weaving.name,
        "rule": result.found.rule,
        "queries": "endless" if result.weaving.stream else "one of each",
        "networks": [_network(result, m) for m in range(len(result.chains))],
        **_figures(result),
        "maps": {
            "assumed": result.weaving.maps,
            "peak_bytes": result.peak.all_bytes,
            "peak_paused_bytes": result.peak.paused_bytes,
            "fit": result.peak.all_bytes <= npu.map_buffer_bytes,
            "spilled_bytes": result.stamps.spilled_bytes,
        },
        "chains": [chain_record(chain) for chain in result.chains],
        **_schedule(result),
    }


def _schedule(result: Result) -> Details:
    """Return whose layer runs next, step by step; of endless queries that is left to the CSV."""
    if result.weaving.stream:
        return {}
    return {"schedule": [result.chains[m].name for m in result.found.order.chain.tolist()]}


def _network(result: Result, m: int) -> Details:
    work = result.work
    record: Details = {
        "name": result.chains[m].name,
        "batch": result.batches[m],
        "layers": len(result.chains[m].layers),
        "weight_bytes": result.of_chain(work.fetch, m),
        "map_bytes": result.of_chain(work.maps, m),
        "compute_us": result.us(result.of_chain(work.compute, m)),
        "dram_us": result.us(result.of_chain(work.fetch, m) + result.of_chain(work.maps, m)),
    }
    if isinstance(result.found, Stream):
        metrics, isolated = result.found.metrics, result.found.isolated_ticks
        second = _US / result.us_per_tick
        return record | {
            "isolated_us": result.us(isolated[m]),
            "queries_per_s": float(metrics.rates[m] * second),
            "bound_queries_per_s": float(result.found.bound.rates[m] * second),
            "stp": float(metrics.rates[m] * isolated[m]),
            "completed": int(metrics.completed[m]),
            "mean_slowdown": _finite(metrics.mean_slowdown[m]),
            "worst_slowdown": _finite(metrics.worst_slowdown[m]),
        }
    query = result.query
    return record | {
        "alone_us": result.us(query.alone_ticks[m]),
        "done_us": result.us(query.done_ticks[m]),
        "slowdown": float(query.slowdowns[m]),
    }


def _figures(result: Result) -> Details:
    found = result.found
    if isinstance(found, Stream):
        metrics, bound = found.metrics, found.bound
        return {
            "elapsed_us": result.us(metrics.elapsed_ticks),
            "stp": metrics.stp,
            "stp_bound": bound.value,
            "stp_share": found.share,
            "antt": _finite(metrics.antt),
            "array_active": metrics.compute_active,
            "dram_active": metrics.memory_active,
            "array_price": bound.compute_price,
            "dram_price": bound.memory_price,
            "order_price": bound.order_price,
        }
    query = result.query
    return {
        "makespan_us": result.us(found.upper_ticks),
        "lower_bound_us": result.us(found.lower_ticks),
        "gap_percent": 100 * found.gap,
        "proven": found.proven,
        "effort": found.effort,
        "one_after_another_us": result.us(query.serial_ticks),
        "stp": query.stp,
        "antt": query.antt,
        "array_active": query.compute_active,
        "dram_active": query.memory_active,
    }


def _finite(value: float) -> float | None:
    """Return a number that JSON has; None for a network that is never served."""
    return float(value) if np.isfinite(value) else None


def print_csv(result: Result) -> None:
    """Print the schedule, a line for each layer or part of one."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    writer.writerows(csv_rows(result))


def csv_rows(result: Result) -> Iterator[tuple[Any, ...]]:
    """Yield the lines of the schedule, without their heading."""
    work, stamps = result.work, result.stamps
    moved = stamps.moves[:, 1] if len(stamps.moves) else work.maps[stamps.part]
    began = np.maximum(np.append(0, stamps.done[:-1]), stamps.fetched)
    earlier = np.append(True, work.layer[1:] != work.layer[:-1])
    earlier[work.first[:-1]] = True
    place = np.arange(len(work.layer)) - np.maximum.accumulate(
        np.where(earlier, np.arange(len(work.layer)), 0)
    )
    for step, (m, part) in enumerate(
        zip(result.found.order.chain.tolist(), stamps.part.tolist(), strict=True)
    ):
        times = (work.compute[part], stamps.fetched[step], began[step], stamps.done[step])
        yield (
            step,
            result.chains[m].name,
            result.chains[m].layers[int(work.layer[part])],
            int(place[part]) + 1,
            int(work.fetch[part]),
            int(moved[step]),
            *(f"{result.us(t):.4f}" for t in times),
        )
