"""View of a study for its report: a value, read from the records once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any

from archloom.search import AREA, EDP, TDP, Objective, ObjectiveSet
from archloom.search.hardware.certify import certificate_text
from archloom.space.mapping import constraints_text, read_constraints
from archloom.studies.config import (
    PICKED,
    Location,
    Workload,
    argument,
    stored_objective_set,
    stored_pick,
)
from archloom.studies.storage import (
    BASELINE,
    HeldOutTrial,
    Trial,
    kept_workloads,
    read_baseline,
    read_certificate,
    read_header,
    read_trials,
    read_validation,
)

from ..errors import UserError
from .front import Front, front_of

if TYPE_CHECKING:
    from archloom.space.design_space.compression import CompressedForms

Facts = tuple[tuple[str, str], ...]
"""Pairs of a label and a value, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Design:
    """A trial that has an EDP, or the baseline, as a report shows it.

    Attributes:
        trial: of the design.
        on_front: whether no other trial dominates it.
        kept: whether it keeps every limit.
    """

    trial: Trial
    on_front: bool = False
    kept: bool = True

    @property
    def label(self) -> str:
        """As of its trial."""
        return self.trial.label

    @property
    def state(self) -> str:
        """``complete``, ``stopped``, ``failed`` or ``baseline``."""
        return "baseline" if self.trial.number == BASELINE else self.trial.state

    @property
    def parameters(self) -> dict[str, Any]:
        """The point in the hardware space; empty for a preset."""
        return self.trial.point or {}

    @property
    def curve(self) -> tuple[tuple[int, float], ...]:
        """(evaluations, best EDP so far) over its life."""
        curve = self.trial.curve
        steps = zip(curve.evaluations, curve.edp, strict=True)
        return tuple((n, edp) for n, edp in steps if isfinite(edp))

    def figure(self, objective: Objective) -> float:
        """Return its figure of an objective."""
        return self.trial.figure(objective)

    def costs(self, objectives: Sequence[Objective]) -> tuple[float, ...]:
        """Return its costs, all to be minimised."""
        return tuple(objective.figure(self.figure(objective)) for objective in objectives)


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study as its report shows it.

    Attributes:
        name: of the study.
        facts: the configuration, for people.
        designs: every trial that has an EDP, in order; of its other outcomes those on the front.
        losses: trials without an EDP, and those that crashed after they had one.
        baseline: the preset for comparison, if the study has one and has evaluated it.
        picked: position in ``designs`` of the front member that the rule picks.
        rule: how it is picked, for people.
        objective_set: objectives and limits.
        held_out: how designs do on held-out networks.
        reference: costs of the corner that hypervolumes are measured from; None if no design
            keeps the limits.
        hypervolume: (fusion plans evaluated so far, hypervolume) after each trial; in percent of
        the
            box between the best cost of each objective that any design of the front has, and
            ``reference``, measured in logarithms.
    """

    name: str
    facts: Facts
    designs: tuple[Design, ...]
    losses: tuple[Trial, ...]
    baseline: Design | None
    picked: int | None
    reference: tuple[float, ...] | None
    hypervolume: tuple[tuple[int, float], ...]
    rule: str = PICKED["ideal"]
    objective_set: ObjectiveSet = field(default_factory=ObjectiveSet)
    held_out: tuple[HeldOutTrial, ...] = ()

    @property
    def front(self) -> tuple[Design, ...]:
        """Members of the Pareto front, by the first objective."""
        members = (design for design in self.designs if design.on_front)
        return tuple(
            sorted(members, key=lambda design: design.costs(self.objective_set.objectives))
        )

    @property
    def reference_text(self) -> str:
        """Reference point of the hypervolume, for people: ``EDP 1.1e-4 J s, area 20 mm2``."""
        objectives = self.objective_set.objectives
        return ", ".join(
            objective.text(objective.figure(cost))
            for objective, cost in zip(objectives, self.reference or (), strict=False)
        )

    @property
    def axes(self) -> tuple[Objective, ...]:
        """Axes of plots, at least three: the objectives, filled up with EDP, area and TDP."""
        objectives = self.objective_set.objectives
        axes = dict.fromkeys([*objectives, EDP, AREA, TDP])
        return tuple(axes)[: max(3, len(objectives))]


def load_view(location: Location, pick: str | None = None) -> StudyView:
    """Read a study, finished or not; ``pick`` is a rule in place of the study's.

    Raises:
        UserError: there is no study, or has no finished trial yet.
    """
    header = read_header(location)
    config = header.config
    workloads = kept_workloads(location, header)
    trials = read_trials(location)
    if not trials:
        raise UserError(
            f"{location} has no finished trial yet; resume it with: archloom resume "
            f"{argument(location)}"
        )
    objective_set, rule = stored_objective_set(config), stored_pick(config, pick)
    priced = [trial for trial in trials if trial.edp_js is not None]
    every = [one for trial in priced for one in trial.outcomes]
    front = Front(objective_set, tuple(front_of(every, objective_set)), rule)
    members = {trial.label for trial in front.members}
    shown = [one for one in every if not one.outcome or one.label in members]
    designs = tuple(Design(t, t.label in members, t.keeps_limits(objective_set)) for t in shown)
    kept = [design.costs(objective_set.objectives) for design in designs if design.kept]
    reference = hypervolume_reference(kept, objective_set, config["constraints"]) if kept else None
    baseline = read_baseline(location)
    return StudyView(
        name=config["name"],
        facts=(*_facts(config, objective_set, workloads, trials), *_proof(location)),
        designs=designs,
        losses=tuple(t for t in trials if t.edp_js is None or t.crash is not None),
        baseline=Design(baseline, kept=baseline.keeps_limits(objective_set))
        if baseline and baseline.edp_js
        else None,
        picked=shown.index(front.picked) if front.picked else None,
        reference=reference,
        hypervolume=hypervolume_history(designs, objective_set.objectives, reference)
        if reference
        else (),
        rule=PICKED[rule.name],
        objective_set=objective_set,
        held_out=tuple(read_validation(location)),
    )


def hypervolume_reference(
    costs: Sequence[Sequence[float]], objective_set: ObjectiveSet, constraints: Mapping[str, Any]
) -> tuple[float, ...]:
    """Return the costs of the corner that volumes are measured from.

    Caps and limits of the objectives, where there are any, else 10% above the worst seen.
    """
    limits = {
        limit.objective: limit.objective.figure(limit.value) for limit in objective_set.every_limit
    }
    caps = {AREA: constraints["area_mm2"], TDP: constraints["tdp_w"]}
    worst = [1.1 * max(column) for column in zip(*costs, strict=True)]
    return tuple(
        limits.get(objective) or caps.get(objective) or seen
        for objective, seen in zip(objective_set.objectives, worst, strict=True)
    )


def hypervolume_history(
    designs: Sequence[Design], objectives: Sequence[Objective], reference: tuple[float, ...]
) -> tuple[tuple[int, float], ...]:
    """Return (evaluations spent, hypervolume in percent) after each design in turn."""
    from archloom.search import hypervolume_after, hypervolume_percent

    # all outcomes of a trial are of the same search
    runs = (0 if design.trial.outcome else design.trial.evaluations for design in designs)
    spent = list(accumulate(runs))
    # designs that break a limit add nothing
    kept = [design.costs(objectives) for design in designs if design.kept]
    ideal = [min(column) for column in zip(*kept, strict=True)]
    percents = (
        hypervolume_percent(volume, ideal, reference)
        for volume in hypervolume_after(kept, reference)
    )
    volumes = [0.0, *percents]
    seen = accumulate(int(design.kept) for design in designs)
    return tuple((evaluations, volumes[n]) for evaluations, n in zip(spent, seen, strict=True))


def _facts(
    config: dict[str, Any],
    objective_set: ObjectiveSet,
    workloads: Sequence[Workload],
    trials: Sequence[Trial],
) -> Facts:
    """Return the configuration and what became of it, for people."""
    caps = config["constraints"]
    wanted = [
        f"{label} at most {caps[key]:g} {unit}"
        for key, label, unit in (("area_mm2", "area", "mm²"), ("tdp_w", "TDP", "W"))
        if caps[key] is not None
    ]
    wanted += [limit.text for limit in objective_set.every_limit]
    states = Counter(trial.state for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    software = config["software"]
    rules = constraints_text(read_constraints(software.get("constraints", {})))
    proven, mappings = map(sum, zip(*(trial.mappings_proven for trial in trials), strict=True))
    return (
        ("networks", ", ".join(workload.label for workload in workloads)),
        *(("compressed forms", _forms(w.label, w.forms)) for w in workloads if w.forms is not None),
        *([("tenants", _tenants(config))] if config.get("tenants") else []),
        ("hardware space", config["space"]),
        ("objectives", ", ".join(objective.title for objective in objective_set.objectives)),
        ("limits", "; ".join(wanted) or "none"),
        ("trials", f"{len(trials)} of {config['trials']} ({counts})"),
        ("fusion plans evaluated", f"{sum(trial.evaluations for trial in trials):,}"),
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


def _proof(location: Location) -> Facts:
    proof = read_certificate(location)
    # a line for each statement, which the page would run together
    lines = certificate_text(proof).splitlines() if proof else []
    return tuple(zip(("proof at this budget", "proof for any budget"), lines, strict=False))


def _forms(label: str, forms: "CompressedForms") -> str:
    """Return what a network may lose, and how accurate it is then, for people."""
    percent = forms.accuracy_percent
    groups = ", ".join(
        f"{group.name} {' '.join(f'{level:g}' for level in group.levels)}" for group in forms.groups
    )
    spans = (
        f"{min(found):.2f} to {max(found):.2f} % at {widths} bits"
        for widths in forms.widths
        if (found := [percent[form, widths] for form in forms.forms()])
    )
    count = len(list(forms.forms()))
    return (
        f"{label}: {count} compressed forms, pruned fractions {groups}; accuracy {', '.join(spans)}"
    )


def _tenants(config: Mapping[str, Any]) -> str:
    """Return the networks that share the chip, with what is asked for each."""
    return "; ".join(
        f"{t['workload']}: share {t['share']:g}, weight {t['weight']:g}"
        + (f", deadline {t['deadline_ms']:g} ms" if "deadline_ms" in t else "")
        for t in config["tenants"]
    )


def _choice(section: dict[str, Any]) -> str:
    """Return a chosen part and its options, such as ``msh (rounds 3, first_budget 16)``."""
    options = ", ".join(f"{key} {value}" for key, value in section.items() if key != "name")
    return f"{section['name']} ({options})" if options else str(section["name"])
