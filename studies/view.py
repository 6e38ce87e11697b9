"""What reports show of a study, read from its records once: a value without behaviour."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..search.goals import AREA, EDP, TDP, Goal, Goals
from ..space.constraints_reader import constraints_text, read_constraints
from ..space.infeasible import Infeasible
from .certificate_text import certificate_text
from .errors import UserError
from .front import Front, front_of, keeps_limits
from .goal_rules import stored_goals
from .pick_rules import PICKED, stored_pick
from .store import (
    read_baseline,
    read_certificate,
    read_header,
    read_trials,
    read_validation,
)
from .trial import Record, mappings_proven
from .workloads import kept_workloads

Facts = tuple[tuple[str, str], ...]
"""Pairs of a label and a value, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Design:
    """One priced design.

    Attributes:
        label: trial number, or the name of a preset.
        state: complete, stopped or baseline.
        figures: by name, of every objective and limit, and EDP, area and TDP.
        parameters: the point in the hardware space; empty for a preset.
        evaluations: fusion plans that were priced for it.
        curve: (evaluations, best EDP so far) over its life.
        on_front: whether no other trial dominates it.
        proven: recorded mappings that are proven to be the best, and all of them.
        kept: whether it keeps every limit.
    """

    label: str
    state: str
    figures: Mapping[str, float]
    parameters: dict[str, Any] = field(default_factory=dict)
    evaluations: int = 0
    curve: tuple[tuple[int, float], ...] = ()
    on_front: bool = False
    proven: tuple[int, int] = (0, 0)
    kept: bool = True

    def figure(self, goal: Goal) -> float:
        """Return its figure of a goal."""
        return self.figures[goal.name]

    def costs(self, goals: Sequence[Goal]) -> tuple[float, ...]:
        """Return its costs, all to be minimised."""
        return tuple(goal.figure(self.figure(goal)) for goal in goals)


