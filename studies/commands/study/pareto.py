"""The front of a study as a table, as JSON and as CSV."""

import csv
import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from archloom.search import ObjectiveSet
from archloom.studies.analysis import FIELD_NAMES, Front
from archloom.studies.config import PICKED
from archloom.studies.rendering.text import front_legend as legend_of, plan_gap_text
from archloom.studies.storage import HeldOutTrial, Trial

if TYPE_CHECKING:
    from rich.table import Table


#: what a front in other objectives is called
_OTHER: Final = "Not dominated among recorded trials, in other objectives than were searched"

#: what labels with a dot mean
_OUTCOME: Final = (
    "N.k: outcome k of trial N: the same design with other mappings, which take less energy or "
    "fewer cycles"
)

#: what a certificate says beside its counts and volumes
_DERIVED: Final = (
    "proven_at_this_budget", "proven", "excluded", "gap", "share", "share_any_budget",
)  # fmt: skip

#: columns of figures whose heads fit a terminal side by side
_ON_ONE_LINE = 4


def front_json(front: Front) -> str:
    """Return ``{"front": [{"trial", "edp_js", "area_mm2", "tdp_w", ..., "hardware"}, ...]}``.

    Of a trial's other outcomes ``outcome`` says which. Further keys are ``state``, ``evaluations``
    and ``plan_gap_percent``: how good these figures are, as :func:`front_legend` says. In other
    ``objectives`` than were ``searched`` a ``note`` says so,
    and each row has these figures as ``values``. Where there are other objectives or limits, each
    row has their figures as ``values``; where there are held-out networks, what the design does
    there as ``held_out``. If the space is followed, ``certificate`` says what bounds prove
    (:class:`archloom.search.hardware.certify.certificate.Certificate`).
    """
    rows = []
    for trial in front.members:
        row: dict[str, Any] = {"trial": trial.number}
        row |= {"outcome": trial.outcome} if trial.outcome else {}
        row |= {"edp_js": trial.edp_js}
        row |= {"area_mm2": trial.area_mm2, "tdp_w": trial.tdp_w, **_quality(trial)}
        measured = front.objective_set.measured
        other = front.searched is not None
        if other or any(objective.name not in FIELD_NAMES for objective in measured):
            row["values"] = {objective.name: trial.figure(objective) for objective in measured}
        row["hardware"] = trial.point
        if on_others := front.on_held_out(trial):
            row["held_out"] = _held_out_json(on_others)
        rows.append(row)
    found: dict[str, Any] = {"front": rows}
    if front.searched is not None:
        names, searched = (_names(one) for one in (front.objective_set, front.searched))
        found |= {"objectives": names, "searched": searched, "note": not_searched(front.searched)}
    if front.proof is not None:
        derived = {name: getattr(front.proof, name) for name in _DERIVED}
        found["certificate"] = front.proof.to_dict() | derived
    return json.dumps(found, indent=2)


def _quality(trial: Trial) -> dict[str, Any]:
    """Return what says how good the figures of a trial are."""
    return {
        "state": trial.state,
        "evaluations": trial.evaluations,
        "plan_gap_percent": trial.plan_gap_percent,
    }


def _held_out_json(trial: HeldOutTrial) -> dict[str, Any]:
    keys, found = ("edp_js", "energy_pj", "latency_s", "batch"), trial.to_dict()
    networks = {
        name: {key: network[key] for key in keys} for name, network in found["networks"].items()
    }
    return {"values": found["values"], "networks": networks, "missing": found["missing"]}


def front_csv(front: Front) -> str:
    """Return one line per design: trial, objectives, what is limited, how good these figures are,
    then every parameter. In other objectives than were searched a column ``searched_for`` names
    those that were."""
    text = io.StringIO()
    parameters = list(front.members[0].point or {}) if front.members else []
    writer = csv.writer(text, lineterminator="\n")
    held_out = front.held_out_columns
    names = [objective.name for objective in front.objective_set.measured] + [
        f"held_out {objective.name}" for objective in held_out
    ]
    quality = ["state", "evaluations", "plan_gap_percent"]
    searched = [] if front.searched is None else [" ".join(_names(front.searched))]
    quality += ["searched_for"] * len(searched)
    writer.writerow(["trial", *names, *quality, *parameters])
    for trial in front.members:
        figures: list[float | None] = [
            trial.figure(objective) for objective in front.objective_set.measured
        ]
        found, point = front.on_held_out(trial), trial.point or {}
        figures += [found.values.get(objective.name) if found else None for objective in held_out]
        good = [*_quality(trial).values(), *searched]
        writer.writerow([trial.label, *figures, *good, *(point[p] for p in parameters)])
    return text.getvalue()


