"""The Pareto front of a study's trials in its objectives, and how it is printed."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..search.certificate import Certificate
from ..search.goals import Goal, Goals
from .goal_rules import stored_goals
from .pick_rules import stored_pick
from .store import read_certificate, read_header, read_trials, read_validation
from .trial import Record, costs_of, excess_of, figure_of, mappings_proven
from .validation import held_out_goals

if TYPE_CHECKING:
    from rich.table import Table

    from ..search.picks import PickRule

#: figures that the rows of a front have had from the start
_FIELDS = ("edp_js", "area_mm2", "tdp_w")

#: columns of figures whose heads fit a terminal side by side
_ON_ONE_LINE = 4


@dataclass(frozen=True, slots=True)
class Front:
    """The designs of a study that nothing dominates.

    Attributes:
        goals: objectives and limits.
        members: by the first objective, the best one first.
        rule: which of them is picked.
        held_out: records of :mod:`archloom.studies.validation`, if there are any.
        proof: what lower bounds prove of it; None if the space is not followed.
    """

    goals: Goals
    members: tuple[Record, ...]
    rule: "PickRule"
    held_out: tuple[Record, ...] = ()
    proof: Certificate | None = None

    @property
    def columns(self) -> list[Goal]:
        """What tables show of a design: objectives, then what else is limited."""
        limited = [limit.goal for limit in self.goals.limits]
        return list(dict.fromkeys([*self.goals.objectives, *limited]))

    @property
    def held_out_columns(self) -> list[Goal]:
        """What tables show of the held-out networks together."""
        known = {name for record in self.held_out for name in record["values"]}
        return [g for g in held_out_goals(self.goals.objectives, ()) if g.name in known]

    def on_held_out(self, trial: int) -> Record | None:
        """Return what the design of a trial does on the held-out networks; None if unknown."""
        return next((record for record in self.held_out if record["trial"] == trial), None)

    @property
    def picked(self) -> Record | None:
        """The design that the rule picks; None if there is none."""
        if not self.members:
            return None
        return self.members[self.rule.choose([costs_of(r, self.goals) for r in self.members])]


def front_of(records: Sequence[Record], goals: Goals) -> list[Record]:
    """Return the non-dominated trials that keep the limits, by the first objective.

    A trial that halving stopped counts too: its figures were found, more search would only have
    improved them.
    """
    from ..search.pareto import non_dominated

    kept = [r for r in records if r["edp_js"] is not None and keeps_limits(r, goals)]
    if not kept:
        return []
    costs = [costs_of(r, goals) for r in kept]
    best = zip(kept, costs, non_dominated(costs), strict=True)
    front = [(cost[0], r["trial"], r) for r, cost, keep in best if keep]
    return [r for *_, r in sorted(front, key=lambda row: row[:2])]


def keeps_limits(record: Record, goals: Goals) -> bool:
    """Whether a trial that has an EDP keeps every limit."""
    return all(excess <= 0 for excess in excess_of(record, goals))


def read_front(folder: Path, pick: str | None = None) -> Front:
    """Return the front of a study's directory, which may be running.

    Args:
        folder: the directory.
        pick: name of a pick rule; None for the study's own.

    Raises:
        UserError: the directory is no study, or there is no such rule.
    """
    config = read_header(folder).config
    goals = stored_goals(config)
    members = tuple(front_of(read_trials(folder), goals))
    held_out, proof = tuple(read_validation(folder)), read_certificate(folder)
    return Front(goals, members, stored_pick(config, pick), held_out, proof)


def front_json(front: Front) -> str:
    """Return ``{"front": [{"trial", "edp", "area_mm2", "tdp_w", "hardware"}, ...]}``.

    Where there are other objectives or limits, each row has their figures as ``values``; where
    there are held-out networks, what the design does there as ``held_out``. If the space is
    followed, ``certificate`` says what bounds prove
    (:class:`archloom.search.certificate.Certificate`).
    """
    rows = []
    for r in front.members:
        row = {"trial": r["trial"], "edp": r["edp_js"]}
        row |= {"area_mm2": r["area_mm2"], "tdp_w": r["tdp_w"]}
        if any(goal.name not in _FIELDS for goal in front.columns):
            row["values"] = {goal.name: figure_of(r, goal) for goal in front.columns}
        row["hardware"] = r["point"]
        if on_others := front.on_held_out(r["trial"]):
            row["held_out"] = _held_out_json(on_others)
        rows.append(row)
    found: dict[str, Any] = {"front": rows}
    if front.proof is not None:
        derived = {name: getattr(front.proof, name) for name in ("proven", "excluded", "gap")}
        found["certificate"] = front.proof.to_dict() | derived
    return json.dumps(found, indent=2)


def _held_out_json(found: Record) -> Record:
    keys = ("edp_js", "energy_pj", "latency_s", "batch")
    networks = {
        name: {key: network[key] for key in keys} for name, network in found["networks"].items()
    }
    return {"values": found["values"], "networks": networks, "missing": found["missing"]}


def front_csv(front: Front) -> str:
    """Return one line per design: trial, objectives, what is limited, then every parameter."""
    text = io.StringIO()
    parameters = list(front.members[0]["point"]) if front.members else []
    writer = csv.writer(text, lineterminator="\n")
    held_out = front.held_out_columns
    names = [goal.name for goal in front.columns] + [f"held_out {goal.name}" for goal in held_out]
    writer.writerow(["trial", *names, *parameters])
    for r in front.members:
        figures = [figure_of(r, goal) for goal in front.columns]
        others = (front.on_held_out(r["trial"]) or {}).get("values", {})
        figures += [others.get(goal.name) for goal in held_out]
        writer.writerow([r["trial"], *figures, *(r["point"][p] for p in parameters)])
    return text.getvalue()


def front_table(front: Front) -> "Table":
    """Return the front for a terminal; the picked design has a star.

    The column ``proven`` has the recorded mappings that are proven to be the best, of all.
    Parameters that all designs share stand below the table once.
    """
    from rich.table import Table

    members = front.members
    described = [_parameters(r["hardware"]) for r in members]
    shared = [p for p in described[0] if all(p in d for d in described)] if len(members) > 1 else []
    table = Table(
        title=f"Pareto front: {len(members)} designs",
        title_justify="left",
        caption=f"All have {' '.join(shared)}" if shared else None,
        caption_justify="left",
    )
    columns, held_out = front.columns, front.held_out_columns
    heads = [goal.label for goal in columns] + [f"held-out {goal.label}" for goal in held_out]
    if len(heads) > _ON_ONE_LINE:
        heads = [head.replace(" (", "\n(").replace("held-out ", "held-out\n") for head in heads]
    for name in ("trial", *heads, "proven"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("hardware", overflow="fold")
    chosen = front.picked["trial"] if front.picked else None
    for r, parameters in zip(members, described, strict=True):
        star = " *" if r["trial"] == chosen else ""
        numbers = [goal.shown(figure_of(r, goal)) for goal in columns]
        others = (front.on_held_out(r["trial"]) or {}).get("values", {})
        numbers += [goal.shown(others[goal.name]) if others else "" for goal in held_out]
        proven = "{}/{}".format(*mappings_proven(r))
        own = " ".join(p for p in parameters if p not in shared)
        table.add_row(f"{r['trial']}{star}", *numbers, proven, own)
    return table


def _parameters(hardware: str) -> list[str]:
    """Return what a design's name says in brackets: its parameters.

    Those that count for nothing in it (FAST's private buffers in a design with shared ones) are
    not in its name.
    """
    return hardware.partition("(")[2].removesuffix(")").split(", ")


def comparison(front: Front, baseline: Record | None) -> str | None:
    """Return a line that compares the picked design with the baseline; None if there is none."""
    chosen = front.picked
    if baseline is None or chosen is None:
        return None
    names = f"trial {chosen['trial']} against {baseline['hardware']}"
    if baseline["edp_js"] is None:
        why = baseline["reason"] or baseline["crash"]
        return f"{names}: the baseline has no EDP ({baseline['state']}: {why})"
    ratios = ", ".join(
        f"{goal.title} x {figure_of(chosen, goal) / figure_of(baseline, goal):.3g}"
        for goal in front.goals.objectives
    )
    mine, theirs = (front.on_held_out(r["trial"]) for r in (chosen, baseline))
    if mine and theirs and mine["values"] and theirs["values"]:
        ratios += "; on the held-out networks: " + ", ".join(
            f"{goal.title} x {mine['values'][goal.name] / theirs['values'][goal.name]:.3g}"
            for goal in front.held_out_columns
        )
    return f"{names}, on the same cost model: {ratios}"
