"""The page of a study: what its template shows, and the packed data that its script draws."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from archloom.search import Objective
from archloom.studies.analysis import Design, Details, StudyView
from archloom.studies.rendering.pictures import GROUP_COLOURS, SERIES, plots, stacked_bars
from archloom.studies.rendering.text import (
    COLUMNS,
    excluded_rows,
    excluded_title,
    finite,
    front_legend,
    plan_gap_text,
)

from ..html import Cell, figure_json, packed, packed_plotly, render, table
from .design_data import design_data, more_data
from .fates import fate_rows, loss_rows
from .held_out import held_out_table
from .material import Apart, Material
from .network_data import NetworkPlace, network_data, places_of
from .squeezed import Squeezed, json_bytes

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: letters that packed designs may take, their numbers alone and with pictures of the front: with
#: plotly's 2 million, and what else a page of 200 trials has, it stays below 3 million bytes
NUMBERS_BYTES: Final = 680_000
DESIGNS_BYTES: Final = 800_000


class PackedDesigns(NamedTuple):
    """What a page carries of designs.

    Attributes:
        labels: of those whose numbers are there.
        numbers: of all of these, packed together, for designs have most of their text in common.
        pictures: by label, each packed by itself.
    """

    labels: tuple[str, ...]
    numbers: str
    pictures: dict[str, str]


#: pairs of objectives that have a plot
_MOST_PAIRS: Final = 6

#: what columns of the tables of designs mean
_TABLE_HELP: Final = COLUMNS | {"state": "progress of the software search; see the legend"}


def study_page(values: Mapping[str, Any]) -> str:
    """Return the page of a study with what :func:`page_values` returns."""
    return render("study.html.j2", plotly=packed_plotly(), **values)


def study_body(values: Mapping[str, Any]) -> str:
    """Return what of that page changes while a study runs: all but its style and scripts."""
    return render("study_body.html.j2", **values)


def page_values(material: Material, live: bool = False) -> dict[str, Any]:
    """Return what the template of a page shows.

    Args:
        material: all that there is to show.
        live: whether the page asks its server for what is new.
    """
    view = material.view
    places = places_of(material.networks)
    designs = packed_designs(material.apart, _order(material), places)
    left_out = [label for label in _order(material) if label not in designs.labels]
    figures = dict(_figures(material))
    return {
        "title": f"{view.name} - Archloom",
        "view": view,
        "subtitle": subtitle(view, picked_details(material)),
        "tiles": _tiles(view),
        "front_table": _front_table(view) if view.front else "",
        "front_heights": {name: figure.layout.height for name, figure in figures.items()},
        "pairs": [name for name in figures if name.startswith("front-")],
        "pair_titles": _pair_titles(view),
        "state_legend": front_legend(design.state for design in view.designs),
        "reference": view.reference_text,
        "fates": table(*fate_rows(view)),
        "losses": table(*loss_rows(view)) if view.losses else "",
        "excluded": _excluded(material),
        "shares": any(material.shares.values()),
        "held_out": held_out_table(view) if view.held_out else "",
        "evaluations_held_out": view.held_out[0].evaluations if view.held_out else 0,
        "designs": designs,
        "left_out": left_out,
        "whys": {label: material.apart.get(label, Apart()).why for label in left_out},
        "live": live,
        "data": packed(_data(material, figures, places).encode()),
    }


def _order(material: Material) -> list[str]:
    return [design.label for design in material.shown]


def picked_details(material: Material) -> Details | None:
    """Return the details of the selected design; None if there is none, or it cannot be."""
    view = material.view
    if view.picked is None:
        return None
    found = material.apart.get(view.designs[view.picked].label)
    return found.details if found else None


def packed_designs(
    apart: Mapping[str, Apart], order: Sequence[str], places: Mapping[str, NetworkPlace]
) -> PackedDesigns:
    """Return what a page carries of designs, the first ones as long as there is room."""
    known = [
        (label, found.details, found.buffers)
        for label in order
        if (found := apart.get(label)) and found.details is not None
    ]
    numbers = Squeezed(NUMBERS_BYTES)
    labels = {
        label
        for label, details, _ in known
        if numbers.add(label, _as_columns(design_data(details, places)))
    }
    pictures, room = dict[str, str](), DESIGNS_BYTES - len(numbers.text)
    for label, details, buffers in known:
        if label in labels and buffers:
            text = packed(json_bytes(more_data(details, buffers, places)))
            if len(text) <= room:
                pictures[label], room = text, room - len(text)
    return PackedDesigns(
        tuple(label for label, *_ in known if label in labels), numbers.text, pictures
    )


def _as_columns(design: dict[str, Any]) -> dict[str, Any]:
    """Return a design with its layers column by column, which packs better."""
    plans = [
        {key: value for key, value in plan.items() if key != "layers"}
        | {"columns": list(zip(*plan["layers"], strict=True))}
        for plan in design["networks"]
    ]
    return design | {"networks": plans}


def subtitle(view: StudyView, details: Details | None) -> str:
    """Say what was studied and how it is priced: the DRAM decides what fusion gains."""
    text = f"Study of {dict(view.facts)['networks']}"
    if details is None:
        return text
    hardware = details["hardware"]
    return (
        f"{text}, technology table {hardware['technology']}, "
        f"{hardware['dram']} at {hardware['dram_pj_per_bit']:g} pJ/bit"
    )


def _tiles(view: StudyView) -> list[tuple[str, str, str]]:
    tiles = [("Pareto front", f"{len(view.front)} designs", f"of {len(view.designs)} with an EDP")]
    if view.picked is None:
        return tiles
    pick = view.designs[view.picked]
    return [
        *tiles,
        ("Selected design", f"trial {pick.label}", f"on the front, {view.rule}"),
        *(
            (
                f"Its {objective.title}",
                f"{pick.figure(objective):.3g} {objective.facts.unit}".rstrip(),
                _against(view.baseline, pick, objective),
            )
            for objective in view.objective_set.measured
        ),
    ]


def _against(baseline: Design | None, design: Design, objective: Objective) -> str:
    """Say how a figure compares with the baseline's."""
    if baseline is None:
        return ""
    mine, theirs = design.figure(objective), baseline.figure(objective)
    if f"{mine / theirs:.3g}" == "1":
        return f"the same as {baseline.label}"
    if mine <= theirs:
        return f"{theirs / mine:.3g}x less than {baseline.label}"
    return f"{mine / theirs:.3g}x more than {baseline.label}"


