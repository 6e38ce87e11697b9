"""Plots of a study across the stack: pure functions from its record to plotly figures.

Every text that comes from a user passes :func:`html.escape`, for plotly reads a subset of HTML.
"""

from collections.abc import Sequence
from html import escape
from math import isfinite, log10
from statistics import stdev
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.analysis.stack import Point, StackRecord, elbow_level, speed_ups
from archloom.studies.rendering.pictures import FADED, INK, apply_style, plots

from .words import algorithm_name, colour, marker, method_name

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_GROUPS: Final = (
    ("weight pruning", ("weights",)),
    ("channel pruning", ("channels",)),
    ("quantisation", ("float16", "int8_uncalibrated", "int8", "int4")),
)

#: room that the algorithms of a compression take on the axis
_WIDE: Final = 0.6


def accuracy_curves(record: StackRecord) -> "Figure":
    """Return accuracy against compression, a panel for each kind of it; elbows are ringed."""
    from plotly.subplots import make_subplots

    groups = [
        (title, methods)
        for title, methods in _GROUPS
        if any(point.method in methods for point in record.points)
    ]
    titles = tuple(title for title, _ in groups)
    figure = make_subplots(
        1, len(groups) or 1, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.03
    )
    apply_style(figure, "", "")
    for column, (title, methods) in enumerate(groups, start=1):
        types = title == "quantisation"
        for number, model in enumerate(record.models):
            _curve(figure, record, model, methods, (number, column, types))
        label = {} if types else {"title": {"text": "fraction pruned", "standoff": 12}}
        figure.update_xaxes(**label, row=1, col=column)
    figure.update_yaxes(title={"text": "top-1 accuracy (%)", "standoff": 12}, col=1)
    figure.update_layout(margin={"t": 70, "r": 60})
    return figure


def _curve(
    figure: "Figure",
    record: StackRecord,
    model: str,
    methods: Sequence[str],
    place: tuple[int, int, bool],
) -> None:
    """Add a model's line: levels of a method, or the types side by side."""
    number, column, types = place
    dense = record.dense(model)
    levels = [point for method in methods for point in record.levels(model, method)]
    points = [p for p in [dense, *levels] if p is not None and p.accuracy_percent is not None]
    if not points:
        return
    xs: list[Any] = [escape(p.compression) if types else p.level for p in points]
    figure.add_scatter(
        x=xs,
        y=[p.accuracy_percent for p in points],
        error_y={"type": "data", "array": [_spread(p) for p in points], "thickness": 1},
        mode="markers" if types else "lines+markers",
        marker={"color": colour(number), "symbol": marker(number), "size": 8},
        line={"color": colour(number), "width": 1.5},
        name=escape(model),
        legendgroup=model,
        showlegend=column == 1,
        hovertext=[_accuracy_text(p) for p in points],
        hoverinfo="text",
        row=1,
        col=column,
    )
    ringed = [p for p in levels if p.level == elbow_level(record, model, p.method)]
    if ringed and not types:
        figure.add_scatter(
            x=[p.level for p in ringed],
            y=[p.accuracy_percent for p in ringed],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": colour(number),
                "line": {"width": 2},
            },
            hoverinfo="skip",
            showlegend=False,
            legendgroup=model,
            row=1,
            col=column,
        )


def _spread(point: Point) -> float:
    seeds = point.accuracies_percent
    return stdev(seeds) if len(seeds) > 1 else 0.0


def _accuracy_text(point: Point) -> str:
    lines = [
        f"<b>{escape(point.model)}</b>, {escape(point.compression)}",
        f"mean accuracy {point.accuracy_percent:.2f} % over {len(point.accuracies_percent)} seeds",
    ]
    if point.before_percent is not None:
        lines.append(f"{point.before_percent:.2f} % before fine-tuning")
    lines.append(
        f"{point.stored_bytes / 1e3:,.1f} kB, {point.nonzero_macs / 1e6:,.3f} M nonzero MACs"
    )
    return "<br>".join(lines)


def times(record: StackRecord, model: str) -> "Figure":
    """Return the times of a model: a line from untuned (hollow) to tuned (filled)."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = [name for name in record.compressions if record.of(model, name)]
    values: list[float] = []
    for number, algorithm in enumerate(record.algorithms):
        shift = _WIDE * ((number + 0.5) / len(record.algorithms) - 0.5)
        look = {"color": colour(number), "symbol": marker(number), "size": 9}
        for tuned in record.states:
            found = [(x, record.at(model, name, algorithm, tuned)) for x, name in enumerate(names)]
            timed = [(x + shift, p) for x, p in found if p is not None and p.time_us is not None]
            values += [p.time_us for _, p in timed if p.time_us is not None]
            kind = look if tuned else look | {"symbol": f"{marker(number)}-open"}
            _dots(figure, timed, kind, (algorithm, tuned))
        _lines(figure, record, (model, algorithm), names, shift, colour(number))
    apply_style(figure, "", "time of the whole network (us)")
    # names of compressions stand aslant between the axis and the legend
    figure.update_layout(height=450, legend={"y": -0.42}, margin={"b": 140})
    figure.update_yaxes(**plots.log_axis(values))
    ticks = {"tickvals": list(range(len(names))), "ticktext": [escape(name) for name in names]}
    figure.update_xaxes(**ticks, range=[-0.5, len(names) - 0.5])
    return figure


def _dots(
    figure: "Figure",
    timed: Sequence[tuple[float, Point]],
    look: dict[str, Any],
    kind: tuple[str, bool],
) -> None:
    algorithm, tuned = kind
    ends = [(p.time_us or 0.0, *(p.quartiles_us or (0.0, 0.0))) for _, p in timed]
    figure.add_scatter(
        x=[x for x, _ in timed],
        y=[middle for middle, _, _ in ends],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(high - middle, 0) for middle, _, high in ends],
            "arrayminus": [max(middle - low, 0) for middle, low, _ in ends],
            "thickness": 1,
            "width": 2,
            "color": look["color"],
        },
        mode="markers",
        marker=look,
        name=f"{escape(algorithm_name(algorithm))}, {'tuned' if tuned else 'untuned'}",
        hovertext=[_time_text(p) for _, p in timed],
        hoverinfo="text",
    )


def _lines(
    figure: "Figure",
    record: StackRecord,
    what: tuple[str, str],
    names: Sequence[str],
    shift: float,
    ink: str,
) -> None:
    """Join untuned and tuned times of the same kernels."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    model, algorithm = what
    for x, name in enumerate(names):
        pair = [record.at(model, name, algorithm, tuned) for tuned in (False, True)]
        ends = [None if p is None else p.time_us for p in pair]
        if None not in ends:
            xs += [x + shift, x + shift, None]
            ys += [*ends, None]
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"color": ink, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )


