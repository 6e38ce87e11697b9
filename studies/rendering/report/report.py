"""One self-contained HTML file about a study: it needs no network and no server."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from archloom.search import Objective
from archloom.space.workload import Network
from archloom.studies.analysis import Design, Details, StudyView, load_view, trial_details
from archloom.studies.config import Location
from archloom.studies.engine.progress import SILENT, Stages
from archloom.studies.rendering.pictures import draw_summary, plots
from archloom.studies.rendering.text import plan_gap_text
from archloom.studies.storage import (
    Trial,
    check_folder,
    kept_workloads,
    read_header,
    write_whole,
)

from ...errors import UserError, choosing, writing
from ..html import card, definitions, document, plot, table, tile
from .design_section import design_sections
from .held_out_section import held_out_sections
from .network_section import network_sections

HTML, PNG = "report.html", "report.png"

_GOOD: Final = (
    "complete: the software was searched to the end of the study's budget; stopped: halving ended "
    "the search early, with more the design may have less EDP. Evaluations: fusion plans for each "
    "network. Gap: EDP is at most so much above the least that any mappings give its plan; of "
    "several networks the largest."
)


def write_report(
    location: Location,
    pick: str | None = None,
    stages: Stages = SILENT,
    out: Path | None = None,
) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.png``; return their paths.

    Args:
        location: of the study.
        pick: a rule in place of the study's.
        stages: hear how far it is.
        out: folder that they go to; None for the study's directory.

    Raises:
        UserError: there is no study, it has no finished trial yet, or it has no directory and
            ``out`` is None.
    """
    out = out or (location if isinstance(location, Path) else None)
    if out is None:
        raise UserError(f"{location} has no directory; say with --out where its report goes")
    check_folder(out)
    stages.begin("writing the report", 4)
    stages.advance("reading the study", 0)
    view = load_view(location, pick)
    stages.advance("taking the picked design apart")
    label = None if view.picked is None else view.designs[view.picked].label
    details = None if label is None else trial_details(location, int(label))
    page, picture = out / HTML, out / PNG
    networks = [workload.network for workload in kept_workloads(location, read_header(location))]
    stages.advance("drawing the page")
    with choosing(out):
        out.mkdir(parents=True, exist_ok=True)
    with writing(page):
        write_whole(page, render(view, details, networks))
    stages.advance("drawing the picture")
    with writing(picture):
        draw_summary(view, subtitle(view, details), picture)
    stages.end()
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
    if view.front:
        sections += _front(view)
    if view.held_out:
        sections += held_out_sections(view)
    if view.designs:
        sections += _search(view)
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
            tile("Picked design", f"trial {pick.label}", f"on the front, {view.rule}"),
            *(
                tile(
                    f"Its {objective.title}",
                    f"{pick.figure(objective):.3g} {objective.facts.unit}".rstrip(),
                    _against(view.baseline, pick, objective),
                )
                for objective in view.objective_set.measured
            ),
        ]
    return [
        f'<div class="tiles">{"".join(tiles)}</div>',
        card("The study", "", definitions(view.facts)),
    ]


def _against(baseline: Design | None, design: Design, objective: Objective) -> str:
    """Say how a figure compares with the baseline's."""
    if baseline is None:
        return ""
    mine, theirs = design.figure(objective), baseline.figure(objective)
    if f"{mine / theirs:.3g}" == "1":
        return f"as much as {baseline.label}"
    if mine <= theirs:
        return f"{theirs / mine:.3g}x less than {baseline.label}"
    return f"{mine / theirs:.3g}x more than {baseline.label}"


def _front(view: StudyView) -> list[str]:
    first, second, third = view.axes
    left = card(
        f"{first.title} and {second.title}",
        f"Colour is {third.title}. Hover over a point to see the design. Dotted: no design "
        "of the front beats it in both.",
        plot(plots.objectives(view, first, second, third), "front-1"),
    )
    right = card(
        f"{first.title} and {third.title}",
        f"The same designs; colour is {second.title}.",
        plot(plots.objectives(view, first, third, second), "front-2"),
    )
    parallel = card(
        "Parameters of the front",
        f"One line for each design, coloured by {first.title}. Drag along an axis to select; "
        "parameters that all members share are left out.",
        plot(plots.parallel_coordinates(view), "parallel"),
    )
    members = card("Designs of the front", _GOOD, _designs(view.front, view))
    return [
        "<h2>Pareto front</h2>",
        f'<div class="pair">{left}{right}</div>',
        f'<div class="wide">{parallel}</div>',
        f'<div class="wide">{members}</div>',
    ]


def _designs(designs: Sequence[Design], view: StudyView) -> str:
    names = list(designs[0].parameters)
    rows = [
        [
            d.label,
            *(d.figure(objective) for objective in view.objective_set.measured),
            d.state,
            d.trial.evaluations,
            plan_gap_text(d.trial.plan_gap_percent),
            "{} of {}".format(*d.trial.mappings_proven),
            *d.parameters.values(),
        ]
        for d in designs
    ]
    picked = None if view.picked is None else designs.index(view.designs[view.picked])
    numbers = [objective.label for objective in view.objective_set.measured]
    good = ["state", "evaluations", "gap", "mappings proven"]
    return table(["trial", *numbers, *good, *names], rows, marked=picked)


def _search(view: StudyView) -> list[str]:
    volume = ""
    if view.reference is not None:
        corner = ", ".join(
            f"{objective.figure(cost):.3g} {objective.facts.unit}".rstrip()
            for objective, cost in zip(view.objective_set.objectives, view.reference, strict=True)
        )
        volume = card(
            "Hypervolume",
            f"Volume between the front and {corner}, in logarithms: halving an objective is worth "
            "the same anywhere.",
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
            *_why(loss),
            ", ".join(f"{k}={v}" for k, v in (loss.point or {}).items()),
        ]
        for loss in view.losses
    ]
    heads = ["trial", "state", "reason", "detail", "design"]
    return ["<h2>Trials without a price, or crashed</h2>", card("", "", table(heads, rows))]


def _why(trial: Trial) -> tuple[str, str]:
    """Return the name of what went wrong with a trial, and the amounts or the message."""
    if trial.crash is not None:
        return trial.crash.error, trial.crash.message
    if trial.reason is not None:
        return trial.reason.reason, str(trial.reason)
    return "no_plan", "no plan with a price was found within the budget"
