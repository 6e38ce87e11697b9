"""Tables, JSON and CSV of ``archloom serve``."""

import csv
import io
from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from archloom.evaluators.weaving import map_peak, simulated
from archloom.search.weaving.serving import (
    NO_DEADLINE,
    Served,
    ServingMetrics,
    StableLoad,
    TenantMetrics,
)
from archloom.studies.rendering.text import new_table, plain, print_line, print_whole

from .streams import Stream

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from archloom.studies.analysis import Details


_MIB: Final = 2**20


def serving_record(
    found: Served, metrics: ServingMetrics, stream: Stream, stable: StableLoad | None
) -> "Details":
    """Return all figures of a run, as ``--json`` prints them (docs/how_to/serving.md)."""
    tenants = found.tenants
    # of closed loops and traces there is no load that was asked for
    load = stream.load_of(tenants) if stream.open else None
    return {
        "hardware": tenants.npu.name,
        "arrivals": stream.text,
        "policy": found.policy.text,
        "requests": metrics.requests,
        "seed": stream.seed,
        "load": load,
        "horizon_s": metrics.horizon_s,
        "missed_share": metrics.missed_share,
        "shed_share": metrics.shed_share,
        "offered_qps": metrics.offered_qps,
        "goodput_qps": metrics.goodput_qps,
        "offered_stp": metrics.offered_stp,
        "goodput_stp": metrics.goodput_stp,
        "goodput_bound_stp": metrics.goodput_bound_stp,
        "load_one_qps": float(tenants.rates.sum()) * tenants.ticks_per_s,
        "map_buffer_bytes": tenants.npu.map_buffer_bytes,
        "map_peak_bytes": _map_peak(found),
        "stable": None if stable is None else _stable(stable),
        "networks": [_tenant(found, m, t) for m, t in enumerate(metrics.tenants)],
    }


def _map_peak(found: Served) -> int | None:
    """Return the most bytes of maps on the chip; None where the order of layers was not kept."""
    if found.order is None or not len(found.order.chain):
        return None
    work = found.tenants.work
    peak = map_peak(work, found.order.chain, simulated(work, found.order))
    return peak.all_bytes


def _stable(stable: StableLoad) -> dict[str, Any]:
    return {
        "load": stable.load,
        "qps": stable.qps,
        "bound": stable.bound if isfinite(stable.bound) else None,
        "gap_percent": stable.gap_percent if isfinite(stable.gap_percent) else None,
        "missed_share": stable.missed_share,
        "runs": stable.runs,
    }


def _tenant(found: Served, m: int, metrics: TenantMetrics) -> dict[str, Any]:
    tenants, within = found.tenants, int(found.tenants.within[m])
    per_s = tenants.ticks_per_s
    return {
        "name": metrics.name,
        "load_one_qps": float(tenants.rates[m]) * per_s,
        "isolated_ms": metrics.isolated_ms,
        "deadline_ms": within / per_s * 1e3 if within < NO_DEADLINE else None,
        "requests": metrics.requests,
        "finished": metrics.finished,
        "shed": metrics.shed,
        "missed": metrics.missed,
        **{
            key: value if isfinite(value) else None
            for key, value in (
                ("p50_isolated", metrics.p50),
                ("p99_isolated", metrics.p99),
                ("p50_ms", metrics.p50_ms),
                ("p99_ms", metrics.p99_ms),
            )
        },
    }


def requests_csv(found: Served) -> str:
    """Return a line for each request, in order of arrival."""
    tenants, outcome, requests = found.tenants, found.outcome, found.requests
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("network", "arrival_s", "begun_s", "ended_s", "deadline_s", "outcome"))
    order = np.lexsort((found.network, requests.arrival))
    per_s, in_time = tenants.ticks_per_s, found.in_time
    for r in order[found.taken[order]]:
        begun, ended = outcome.begun[r] / per_s, outcome.ended[r] / per_s
        due = requests.arrival[r] + requests.within[r]
        shed = bool(outcome.shed[r])
        writer.writerow(
            (
                tenants.chains[found.network[r]].name,
                f"{requests.arrival[r] / per_s:.12g}",
                "" if shed else f"{begun:.12g}",
                "" if shed else f"{ended:.12g}",
                f"{due / per_s:.12g}" if requests.within[r] < NO_DEADLINE else "",
                "shed" if shed else "in time" if in_time[r] else "late",
            )
        )
    return out.getvalue()


def print_serving(record: "Details", console: "Console") -> None:
    """Print a record of :func:`serving_record`."""
    names = ", ".join(network["name"] for network in record["networks"])
    load = "" if record["load"] is None else f", load {record['load']:.3g}"
    print_line(
        f"{names} on {record['hardware']}: {record['requests']:,} requests, arrivals "
        f"{record['arrivals']}{load}; policy {record['policy']}\n",
        console,
    )
    print_whole(_networks(record), console)
    for line in _remarks(record):
        print_line(line, console)


def _networks(record: "Details") -> "Table":
    heads = ("network", "isolated ms", "deadline ms", "requests", "shed", "missed",
             "p50 ms", "p99 ms", "p50 x isolated", "p99 x isolated")  # fmt: skip
    table = new_table("Latency of finished requests (percentiles)", heads, ("network",))
    for network in record["networks"]:
        count = max(1, network["requests"])
        latencies = (network[key] for key in ("p50_ms", "p99_ms", "p50_isolated", "p99_isolated"))
        table.add_row(
            plain(network["name"]),
            f"{network['isolated_ms']:.4g}",
            _number(network["deadline_ms"], ".4g"),
            f"{network['requests']:,}",
            f"{network['shed'] / count:.1%}",
            f"{network['missed'] / count:.1%}",
            *(_number(value, ".3g") for value in latencies),
        )
    return table


def _number(value: float | None, style: str) -> str:
    return "-" if value is None else format(value, style)


def _remarks(record: "Details") -> Iterator[str]:
    yield (
        "isolated: time between queries when the network runs alone; shed: rejected; missed: shed, "
        "or finished after the deadline; STP: system throughput in units of isolated throughput"
    )
    shed = f" ({record['shed_share']:.1%} shed)" if record["shed_share"] else ""
    yield f"Missed deadlines: {record['missed_share']:.1%} of all requests{shed}"
    yield (
        f"Goodput: {record['goodput_qps']:,.0f} of {record['offered_qps']:,.0f} offered requests "
        f"per second; STP {record['goodput_stp']:.3f} of {record['offered_stp']:.3f} offered "
        f"(upper bound for any policy: {record['goodput_bound_stp']:.3f})"
    )
    peak, room = record["map_peak_bytes"], record["map_buffer_bytes"]
    if peak is not None and peak > room:
        yield (
            f"Feature maps need up to {peak / _MIB:,.1f} MiB, but their buffer holds "
            f"{room / _MIB:,.1f} MiB. The simulation assumes that they fit; spilling them to DRAM "
            "would take more time."
        )
    stable = record["stable"]
    if stable is None:
        return
    if not stable["load"]:
        yield (
            f"Stable load: none; more than {stable['missed_share']:.1%} of the requests miss their "
            "deadline at any load"
        )
        return
    bound = "" if stable["bound"] is None else (
        f"; upper bound for any policy: {stable['bound']:.3f} ({stable['gap_percent']:.1f} % "
        "higher)"
    )  # fmt: skip
    yield (
        f"Stable load: {stable['load']:.3f} ({stable['qps']:,.0f} requests per second) with at "
        f"most {stable['missed_share']:.1%} missed deadlines{bound}"
    )
