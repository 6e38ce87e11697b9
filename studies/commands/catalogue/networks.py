"""``archloom networks``: the catalogue, and one network taken apart, for a terminal or as JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.space.networks import NetworkFigures, catalogue, figures_of, recorded_catalogue
from archloom.studies.rendering.text import plain_table, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from archloom.space.networks import Entry
    from archloom.space.workload import Network
    from archloom.studies.config import WorkloadOptions

Record = dict[str, str | int]

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def show_networks(batch: int | None, word_bits: int, as_json: bool, console: "Console") -> None:
    """Print the catalogue, for passes of ``batch`` images; None for one."""
    known = recorded_catalogue() if batch in (None, 1) else list(catalogue(batch))
    if as_json:
        print_json([_record_of(figures, word_bits) for figures in known], console)
        return
    table = plain_table(f"Networks (batch size {batch or 1}, {word_bits}-bit words)")
    for head in ("name", "description", "input", "layers", "MACs", "params", "working set"):
        left = head in ("name", "description", "input")
        table.add_column(head, justify="left" if left else "right", no_wrap=head == "name")
    for figures in known:
        more = f" (+{figures.inputs - 1})" if figures.inputs > 1 else ""
        table.add_row(
            figures.name,
            figures.about,
            f"{figures.input}{more}",
            str(figures.layers),
            amount(figures.macs),
            f"{figures.params:,}",
            size(_set_bytes(figures.working_set_words, word_bits)),
        )
    console.print(table)
    console.print(
        "working set: size of inputs and outputs of the layer where it is largest. "
        "archloom networks NAME shows the layers of a network.",
        markup=False,
    )


def show_network(
    source: str, asked: "WorkloadOptions", as_json: bool, out: Path | None, console: "Console"
) -> None:
    """Print one network, or write its picture.

    Args:
        source: name in the catalogue, or a path.
        asked: options, batch and word width.
        as_json: print :func:`record` instead of tables.
        out: file of the picture; nothing is printed then but its name.
        console: where to print.

    Raises:
        UserError: an unknown network or option, or a file that cannot be written.
    """
    from archloom.space.networks import NETWORKS
    from archloom.studies.config import find_network, normal

    reference = normal(source, Path.cwd())
    net = find_network(reference, asked)
    if out is not None:
        from archloom.studies.rendering.pictures import save_picture

        save_picture(net, out)
    if as_json:
        print_json(record(net, asked.word_bits), console)
    elif out is not None:
        console.print(str(out), markup=False, highlight=False, soft_wrap=True)
    else:
        known = NETWORKS[reference] if isinstance(reference, str) else None
        parts = [_layers(net, asked.word_bits), _summary(net, asked.word_bits, known)]
        for part in (*parts, *([_folded(net)] if net.folded else ())):
            console.print(part, markup=False, highlight=False)


def record(net: "Network", word_bits: int) -> dict[str, Any]:
    """Return the figures of a network, and what is folded into what if it is folded."""
    from archloom.space.fusion import computations

    figures: dict[str, Any] = {**_record_of(figures_of(net, ""), word_bits)}
    if net.folded:
        figures["folded"] = {
            net.layers[one.host].name: [net.layers[i].name for i in one.folded]
            for one in computations(net)
            if one.folded
        }
    return figures


def _record_of(figures: NetworkFigures, word_bits: int) -> Record:
    return {
        "name": figures.name,
        "macs": figures.macs,
        "params": figures.params,
        "layers": figures.layers,
        "largest_working_set_bytes": _set_bytes(figures.working_set_words, word_bits),
    }


def amount(number: float) -> str:
    """Return a count for people: ``1.81 G``."""
    for least, prefix in _PREFIXES:
        if number >= least:
            return f"{number / least:,.4g} {prefix}"
    return f"{number:,.4g}"


def size(count: float) -> str:
    """Return bytes for people: ``2.87 MiB``."""
    for least, unit in _BINARY:
        if count >= least:
            return f"{count / least:,.4g} {unit}"
    return f"{count:,.4g} B"


def _layers(net: "Network", word_bits: int) -> "Table":
    from rich.markup import escape

    from archloom.studies.rendering.text import (
        change_text,
        intensity,
        moved,
        operator_text,
        reads_text,
        window_text,
    )

    rows = plain_table(f"{escape(net.name)} (batch size {net.batch}, {word_bits}-bit words)")
    right = ("MACs", "params", "weights", "in + out", "MACs/byte")
    for head in ("layer", "operator", "input -> output shape", "window", *right, "inputs"):
        rows.add_column(
            head,
            justify="right" if head in right else "left",
            no_wrap=head in right or head == "layer",
            overflow="fold",
        )
    for i, layer in enumerate(net.layers):
        bytes_ = moved(layer, word_bits)
        macs_for_byte = intensity(layer, word_bits)
        rows.add_row(
            layer.name,
            operator_text(layer),
            change_text(net, i),
            window_text(layer),
            amount(layer.macs) if layer.uses_macs else "",
            f"{layer.params:,}" if layer.params else "",
            size(bytes_.weights) if bytes_.weights else "",
            size(bytes_.maps),
            "" if macs_for_byte is None else f"{macs_for_byte:,.4g}",
            reads_text(net, i),
        )
    return rows


def _folded(net: "Network") -> "Table":
    """What is folded into what, in running order."""
    from archloom.space.fusion import computations

    rows = plain_table("Folded layers")
    for head in ("MAC-array layer", "on its input", "on its output", "pooled from its output"):
        rows.add_column(head, overflow="fold")
    for one in (one for one in computations(net) if one.folded):
        parts = ((one.host,), one.before, one.after, one.pools)
        rows.add_row(*(", ".join(net.layers[i].name for i in part) for part in parts))
    return rows


def _summary(net: "Network", word_bits: int, known: "Entry | None") -> "Table":
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    if known is not None:
        grid.add_row("  description", known.about)
        chosen = ", ".join(f"{name}={_shown(value)}" for name, value in known.options.items())
        grid.add_row("  options (--set) and defaults", chosen or "none")
        for i, note in enumerate(known.notes):
            grid.add_row("" if i else "  source", note)
    for label, text in _totals(net, word_bits):
        grid.add_row(f"  {label}", text)
    return grid


def _shown(default: object) -> object:
    return list(default) if isinstance(default, tuple) else default


def _totals(net: "Network", word_bits: int) -> list[tuple[str, str]]:
    from archloom.space.workload import alive, identical_layers, largest_working_set, ranks
    from archloom.studies.rendering.text import moved

    everything = [moved(layer, word_bits) for layer in net.layers]
    traffic = sum(bytes_.all for bytes_ in everything)
    problems = sum(net.layers[alike[0]].uses_macs for alike in identical_layers(net))
    on_array = sum(layer.uses_macs for layer in net.layers)
    held = alive(net)
    fullest = net.layers[held.order[held.peak_step]].name
    return [
        ("layers", f"{len(net.layers)} (longest path: {max(ranks(net))} layers)"),
        ("layers with MACs", f"{on_array}, with {problems} distinct mapping problems"),
        ("MACs", f"{net.macs:,}"),
        *([("MACs not masked", f"{net.seen_macs:,}")] if net.seen_macs < net.macs else ()),
        ("parameters", f"{net.params:,}"),
        ("weights", size(sum(bytes_.weights for bytes_ in everything))),
        (
            "unfused traffic",
            f"{size(traffic)} if each layer moves its tensors once ({net.macs / traffic:,.4g} "
            "MACs/byte)",
        ),
        ("largest working set", size(_set_bytes(largest_working_set(net), word_bits))),
        (
            "peak live feature maps",
            f"{size(held.peak_words * word_bits / 8)}, while layer {fullest} runs",
        ),
    ]


def _set_bytes(words: int, word_bits: int) -> int:
    """Return the bytes of a working set; the last one may be filled in part."""
    return -(-words * word_bits // 8)
