"""The interactive plots of a report: pure functions from a view to plotly figures.

Every text that comes from a user passes :func:`html.escape`, for plotly reads a subset of HTML.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any

from archloom.search import AREA, EDP, TDP, Objective
from archloom.studies.analysis import Design, StudyView

from .style import (
    ACCENT,
    ALL_EVALUATIONS,
    BASELINE,
    EVALUATIONS,
    FADED,
    FONT,
    INK,
    SERIES,
    VOLUME,
    apply_style,
)  # fmt: skip

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: What every hover box has, objective or not.
ALWAYS = (EDP, AREA, TDP)
SCALE = ((0.0, "#440154"), (0.35, "#31688e"), (0.7, "#2aa37a"), (1.0, "#a3d42f"))
"""Viridis without its yellow end, which cannot be seen on white."""


def hover_text(design: Design, columns: Sequence[Objective] = ALWAYS) -> str:
    """Return the whole design as the HTML of a hover box."""
    name = f"trial {design.label}" if design.label.isdigit() else design.label
    beside = design.state if design.kept else f"{design.state}, violates a limit"
    figures = (
        objective.text(design.figure(objective)) for objective in dict.fromkeys((*columns, *ALWAYS))
    )
    lines = [f"<b>{escape(name)}</b> ({escape(beside)})", escape(", ".join(figures))]
    if design.trial.evaluations:
        lines.append(f"{design.trial.evaluations} fusion plans evaluated")
    lines += [f"{escape(key)}: {escape(str(value))}" for key, value in design.parameters.items()]
    return "<br>".join(lines)


def objectives(view: StudyView, y: Objective, x: Objective, colour: Objective) -> "Figure":
    """Return one objective against another, coloured by a third."""
    import plotly.graph_objects as go

    front, rest = view.front, [design for design in view.designs if not design.on_front]
    figure = go.Figure()
    staircase = _staircase([(x.figure(d.figure(x)), y.figure(d.figure(y))) for d in front])
    figure.add_scatter(
        x=[x.figure(point[0]) for point in staircase],
        y=[y.figure(point[1]) for point in staircase],
        mode="lines",
        line={"color": FADED, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )

    def points(designs: Sequence[Design], name: str, marker: dict[str, Any]) -> None:
        figure.add_scatter(**_points(view, designs, name, {"x": x, "y": y}), marker=marker)

    points(rest, rest_label(view), {"color": FADED, "size": 7, "opacity": 0.8})
    emphasis = {
        "color": [design.figure(colour) for design in front],
        "colorscale": SCALE,
        "size": 13,
        "line": {"color": INK, "width": 1},
        "colorbar": {
            "title": {"text": escape(colour.label), "side": "top"},
            "thickness": 14,
            "exponentformat": "e",
        },
    }
    points(front, "Pareto front", emphasis)
    if view.picked is not None:
        star = {"symbol": "star-open", "size": 24, "color": ACCENT, "line": {"width": 2.5}}
        points([view.designs[view.picked]], "selected design", star)
    if view.baseline is not None:
        mark = {"symbol": "x", "size": 12, "color": BASELINE}
        points([view.baseline], f"baseline {view.baseline.label}", mark)
    apply_style(figure, escape(x.label), escape(y.label))
    figure.update_xaxes(**log_axis([design.figure(x) for design in _everything(view)]))
    figure.update_yaxes(**log_axis([design.figure(y) for design in _everything(view)]))
    return figure


def _points(
    view: StudyView, designs: Sequence[Design], name: str, axes: Mapping[str, Objective]
) -> dict[str, Any]:
    """Return what plotly draws designs by, in two dimensions or three."""
    return {
        **{axis: [design.figure(one) for design in designs] for axis, one in axes.items()},
        "mode": "markers",
        "name": escape(name),
        "hovertext": [hover_text(design, view.objective_set.measured) for design in designs],
        "hoverinfo": "text",
        "customdata": [design.label for design in designs],
    }


def objectives_3d(view: StudyView) -> "Figure":
    """Return three objectives as a cloud of points, the front emphasised."""
    import plotly.graph_objects as go

    x, y, z = view.axes[:3]
    figure = go.Figure()

    def points(designs: Sequence[Design], name: str, marker: dict[str, Any]) -> None:
        axes = {"x": x, "y": y, "z": z}
        figure.add_scatter3d(**_points(view, designs, name, axes), marker=marker)

    rest = [design for design in view.designs if not design.on_front]
    points(rest, rest_label(view), {"color": FADED, "size": 3})
    border = {"color": INK, "width": 1}
    points(view.front, "Pareto front", {"color": SERIES[0], "size": 5, "line": border})
    if view.picked is not None:
        points([view.designs[view.picked]], "selected design", {"color": ACCENT, "size": 7})
    if view.baseline is not None:
        mark = {"symbol": "diamond", "color": BASELINE, "size": 5}
        points([view.baseline], f"baseline {view.baseline.label}", mark)
    apply_style(figure, "", "")
    axes = {
        f"{name}axis": {
            "title": {"text": escape(objective.label)},
            **log_axis([design.figure(objective) for design in _everything(view)], sparse=True),
        }
        for name, objective in zip("xyz", (x, y, z), strict=True)
    }
    figure.update_layout(
        height=520,
        margin={"l": 0, "r": 0, "t": 10, "b": 10},
        scene={**axes, "aspectmode": "cube", "camera": {"eye": {"x": 1.55, "y": 1.55, "z": 0.9}}},
        legend={"y": 0.0, "yanchor": "bottom"},
    )
    return figure


def hypervolume(view: StudyView) -> "Figure":
    """Return the hypervolume against the software evaluations of all trials together."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(
        x=[spent for spent, _ in view.hypervolume],
        y=[volume for _, volume in view.hypervolume],
        mode="lines+markers",
        line={"shape": "hv", "color": SERIES[0], "width": 2},
        marker={"size": 5},
        showlegend=False,
        customdata=[design.label for design in view.designs],
        hovertemplate="after trial %{customdata}: %{y:.1f} %<extra></extra>",
    )
    apply_style(figure, ALL_EVALUATIONS, VOLUME)
    figure.update_yaxes(rangemode="tozero")
    return figure


