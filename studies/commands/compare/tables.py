"""Tables, JSON and the page of ``archloom compare``."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.analysis import MARKS, Comparison, Exclusions, results
from archloom.studies.rendering import Cell, card, document, plot, table
from archloom.studies.rendering.pictures import comparison as compare_plots, stacked_bars
from archloom.studies.rendering.text import excluded_rows, excluded_title, new_table

if TYPE_CHECKING:
    from rich.table import Table

_SPENT_HEADS: Final = {
    "evaluations": "plans evaluated",
    "cpu_seconds": "CPU time s",
    "wall_seconds": "wall-clock s",
}


@dataclass(frozen=True, slots=True)
class Findings:
    """A comparison and what else its studies tell.

    Attributes:
        comparison: hypervolumes and fronts.
        importances: for each hardware space, by objective, shares of the parameters; None where
            there are too few trials.
        exclusions: for each hardware space, what rules, limits and bounds exclude of it.
    """

    comparison: Comparison
    importances: dict[str, dict[str, dict[str, float] | None]]
    exclusions: dict[str, Exclusions]


def to_json(found: Findings) -> dict[str, Any]:
    """Return everything as plain JSON values, each run's growth too."""
    comparison = found.comparison
    courses = [
        {
            "arm": arm.label,
            "study": str(run.location),
            "seed": run.header.config["seed"],
            "percent": course.percent.tolist(),
            **{name: spent.tolist() for name, spent in course.spent.items()},
        }
        for arm, arm_courses in zip(comparison.arms, comparison.courses, strict=True)
        for run, course in zip(arm.runs, arm_courses, strict=True)
    ]
    names = [objective.name for objective in comparison.objectives]
    front = [
        {
            "arm": arm.label,
            "study": str(run.location),
            "trial": trial,
            **dict(zip(names, comparison.figures(costs), strict=True)),
        }
        for costs, arm, run, trial in comparison.front
    ]
    return {
        "objectives": names,
        "reference": list(comparison.figures(comparison.reference)),
        "hypervolume": comparison.volume,
        "arms": [asdict(one) for one in results(comparison)],
        "runs": courses,
        "front": front,
        "importances": found.importances,
        "exclusions": {space: asdict(one) for space, one in found.exclusions.items()},
    }


def tables(found: Findings) -> "list[Table]":
    """Return the tables of a terminal: arms, parameters, exclusions."""
    heads, rows = _arm_rows(found.comparison)
    title = (
        "Hypervolume of the final front, in percent of that of the front of all studies together; "
        f"reference point: {_corner(found.comparison)}"
    )
    arms = new_table(title, heads, ["arm"])
    for row in rows:
        arms.add_row(*map(_text, row))
    return [arms, *_importance_tables(found), *_exclusion_tables(found)]


def page(found: Findings) -> str:
    """Return one HTML page that needs no network."""
    comparison = found.comparison
    heads, rows = _arm_rows(comparison)
    note = (
        "Hypervolume in percent of that of the front of all studies together, measured in "
        f"logarithms from the reference point {_corner(comparison)}: median over the runs of an "
        "arm, and their range."
    )
    sections = [
        f"<h1>Comparison of {len(comparison.arms)} arms</h1>",
        card("Final fronts", note, table(heads, rows)),
        "<h2>Growth of the hypervolume</h2>",
        f'<div class="pair">{"".join(_growth_cards(comparison))}</div>',
        "<h2>Pareto fronts</h2>",
        f'<div class="pair">{"".join(_front_cards(comparison))}</div>',
        "<h2>Hardware space</h2>",
        *_importance_cards(found),
        *_exclusion_cards(found),
    ]
    return document("Archloom: comparison", "\n".join(sections))


def _corner(comparison: Comparison) -> str:
    corner = comparison.figures(comparison.reference)
    pairs = zip(comparison.objectives, corner, strict=True)
    return ", ".join(f"{objective.name} {figure:.3g}" for objective, figure in pairs)


def _arm_rows(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    spent = [name for name in comparison.kinds() if name != "trials"]
    heads = ["arm", "runs", "trials", "median %", "min %", "max %"]
    heads += [f"trials to {mark}%" for mark in MARKS]
    heads += [
        "on common front",
        f"best {comparison.objectives[0].name}",
        *(_SPENT_HEADS[s] for s in spent),
    ]
    rows: list[list[Cell]] = []
    for one in results(comparison):
        ends = [round(percent, 1) for percent in one.percent]
        marks = [one.trials_to[mark] for mark in MARKS]
        costs = [round(one.spent[name]) for name in spent]
        rows.append([one.arm, one.runs, one.trials, *ends, *marks, one.members, one.best, *costs])
    return heads, rows


def _growth_cards(comparison: Comparison) -> list[str]:
    return [
        card("", "", plot(compare_plots.growth(comparison, kind), f"growth-{kind}"))
        for kind in comparison.kinds()
    ]


def _front_cards(comparison: Comparison) -> list[str]:
    others = range(1, len(comparison.objectives))
    return [
        card(
            "",
            "Ringed: on the front of all studies together.",
            plot(compare_plots.fronts(comparison, x, 0), f"front-{x}"),
        )
        for x in others
    ]


def _importance_cards(found: Findings) -> list[str]:
    return [
        card(
            f"Parameter importance in {space}",
            "Share of the variance of an objective's logarithm that a parameter explains "
            "(fANOVA over all trials).",
            plot(stacked_bars(list(names), shares, "share of variance"), f"importance-{space}"),
        )
        for space, names, shares in _known_importances(found)
    ]


def _known_importances(
    found: Findings,
) -> list[tuple[str, dict[str, list[float]], dict[str, list[float]]]]:
    """Return for each space that has some: shares by objective and by parameter."""
    known = []
    for space, by_objective in found.importances.items():
        shares = {name: one for name, one in by_objective.items() if one is not None}
        parameters = dict.fromkeys(p for one in shares.values() for p in one)
        if shares:
            by_name = {n: [one.get(p, 0.0) for p in parameters] for n, one in shares.items()}
            by_parameter = {p: [one.get(p, 0.0) for one in shares.values()] for p in parameters}
            known.append((space, by_name, by_parameter))
    return known


def _importance_tables(found: Findings) -> "list[Table]":
    tables = []
    for space, by_name, by_parameter in _known_importances(found):
        title = (
            f"Parameter importance in {space}: share of each objective's variance that a parameter "
            "explains (fANOVA)"
        )
        shown = new_table(title, ["parameter", *by_name], ["parameter"])
        for parameter, shares in by_parameter.items():
            shown.add_row(parameter, *(f"{share:.3f}" for share in shares))
        tables.append(shown)
    return tables


def _exclusion_tables(found: Findings) -> "list[Table]":
    tables = []
    for space, one in found.exclusions.items():
        shown = new_table(f"{space}: {excluded_title(one)}", ["design", "%"], ["design"])
        for text, count in excluded_rows(one):
            shown.add_row(text, f"{100 * count / one.seen:.1f}")
        tables.append(shown)
    return tables


def _exclusion_cards(found: Findings) -> list[str]:
    return [
        card(
            f"{space}: {excluded_title(one)}",
            "",
            table(
                ["design", "%"],
                [[text, round(100 * count / one.seen, 1)] for text, count in excluded_rows(one)],
            ),
        )
        for space, one in found.exclusions.items()
    ]


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:,.4g}" if isinstance(cell, float) else str(cell)
