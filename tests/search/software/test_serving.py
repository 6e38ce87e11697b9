"""What tenants get together from the software that was found: closed forms, and what decides it."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.weaving.buffer_split import npu_of
from archloom.evaluators.weaving.chain import Chain
from archloom.evaluators.weaving.ticks import ticked
from archloom.search.objectives.tenants import Tenant
from archloom.search.software.request_load import all_fit, stable_rate
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.search.software.serving import Sharing, _woven, together_costs
from archloom.space.fusion.plan import FusionPlan
from archloom.space.networks.registry import network

from ...cases.designs import edge
from ...cases.tenants import chain_of

PAIR = (network("tiny_cnn"), network("tiny_mlp").with_batch(4))
CHIP = edge()
TENANTS = (Tenant("tiny_cnn", 1.0, 1.0, 1e3), Tenant("tiny_mlp", 3.0, 1.0, 1e3))


@cache
def plans() -> dict[str, NetworkCost]:
    settings = SoftwareSettings("joint", 4, "local", 300)
    found = advance(SoftwareTask(CHIP, PAIR, settings, 0), None, 2)
    costs = {}
    for net in PAIR:
        best = found.networks[net.name]
        cost = recorded_evaluator(CHIP, net, best.mappings).plan(FusionPlan.from_list(best.plan))
        assert isinstance(cost, NetworkCost)
        costs[net.name] = cost
    return costs


def costs_of(*tenants: Tenant, stable: bool = False) -> dict[str, float]:
    return together_costs(Sharing(tenants, 7, stable), CHIP, plans())


def test_a_round_has_them_if_somebody_shares_the_chip() -> None:
    settings = SoftwareSettings("joint", 4, "local", 300)
    task = SoftwareTask(CHIP, PAIR, settings, 0)
    assert advance(task, None, 2).together == {}
    shared = replace(task, sharing=Sharing(TENANTS, 7))
    assert advance(shared, None, 2).together == costs_of(*TENANTS)


def test_one_network_gets_what_its_busier_engine_gives() -> None:
    alone = costs_of(Tenant("tiny_mlp"))
    assert alone["stp"] == 1.0
    # four inferences a pass
    passes_s = plans()["tiny_mlp"].latency_s
    assert 0.25 * passes_s / 4 < alone["goodput"] <= passes_s / 4 * (1 + 2e-3)
    assert set(alone) == {"goodput", "stp"}


def test_weights_and_shares_scale_and_mix() -> None:
    one, three = costs_of(*TENANTS), costs_of(*(replace(t, weight=3.0) for t in TENANTS))
    assert three["goodput"] == pytest.approx(one["goodput"] / 3, rel=1e-12)
    scaled = costs_of(*(replace(t, share=10 * t.share) for t in TENANTS))
    assert scaled == pytest.approx(one, rel=1e-12)
    assert 1.0 <= 1 / one["stp"] + 2e-3 <= 2.0
    # together no slower than in turns: shares of inferences, each at its own rate
    turns = 0.25 * costs_of(Tenant("tiny_cnn"))["goodput"]
    turns += 0.75 * costs_of(Tenant("tiny_mlp"))["goodput"]
    assert one["goodput"] < turns * (1 + 2e-3)


def test_deadlines_are_of_a_pass_that_finds_the_chip_empty() -> None:
    halves = [replace(t, deadline_ms=500.0) for t in TENANTS]
    assert costs_of(*halves)["deadline"] == pytest.approx(2 * costs_of(*TENANTS)["deadline"])
    one_of_them = costs_of(TENANTS[0], Tenant("tiny_mlp", 3.0))
    assert one_of_them["deadline"] <= costs_of(*TENANTS)["deadline"]


def test_the_stable_load_is_below_the_goodput_and_rises_with_deadlines() -> None:
    loads = []
    for seconds in (1e9, 1e-3, 3e-4):
        tenants = [replace(t, deadline_ms=1e3 * seconds) for t in TENANTS]
        found = costs_of(*tenants, stable=True)
        loads.append(1 / found["stable_load"])
        assert found == costs_of(*tenants, stable=True)
    assert loads == sorted(loads, reverse=True)
    # with all the time in the world it is what the engines allow
    assert loads[0] == pytest.approx(1 / costs_of(*TENANTS)["goodput"], rel=5e-3)
    assert loads[-1] < 0.8 * loads[0]


def chain(name: str, footprint: int, live: int) -> Chain:
    rows = [np.full(3, amount, np.int64) for amount in (50, 100, 0, footprint, live)]
    rows[-1][-1] = 0
    return Chain(name, *rows, layers=("a", "b", "c"))


def test_requests_are_woven_only_if_all_maps_fit() -> None:
    pair = (chain("one", 60, 30), chain("two", 40, 40))
    fits = [all_fit(ticked(pair, npu_of(CHIP, 1000, room))) for room in (99, 100)]
    assert fits == [False, True]
    # layers of the other network hide fetches; one after another they do so as well, but less
    rates = [
        stable_rate(pair, npu_of(CHIP, 60, room), (0.5, 0.5), (1e-3, 1e-3), 1) for room in (99, 100)
    ]
    assert 0 < rates[0] <= rates[1]


def test_a_deadline_that_no_request_keeps_leaves_next_to_no_load() -> None:
    pair = (chain("one", 60, 30), chain("two", 40, 40))
    npu = npu_of(CHIP, 1000, 100)
    assert stable_rate(pair, npu, (0.5, 0.5), (1e-9, 1.0), 1) < 1e-5 * stable_rate(
        pair, npu, (0.5, 0.5), (1.0, 1.0), 1
    )


def test_engines_are_exact_to_the_byte() -> None:
    chip = CHIP
    npu = npu_of(chip, 7, 8)
    per_cycle = Fraction(chip.levels[-1].bandwidth_words) * chip.word_bits / 8
    assert Fraction(npu.dram_bytes_per_s) / npu.clock_hz == per_cycle
    assert npu.clock_hz == chip.frequency_mhz * 10**6
    assert (npu.weight_buffer_bytes, npu.map_buffer_bytes) == (7, 8)
    assert npu_of(replace(chip, frequency_mhz=100.0000005), 7, 8).clock_hz == 100_000_000


def test_where_next_to_nothing_can_wait_layers_fetch_and_compute_in_turn() -> None:
    big, small = chain_of("big", [(10**7, 3000), (5 * 10**6, 100)]), chain_of("small", [(900, 4)])
    woven = _woven(CHIP, (big, small), np.array([1.0, 2.0]), 1, 100)
    # not a part for each byte
    assert woven.work.first.tolist() == [0, 2, 3]
    assert woven.work.fetch.sum() == woven.work.maps.sum() == 0
    both = woven.work.compute.sum() + woven.work.compute[2]
    assert woven.stream.rate == pytest.approx(3 / both, rel=0.01)
    # with room it is woven, and no slower
    assert (
        _woven(CHIP, (big, small), np.array([1.0, 2.0]), 10**6, 100).stream.rate * 1.01 > 3 / both
    )
