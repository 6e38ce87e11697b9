"""One self-contained HTML file about a study: it needs no network and no server."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..space.network import Network
from . import plots
from .details import Details, trial_details
from .figure import draw
from .page import card, definitions, document, plot, table, tile
from .report_design import design_sections
from .report_networks import network_sections
from .store import read_header, write_whole
from .view import Design, StudyView, load_view
from .workloads import kept_workloads

HTML, PNG = "report.html", "report.png"


def write_report(folder: Path) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.png`` into the study's directory; return their paths.

    Raises:
        UserError: the directory is no study, or has no finished trial yet.
    """
    view = load_view(folder)
    label = None if view.picked is None else view.designs[view.picked].label
    details = None if label is None else trial_details(folder, int(label))
    page, picture = folder / HTML, folder / PNG
    networks = [workload.network for workload in kept_workloads(folder, read_header(folder))]
    write_whole(page, render(view, details, networks))
    draw(view, subtitle(view, details), picture)
    return page, picture


def render(view: StudyView, details: Details | None, networks: Sequence[Network] = ()) -> str:
    """Return the page of a study.

    Args:
        view: of the study.
        details: of the picked design, if there is one.
        networks: that are drawn.
    """
    from plotly.offline import get_plotlyjs

    heading = f'<p class="soft">{escape(subtitle(view, details))}.</p>'
    sections = [f"<h1>{escape(view.name)}</h1>{heading}", *_overview(view)]
    if view.designs:
        sections += [*_front(view), *_search(view)]
    if details:
        sections += design_sections(details)
    sections += network_sections(networks, details)
    sections += _losses(view)
    return document(f"{view.name} - Archloom", "\n".join(sections), get_plotlyjs())


def subtitle(view: StudyView, details: Details | None) -> str:
    """Say what was studied and how it is priced: the DRAM decides what fusion gains."""
    text = f"Study of {dict(view.facts)['networks']}"
    if details is None:
        return text
    hardware = details["hardware"]
    return (
        f"{text}, priced with technology table {hardware['technology']}, "
        f"{hardware['dram']} at {hardware['dram_pj_per_bit']:g} pJ/bit"
    )


def _overview(view: StudyView) -> list[str]:
    tiles = [tile("Pareto front", f"{len(view.front)} designs", f"of {len(view.designs)} priced")]
    if view.picked is not None:
        pick = view.designs[view.picked]
        tiles += [
            tile("Picked design", f"trial {pick.label}", "on the front, nearest to the ideal"),
            tile("Its EDP", f"{pick.edp_js:.3g} J s", _against(view.baseline, pick, "edp_js")),
            tile("Its area", f"{pick.area_mm2:.3g} mm²", _against(view.baseline, pick, "area_mm2")),
            tile("Its TDP", f"{pick.tdp_w:.3g} W", _against(view.baseline, pick, "tdp_w")),
        ]
    return [
        f'<div class="tiles">{"".join(tiles)}</div>',
        card("The study", "", definitions(view.facts)),
    ]


def _against(baseline: Design | None, design: Design, what: str) -> str:
    """Say how an objective compares with the baseline's."""
    if baseline is None:
        return ""
    mine, theirs = getattr(design, what), getattr(baseline, what)
    if f"{mine / theirs:.3g}" == "1":
        return f"as much as {baseline.label}"
    if mine <= theirs:
        return f"{theirs / mine:.3g}x less than {baseline.label}"
    return f"{mine / theirs:.3g}x more than {baseline.label}"


def _front(view: StudyView) -> list[str]:
    area = card(
        "EDP and area",
        "Colour is TDP. Hover over a point to see the design. Dotted: no design beats it in both.",
        plot(plots.objectives(view), "edp-area"),
    )
    power = card(
        "EDP and TDP",
        "The same designs; colour is area.",
        plot(plots.objectives(view, "tdp_w", "area_mm2"), "edp-tdp"),
    )
    parallel = card(
        "Parameters of the front",
        "One line for each design, coloured by EDP. Drag along an axis to select; parameters "
        "that all members share are left out.",
        plot(plots.parallel_coordinates(view), "parallel"),
    )
    members = card("Designs of the front", "", _designs(view.front, view))
    return [
        "<h2>Pareto front</h2>",
        f'<div class="pair">{area}{power}</div>',
        f'<div class="wide">{parallel}</div>',
        f'<div class="wide">{members}</div>',
    ]


def _designs(designs: Sequence[Design], view: StudyView) -> str:
    names = list(designs[0].parameters)
    rows = [
        [
            d.label,
            d.edp_js,
            d.area_mm2,
            d.tdp_w,
            d.evaluations,
            "{} of {}".format(*d.proven),
            *d.parameters.values(),
        ]
        for d in designs
    ]
    picked = None if view.picked is None else designs.index(view.designs[view.picked])
    numbers = [plots.EDP_LABEL, plots.AREA_LABEL, plots.TDP_LABEL, "evaluations"]
    heads = ["trial", *numbers, "mappings proven", *names]
    return table(heads, rows, marked=picked)


def _search(view: StudyView) -> list[str]:
    assert view.reference is not None
    edp, area, tdp = view.reference
    volume = card(
        "Hypervolume",
        f"Volume between the front and {edp:.3g} J s, {area:.3g} mm², {tdp:.3g} W, in logarithms: "
        "halving an objective is worth the same anywhere.",
        plot(plots.hypervolume(view), "hypervolume"),
    )
    curves = card(
        "Software search of each trial",
        "Best EDP against fusion plans priced. Grey: stopped by halving, and not on the front.",
        plot(plots.curves(view), "curves"),
    )
    return ["<h2>Search</h2>", f'<div class="pair">{volume}{curves}</div>']


def _losses(view: StudyView) -> list[str]:
    if not view.losses:
        return []
    rows = [
        [
            loss.label,
            loss.state,
            loss.reason,
            loss.detail,
            ", ".join(f"{k}={v}" for k, v in loss.parameters.items()),
        ]
        for loss in view.losses
    ]
    heads = ["trial", "state", "reason", "detail", "design"]
    return ["<h2>Trials without a price, or crashed</h2>", card("", "", table(heads, rows))]
