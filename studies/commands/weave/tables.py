"""Tables of ``archloom weave``: networks, figures with their bound, and what they mean."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from archloom.search.weaving import Stream
from archloom.studies.analysis import Details
from archloom.studies.rendering.text import (
    new_table,
    percent,
    plain,
    print_line,
    print_whole,
)

from .figures import Result, result_record

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MIB: Final = 2**20

#: shares of a bound below which a price is rounding
_LEAST_PRICE: Final = 1e-6

#: key in JSON, heading, divisor and style of each column of a network
_COMMON: Final = (
    ("layers", "layers", 1, ",d"),
    ("weight_bytes", "weights MiB", _MIB, ",.2f"),
    ("map_bytes", "DRAM feature maps MiB", _MIB, ",.2f"),
    ("compute_us", "array busy us", 1, ",.1f"),
    ("dram_us", "DRAM busy us", 1, ",.1f"),
)
_OF_QUERY: Final = (
    ("alone_us", "isolated us", 1, ",.1f"),
    ("done_us", "finished us", 1, ",.1f"),
    ("slowdown", "slowdown", 1, ".3f"),
)
_OF_STREAM: Final = (
    ("isolated_us", "isolated us", 1, ",.1f"),
    ("queries_per_s", "queries/s", 1, ",.1f"),
    ("bound_queries_per_s", "queries/s at bound", 1, ",.1f"),
    ("stp", "STP", 1, ".3f"),
    ("mean_slowdown", "mean slowdown", 1, ".3f"),
    ("worst_slowdown", "worst slowdown", 1, ".3f"),
)


def print_result(result: Result, console: "Console") -> None:
    """Print a schedule's figures."""
    record = result_record(result)
    print_line(f"{result.title}\n", console)
    print_whole(_networks(record), console)
    print_whole(_figures(record), console)
    for line in _remarks(result, record):
        print_line(line, console)


def _networks(record: Details) -> "Table":
    stream = record["queries"] == "endless"
    columns = (*_COMMON, *(_OF_STREAM if stream else _OF_QUERY))
    heads = ["network", "batch", *(head for _, head, _, _ in columns)]
    npu = record["npu"]
    title = (
        f"Networks (DRAM {npu['dram_gbytes_per_s']:,.4g} GB/s, clock {npu['clock_mhz']:,.4g} MHz, "
        f"weight buffer {_mib(npu['weight_buffer_bytes'])}, feature map buffer "
        f"{_mib(npu['map_buffer_bytes'])})"
    )
    table = new_table(title, heads, heads[:1])
    for network in record["networks"]:
        batch = network["batch"]
        cells = (_cell(network[key], scale, style) for key, _, scale, style in columns)
        table.add_row(plain(network["name"]), "" if batch is None else f"{batch:,}", *cells)
    return table


def _cell(value: Any, scale: int, style: str) -> str:
    if value is None:
        return "never"
    return format(value if scale == 1 else value / scale, style)


def _mib(size: float) -> str:
    return f"{size / _MIB:,.4g} MiB"


def _figures(record: Details) -> "Table":
    table = new_table("Schedule", ("", "value", "bound", "gap"), ("",))
    if record["queries"] == "endless":
        gap = percent(100 * (1 - record["stp_share"]))
        table.add_row("STP", f"{record['stp']:.4f}", f"{record['stp_bound']:.4f}", gap)
    else:
        gap = "proven optimal" if record["proven"] else percent(record["gap_percent"])
        makespan, bound = record["makespan_us"], record["lower_bound_us"]
        table.add_row("makespan (us)", f"{makespan:,.2f}", f"{bound:,.2f}", gap)
        table.add_row("makespan, sequential (us)", f"{record['one_after_another_us']:,.2f}", "", "")
        table.add_row("STP", f"{record['stp']:.4f}", "", "")
    antt = record["antt"]
    table.add_row("ANTT", "infinite" if antt is None else f"{antt:.4f}", "", "")
    for key, name in (("array_active", "array utilisation"), ("dram_active", "DRAM utilisation")):
        table.add_row(name, percent(100 * record[key]), "", "")
    maps = record["maps"]
    table.add_row("peak feature maps on chip (MiB)", f"{maps['peak_bytes'] / _MIB:,.2f}", "", "")
    return table


def _remarks(result: Result, record: Details) -> Iterator[str]:
    yield f"Scheduler {record['scheduler']}, rule: {record['rule']}"
    if isinstance(result.found, Stream):
        yield from _prices(record)
    else:
        saved = 1 - record["makespan_us"] / record["one_after_another_us"]
        yield (
            f"The schedule is {percent(100 * saved)} shorter than running the networks one after "
            "another."
        )
    if result.chip.array is not None:
        yield (
            "Layer model: weight-stationary, only layers with MACs, feature maps stay on chip "
            "(docs/explanation/weaving.md). The paper's figures were computed with MAESTRO."
        )
    yield from _maps(result, record)


def _prices(record: Details) -> Iterator[str]:
    """Say what the dual of the throughput bound means."""
    bound = record["stp_bound"]
    array, dram = (record[key] / bound for key in ("array_price", "dram_price"))
    yield (
        f"Sensitivity of the bound: 1% more DRAM bandwidth adds {percent(dram)} of STP, a 1% "
        f"faster array {percent(array)}"
    )
    if (order := record["order_price"] / bound) > _LEAST_PRICE:
        yield (
            f"{percent(100 * order)} of the bound is due to the order of layers within a network; "
            "a faster array or more bandwidth alone does not change it"
        )
    elif min(array, dram) < _LEAST_PRICE:
        scarce = "the array" if array > dram else "DRAM"
        yield f"All networks are limited by {scarce}: no order of their layers has an STP above 1"
    idle = [n["name"] for n in record["networks"] if not n["bound_queries_per_s"]]
    if idle and len(idle) < len(record["networks"]):
        yield (
            f"The bound is reached without {', '.join(idle)}: the other networks keep the array "
            "and DRAM busy"
        )


def _maps(result: Result, record: Details) -> Iterator[str]:
    maps, npu = record["maps"], result.chip.npu
    if maps["spilled_bytes"]:
        yield (
            f"Feature maps of paused networks do not all fit on chip: "
            f"{_mib(maps['spilled_bytes'])} are written to DRAM and read back; the figures include "
            "this (--maps unlimited ignores it)"
        )
    if maps["fit"]:
        return
    short = maps["peak_bytes"] - npu.map_buffer_bytes
    part = int(result.stamps.part[result.peak.step])
    m = int(result.found.order.chain[result.peak.step])
    layer = result.chains[m].layers[int(result.work.layer[part])]
    yield (
        f"Feature maps need {_mib(short)} more than their buffer holds, while layer {layer} of "
        f"{result.chains[m].name} runs and other networks keep {_mib(maps['peak_paused_bytes'])}; "
        "with --maps unlimited the buffer is assumed to be large enough"
    )
