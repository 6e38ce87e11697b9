"""The kernel against recorded outputs of Timeloop's dense model (see tests/data/README.md)."""

import json
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.kernel import VALID, evaluate_one
from archloom.evaluators.setup import unlimited
from archloom.space.dims import DIMS, TENSORS

FILE = Path(__file__).parents[1] / "data" / "timeloop_cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text().splitlines()]


def named(case):
    return f"{case['id']}-{case['arch']}-{case['problem']}"


def order_row(order):
    """Return positions in DIMS, the dimensions that the case does not name outermost."""
    given = [DIMS.index(d) for d in order]
    return [*given, *(d for d in range(8) if d not in given)]


def setup_of(case):
    levels = case["levels"]
    meshes = [case["mac_mesh"], *(lv["mesh"] for lv in levels)]
    fanout = [[b[0] // a[0], b[1] // a[1]] for b, a in pairwise(meshes)]
    bounds = case["bounds"]
    window = []
    for axis in (0, 1):
        stride, dilation = case["stride"][axis], case["dilation"][axis]
        size = (bounds[6 + axis] - 1) * dilation + (bounds[4 + axis] - 1) * stride + 1
        window.append([stride, dilation, 0, size])
    base = unlimited(np.array(bounds, np.int64), np.array(window, np.int64), len(levels))
    read, fill, update = (np.array([[lv["pj"][i]] * 3 for lv in levels], float) for i in range(3))
    return base._replace(
        fanout=np.array(fanout, np.int64),
        shared=np.array([-1 if lv["words"] is None else lv["words"] for lv in levels], np.int64),
        read_pj=read,
        fill_pj=fill,
        update_pj=update,
        width=np.array([[lv["width"]] * 3 for lv in levels], np.int64),
        mac_pj=case["mac_pj"],
    )


def evaluated(case):
    """Return status, energy, on-chip cycles, counts and used instances of the recorded mapping."""
    levels = case["levels"]
    loops = np.array(
        [[lv["temporal"], lv["x"], lv["y"], order_row(lv["order"])] for lv in levels], np.int64
    )
    keep = np.array([[t in lv["tensors"] for t in TENSORS] for lv in levels], np.uint8)
    counts, used = np.zeros((len(levels), 3, 3), np.int64), np.zeros(len(levels), np.int64)
    scratch = np.zeros((2 * len(levels) + 2, 8), np.int64)
    status, energy, chip, _ = evaluate_one(setup_of(case), loops, keep, counts, used, scratch)
    return status, energy, chip, counts, used


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_count_is_timeloops(case):
    status, _, _, counts, _ = evaluated(case)
    assert status == VALID
    for i, level in enumerate(case["levels"]):
        for t, tensor in enumerate(TENSORS):
            kept = level["tensors"].get(tensor)
            expected = kept["counts"] if kept else [0, 0, 0]
            assert counts[i, t].tolist() == expected, (level["name"], tensor)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_used_instances_are_timeloops(case):
    # Timeloop counts only instances with different roles for a tensor; the most is all of them
    *_, used = evaluated(case)
    for i, level in enumerate(case["levels"]):
        for kept in level["tensors"].values():
            assert used[i] == kept["used"], level["name"]


UNCLUSTERED = [c for c in CASES if all(lv["cluster"] == 1 for lv in c["levels"])]


@pytest.mark.parametrize("case", UNCLUSTERED, ids=named)
def test_energy_is_timeloops(case):
    _, energy, _, _, _ = evaluated(case)
    assert prod(case["bounds"]) * case["mac_pj"] == pytest.approx(case["mac_energy_pj"], rel=1e-12)
    expected = case["mac_energy_pj"]
    for level in case["levels"]:
        expected += sum(kept["energy_pj"] for kept in level["tensors"].values())
    assert energy == pytest.approx(expected, rel=1e-12)


UNLIMITED = [c for c in CASES if not any(lv["bandwidth"] for lv in c["levels"])]


@pytest.mark.parametrize("case", UNLIMITED, ids=named)
def test_cycles_are_timeloops_where_bandwidth_has_no_limit(case):
    assert evaluated(case)[2] == case["cycles"]


def test_the_cases_cover_what_they_should():
    assert len({c["arch"] for c in CASES}) == 9
    assert len({c["problem"] for c in CASES}) == 15
    assert any(c["bounds"][1] > 1 for c in CASES)
    assert any(c["dilation"] != [1, 1] for c in CASES)
    assert len(UNCLUSTERED) >= 35
    assert len(UNLIMITED) >= 35