@dataclass(frozen=True, slots=True)
class Loss:
    """A trial that ended without a price, or in a crash.

    Attributes:
        label: trial number.
        state: infeasible or failed.
        reason: name of the broken rule or of the error.
        detail: the amounts and the hint, or the error's message.
        parameters: the point in the hardware space.
    """

    label: str
    state: str
    reason: str
    detail: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study as its report shows it.

    Attributes:
        name: of the study.
        facts: the configuration, for people.
        designs: every priced trial, in the order of the trials.
        losses: trials without a price, and those that crashed after they had one.
        baseline: the preset for comparison, if the study has one and has priced it.
        picked: position in ``designs`` of the front member that the rule picks.
        rule: how it is picked, for people.
        goals: objectives and limits.
        held_out: records of the held-out networks (:mod:`archloom.studies.validation`).
        reference: costs of the corner that hypervolumes are measured from; None if no design
            keeps the limits.
        hypervolume: (software evaluations so far, decades cubed) after each trial.
    """

    name: str
    facts: Facts
    designs: tuple[Design, ...]
    losses: tuple[Loss, ...]
    baseline: Design | None
    picked: int | None
    reference: tuple[float, ...] | None
    hypervolume: tuple[tuple[int, float], ...]
    rule: str = PICKED["ideal"]
    goals: Goals = field(default_factory=Goals)
    held_out: tuple[Record, ...] = ()

    @property
    def front(self) -> tuple[Design, ...]:
        """Members of the Pareto front, by the first objective."""
        members = (design for design in self.designs if design.on_front)
        return tuple(sorted(members, key=lambda design: design.costs(self.goals.objectives)))

    @property
    def axes(self) -> tuple[Goal, Goal, Goal]:
        """What plots show: the first objectives, and where there are fewer EDP, area, TDP."""
        first, second, third, *_ = dict.fromkeys([*self.goals.objectives, EDP, AREA, TDP])
        return first, second, third

    @property
    def columns(self) -> tuple[Goal, ...]:
        """What tables show: objectives, and what else is limited."""
        limited = [limit.goal for limit in self.goals.limits]
        return tuple(dict.fromkeys([*self.goals.objectives, *limited]))


def load_view(folder: Path, pick: str | None = None) -> StudyView:
    """Read a study's directory, finished or not; ``pick`` is a rule in place of the study's.

    Raises:
        UserError: the directory is no study, or has no finished trial yet.
    """
    header = read_header(folder)
    config = header.config
    labels = [workload.label for workload in kept_workloads(folder, header)]
    records = read_trials(folder)
    if not records:
        raise UserError(f"{folder} has no finished trial yet; 'archloom resume {folder}' goes on")
    goals, rule = stored_goals(config), stored_pick(config, pick)
    priced = [record for record in records if record["edp_js"] is not None]
    front = Front(goals, tuple(front_of(priced, goals)), rule)
    members = {record["trial"] for record in front.members}
    designs = tuple(_design(record, goals, record["trial"] in members) for record in priced)
    kept = [design.costs(goals.objectives) for design in designs if design.kept]
    reference = hypervolume_reference(kept, goals, config["constraints"]) if kept else None
    baseline = read_baseline(folder)
    return StudyView(
        name=config["name"],
        facts=(*_facts(config, goals, labels, records), *_proof(folder)),
        designs=designs,
        losses=tuple(_loss(r) for r in records if r["edp_js"] is None or r["crash"] is not None),
        baseline=_baseline(baseline, goals) if baseline and baseline["edp_js"] else None,
        picked=priced.index(front.picked) if front.picked else None,
        reference=reference,
        hypervolume=hypervolume_history(designs, goals.objectives, reference) if reference else (),
        rule=PICKED[rule.name],
        goals=goals,
        held_out=tuple(read_validation(folder)),
    )


def hypervolume_reference(
    costs: Sequence[Sequence[float]], goals: Goals, constraints: Mapping[str, Any]
) -> tuple[float, ...]:
    """Return the costs of the corner that volumes are measured from.

    Caps and limits of the objectives, where there are any, else 10% above the worst seen.
    """
    limits = {limit.goal: limit.goal.figure(limit.value) for limit in goals.limits}
    caps = {AREA: constraints["area_mm2"], TDP: constraints["tdp_w"]}
    worst = [1.1 * max(column) for column in zip(*costs, strict=True)]
    return tuple(
        limits.get(goal) or caps.get(goal) or seen
        for goal, seen in zip(goals.objectives, worst, strict=True)
    )


def hypervolume_history(
    designs: Sequence[Design], objectives: Sequence[Goal], reference: tuple[float, ...]
) -> tuple[tuple[int, float], ...]:
    """Return (evaluations spent, hypervolume) after each design in turn."""
    from ..search.pareto import hypervolume_after

    spent = list(accumulate(design.evaluations for design in designs))
    # designs that break a limit add nothing
    kept = [design.costs(objectives) for design in designs if design.kept]
    volumes = [0.0, *hypervolume_after(kept, reference)]
    seen = accumulate(int(design.kept) for design in designs)
    return tuple((evaluations, volumes[n]) for evaluations, n in zip(spent, seen, strict=True))


def _design(record: Record, goals: Goals, on_front: bool) -> Design:
    curve = record["curve"]
    steps = zip(curve["evaluations"], curve["edp_js"], strict=True)
    always = {goal.name: record[goal.name] for goal in (EDP, AREA, TDP)}
    return Design(
        label=str(record["trial"]),
        state=record["state"],
        figures=always | record.get("values", {}),
        parameters=record["point"] or {},
        evaluations=record["evaluations"],
        proven=mappings_proven(record),
        curve=tuple((n, edp) for n, edp in steps if edp is not None),
        on_front=on_front,
        kept=keeps_limits(record, goals),
    )


def _baseline(record: Record, goals: Goals) -> Design:
    design = _design(record, goals, on_front=False)
    return replace(design, label=record["hardware"], state="baseline")


def _loss(record: Record) -> Loss:
    if record["crash"] is not None:
        reason, detail = record["crash"]["error"], record["crash"]["message"]
    elif record["reason"] is not None:
        reason, detail = record["reason"]["reason"], str(Infeasible(**record["reason"]))
    else:
        reason, detail = "no_plan", "no plan with a price was found within the budget"
    return Loss(str(record["trial"]), record["state"], reason, detail, record["point"] or {})


def _facts(
    config: dict[str, Any], goals: Goals, labels: list[str], records: Sequence[Record]
) -> Facts:
    """Return the configuration and what became of it, for people."""
    caps = config["constraints"]
    wanted = [
        f"{label} at most {caps[key]:g} {unit}"
        for key, label, unit in (("area_mm2", "area", "mm²"), ("tdp_w", "TDP", "W"))
        if caps[key] is not None
    ]
    wanted += [limit.text for limit in goals.limits]
    states = Counter(record["state"] for record in records)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    software = config["software"]
    rules = constraints_text(read_constraints(software.get("constraints", {})))
    proven, mappings = map(sum, zip(*map(mappings_proven, records), strict=True))
    return (
        ("networks", ", ".join(labels)),
        ("hardware space", config["space"]),
        ("objectives", ", ".join(goal.title for goal in goals.objectives)),
        ("limits", "; ".join(wanted) or "none"),
        ("trials", f"{len(records)} of {config['trials']} ({counts})"),
        ("software evaluations", f"{sum(record['evaluations'] for record in records):,}"),
        ("optimizer", _choice(config["optimizer"])),
        ("halving", f"{_choice(config['halving'])}; batches of {config['batch_size']}"),
        ("fusion search", f"{software['fusion']} (population {software['population']})"),
        (
            "mapping search",
            f"{software['mapping']} ({software['mapping_evaluations']:,} per layer, "
            f"{software.get('factors', 'exact')} factors)",
        ),
        *([("mapping constraints", rules)] if rules else []),
        ("recorded mappings", f"{proven:,} of {mappings:,} proven optimal"),
        ("seed", str(config["seed"])),
    )


def _proof(folder: Path) -> Facts:
    proof = read_certificate(folder)
    return (("what bounds prove", certificate_text(proof)),) if proof else ()


def _choice(section: dict[str, Any]) -> str:
    """Return a chosen part and its options, such as ``msh (rounds 3, first_budget 16)``."""
    options = ", ".join(f"{key} {value}" for key, value in section.items() if key != "name")
    return f"{section['name']} ({options})" if options else str(section["name"])
