"""Tables of ``archloom measure``: a row for each kernel of each layer, and whole networks."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from archloom.studies.rendering.text import new_table

if TYPE_CHECKING:
    from rich.table import Table

_HEADS = ("kernel", "schedule", "time us", "noise", "GMAC/s", "time / oneDNN", "remark")


def layer_table(results: dict[str, Any]) -> "Table":
    """Return the table of layers."""
    table = new_table(
        f"{results['wanted']['name']}: kernels of single layers, {_threads(results)}",
        ["layer", *_HEADS],
        ["layer", "kernel", "schedule", "remark"],
    )
    for layer in results["layers"]:
        name = layer["name"]
        many = len(layer["layers"])
        for row in _shown(layer["rows"]):
            table.add_row(name + f" ({many} layers)" * (many > 1), *_cells(row))
            name, many = "", 0
    return table


def network_table(results: dict[str, Any]) -> "Table":
    """Return the table of whole networks."""
    table = new_table(
        f"{results['wanted']['name']}: whole network, {_threads(results)}",
        ["kernel", "schedule", "time us", "noise", "sum of layers us", _HEADS[5], "remark"],
        ["kernel", "schedule", "remark"],
    )
    for row in results["network"]["rows"]:
        kernel, schedule, time, noise, _, against, remark = _cells(row)
        total = row.get("sum_of_layers_us")
        summed = "" if total is None else f"{total:,.0f}"
        table.add_row(kernel, schedule, time, noise, summed, against, remark)
    return table


def _absent(row: dict[str, Any]) -> bool:
    """Whether there is no such kernel, on any machine."""
    return bool(row["reason"] and row["reason"]["reason"] == "no_host_kernel")


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of kernels that there are."""
    return [row for row in rows if not _absent(row)]


def _cells(row: dict[str, Any]) -> list[str]:
    how = "tuned" if row["tuned"] else "untuned"
    if "median_us" not in row:
        return [row["kernel"], how, "", "", "", "", f"refused: {row['reason']['text']}"]
    rate = f"{row['gmac_s']:.1f}" if "gmac_s" in row else ""
    figures = [f"{row['median_us']:,.1f}", f"{row['noise']:.1%}", rate]
    if row["status"] == "refused":
        # a time that is too noisy is not printed
        return [row["kernel"], how, "", figures[1], "", "", f"refused: {row['reason']['text']}"]
    found = row.get("against_library")
    if found is None:
        return [row["kernel"], how, *figures, "", "no measurement of oneDNN"]
    if row["algorithm"] == "library" and row["tuned"]:
        return [row["kernel"], how, *figures, "1", ""]
    shown = f"{found['ratio']:.2f}" if found["resolved"] else "within noise"
    remark = "" if found["resolved"] else f"ratio below {1 + 2 * found['noise']:.2f}"
    return [row["kernel"], how, *figures, shown, remark]


def remarks(results: dict[str, Any]) -> Iterator[str]:
    """Yield what else is to be known: the machine, layers left out, rows refused."""
    machine = results["machine"]
    libraries = ", ".join(f"{name} {v}" for name, v in machine["libraries"].items())
    loads = [layer["load"] for layer in results["layers"] if layer["load"]]
    busy = (
        f"; system load {min(loads):.1f} to {max(loads):.1f} on {machine['cores']} cores"
        if loads
        else ""
    )
    yield f"{machine['cpu']} ({', '.join(machine['flags'])}); {libraries}{busy}"
    for name, why in results["skipped"]:
        yield f"layer {name} was not measured: {why}"
    rows = [row for layer in results["layers"] for row in layer["rows"]]
    if absent := list(dict.fromkeys(row["kernel"] for row in rows if _absent(row))):
        yield f"no kernel is available for {', '.join(absent)}"
    rows = _shown(rows)
    reasons = Counter(row["reason"]["reason"] for row in rows if row["status"] == "refused")
    for reason, count in sorted(reasons.items()):
        yield f"{count} of {len(rows)} measurements refused: {reason}"
    network = results["network"]
    if network and network["reason"]:
        yield f"the whole network was not timed: {network['reason']['text']}"


def _threads(results: dict[str, Any]) -> str:
    threads = results["wanted"]["threads"]
    return "1 thread, CPU time" if threads == 1 else f"{threads} threads, wall-clock time"
