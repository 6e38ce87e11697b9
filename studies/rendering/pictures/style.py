"""Colours, fonts and axes of every picture."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


INK = "#1f2933"
FADED = "#b8c1cc"
ACCENT = "#c2410c"
BASELINE = "#0f766e"

SERIES = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
"""Fills of stacked bars; the order is that of the levels, so it is the same in all plots."""

FONT = "Inter, 'Segoe UI', Helvetica, Arial, sans-serif"
_GRID = {"gridcolor": "#e4e8ed", "zeroline": False, "linecolor": "#9aa5b1", "showline": True}


#: axes that several pictures have
EVALUATIONS: Final = "fusion plans evaluated for the trial"
ALL_EVALUATIONS: Final = "fusion plans evaluated, all trials"
VOLUME: Final = "hypervolume (% of the box)"


def apply_style(figure: "Figure", x_label: str, y_label: str) -> None:
    """Give a figure the looks that all have, and its axes their labels."""
    figure.update_layout(
        template="none",
        font={"family": FONT, "size": 13, "color": INK},
        height=430,
        margin={"l": 80, "r": 20, "t": 36, "b": 90},
        plot_bgcolor="white",
        paper_bgcolor="white",
        hoverlabel={"align": "left", "bgcolor": "white", "font": {"family": FONT, "size": 12}},
        legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0.5, "xanchor": "center"},
    )
    figure.update_xaxes(title={"text": x_label, "standoff": 12}, **_GRID)
    figure.update_yaxes(title={"text": y_label, "standoff": 12}, **_GRID)
