"""Picture of served requests: latencies of each network, and goodput and p99 over the load."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.evaluators import Floats
from archloom.search.weaving.serving import NO_DEADLINE, LoadPoint, Served, latencies
from archloom.studies.storage import write_whole

from ....errors import choosing
from ...html import card, document, plot
from ..files import save_figure
from ..style import FADED, INK, SERIES, apply_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

#: figures over the load, by policy; the first is the policy of the run
Curves = Mapping[str, Sequence[LoadPoint]]

#: points of a line: the eye tells no more apart
_POINTS: Final = 400

_LOAD: Final = "offered load (1: the busiest resource is always occupied)"
_TAIL: Final = "p99 latency (isolated query times)"

_DASHES: Final = ("solid", "dash", "dot", "dashdot")
_STYLES: Final = ("-", "--", ":", "-.")


def save_serving(path: Path, found: Served, curves: Curves) -> None:
    """Draw what requests got, into a .html, .png or .svg file.

    Raises:
        UserError: the file cannot be written.
    """
    with choosing(path, "--plot"):
        if path.suffix.lower() == ".html":
            write_whole(path, _page(found, curves))
        else:
            _draw(path, found, curves)


def shares(found: Served, m: int) -> tuple[Floats, Floats]:
    """Return latencies in ms, and the share of a network's requests that got no more.

    Requests that were shed never get there, so that the share ends below 1.
    """
    times = np.sort(latencies(found, m)) * found.tenants.isolated[m]
    count = int(np.count_nonzero(found.taken & (found.network == m)))
    ranks = np.arange(1, len(times) + 1) / max(1, count)
    if len(times) > _POINTS:
        # the last ones are what p99 is about
        kept = np.unique(np.concatenate([
            np.linspace(0, len(times) - 1, _POINTS).astype(int),
            np.arange(len(times) - max(1, len(times) // 100), len(times)),
        ]))  # fmt: skip
        times, ranks = times[kept], ranks[kept]
    return times / found.tenants.ticks_per_s * 1e3, ranks


def _deadline_ms(found: Served, m: int) -> float | None:
    within = int(found.tenants.within[m])
    return within / found.tenants.ticks_per_s * 1e3 if within < NO_DEADLINE else None


def _title(found: Served) -> str:
    names = " and ".join(chain.name for chain in found.tenants.chains)
    return f"{names} on {found.tenants.npu.name}, policy {found.policy.text}"


def _draw(path: Path, found: Served, curves: Curves) -> None:
    from matplotlib.figure import Figure

    # without pyplot: no global state, no window, and nothing to close
    panels = 3 if curves else 1
    figure = Figure(figsize=(5.4 * panels + 1.2, 4.8), layout="constrained", dpi=150)
    figure.suptitle(_title(found), fontsize=11, parse_math=False)
    axes = figure.subplots(1, panels, squeeze=False)[0].tolist()
    _latencies(axes[0], found)
    if curves:
        _goodput(axes[1], curves)
        _tails(axes[2], curves)
    for each in axes:
        each.grid(alpha=0.3)
        each.set_axisbelow(True)
        # below, where no line is
        each.legend(fontsize=8.5, frameon=False, ncols=2, loc="upper center",
                    bbox_to_anchor=(0.5, -0.14))  # fmt: skip
    save_figure(figure, path)


def _latencies(axes: "Axes", found: Served) -> None:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    for m, chain in enumerate(found.tenants.chains):
        colour = SERIES[m % len(SERIES)]
        times, ranks = shares(found, m)
        axes.step(times, ranks, where="post", color=colour, lw=1.8, label=chain.name)
        due = _deadline_ms(found, m)
        if due is not None:
            axes.axvline(due, color=colour, ls=":", lw=1.4, label=f"deadline {due:.3g} ms")
    axes.set(xlabel="latency (ms)", ylabel="fraction of requests", xscale="log", ylim=(0, 1.02))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("Latency", fontsize=10)


def _goodput(axes: "Axes", curves: Curves) -> None:
    first = next(iter(curves.values()))
    loads = [point.load for point in first]
    bound = [point.metrics.goodput_bound_stp for point in first]
    axes.plot(loads, bound, color=INK, lw=1.2, label="upper bound for any policy")
    for number, (name, points) in enumerate(curves.items()):
        goodput = [point.metrics.goodput_stp for point in points]
        axes.plot(loads, goodput, color=SERIES[number], ls=_STYLES[number % 4], marker="o", ms=3.5,
                  label=name)  # fmt: skip
    axes.set(xlabel=_LOAD, ylabel="goodput (STP)", ylim=(0, None))
    axes.set_title("Goodput", fontsize=10)


def _tails(axes: "Axes", curves: Curves) -> None:
    axes.axhline(1.0, color=FADED, lw=1.2, label="alone")
    for number, (name, points) in enumerate(curves.items()):
        there = [(point.load, point.p99) for point in points if point.p99 is not None]
        axes.plot(*zip(*there, strict=True), color=SERIES[number], ls=_STYLES[number % 4],
                  marker="o", ms=3.5, label=name)  # fmt: skip
    axes.set(xlabel=_LOAD, ylabel=_TAIL, yscale="log")
    axes.set_title("99th percentile latency", fontsize=10)


def _page(found: Served, curves: Curves) -> str:
    title = _title(found)
    note = "Shed (rejected) requests never finish: with shed requests, a line ends below 1."
    body = [f"<h1>{escape(title)}</h1>", card("Latency", note, plot(latency_plot(found), "cdf"))]
    if curves:
        note = "All loads and policies are simulated with the same requests."
        both = plot(goodput_plot(curves), "goodput"), plot(tail_plot(curves), "tails")
        cards = card("Goodput", note, both[0]) + card("99th percentile latency", note, both[1])
        body.append(f'<div class="pair wide">{cards}</div>')
    return document(f"{title} - Archloom", "\n".join(body))


def latency_plot(found: Served) -> "Figure":
    """Return the share of each network's requests over latency."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for m, chain in enumerate(found.tenants.chains):
        colour, name = SERIES[m % len(SERIES)], escape(chain.name)
        times, ranks = shares(found, m)
        figure.add_scatter(
            x=times.tolist(),
            y=ranks.tolist(),
            mode="lines",
            name=name,
            line={"shape": "hv", "color": colour, "width": 2},
            hovertemplate=f"{name}: %{{y:.2%}} within %{{x:.4g}} ms<extra></extra>",
        )
        due = _deadline_ms(found, m)
        if due is not None:
            figure.add_vline(due, line={"color": colour, "dash": "dot", "width": 1.5})
    apply_style(figure, "latency (ms); dotted: deadlines", "fraction of requests")
    figure.update_xaxes(type="log")
    figure.update_yaxes(range=[0, 1.02])
    return figure