def rest_label(view: StudyView) -> str:
    """Say why designs are not on the front."""
    return "dominated" if all(d.kept for d in view.designs) else "dominated or violates a limit"


def curves(view: StudyView) -> "Figure":
    """Return the best EDP of every trial against its evaluations; stopped trials are faded."""
    import plotly.graph_objects as go

    figure = go.Figure()
    named: set[str] = set()
    for design in sorted(view.designs, key=lambda design: design.state != "stopped"):
        if not design.curve:
            continue
        group = "front" if design.on_front else design.state
        colour, width = {"front": (ACCENT, 2.0), "stopped": (FADED, 1.0)}.get(
            group, (SERIES[0], 1.3)
        )
        figure.add_scatter(
            x=[n for n, _ in design.curve],
            y=[edp for _, edp in design.curve],
            mode="lines+markers",
            line={"shape": "hv", "color": colour, "width": width},
            marker={"size": 4},
            name="Pareto front" if group == "front" else group,
            legendgroup=group,
            meta={"design": design.label},
            showlegend=group not in named,
            hovertemplate=f"trial {escape(design.label)}: EDP %{{y:.3g}} J s after %{{x}} plans"
            "<extra></extra>",
        )
        named.add(group)
    apply_style(figure, EVALUATIONS, "best EDP so far (J s)")
    figure.update_yaxes(**log_axis([edp for d in view.designs for _, edp in d.curve]))
    return figure


