"""The closed form against nests that are walked word by word, on random small cases."""

import importlib
from collections import Counter
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID
from archloom.evaluators.loopnest.layer_cost import (
    added_cost,
    mapped_cost,
    setup_for,
    whole_grains,
)

from ...cases.mapped_layers import KINDS, drawn
from ...cases.sweeps import sweep
from ...oracles import compared
from ...oracles.compared import closed, differences, features, shown, smallest
from ...oracles.walked_cost import bill
from ...oracles.walked_nest import INPUTS, OUTPUTS, WEIGHTS, Nest, entering, move
from ...source_tree import ROOT

SEED = 2024
BATCH = 230


@pytest.mark.parametrize("batch", sweep(range(24), 2))
def test_closed_form_and_walked_nest_agree_on_every_figure(batch):
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        case = drawn(SEED, number)
        if differences(case):
            found = smallest(case)
            pytest.fail(f"case {number}: {'; '.join(differences(found))}\n{shown(found)}")


@pytest.mark.parametrize("part", sweep(range(4), 1))
def test_the_form_for_imperfect_factors_gives_the_same_where_they_are_perfect(part):
    for number in range(part, 500, 4):
        problem, mapping = drawn(SEED, number).problem, drawn(SEED, number).mapping
        exact = closed(problem, mapping)
        if exact.status != VALID:
            continue
        cut = imperfect_cost(setup_for(problem, mapping), *mapping.arrays())
        assert cut.totals.tolist() == (exact.counts * exact.used[:, None, None]).tolist()
        assert cut.energy_pj.tolist() == exact.by_level.tolist()
        figures = (cut.dynamic_pj, cut.chip_cycles, cut.dram_cycles)
        assert figures == (exact.energy, exact.chip, exact.dram)


@pytest.mark.parametrize("part", sweep(range(20), 1))
def test_later_parts_of_sums_and_the_walked_nest_agree(part):
    """Of mappings whose results others began before."""
    more = 0
    for number in range(part * 100, (part + 1) * 100):
        problem, mapping = drawn(SEED, number).problem, drawn(SEED, number).mapping
        walked = bill(problem, mapping, begun=True)
        if walked.broken:
            continue
        first = mapped_cost(problem, mapping)
        cost = added_cost(problem, first)
        moved = walked.counts.sum(axis=2) * np.array(walked.used)[:, None]
        assert cost.words[:, INPUTS:].tolist() == moved[:, INPUTS:].tolist(), number
        assert cost.energy_pj.tolist() == whole_grains(walked.energy_pj).tolist(), number
        figures = (cost.chip_cycles, cost.dram_cycles)
        assert figures == (walked.chip_cycles, walked.dram_cycles), number
        assert cost.mapping is first.mapping
        assert (cost.operations, cost.compute_pj) == (first.operations, first.compute_pj)
        assert cost.dram_writes == first.dram_writes
        more += cost.chip_cycles > first.chip_cycles
    assert more > 5


def test_cases_have_everything_that_may_go_wrong():
    cases = [drawn(SEED, number) for number in range(500)]
    kinds = Counter(case.kind for case in cases)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) > 40
    tally = Counter(feature for case in cases for feature in features(case))
    assert len(tally) == 21
    assert min(tally.values()) >= 40, tally
    assert len({(c.problem.key, c.problem.hardware, c.mapping) for c in cases}) == len(cases)
    assert {len(c.mapping.levels) for c in cases} == {1, 2, 3, 4, 5, 6}


cached_bill = cache(bill)
cached_case = cache(partial(drawn, SEED))