def _pairs(view: StudyView) -> list[tuple[Objective, Objective, Objective]]:
    """Pairs of axes, each with the one that colours their plot."""
    return [
        (y, x, next(other for other in view.axes if other not in (x, y)))
        for y, x in list(combinations(view.axes, 2))[:_MOST_PAIRS]
    ]


def _pair_titles(view: StudyView) -> list[tuple[str, str]]:
    titles = [(f"{y.title} and {x.title}", colour.title) for y, x, colour in _pairs(view)]
    return [(title[:1].upper() + title[1:], colour) for title, colour in titles]


def _figures(material: Material) -> "Iterator[tuple[str, Figure]]":
    view = material.view
    if view.front:
        for number, (y, x, colour) in enumerate(_pairs(view)):
            yield f"front-{number}", plots.objectives(view, y, x, colour)
        yield "space-3d", plots.objectives_3d(view)
        yield "parallel", plots.parallel_coordinates(view, [*_beside(view), *view.front])
    if view.reference is not None:
        yield "hypervolume", plots.hypervolume(view)
    if view.designs:
        yield "curves", plots.curves(view)
    known = {name: shares for name, shares in material.shares.items() if shares}
    if known:
        parameters = dict.fromkeys(name for shares in known.values() for name in shares)
        parts = {p: [shares.get(p, 0.0) for shares in known.values()] for p in parameters}
        yield "importances", stacked_bars(list(known), parts, "share of the variance")


def _beside(view: StudyView) -> list[Design]:
    return [design for design in view.designs if not design.on_front]


def _row(view: StudyView, design: Design) -> list[Cell]:
    return [
        design.label,
        *(design.figure(objective) for objective in view.objective_set.measured),
        design.state,
        design.trial.evaluations,
        plan_gap_text(design.trial.plan_gap_percent),
        "{} of {}".format(*design.trial.mappings_proven),
        *design.parameters.values(),
    ]


def _heads(view: StudyView) -> list[str]:
    figures = [objective.label for objective in view.objective_set.measured]
    parameters = list(view.designs[0].parameters) if view.designs else []
    return ["trial", *figures, "state", "evaluations", "gap", "proven", *parameters]


def _front_table(view: StudyView) -> str:
    rows = [_row(view, design) for design in view.front]
    labels = [design.label for design in view.front]
    picked = None if view.picked is None else labels.index(view.designs[view.picked].label)
    return table(_heads(view), rows, marked=picked, labels=labels, help=_TABLE_HELP)


def _excluded(material: Material) -> tuple[str, str, str]:
    """Return a title, a table and what is said where there is none."""
    found = material.excluded
    if isinstance(found, str):
        return "", "", found
    rows: list[list[Cell]] = [
        [text, count, 100 * count / found.seen] for text, count in excluded_rows(found)
    ]
    return excluded_title(found), table(["design", "designs", "%"], rows), ""


def _data(
    material: Material,
    figures: "Mapping[str, Figure]",
    places: Mapping[str, NetworkPlace],
) -> str:
    """Return what the page's script works with, as JSON."""
    view = material.view
    everything = [*view.designs, *([view.baseline] if view.baseline else [])]
    data = {
        "heads": [[head, _TABLE_HELP.get(head)] for head in _heads(view)],
        "figures": len(view.objective_set.measured),
        "rows": {design.label: list(map(finite, _row(view, design))) for design in everything},
        "front": [design.label for design in view.front],
        "picked": None if view.picked is None else view.designs[view.picked].label,
        "baseline": view.baseline.label if view.baseline else None,
        "hover": {
            design.label: plots.hover_text(design, view.objective_set.measured)
            for design in everything
        },
        "networks": [network_data(place) for place in places.values()],
        "groupColours": GROUP_COLOURS,
        "series": SERIES,
    }
    drawn = ",".join(
        f"{json.dumps(name)}:{figure_json(figure)}" for name, figure in figures.items()
    )
    return f'{json.dumps(data, allow_nan=False)[:-1]},"plots":{{{drawn}}}}}'
