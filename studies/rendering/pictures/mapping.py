"""Pictures of ``archloom map``: how a search got there, and the front of energy and latency."""

from collections.abc import Sequence
from math import inf, log10
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.rendering.text import gap_text
from archloom.studies.solve import FrontFound, Point, Solution

from .files import save_figure
from .style import ACCENT, FADED, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: most panels of a picture
PANELS: Final = 6

LABELS: Final = {"edp": "EDP (pJ x cycles)", "energy": "energy (pJ)", "latency": "latency (cycles)"}

#: CPU seconds that an axis begins with at least: nothing shorter is measured
_SHORTEST_S: Final = 1e-4

#: an axis ends at so many times the best objective at most
_TALLEST: Final = 1.6

_SIZE = (5.4, 4.0)


def draw_convergence(
    found: Sequence[tuple[str, Solution]], objective: str, path: Path, subtitle: str = ""
) -> None:
    """Draw best objective and lower bound against CPU time, one panel for each title."""
    figure, panels = _panels(len(found), f"Mapping search: minimise {LABELS[objective]}{subtitle}")
    for axes, (title, solution) in zip(panels, found, strict=True):
        _convergence(axes, solution)
        best = f"{_short(solution.objective)}, {gap_text(_known(solution.gap_percent))}"
        _finish(axes, f"{title}\n{best} after {_seconds(solution.cpu_s)}")
        axes.set(xlabel="CPU time (s)", ylabel=LABELS[objective])
    save_figure(figure, path)


def draw_fronts(found: Sequence[tuple[str, FrontFound]], path: Path, subtitle: str = "") -> None:
    """Draw the front of energy against latency, one panel for each title."""
    figure, panels = _panels(
        len(found), f"Pareto front of energy and latency over mappings{subtitle}"
    )
    for axes, (title, front) in zip(panels, found, strict=True):
        _front(axes, front)
        state = "proven complete" if front.proven else "incomplete (search limit reached)"
        points = f"{len(front.points)} point{'' if len(front.points) == 1 else 's'}"
        _finish(axes, f"{title}\n{points}, {state}, {_seconds(front.cpu_s)}")
        axes.set(xlabel="latency (cycles)", ylabel="energy (pJ)")
    save_figure(figure, path)


def _panels(count: int, title: str) -> tuple["Figure", list["Axes"]]:
    from matplotlib.figure import Figure

    columns = min(count, 3)
    rows = -(-count // columns)
    # Without pyplot: no global state, no window, and nothing to close.
    size = (max(6.4, _SIZE[0] * columns), _SIZE[1] * rows + 0.5)
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    figure.suptitle(title, fontsize=12, parse_math=False)
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in panels[count:]:
        spare.remove()
    return figure, panels[:count]


def _convergence(axes: "Axes", solution: Solution) -> None:
    stands = [s for s in solution.curve if s.objective < inf]
    times = [max(_SHORTEST_S, s.cpu_s) for s in stands]
    best, bound = [s.objective for s in stands], [s.bound for s in stands]
    # the first mappings are so bad that the rest would be a flat line
    top = min(max(best), _TALLEST * best[-1])
    begin = next(i for i, value in enumerate(best) if value <= top)
    axes.step(times, best, where="post", color=ACCENT, lw=1.8, label="best mapping so far")
    known = next((i for i, value in enumerate(bound) if value > 0), len(bound))
    shown = [*best[begin:], *bound[known:]]
    if known == len(bound) - 1:
        axes.axhline(bound[-1], color=SERIES[0], lw=1.8, label="lower bound")
    elif known < len(bound):
        later = (times[known:], bound[known:])
        axes.step(*later, where="post", color=SERIES[0], lw=1.8, label="lower bound")
        axes.fill_between(*later, best[known:], step="post", color=FADED, alpha=0.35, lw=0,
                          label="gap")  # fmt: skip
    if solution.proven:
        axes.plot(times[-1:], best[-1:], marker="o", ms=7, ls="", color=INK, label="proven optimal")
    axes.set(xscale="log", yscale="log")
    _ticks(axes, "x", [times[max(0, begin - 1)], times[-1]])
    _ticks(axes, "y", [*shown, top])


def _front(axes: "Axes", front: FrontFound) -> None:
    if not front.points:
        axes.text(
            0.5, 0.5, "no point of the front was proven", ha="center", transform=axes.transAxes
        )
        return
    points = front.points[::-1]
    cycles, energy = [p[0] for p in points], [p[1] for p in points]
    far = (2.5 * max(cycles), 2.5 * max(energy))
    seen = [p for p in front.seen if p[0] <= far[0] and p[1] <= far[1]]
    axes.scatter(*_columns(seen), s=12, c=FADED, lw=0, label="other evaluated mappings", zorder=2)
    axes.step(cycles, energy, where="post", color=SERIES[0], lw=1, alpha=0.6, zorder=3)
    axes.scatter(cycles, energy, s=34, color=SERIES[0], edgecolors=INK, linewidths=0.6,
                 label="Pareto front", zorder=4)  # fmt: skip
    least = front.least_edp
    assert least is not None
    edp = least[0] * least[1]
    axes.scatter([least[0]], [least[1]], s=230, marker="*", color=ACCENT, edgecolors=INK,
                 linewidths=0.7, label=f"lowest EDP: {_short(edp)}", zorder=5)  # fmt: skip
    axes.set(xscale="log", yscale="log")
    _ticks(axes, "x", [*cycles, *(p[0] for p in seen)])
    _ticks(axes, "y", [*energy, *(p[1] for p in seen)])
    # mappings with the same EDP stand on a falling line
    span = axes.get_xlim()
    low, high = axes.get_ylim()
    axes.plot(span, [edp / x for x in span], ls=":", lw=1, color=ACCENT, label="equal EDP")
    axes.set(xlim=span, ylim=(low, high))


def _columns(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [p[0] for p in points], [p[1] for p in points]


def _ticks(axes: "Axes", name: str, values: Sequence[float]) -> None:
    """Widen an axis; label a few round ones, the fewer decades, the more in each."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = min(values), max(values)
    decades = log10(high / low) if high > low else 0.0
    room = 10 ** max(0.06 * decades, 0.01)
    (axes.set_xlim if name == "x" else axes.set_ylim)(low / room, high * room)
    axis = axes.xaxis if name == "x" else axes.yaxis
    if decades < 1:
        axis.set_major_locator(MaxNLocator(6))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    if 1e-4 <= value < 1e7:
        return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    mantissa, exponent = f"{value:.4e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _finish(axes: "Axes", title: str) -> None:
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.grid(alpha=0.3, which="major")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")


def _known(gap_percent: float) -> float | None:
    return None if gap_percent == inf else gap_percent


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