#: a slip in each array that the kernel reads
SLIPS = {
    "window": lambda a: a + np.eye(2, 4, dtype=np.int64),
    "fanout": lambda a: a - 1,
    "shared": lambda a: np.where(a > 0, a - 1, a),
    "capacity": lambda a: np.where(a > 0, a - 1, a),
    "unit": lambda a: a + 1,
    "staged": lambda a: 1 - a,
    "multicast": lambda a: 1 - a,
    "across": lambda a: np.ascontiguousarray(a[:, :, ::-1]),
    "read_pj": lambda a: a + 1,
    "fill_pj": lambda a: a + 1,
    "update_pj": lambda a: a + 1,
    "hop_pj": lambda a: a * 2,
    "router_pj": lambda a: a * 2,
    "address_pj": lambda a: a * 2,
    "used_leakage_pj": lambda a: a * 2,
    "width": lambda a: a + 1,
    "cluster": lambda a: np.ones_like(a),
    "instances": lambda a: a * 2,
    "bandwidth": lambda a: np.ascontiguousarray(a[:, ::-1]),
    "served": lambda a: np.ascontiguousarray(a[::-1]),
    "working": lambda a: a / 2,
    "busy": lambda a: a / 2,
    "mac_pj": lambda a: a * 2,
    "fill_drain": lambda a: (a + 1) % 3,
    "array": lambda a: np.ascontiguousarray(a[[1, 0, 2]]),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_what_the_kernel_reads_is_noticed(name, monkeypatch):
    def slipped(problem, mapping):
        setup = setup_for(problem, mapping)
        right = getattr(setup, name)
        wrong = SLIPS[name](right)
        return setup._replace(**{name: wrong})

    monkeypatch.setattr(compared, "setup_for", slipped)
    monkeypatch.setattr(compared, "bill", cached_bill)
    assert any(differences(cached_case(number)) for number in range(300))


def test_a_case_that_differs_is_cut_down_to_what_makes_it_differ(monkeypatch):
    def slipped(problem, mapping):
        setup = setup_for(problem, mapping)
        return setup._replace(multicast=np.ones_like(setup.multicast))

    monkeypatch.setattr(compared, "setup_for", slipped)
    cases = (drawn(SEED, number) for number in range(1000))
    found = smallest(next(case for case in cases if differences(case)))
    rows = found.mapping.levels
    factors = [f for v in rows for f in (*v.temporal, *v.spatial_x, *v.spatial_y) if f > 1]
    assert len(rows) == 2
    # one loop, unrolled, that some tensor does not depend on
    assert len(factors) == 1
    assert sum(len(v.multicast) < 3 for v in found.problem.hardware.levels) == 1
    assert "multicast=" in shown(found)
    assert "dilation" not in shown(replace(found.problem.hardware.levels[0]))


def test_the_script_fails_where_a_figure_differs(monkeypatch, capsys):
    root = ROOT
    monkeypatch.syspath_prepend(str(root))
    script = importlib.import_module("benchmarks.agreement.oracle_agreement")
    assert script.main(["--cases", "20"]) == 0
    assert "20 agree in every figure, 0 do not" in capsys.readouterr().out

    def slipped(problem, mapping):
        setup = setup_for(problem, mapping)
        return setup._replace(mac_pj=setup.mac_pj + 1)

    monkeypatch.setattr(compared, "setup_for", slipped)
    assert script.main(["--cases", "20"]) == 1
    out = capsys.readouterr().out
    assert ", cut down: energy: " in out
    assert "Drawn(kind=" in out


ONES = [1] * 8


def nest(*levels, keep=None, multicast=(), stride=1, top=None):
    """Levels from the innermost: (temporal, x) factors by letter; temporal in loop order."""
    letters = "NGKCPQRS"
    height = len(levels)
    orders = []
    for temporal, _ in levels:
        named = [letters.index(d) for d in temporal]
        orders.append([*named, *(d for d in range(8) if d not in named)])
    return Nest(
        temporal=[[t.get(d, 1) for d in letters] for t, _ in levels],
        x=[[x.get(d, 1) for d in letters] for _, x in levels],
        y=[ONES] * height,
        order=orders,
        keep=keep or [[True] * 3] * height,
        top=top or (height - 1,) * 3,
        stride=(stride, stride),
        dilation=(1, 1),
        padding=(0, 0),
        input_size=(99, 99),
        alone=False,
        multicast=list(multicast),
    )


def counts(moved):
    return [one.counts for one in moved]


def test_a_window_that_slides_fetches_its_new_words_alone():
    # 3 taps over 5 rows of results: 7 rows of the map, though every window has 3
    slides = nest(({"R": 3}, {}), ({"P": 5}, {}))
    assert counts(move(slides, INPUTS)) == [[15, 7, 0], [7, 0, 0]]
    # with stride 2 a window shares one row with the last: 3 + 4 * 2
    apart = nest(({"R": 3}, {}), ({"P": 5}, {}), stride=2)
    assert counts(move(apart, INPUTS)) == [[15, 11, 0], [11, 0, 0]]
    # once a loop outside has advanced, nothing of the old window is left
    twice = nest(({"R": 3}, {}), ({"P": 5, "K": 2}, {}))
    assert counts(move(twice, INPUTS)) == [[30, 14, 0], [14, 0, 0]]
    # but a loop inside that moves nothing is free
    still = nest(({"R": 3}, {}), ({"K": 2, "P": 5}, {}))
    assert counts(move(still, INPUTS)) == [[30, 7, 0], [7, 0, 0]]


def test_the_box_around_a_strided_window_has_its_holes():
    holes = nest(({"P": 3}, {}), ({"K": 2}, {}), stride=4)
    assert entering(holes, 0, INPUTS) == 1 + 2 * 4


def test_children_that_need_the_same_share_a_read():
    spread = nest(({"C": 2}, {}), ({}, {"K": 4}), ({"P": 3}, {}))
    assert counts(move(spread, WEIGHTS)) == [[6, 2, 0], [8, 8, 0], [8, 0, 0]]
    assert counts(move(spread, INPUTS)) == [[6, 6, 0], [6, 6, 0], [6, 0, 0]]
    assert counts(move(spread, OUTPUTS)) == [[3, 0, 6], [0, 0, 12], [0, 0, 12]]
    alone = replace(spread, multicast=[[True] * 3, [False] * 3, [True] * 3])
    assert counts(move(alone, INPUTS)) == [[6, 6, 0], [24, 6, 0], [6, 0, 0]]


def test_partial_sums_of_several_children_are_added_on_the_way_or_in_the_parent():
    split = nest(({}, {}), ({}, {"C": 4}), ({"K": 3}, {}))
    assert counts(move(split, OUTPUTS)) == [[0, 0, 3], [0, 0, 3], [0, 0, 3]]
    alone = replace(split, multicast=[[True] * 3, [False] * 3, [True] * 3])
    # the first of four is written, the others are added to it
    assert counts(move(alone, OUTPUTS)) == [[0, 0, 3], [9, 0, 12], [0, 0, 3]]


def test_windows_along_diagonals_meet():
    # 3 rows of results by 2 of kernels touch 4 rows of the map
    crossed = nest(({}, {}), ({}, {"P": 3, "R": 2}), ({}, {}))
    assert counts(move(crossed, INPUTS))[1] == [4, 4, 0]
    apart = nest(({}, {}), ({}, {"P": 3, "R": 2}), ({}, {}), stride=2)
    assert counts(move(apart, INPUTS))[1][0] == 6


def test_a_level_that_holds_nothing_passes_all_requests_on():
    bypass = nest(
        ({"K": 2}, {}), ({"P": 3}, {}), ({}, {}), keep=[[True] * 3, [False] * 3, [True] * 3]
    )
    kept = [one.kept for one in move(bypass, WEIGHTS)]
    assert kept == [True, False, True]
    assert counts(move(bypass, WEIGHTS)) == [[6, 2, 0], [0, 0, 0], [2, 0, 0]]
    bare = replace(bypass, keep=[[False] * 3, [False] * 3, [True] * 3])
    assert counts(move(bare, WEIGHTS))[2] == [6, 0, 0]


def test_partial_sums_come_back_each_time_but_the_first():
    returns = nest(({}, {}), ({"K": 2, "C": 5}, {}))
    assert counts(move(returns, OUTPUTS)) == [[8, 8, 10], [8, 0, 10]]
    stays = nest(({}, {}), ({"C": 5, "K": 2}, {}))
    assert counts(move(stays, OUTPUTS)) == [[8, 0, 10], [0, 0, 2]]
