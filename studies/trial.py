"""The final record of a trial: one line of ``trials.jsonl``, the same on every run of a study."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ..evaluators.hardware_cost import HardwareCost, hardware_cost
from ..search.goals import EDP, Goal, Goals
from ..search.protocols import Observation
from ..space.hardware import Hardware
from .work import Crash, Outcome

if TYPE_CHECKING:
    from ..search.candidates import DesignProblem

Record = dict[str, Any]

#: Number under which the journal keeps the baseline, which is no trial.
BASELINE = -1


def trial_record(
    problem: "DesignProblem",
    trial: int,
    batch: int,
    point: dict[str, Any] | None,
    hardware: Hardware,
    rounds: Sequence[Outcome | Crash],
    planned_rounds: int,
) -> Record:
    """Return the record of a trial that ended.

    Args:
        problem: what the study searches.
        trial, batch: numbers from 0 on.
        point: parameters of the design; None for a preset.
        hardware: the design.
        rounds: what came of each round that it took part in, at least one; only the last one
            may be a crash.
        planned_rounds: rounds of a trial that is never stopped.

    Returns:
        Plain JSON values. ``state`` is one of:

        - ``complete``: it went through every round;
        - ``stopped``: it was halved away after ``rounds`` rounds, with an honest EDP;
        - ``infeasible``: no plan could be priced; ``reason`` names the rule and the numbers;
        - ``failed``: a round crashed; ``crash`` holds the traceback.

        ``edp_js`` (J*s, geometric mean over the networks) is the best found, also before a
        crash; None if nothing was. ``values`` has the figure of every objective and of all that
        is limited, by name; it is empty without an EDP.
    """
    last = rounds[-1]
    outcomes = [r for r in rounds if isinstance(r, Outcome)]
    best = outcomes[-1] if outcomes else None
    curve = best.curve if best else None
    edp = curve.edp[-1] if curve and curve.edp and isfinite(curve.edp[-1]) else None
    if isinstance(last, Crash):
        state = "failed"
    elif edp is None:
        state = "infeasible"
    else:
        state = "complete" if len(rounds) == planned_rounds else "stopped"
    cost = hardware_cost(hardware)
    return {
        "trial": trial,
        "batch": batch,
        "state": state,
        "rounds": len(rounds),
        "point": point,
        "hardware": hardware.name,
        "area_mm2": cost.area_mm2,
        "tdp_w": cost.tdp_w,
        "edp_js": edp,
        "values": _values(problem, hardware, cost, best, edp) if best and edp is not None else {},
        "evaluations": curve.evaluations[-1] if curve and curve.evaluations else 0,
        "reason": best.infeasible if best and state == "infeasible" else None,
        "crash": last.to_dict() if isinstance(last, Crash) else None,
        "networks": best.networks if best else {},
        "curve": {
            "evaluations": list(curve.evaluations) if curve else [],
            "edp_js": [e if isfinite(e) else None for e in curve.edp] if curve else [],
        },
    }


def outcome_costs(
    problem: "DesignProblem", hardware: Hardware, outcome: Outcome
) -> tuple[float, ...] | None:
    """Return the cost of each objective so far; None if nothing feasible is found yet."""
    edp = outcome.curve.edp[-1] if outcome.curve.edp else inf
    if not isfinite(edp):
        return None
    figures = _values(problem, hardware, hardware_cost(hardware), outcome, edp)
    return tuple(goal.figure(figures[goal.name]) for goal in problem.goals.objectives)


def _values(
    problem: "DesignProblem", hardware: Hardware, cost: HardwareCost, best: Outcome, edp: float
) -> dict[str, float]:
    from ..search.costs import design_costs

    found = [best.networks[network.name] for network in problem.networks]
    passes = [(network["energy_pj"], network["latency_cycles"]) for network in found]
    costs = design_costs(problem.networks, hardware, cost, passes)
    # the software search has summed the EDP up already, and rounding may differ
    return {
        goal.name: edp if goal == EDP else goal.figure(goal.cost(costs))
        for goal in _measured(problem.goals)
    }


def _measured(goals: Goals) -> list[Goal]:
    return list(dict.fromkeys([*goals.objectives, *(limit.goal for limit in goals.limits)]))


def figure_of(record: Record, goal: Goal) -> float:
    """Return a figure of a trial that has an EDP."""
    # records of older versions have EDP, area and TDP alone
    value: float = record.get("values", record)[goal.name]
    return value


def costs_of(record: Record, goals: Goals) -> tuple[float, ...]:
    """Return the cost of each objective of a trial that has an EDP."""
    return tuple(goal.figure(figure_of(record, goal)) for goal in goals.objectives)


def excess_of(record: Record, goals: Goals) -> tuple[float, ...]:
    """Return ln(cost / limit) for each limit, of a trial that has an EDP."""
    return tuple(
        limit.excess(limit.goal.figure(figure_of(record, limit.goal))) for limit in goals.limits
    )


def observation(record: Record, goals: Goals) -> Observation:
    """Return what the optimizer learns from a trial."""
    reason = record["reason"]
    failure = reason["reason"] if reason else None
    point, spent = record["point"], record["evaluations"]
    if record["edp_js"] is None:
        return Observation(point, None, spent, failure)
    values, excess = costs_of(record, goals), excess_of(record, goals)
    return Observation(point, values, spent, failure, excess)


def mappings_proven(record: Record) -> tuple[int, int]:
    """Return how many of a trial's recorded mappings are proven to be the best, and how many all
    are; those of its plans and of the plans that fuse nothing.
    """
    networks = record["networks"].values()
    # records of older versions have no gaps
    proven = sum(gap == 0 for best in networks for gap in best.get("gaps", {}).values())
    return proven, sum(len(best["mappings"]) for best in networks)