def parallel_coordinates(view: StudyView, designs: Sequence[Design] = ()) -> "Figure":
    """Return the parameters of designs as parallel coordinates.

    The first of the view's axes is the colour, the others are coordinates as well.

    Args:
        view: of the study.
        designs: members of the front if none are given.
    """
    import plotly.graph_objects as go

    front = designs or view.front
    names = list(front[0].parameters) if front else []
    varied = [name for name in names if len({str(d.parameters[name]) for d in front}) > 1]
    axes = [_axis(name, [design.parameters[name] for design in front]) for name in varied]
    first, *others = view.axes[:3]
    for objective in others:
        values = [design.figure(objective) for design in front]
        axes.append({"label": escape(objective.label), "values": values, **_ticks(values)})
    lines = {
        "color": [log10(design.figure(first)) for design in front],
        "colorscale": SCALE,
        "showscale": True,
        "colorbar": {
            "title": {"text": f"log10 {escape(first.label)}", "side": "top"},
            "thickness": 14,
        },
    }
    figure = go.Figure(
        go.Parcoords(
            dimensions=axes,
            line=lines,
            customdata=[design.label for design in front],
            labelangle=-40,
            labelside="bottom",
            rangefont={"color": "white"},
        )
    )
    figure.update_layout(
        font={"family": FONT, "size": 12, "color": INK},
        height=430,
        margin={"l": 70, "r": 40, "t": 30, "b": 120},
        paper_bgcolor="white",
    )
    return figure


def stacked_bars(rows: Sequence[str], parts: Mapping[str, Sequence[float]], unit: str) -> "Figure":
    """Return horizontal bars, one for each row, made of the same named parts.

    Args:
        rows: labels of the bars, the first at the top.
        parts: for each part its value in every row.
        unit: label of the axis.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for i, (part, values) in enumerate(parts.items()):
        figure.add_bar(
            y=[escape(row) for row in rows],
            x=list(values),
            orientation="h",
            name=escape(part),
            marker={"color": SERIES[i % len(SERIES)]},
            hovertemplate=f"{escape(part)}: %{{x:.4g}} {escape(unit)}<extra>%{{y}}</extra>",
        )
    apply_style(figure, unit, "")
    figure.update_layout(
        barmode="stack",
        height=195 + 46 * len(rows),
        bargap=0.35,
        margin={"t": 95, "b": 60},
        legend={"y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )
    figure.update_yaxes(autorange="reversed", automargin=True, gridcolor="white")
    return figure


def _everything(view: StudyView) -> list[Design]:
    return [*view.designs, *([view.baseline] if view.baseline else [])]


def _staircase(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the lower left border of the points."""
    corners: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not corners or y < corners[-1][1]:
            corners += [(x, corners[-1][1])] if corners else []
            corners.append((x, y))
    return corners


def _axis(name: str, values: list[Any]) -> dict[str, Any]:
    """Return one axis of parallel coordinates; each value that occurs has a tick."""
    numeric = all(isinstance(value, int | float) for value in values)
    known = sorted(set(values)) if numeric else sorted({str(value) for value in values})
    keys = values if numeric else [str(value) for value in values]
    places = {value: place for place, value in enumerate(known)}
    return {
        "label": escape(name),
        "values": [places[key] for key in keys],
        "tickvals": list(places.values()),
        "ticktext": [escape(str(value)) for value in known],
    }


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return five ticks from the smallest to the largest value."""
    low, high = min(values), max(values)
    ticks = [low + i * (high - low) / 4 for i in range(5)] if high > low else [low]
    return {"tickvals": ticks, "ticktext": [f"{tick:.3g}" for tick in ticks]}


def log_axis(values: Sequence[float], sparse: bool = False) -> dict[str, Any]:
    """Return the settings of a logarithmic axis: the fewer decades, the more ticks in each.

    Args:
        values: that it shows.
        sparse: fewer ticks, for axes that are short on the screen.
    """
    finite = [value for value in values if 0 < value < float("inf")]
    if not finite:
        return {"type": "log"}
    low, high = log10(min(finite)), log10(max(finite))
    room = max(0.06 * (high - low), 0.05)
    steps = _steps(high - low, sparse)
    ticks = [(m, e) for e in range(floor(low) - 1, floor(high) + 2) for m in steps]
    return {
        "type": "log",
        "range": [low - room, high + room],
        "tickvals": [m * 10.0**e for m, e in ticks],
        "ticktext": [f"{m}e{e}" if not -3 <= e <= 4 else f"{m * 10.0**e:g}" for m, e in ticks],
    }


def _steps(decades: float, sparse: bool) -> tuple[int, ...]:
    """Return the digits that an axis of so many decades has ticks at."""
    if sparse:
        return (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    return (1, 2, 3, 5, 7) if decades < 1 else (1, 2, 5) if decades < 3 else (1,)
