"""Timeline of a woven schedule for browsers: drag to zoom, hover for layers, click names."""

from html import escape
from typing import TYPE_CHECKING, Final

from ...html import card, document, plot
from ..style import ACCENT, FONT, INK, apply_style
from .lanes import Content, Lane, WovenRun, bars_of, contents_of, end_us, shown_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_LANES: Final[dict[Lane, str]] = {"array": "array", "weights": "DRAM", "maps": "DRAM"}
_EDGED: Final = 1200
"""Fewer bars have edges."""
_HEIGHTS: Final = {2: [0.4, 0.6], 3: [0.3, 0.4, 0.3]}


def woven_page(run: WovenRun) -> str:
    """Return the picture as a whole page that works offline."""
    note = "Drag to zoom, double-click to reset, hover to see layers. "
    note += "Hatched: transfers of feature maps. "
    if limited := shown_text(run):
        note += f"Only {limited} are drawn."
    body = f"<h1>{escape(run.title)}</h1>{card('', note, plot(woven_figure(run), 'timeline'))}"
    return document(f"{run.title} - Archloom", body)


def woven_figure(run: WovenRun) -> "Figure":
    """Return engines above, what the buffers hold below, over one axis of time."""
    from plotly.subplots import make_subplots

    contents = contents_of(run)
    rows = 1 + len(contents)
    figure = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=_HEIGHTS[rows]
    )
    apply_style(figure, "", "")
    _engines(figure, run)
    for row, content in enumerate(contents, start=2):
        _buffer(figure, run, content, row)
    figure.update_xaxes(title={"text": ""}, range=[0, end_us(run)])
    figure.update_xaxes(title={"text": "time (us)", "standoff": 8}, row=rows, col=1)
    figure.update_layout(
        height=170 + 190 * rows,
        barmode="overlay",
        bargap=0.12,
        dragmode="zoom",
        font={"family": FONT, "color": INK},
        margin={"l": 90, "r": 20, "t": 40, "b": 60},
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "xanchor": "left"},
    )
    return figure


def _buffer(figure: "Figure", run: WovenRun, content: Content, row: int) -> None:
    """Draw what a buffer holds, network above network."""
    for chain, held in enumerate(content.held):
        name = escape(run.names[chain])
        figure.add_scatter(
            x=content.times_us,
            y=held,
            stackgroup=content.name,
            mode="lines",
            line={"color": run.colour(chain), "width": 0.5},
            name=name,
            legendgroup=str(chain),
            showlegend=False,
            hovertemplate=f"{content.name}, {name}: %{{y:,.4g}} {content.unit} at "
            "%{x:,.3f} us<extra></extra>",
            row=row,
            col=1,
        )
    mark = {"text": content.capacity_text, "font": {"color": ACCENT, "size": 11}}
    if content.capacity <= content.top:
        line = {"color": ACCENT, "dash": "dash", "width": 1.2}
        figure.add_hline(
            y=content.capacity, row=row, col=1, line=line, annotation=mark,
            annotation_position="top left",
        )  # fmt: skip
    else:
        figure.add_annotation(
            x=1, y=1, xref="x domain", yref="y domain", xanchor="right", yanchor="top",
            showarrow=False, row=row, col=1, **mark,
        )  # fmt: skip
    title = {"text": f"{content.name} ({content.unit})", "standoff": 8}
    figure.update_yaxes(title=title, range=[0, content.top], fixedrange=True, row=row, col=1)


def _engines(figure: "Figure", run: WovenRun) -> None:
    named: set[int] = set()
    found = bars_of(run)
    # between bars thinner than a pixel, edges would be all that is seen
    edge = 0.4 if sum(len(bars.labels) for bars in found) < _EDGED else 0.0
    for bars in found:
        figure.add_bar(
            orientation="h",
            y=[_LANES[bars.lane]] * len(bars.labels),
            x=bars.length_us,
            base=bars.start_us,
            marker={
                "color": run.colour(bars.chain),
                "line": {"color": "white", "width": edge},
                "pattern": {"shape": "/" if bars.lane == "maps" else "", "fgcolor": "white"},
            },
            name=escape(run.names[bars.chain]),
            legendgroup=str(bars.chain),
            showlegend=bars.chain not in named,
            customdata=[[escape(label)] for label in bars.labels],
            hovertemplate="%{customdata[0]}<br>from %{base:,.3f} us, %{x:,.3f} us<extra></extra>",
            row=1,
            col=1,
        )
        named.add(bars.chain)
    figure.update_yaxes(
        title={"text": ""},
        categoryorder="array",
        categoryarray=["DRAM", "array"],
        fixedrange=True,
        showgrid=False,
        row=1,
        col=1,
    )
