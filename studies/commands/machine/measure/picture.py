"""Picture of a measurement: time of each layer by kernel, untuned and tuned."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.rendering.pictures import SERIES, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: layers of a panel's axis that still have room for their names
_MOST: Final = 40


def draw_times(results: dict[str, Any], path: Path) -> None:
    """Draw the times of all layers, a panel for untuned and one for tuned kernels."""
    from matplotlib.figure import Figure

    layers = results["layers"][:_MOST]
    width = 3.0 + 0.42 * max(len(layers), 8)
    figure = Figure(figsize=(width, 7.6), layout="constrained", dpi=150)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    cut = f" (the first {_MOST} shapes)" if len(results["layers"]) > _MOST else ""
    title = f"{results['wanted']['name']}, {results['machine']['cpu']}{cut}"
    figure.suptitle(title, fontsize=11, parse_math=False)
    kernels = list(dict.fromkeys(row["kernel"] for layer in layers for row in layer["rows"]))
    for axes, tuned in zip(panels, (False, True), strict=True):
        for number, kernel in enumerate(kernels):
            _dots(axes, layers, kernel, tuned, SERIES[number % len(SERIES)])
        axes.set(yscale="log", ylabel="time (us)")
        axes.set_title("tuned" if tuned else "untuned", fontsize=10)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
    names = [layer["name"] for layer in layers]
    panels[1].set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    handles, labels = panels[0].get_legend_handles_labels()
    more, others = panels[1].get_legend_handles_labels()
    found = dict(zip([*labels, *others], [*handles, *more], strict=True))
    figure.legend(
        list(found.values()), list(found), fontsize=8.5, frameon=False, loc="outside right upper"
    )
    save_figure(figure, path)


def _dots(axes: "Axes", layers: list[Any], kernel: str, tuned: bool, colour: str) -> None:
    """Draw a kernel's times with their quartiles; refused ones are left out."""
    places, rows = [], []
    for place, layer in enumerate(layers):
        for row in layer["rows"]:
            same = row["kernel"] == kernel and row["status"] == "timed"
            # plain loops have one schedule, shown in both panels
            if same and (row["tuned"] == tuned or row["algorithm"] == "portable"):
                places.append(place)
                rows.append(row)
    if not rows:
        return
    middle = [row["median_us"] for row in rows]
    below = [max(row["median_us"] - row["low_us"], 0) for row in rows]
    above = [max(row["high_us"] - row["median_us"], 0) for row in rows]
    axes.errorbar(
        places, middle, yerr=[below, above], fmt="o", ms=4, color=colour, label=kernel, capsize=2
    )
