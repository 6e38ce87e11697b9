"""Front of a study's trials in other objectives than those that it searched."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from archloom.search import AREA, EDP, TDP, Objective, ObjectiveSet
from archloom.studies.config import (
    Location,
    form_choices,
    other_objectives,
    pick_rule,
    stored_objective_set,
    stored_pick,
)
from archloom.studies.storage import Trial, read_trials

from ...errors import UserError
from ..details import TrialReader
from .pareto_front import Front, front_of

if TYPE_CHECKING:
    from archloom.space.workload import Network

#: what records have had from the start
_ALWAYS = (EDP.name, AREA.name, TDP.name)


def read_other_front(location: Location, names: str, pick: str | None = None) -> Front:
    """Return the recorded trials that are not dominated in other objectives.

    The limits are those of the study. It is a front of what was recorded: no design was proposed
    for these objectives, and what halving stopped was stopped by those of the study.

    Args:
        location: of the study.
        names: of objectives, as :func:`archloom.studies.config.other_objectives` reads them.
        pick: name of a pick rule; None for the study's own, which picks by the same name.

    Raises:
        UserError: there is no study, no such objective or rule, or an objective that records do
            not tell.
    """
    reader = TrialReader(location)
    config = reader.header.config
    searched = stored_objective_set(config)
    # refuses a rule that there is not
    stored_pick(config, pick)
    objectives, trials = other_objectives(names), read_trials(location)
    _check(objectives, [w.network for w in reader.workloads], trials)
    shown = ObjectiveSet.of(objectives, searched.limits)
    told = _teller(reader, objectives)
    every = (one for trial in trials for one in trial.outcomes)
    members = front_of([told(t) for t in every if t.keeps_limits(searched)], shown)
    rule = pick or config.get("pick", {"name": "ideal"})["name"]
    return Front(shown, tuple(members), pick_rule({"name": rule}, objectives), searched=searched)


def _check(
    objectives: Sequence[Objective],
    networks: "Sequence[Network]",
    trials: Sequence[Trial],
) -> None:
    """Refuse objectives that the study's records do not tell."""
    own = [one for one in objectives if not one.facts.of_tenants]
    if faults := [text for one in own if (text := one.fault(networks))]:
        raise UserError(f"--objectives: {'; '.join(faults)}")
    for one in objectives:
        recorded = all(one.name in trial.values for trial in trials if trial.edp_js is not None)
        if (one.facts.of_tenants or one.facts.of_forms) and not recorded:
            raise UserError(
                f"--objectives: {one.metric} is not recorded: only a study that searches or limits "
                "it records it"
            )


def _teller(reader: TrialReader, objectives: Sequence[Objective]) -> Callable[[Trial], Trial]:
    """Return what adds to a trial with an EDP the figures of objectives that it does not have."""
    from archloom.evaluators import hardware_cost
    from archloom.search import design_costs

    share = reader.header.config["density"]
    choices = form_choices(reader.workloads, (share["weights"], share["inputs"]))
    plain = [w.network.with_density(share["weights"], share["inputs"]) for w in reader.workloads]

    def told(trial: Trial) -> Trial:
        absent = [o for o in objectives if o.name not in (*_ALWAYS, *trial.values)]
        if not absent:
            return trial
        hardware = reader.hardware(trial)
        networks = choices.networks_at(trial.point) if choices else plain
        found = [trial.networks[network.name] for network in networks]
        passes = [(one.energy_pj, one.latency_cycles) for one in found]
        costs = design_costs(networks, hardware, hardware_cost(hardware), passes)
        more = {one.name: one.figure(one.cost(costs)) for one in absent}
        return replace(trial, values=dict(trial.values) | more)

    return told
