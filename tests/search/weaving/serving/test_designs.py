"""Worth of designs: bounds that never fall, and figures that never exceed them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.weaving import Chain, Npu, demands, ticked
from archloom.search.weaving.serving.designs import (
    Demand,
    design_value,
    seconds,
    value_bound,
)

from ....cases.tenants import PLAIN, chain_of, opposed, random_chains

#: of a bound that is compared with itself
ROUNDING = 1 + 1e-9


def demand_of(rng: np.random.Generator, count: int) -> Demand:
    return Demand(
        tuple(rng.uniform(0.2, 3, count)),
        tuple(rng.uniform(0.2, 3, count)),
        tuple(float(s) for s in rng.uniform(1e-4, 1e-3, count)),
        float(rng.uniform(100, 30_000)) if rng.random() < 0.5 else None,
        requests=60,
        seed=int(rng.integers(100)),
    )


def with_maps(rng: np.random.Generator, chain: Chain) -> Chain:
    return replace(chain, map_bytes=rng.integers(0, 20, len(chain)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["bandwidth", "clock", "buffer", "all"]))
def test_the_bound_never_falls_where_hardware_gets_better(seed: int, what: str) -> None:
    rng = np.random.default_rng(seed)
    chains = [with_maps(rng, chain) for chain in random_chains(rng, int(rng.integers(1, 4)))]
    demand = demand_of(rng, len(chains))
    # buffers from a fraction of a layer up: layers come in parts, and in fewer as buffers grow
    before = Npu("a", int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6)),
                 int(rng.integers(1, 80)), 0)  # fmt: skip
    better = {
        "bandwidth": {"dram_bytes_per_s": before.dram_bytes_per_s + int(rng.integers(1, 10**6))},
        "clock": {"clock_hz": before.clock_hz + int(rng.integers(1, 10**6))},
        "buffer": {"weight_buffer_bytes": before.weight_buffer_bytes + int(rng.integers(1, 80))},
    }
    changes = better.get(what) or {k: v for part in better.values() for k, v in part.items()}
    after = replace(before, **changes)
    assert value_bound(chains, before, demand) <= value_bound(chains, after, demand) * ROUNDING


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_reached_never_exceeds_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains = [with_maps(rng, chain) for chain in random_chains(rng, int(rng.integers(1, 4)))]
    npu = replace(PLAIN, weight_buffer_bytes=int(rng.integers(10, 80)))
    found = design_value(chains, npu, demand_of(rng, len(chains)))
    assert 0 <= found.goodput_per_s <= found.bound_per_s
    assert found.stable_qps is not None
    assert found.stable_bound_qps is not None
    assert found.stable_qps <= found.stable_bound_qps


def test_seconds_are_those_of_the_ticks_and_never_more() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        chains = [with_maps(rng, chain) for chain in random_chains(rng, 2)]
        npu = Npu("n", 3 * 10**6, 10**6, int(rng.integers(5, 80)), 0)
        exact = demands(ticked(chains, npu)) / 3e6
        found = seconds(chains, npu)
        # a clock that divides the bandwidth: cycles are whole ticks
        assert found[:, :2] == pytest.approx(exact[:, :2])
        assert np.all(found[:, 2] <= exact[:, 2] * ROUNDING)


def test_idle_time_of_a_layer_that_outlasts_the_buffer_counts() -> None:
    # 10 bytes and 100 ticks with a buffer of 64: the fetch rests for 46 ticks
    chain = chain_of("long", [(10, 100)])
    assert seconds([chain], PLAIN)[0] == pytest.approx([100e-6, 10e-6, 56e-6])


def test_the_same_demand_gives_the_same_figures() -> None:
    demand = Demand((3.0, 1.0), (1.0, 2.0), (300e-6, 400e-6), requests=200, seed=4)
    first, again = (design_value(opposed(), PLAIN, demand) for _ in range(2))
    assert first == again
    assert design_value(opposed(), PLAIN, replace(demand, seed=5)) != first


def test_faster_hardware_serves_more_and_weights_scale() -> None:
    demand = Demand((3.0, 1.0), (1.0, 2.0), (300e-6, 400e-6), requests=300)
    slow = design_value(opposed(), PLAIN, demand)
    fast = design_value(
        opposed(), replace(PLAIN, dram_bytes_per_s=2 * 10**6, clock_hz=2 * 10**6), demand
    )
    assert fast.goodput_per_s > 1.5 * slow.goodput_per_s
    assert slow.stable_qps is not None
    assert fast.stable_qps is not None
    assert fast.stable_qps > 2 * slow.stable_qps
    double = design_value(opposed(), PLAIN, replace(demand, weights=(2.0, 4.0)))
    assert double.goodput_per_s == pytest.approx(2 * slow.goodput_per_s)
    assert double.bound_per_s == pytest.approx(2 * slow.bound_per_s)


def test_at_a_load_that_is_easy_all_is_served() -> None:
    demand = Demand((1.0, 1.0), (1.0, 1.0), (1.0, None), offered_qps=1000.0, requests=100)
    found = design_value(opposed(), PLAIN, demand)
    assert found.goodput_per_s == pytest.approx(found.bound_per_s, rel=0.01)
    assert found.stable_qps is not None


def test_without_deadlines_or_unasked_there_is_no_stable_load() -> None:
    demand = Demand((1.0, 1.0), (1.0, 1.0), (None, None), requests=50)
    found = design_value(opposed(), PLAIN, demand)
    assert found.stable_qps is found.stable_bound_qps is None
    due = replace(demand, deadlines_s=(1e-3, 1e-3))
    asked, quick = (
        design_value(opposed(), PLAIN, replace(due, missed_share=share)) for share in (0.01, None)
    )
    assert asked.stable_qps is not None
    assert quick == replace(asked, stable_qps=None, stable_bound_qps=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": (1.0,)}, "needs a share, a weight and a deadline"),
        ({"shares": (1.0, 0.0)}, "shares must be from"),
        ({"weights": (1.0, -1.0)}, "weights must be from"),
        ({"offered_qps": 0.0}, "offered_qps must be from"),
        ({"requests": 0}, "requests must be a whole number"),
        ({"missed_share": 1.0}, "missed_share must be from 0 and below 1"),
    ],
)
def test_demands_check_themselves(changes: dict[str, object], message: str) -> None:
    good = Demand((1.0, 1.0), (1.0, 1.0), (None, None))
    with pytest.raises(ValueError, match=message):
        replace(good, **changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 chains for a demand of 2 networks"):
        design_value(opposed()[:1], PLAIN, good)
