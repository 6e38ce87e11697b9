"""What assumed values decide, as plain values."""

from typing import Any

from archloom.space import Infeasible
from archloom.studies.solve.sensitivity import DECIDES, METRICS, Effect, Outcome, Sensitivity

Record = dict[str, Any]


def sensitivity_record(found: Sensitivity, file: str) -> Record:
    """Return what ``archloom hardware --sensitivity --json`` prints; changes are relative."""
    return {
        "hardware": found.hardware.name,
        "file": file,
        "factor": found.factor,
        "decides_above": DECIDES,
        "mapping": {
            "search": found.effort.search,
            "evaluations": found.effort.evaluations,
            "seed": found.effort.seed,
        },
        "area_mm2": found.base.area_mm2,
        "networks": [
            {
                "network": network.name,
                "batch": network.batch,
                **_run(found.base, i),
                "deciding": [one.assumed.mark.key for one in found.deciding(i)],
            }
            for i, network in enumerate(found.networks)
        ],
        "assumptions": [_effect(found, one) for one in found.effects],
    }


def _effect(found: Sensitivity, effect: Effect) -> Record:
    assumed = effect.assumed
    beside = assumed.mark.product_with
    return {
        "key": assumed.mark.key,
        "value": list(assumed.value) if isinstance(assumed.value, tuple) else assumed.value,
        "reason": assumed.mark.reason,
        **({"product_with": beside} if beside else {}),
        "less": _outcome(found, effect.less),
        "more": _outcome(found, effect.more),
    }


def _outcome(found: Sensitivity, outcome: Outcome) -> Record:
    values = dict(outcome.values)
    if outcome.refused:
        return {"values": values, "refused": outcome.refused}
    runs = []
    for i, network in enumerate(found.networks):
        run = {"network": network.name, **_run(outcome, i)}
        if not isinstance(outcome.runs[i], Infeasible):
            changes = {m: found.change(outcome, m, i) for m in METRICS if m != "area"}
            run |= {f"{metric}_change": change for metric, change in changes.items()}
        runs.append(run)
    area = {"area_mm2": outcome.area_mm2, "area_change": found.change(outcome, "area", 0)}
    return {"values": values, **area, "networks": runs}


def _run(outcome: Outcome, network: int) -> Record:
    run = outcome.runs[network]
    if isinstance(run, Infeasible):
        return {"infeasible": run.to_dict(), "sentence": str(run)}
    return {"latency_s": run.latency_s, "energy_pj": run.energy_pj, "edp_js": run.edp_js}