def _names(objective_set: ObjectiveSet) -> list[str]:
    return [objective.name for objective in objective_set.objectives]


def not_searched(searched: ObjectiveSet) -> str:
    """Say of a front in other objectives what it is not."""
    names = ", ".join(objective.label for objective in searched.objectives)
    return (
        f"This is not what the search optimised: that was {names}. Designs that are better in the "
        "objectives shown here may never have been tried."
    )


def front_size(front: Front) -> str:
    """Say how many designs are on a front, and with how many outcomes if that is more."""
    points = len(front.members)
    designs = len({trial.number for trial in front.members})
    return f"{points} designs" if designs == points else f"{points} points of {designs} designs"


def front_table(front: Front) -> "Table":
    """Return the front for a terminal; the picked design has a star.

    :func:`front_legend` says what its columns mean. Parameters that all designs share stand below
    the table once.
    """
    from rich.table import Table

    members = front.members
    described = [_parameters(trial.hardware) for trial in members]
    shared = [p for p in described[0] if all(p in d for d in described)] if len(members) > 1 else []
    table = Table(
        title=f"{'Pareto front' if front.searched is None else _OTHER}: {front_size(front)}",
        title_justify="left",
        caption=f"Parameters with the same value in all designs: {' '.join(shared)}"
        if shared
        else None,
        caption_justify="left",
    )
    columns, held_out = front.objective_set.measured, front.held_out_columns
    heads = [objective.label for objective in columns] + [
        f"held-out {objective.label}" for objective in held_out
    ]
    if len(heads) > _ON_ONE_LINE:
        heads = [head.replace(" (", "\n(").replace("held-out ", "held-out\n") for head in heads]
    for name in ("trial", *heads, "state", "evaluations", "gap", "proven"):
        table.add_column(name, justify="left" if name == "state" else "right", no_wrap=True)
    table.add_column("hardware", overflow="fold")
    chosen = front.picked
    for trial, parameters in zip(members, described, strict=True):
        star = " *" if trial is chosen else ""
        numbers = [objective.shown(trial.figure(objective)) for objective in columns]
        found = front.on_held_out(trial)
        others = found.values if found else {}
        numbers += [
            objective.shown(others[objective.name]) if others else "" for objective in held_out
        ]
        numbers += [trial.state, str(trial.evaluations), plan_gap_text(trial.plan_gap_percent)]
        proven = "{}/{}".format(*trial.mappings_proven)
        own = " ".join(p for p in parameters if p not in shared)
        table.add_row(f"{trial.label}{star}", *numbers, proven, own)
    return table


def front_legend(front: Front) -> str:
    """Say what the columns of a front's table mean that say how good the others are."""
    if not front.members:
        return ""
    counts: Counter[str] = Counter(trial.state for trial in front.members)
    counted = {state: f" ({count})" for state, count in counts.items()}
    return "\n".join(
        [
            *([] if front.searched is None else [not_searched(front.searched)]),
            *(f"{term}: {text}{counted.get(term, '')}" for term, text in legend_of(counts)),
            *([_OUTCOME] if any(trial.outcome for trial in front.members) else []),
            f"*: design selected by the study's rule ({PICKED[front.rule.name]})",
        ]
    )


def _parameters(hardware: str) -> list[str]:
    """Return what a design's name says in brackets: its parameters.

    Those that count for nothing in it (FAST's private buffers in a design with shared ones) are
    not in its name.
    """
    return hardware.partition("(")[2].removesuffix(")").split(", ")


def _why(trial: Trial) -> str:
    """Return why a trial has no EDP."""
    if trial.crash is not None:
        return f"{trial.crash.error}: {trial.crash.message}"
    return str(trial.reason)


def comparison(front: Front, baseline: Trial | None) -> str | None:
    """Return a line that compares the picked design with the baseline; None if there is none."""
    chosen = front.picked
    if baseline is None or chosen is None:
        return None
    names = f"trial {chosen.label} relative to baseline {baseline.hardware}"
    if baseline.edp_js is None:
        return f"{names}: the baseline could not be evaluated ({baseline.state}: {_why(baseline)})"
    ratios = ", ".join(
        f"{objective.title} x {chosen.figure(objective) / baseline.figure(objective):.3g}"
        for objective in front.objective_set.objectives
    )
    mine, theirs = map(front.on_held_out, (chosen, baseline))
    if mine and theirs and mine.values and theirs.values:
        ratios += "; on the held-out networks: " + ", ".join(
            f"{objective.title} x {mine.values[objective.name] / theirs.values[objective.name]:.3g}"
            for objective in front.held_out_columns
        )
    return f"{names}, with the same cost model: {ratios}"
