"""Trials as records: read, written, and those of older versions."""

import json
from math import inf

import pytest

from archloom.search.budget.protocol import Curve
from archloom.search.objectives import AREA, EDP, ObjectiveSet
from archloom.search.software.result import NetworkResult, SoftwareResult
from archloom.space.errors import Infeasible
from archloom.studies.storage.history import decode, encode
from archloom.studies.storage.trial import Crash, HeldOutTrial, Trial

WHY = Infeasible("spad_overflow", "conv1", 40, 32, "bytes", "a larger scratchpad")
CRASH = Crash("KeyError", "later", "KeyError: later")
NETWORK = NetworkResult(
    edp_js=0.5,
    energy_pj=2.0,
    latency_cycles=3,
    latency_s=0.25,
    dram_bytes=4.0,
    baseline_edp_js=0.75,
    baseline_energy_pj=3.0,
    baseline_latency_cycles=4,
    baseline_dram_bytes=8.0,
    batch=1,
    plan=[{"layers": [0, 1]}],
    mappings={"a": "x", "b": "y"},
    gaps={"a": 0.0},
)
TRIAL = Trial(
    number=7,
    batch=1,
    state="failed",
    rounds=2,
    point={"rows": 4, "kind": "mesh"},
    hardware="made(rows=4)",
    area_mm2=1.5,
    tdp_w=0.25,
    edp_js=0.5,
    values={"edp_js": 0.5, "area_mm2": 1.5, "latency_s": 0.25},
    evaluations=3,
    crash=CRASH,
    networks={"net": NETWORK},
    curve=Curve((1, 2, 3), (inf, 0.75, 0.5)),
)
NOWHERE = Trial(
    number=8,
    batch=1,
    state="infeasible",
    rounds=1,
    point={"rows": 4},
    hardware="made(rows=4)",
    area_mm2=1.5,
    tdp_w=0.25,
    edp_js=None,
    reason=WHY,
)


@pytest.mark.parametrize("trial", [TRIAL, NOWHERE])
def test_a_record_holds_the_whole_trial(trial: Trial) -> None:
    record = json.loads(json.dumps(trial.to_dict(), allow_nan=False))
    assert Trial.from_dict(record) == trial
    assert list(Trial.from_dict(record).to_dict()) == list(record)


def test_a_record_has_the_keys_of_old_in_their_order() -> None:
    assert list(TRIAL.to_dict()) == [
        *("trial", "batch", "state", "rounds", "point", "hardware", "area_mm2", "tdp_w", "edp_js"),
        *("values", "evaluations", "reason", "crash", "networks", "curve"),
    ]
    assert TRIAL.to_dict()["curve"] == {"evaluations": [1, 2, 3], "edp_js": [None, 0.75, 0.5]}


def test_records_without_values_and_gaps_are_read() -> None:
    record = TRIAL.to_dict()
    del record["values"], record["networks"]["net"]["gaps"]
    old = Trial.from_dict(record)
    assert old.costs(ObjectiveSet()) == TRIAL.costs(ObjectiveSet()) == (0.5, 1.5, 0.25)
    assert (old.mappings_proven, TRIAL.mappings_proven) == ((0, 2), (1, 2))
    assert old.to_dict()["networks"] == record["networks"]


def test_a_trial_teaches_the_optimizer_what_it_found() -> None:
    objective_set = ObjectiveSet((EDP, AREA))
    seen, nothing = TRIAL.observation(objective_set), NOWHERE.observation(objective_set)
    assert (seen.values, seen.evaluations, seen.failure) == ((0.5, 1.5), 3, None)
    assert (nothing.values, nothing.failure) == (None, "spad_overflow")
    assert not NOWHERE.keeps_limits(objective_set)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": "done"}, "state is 'done'"),
        ({"edp_js": -1.0}, "edp_js is -1.0, must be positive"),
    ],
)
def test_nonsense_is_no_trial(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trial.from_dict(TRIAL.to_dict() | changes)


def test_a_held_out_trial_says_why_a_network_is_missing() -> None:
    missing = {"crashed": CRASH, "too_large": WHY, "unknown": None}
    trial = HeldOutTrial(-1, "eyeriss", 5, {}, missing, {"net": NETWORK})
    record = json.loads(json.dumps(trial.to_dict()))
    assert HeldOutTrial.from_dict(record) == trial
    assert list(record) == ["trial", "hardware", "evaluations", "values", "missing", "networks"]
    assert record["missing"]["unknown"] == {"reason": None}
    assert record["missing"]["crashed"] == {"crash": CRASH.to_dict()}


def test_a_result_crosses_the_process_border_as_text() -> None:
    found = SoftwareResult({"n": [1]}, TRIAL.curve, {"net": NETWORK}, None)
    assert decode(encode(found)) == found
    nothing = SoftwareResult({}, Curve((), ()), {}, WHY)
    assert decode(encode(nothing)) == nothing
