"""What reports show of a study, read from its records once: a value without behaviour."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..space.constraints_reader import constraints_text, read_constraints
from ..space.infeasible import Infeasible
from .errors import UserError
from .front import front_of, pick
from .store import read_baseline, read_header, read_trials
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
        edp_js: energy of one inference x latency of one pass, geometric mean over the networks.
        area_mm2, tdp_w: of the hardware alone.
        parameters: the point in the hardware space; empty for a preset.
        evaluations: fusion plans that were priced for it.
        curve: (evaluations, best EDP so far) over its life.
        on_front: whether no other trial dominates it.
        proven: recorded mappings that are proven to be the best, and all of them.
    """

    label: str
    state: str
    edp_js: float
    area_mm2: float
    tdp_w: float
    parameters: dict[str, Any] = field(default_factory=dict)
    evaluations: int = 0
    curve: tuple[tuple[int, float], ...] = ()
    on_front: bool = False
    proven: tuple[int, int] = (0, 0)

    @property
    def objectives(self) -> tuple[float, float, float]:
        """EDP, area and TDP; all are minimised."""
        return (self.edp_js, self.area_mm2, self.tdp_w)


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
        picked: position in ``designs`` of the front member nearest to the ideal.
        reference: EDP, area and TDP of the corner that hypervolumes are measured from; None if
            nothing is priced.
        hypervolume: (software evaluations so far, decades cubed) after each trial.
    """

    name: str
    facts: Facts
    designs: tuple[Design, ...]
    losses: tuple[Loss, ...]
    baseline: Design | None
    picked: int | None
    reference: tuple[float, float, float] | None
    hypervolume: tuple[tuple[int, float], ...]

    @property
    def front(self) -> tuple[Design, ...]:
        """Members of the Pareto front, by EDP."""
        members = (design for design in self.designs if design.on_front)
        return tuple(sorted(members, key=lambda design: design.objectives))


def load_view(folder: Path) -> StudyView:
    """Read a study's directory, finished or not.

    Raises:
        UserError: the directory is no study, or has no finished trial yet.
    """
    header = read_header(folder)
    config = header.config
    labels = [workload.label for workload in kept_workloads(folder, header)]
    records = read_trials(folder)
    if not records:
        raise UserError(f"{folder} has no finished trial yet; 'archloom resume {folder}' goes on")
    priced = [record for record in records if record["edp_js"] is not None]
    values = [(record["edp_js"], record["area_mm2"], record["tdp_w"]) for record in priced]
    front = front_of(priced)
    members = {record["trial"] for record in front}
    designs = tuple(_design(record, record["trial"] in members) for record in priced)
    reference = hypervolume_reference(values, config["constraints"]) if values else None
    baseline = read_baseline(folder)
    return StudyView(
        name=config["name"],
        facts=_facts(config, labels, records),
        designs=designs,
        losses=tuple(_loss(r) for r in records if r["edp_js"] is None or r["crash"] is not None),
        baseline=_baseline(baseline) if baseline and baseline["edp_js"] else None,
        picked=priced.index(pick(front)) if front else None,
        reference=reference,
        hypervolume=hypervolume_history(designs, reference) if reference else (),
    )


def hypervolume_reference(
    values: Sequence[tuple[float, float, float]], caps: dict[str, float | None]
) -> tuple[float, float, float]:
    """Return the corner that volumes are measured from: caps, else 10% above the worst seen."""
    worst = [1.1 * max(column) for column in zip(*values, strict=True)]
    return (worst[0], caps["area_mm2"] or worst[1], caps["tdp_w"] or worst[2])


def hypervolume_history(
    designs: Sequence[Design], reference: tuple[float, float, float]
) -> tuple[tuple[int, float], ...]:
    """Return (evaluations spent, hypervolume) after each design in turn."""
    from ..search.pareto import hypervolume_after

    spent = accumulate(design.evaluations for design in designs)
    volumes = hypervolume_after([design.objectives for design in designs], reference)
    return tuple(zip(spent, volumes, strict=True))


def _design(record: Record, on_front: bool) -> Design:
    curve = record["curve"]
    steps = zip(curve["evaluations"], curve["edp_js"], strict=True)
    return Design(
        label=str(record["trial"]),
        state=record["state"],
        edp_js=record["edp_js"],
        area_mm2=record["area_mm2"],
        tdp_w=record["tdp_w"],
        parameters=record["point"] or {},
        evaluations=record["evaluations"],
        proven=mappings_proven(record),
        curve=tuple((n, edp) for n, edp in steps if edp is not None),
        on_front=on_front,
    )


def _baseline(record: Record) -> Design:
    return replace(_design(record, False), label=record["hardware"], state="baseline")


def _loss(record: Record) -> Loss:
    if record["crash"] is not None:
        reason, detail = record["crash"]["error"], record["crash"]["message"]
    elif record["reason"] is not None:
        reason, detail = record["reason"]["reason"], str(Infeasible(**record["reason"]))
    else:
        reason, detail = "no_plan", "no plan with a price was found within the budget"
    return Loss(str(record["trial"]), record["state"], reason, detail, record["point"] or {})


def _facts(config: dict[str, Any], labels: list[str], records: Sequence[Record]) -> Facts:
    """Return the configuration and what became of it, for people."""
    caps = config["constraints"]
    wanted = [
        f"{label} at most {caps[key]:g} {unit}"
        for key, label, unit in (("area_mm2", "area", "mm²"), ("tdp_w", "TDP", "W"))
        if caps[key] is not None
    ]
    states = Counter(record["state"] for record in records)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    software = config["software"]
    rules = constraints_text(read_constraints(software.get("constraints", {})))
    proven, mappings = map(sum, zip(*map(mappings_proven, records), strict=True))
    return (
        ("networks", ", ".join(labels)),
        ("hardware space", config["space"]),
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


def _choice(section: dict[str, Any]) -> str:
    """Return a chosen part and its options, such as ``msh (rounds 3, first_budget 16)``."""
    options = ", ".join(f"{key} {value}" for key, value in section.items() if key != "name")
    return f"{section['name']} ({options})" if options else str(section["name"])
