"""The final record of a trial: one line of ``trials.jsonl``, the same on every run of a study."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ..evaluators.hardware_cost import hardware_cost
from ..search.protocols import Observation
from ..space.hardware import Hardware
from .work import Crash, Outcome

Record = dict[str, Any]

#: Number under which the journal keeps the baseline, which is no trial.
BASELINE = -1


def trial_record(
    trial: int,
    batch: int,
    point: dict[str, Any] | None,
    hardware: Hardware,
    rounds: Sequence[Outcome | Crash],
    planned_rounds: int,
) -> Record:
    """Return the record of a trial that ended.

    Args:
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
        crash; None if nothing was.
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
        "evaluations": curve.evaluations[-1] if curve and curve.evaluations else 0,
        "reason": best.infeasible if best and state == "infeasible" else None,
        "crash": last.to_dict() if isinstance(last, Crash) else None,
        "networks": best.networks if best else {},
        "curve": {
            "evaluations": list(curve.evaluations) if curve else [],
            "edp_js": [e if isfinite(e) else None for e in curve.edp] if curve else [],
        },
    }


def observation(record: Record) -> Observation:
    """Return what the optimizer learns from a trial."""
    edp, reason = record["edp_js"], record["reason"]
    values = None if edp is None else (edp, record["area_mm2"], record["tdp_w"])
    failure = reason["reason"] if reason else None
    return Observation(record["point"], values, record["evaluations"], failure)


def mappings_proven(record: Record) -> tuple[int, int]:
    """Return how many of a trial's recorded mappings are proven to be the best, and how many all
    are; those of its plans and of the plans that fuse nothing.
    """
    networks = record["networks"].values()
    # records of older versions have no gaps
    proven = sum(gap == 0 for best in networks for gap in best.get("gaps", {}).values())
    return proven, sum(len(best["mappings"]) for best in networks)
