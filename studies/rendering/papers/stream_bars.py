"""Picture of a table of streams: gains of each set of networks, or over what is swept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.pictures import FADED, INK, SERIES
from archloom.studies.solve.papers import StreamRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: what may be swept, with its label
_SWEPT: Final = {
    "sequence_length": "sequence length",
    "weight_buffer_mib": "weight buffer (MiB)",
    "batch": "batch",
}


def stream_bars(title: str, rows: Sequence[StreamRow]) -> "Figure":
    """Return a picture of gains over one network at a time, with a panel for each chip."""
    from matplotlib.figure import Figure

    swept = next((key for key in _SWEPT if len({getattr(row, key) for row in rows}) > 2), None)
    layouts = len({row.layout for row in rows}) > 1
    panels: dict[str, list[StreamRow]] = {}
    for row in rows:
        layout = f", {row.layout.replace('_', ' ')}" if layouts else ""
        batch = "" if swept == "batch" else f", batch {row.batch}"
        panels.setdefault(f"{row.npu}{batch}{layout}", []).append(row)
    # without pyplot: no global state, no window, and nothing to close
    count = max(1, len(panels))
    columns = min(2, count)
    lines = -(-count // columns)
    size = (7.5 * columns, 4.2 * lines)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, (chip, shown) in zip(grid, panels.items(), strict=False):
        axes.set_title(chip, loc="left", color=INK)
        axes.set_ylabel("STP gain over\nsequential execution (%)")
        if swept is None:
            _bars(axes, shown)
        else:
            _lines(axes, shown, swept)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    if panels:
        # the panels have the same schedulers
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(title, color=INK)
    return figure


def _bars(axes: "Axes", rows: Sequence[StreamRow]) -> None:
    """Draw a group of bars for each set, and a line where its bound is."""
    width = 0.8 / len(rows)
    names = [" + ".join(map(_short, one.networks)) for one in rows[0].sets]
    for number, (row, colour) in enumerate(zip(rows, SERIES, strict=False)):
        left = [at + width * number for at in range(len(row.sets))]
        gains = [100 * (one.stp - 1) for one in row.sets]
        axes.bar(left, gains, width, align="edge", color=colour, label=row.scheduler)
    for at, one in enumerate(rows[0].sets):
        bound = 100 * (one.bound - 1)
        label = "upper bound for any schedule" if at == 0 else None
        axes.plot([at, at + 0.8], [bound, bound], color=INK, linewidth=1, label=label)
    axes.set_xticks([at + 0.4 for at in range(len(names))], names, rotation=60, ha="right")
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="y", color=FADED, linewidth=0.4)
    axes.set_axisbelow(True)


def _lines(axes: "Axes", rows: Sequence[StreamRow], swept: str) -> None:
    """Draw means of all sets over what is swept, and what bounds them."""
    schedulers = list(dict.fromkeys(row.scheduler for row in rows))
    for scheduler, colour in zip(schedulers, SERIES, strict=False):
        points = [
            (getattr(row, swept), row.figures["stp_gain_percent"])
            for row in rows
            if row.scheduler == scheduler
        ]
        axes.plot(*zip(*points, strict=True), marker="o", color=colour, label=scheduler)
    bounds = [
        (getattr(row, swept), row.figures["bound_gain_percent"])
        for row in rows
        if row.scheduler == schedulers[0]
    ]
    label = "upper bound for any schedule"
    axes.plot(*zip(*bounds, strict=True), color=INK, linewidth=1, linestyle="--", label=label)
    axes.set_xscale("log", base=2)
    ticks = [point[0] for point in bounds]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel(_SWEPT[swept])
    axes.grid(color=FADED, linewidth=0.4)


def _short(name: str) -> str:
    """Return a network's name as far as a label has room."""
    return name.replace("mobilenetv2", "mobilenet").replace("inception_v3", "inception")