def _time_text(point: Point) -> str:
    how = "tuned" if point.tuned else "untuned"
    lines = [
        f"<b>{escape(point.model)}</b>, {escape(point.compression)}",
        f"{escape(algorithm_name(point.algorithm))}, {how}",
        f"{point.time_us:,.1f} us, noise {point.noise:.1%}",
    ]
    if point.accuracy_percent is not None:
        lines.append(f"accuracy {point.accuracy_percent:.2f} %, {point.stored_bytes / 1e3:,.1f} kB")
    return "<br>".join(lines)


def gains(record: StackRecord) -> "Figure":
    """Return achieved against expected speed-ups, hollow untuned, filled tuned."""
    import plotly.graph_objects as go

    figure = go.Figure()
    found = [gain for gain in speed_ups(record) if isfinite(gain.achieved.value)]
    edges = [gain.expected for gain in found] + [gain.achieved.value for gain in found]
    if edges:
        line = [min(edges) * 0.9, max(edges) * 1.1]
        figure.add_scatter(
            x=line,
            y=line,
            mode="lines",
            line={"color": FADED, "width": 1.5, "dash": "dot"},
            hoverinfo="skip",
            name="achieved = expected",
        )
    for number, method in enumerate(dict.fromkeys(gain.point.method for gain in found)):
        for tuned in record.states:
            mine = [g for g in found if g.point.method == method and g.tuned == tuned]
            symbol = marker(number) if tuned else f"{marker(number)}-open"
            figure.add_scatter(
                x=[gain.expected for gain in mine],
                y=[gain.achieved.value for gain in mine],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(g.achieved.value, g.achieved.high) for g in mine],
                    "arrayminus": [_reach(g.achieved.low, g.achieved.value) for g in mine],
                    "thickness": 1,
                    "width": 2,
                },
                mode="markers",
                marker={"color": colour(number), "symbol": symbol, "size": 9},
                name=f"{escape(method_name(method))}, {'tuned' if tuned else 'untuned'}",
                hovertext=[
                    f"<b>{escape(g.point.model)}</b>, {escape(g.point.compression)}<br>"
                    f"speed-up {g.achieved}, expected {g.expected:.2f}"
                    for g in mine
                ],
                hoverinfo="text",
            )
    apply_style(
        figure,
        "expected speed-up (from fewer MACs or fewer bits)",
        "achieved speed-up over the dense model",
    )
    figure.update_xaxes(**plots.log_axis([gain.expected for gain in found]))
    figure.update_yaxes(**plots.log_axis(edges))
    return figure


def _reach(low: float, high: float) -> float:
    """Return how long an error bar is; none where a refused row leaves the end open."""
    return high - low if low > 0 and high < float("inf") else 0.0


def front(record: StackRecord) -> "Figure":
    """Return accuracy against time, coloured by size; the front is ringed."""
    import plotly.graph_objects as go

    figure = go.Figure()
    members = [record.points[i] for i in record.front]
    rest = [
        point
        for i, point in enumerate(record.points)
        if i not in set(record.front) and point.time_us and point.accuracy_percent is not None
    ]
    _places(figure, rest, "dominated", {"color": FADED, "size": 7})
    sizes = [log10(max(point.stored_bytes, 1) / 1e3) for point in members]
    look = {
        "color": sizes,
        "colorscale": plots.SCALE,
        "size": 13,
        "line": {"color": INK, "width": 1},
        "colorbar": {
            "title": {"text": "stored size (kB)", "side": "top"},
            "thickness": 14,
            **_kb(sizes),
        },
    }
    _places(figure, members, "Pareto front", look)
    apply_style(figure, "time of the whole network (us)", "top-1 accuracy (%)")
    figure.update_xaxes(**plots.log_axis([p.time_us for p in [*members, *rest] if p.time_us]))
    return figure


def _kb(sizes: Sequence[float]) -> dict[str, Any]:
    """Return ticks of a colour bar of logarithms, labelled with what they are of."""
    axis = plots.log_axis([10**size for size in sizes])
    return {
        "tickvals": [log10(value) for value in axis.get("tickvals", ())],
        "ticktext": axis.get("ticktext", []),
    }


def _places(figure: "Figure", points: Sequence[Point], name: str, look: dict[str, Any]) -> None:
    figure.add_scatter(
        x=[point.time_us for point in points],
        y=[point.accuracy_percent for point in points],
        mode="markers",
        marker=look,
        name=name,
        hovertext=[_time_text(point) for point in points],
        hoverinfo="text",
    )