def goodput_plot(curves: Curves) -> "Figure":
    """Return goodput over the load, and what no policy gets above."""
    import plotly.graph_objects as go

    figure = go.Figure()
    first = next(iter(curves.values()))
    figure.add_scatter(
        x=[point.load for point in first],
        y=[point.metrics.goodput_bound_stp for point in first],
        mode="lines",
        name="upper bound for any policy",
        line={"color": INK, "width": 1.2},
    )
    for number, (name, points) in enumerate(curves.items()):
        figure.add_scatter(
            x=[point.load for point in points],
            y=[point.metrics.goodput_stp for point in points],
            customdata=[
                (point.metrics.goodput_qps, point.metrics.missed_share) for point in points
            ],
            mode="lines+markers",
            name=escape(name),
            line={"color": SERIES[number], "dash": _DASHES[number % 4]},
            hovertemplate="load %{x}: STP %{y:.3f}, %{customdata[0]:,.0f} requests/s, "
            "%{customdata[1]:.1%} missed<extra></extra>",
        )
    apply_style(figure, _LOAD, "goodput (STP)")
    figure.update_yaxes(rangemode="tozero")
    return figure


def tail_plot(curves: Curves) -> "Figure":
    """Return p99 over the load."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, (name, points) in enumerate(curves.items()):
        there = [point for point in points if point.p99 is not None]
        figure.add_scatter(
            x=[point.load for point in there],
            y=[point.p99 for point in there],
            mode="lines+markers",
            name=escape(name),
            line={"color": SERIES[number], "dash": _DASHES[number % 4]},
            hovertemplate="load %{x}: %{y:.3g} x isolated query time<extra></extra>",
        )
    apply_style(figure, _LOAD, _TAIL)
    figure.update_yaxes(type="log")
    return figure
