"""Tilings on cores cost no less than their bounds, which are near what they cost."""

import numpy as np
import pytest

from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import group_options
from archloom.search.fusion.joint.proofs.core_turns import SizesOnCores, cost_of_turns
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from .....cases.designs import several
from .....cases.small_designs import cheap_evaluator

CHIPS = {
    "edgetpu": preset("edgetpu"),
    "tpu_v3": preset("tpu_v3"),
    "four": several((2, 2)),
    "little buffers": several((2, 2), 1 << 11),
}

#: kinds of steps that are drawn of each case
KINDS = 25


@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize("chip", CHIPS)
def test_tilings_cost_no_less_than_their_bounds(chip: str, batch: int) -> None:
    """Nor are bounds so low that some twentieth more would go unnoticed."""
    hardware: Hardware = CHIPS[chip]
    rng = np.random.default_rng(batch)
    price = cheap_evaluator(network("tiny_mobile").with_batch(batch), hardware, 300)
    options, nearest, few = group_options(price), np.inf, 0
    leakage_pj = access_costs(hardware).leakage_pj_per_cycle
    some = rng.permutation(np.flatnonzero(options.edges().members > 1))
    for kind in some[:KINDS].tolist():
        batch_of = options.every_tiling(kind)
        assert batch_of is not None
        listed = {way.group for way in options.all_options(kind).ways if way.group.nest is None}
        # the search looks at some of them
        assert listed <= {way.group for way in batch_of.ways}
        for n in rng.permutation(len(batch_of))[:4].tolist():
            cost = price.group(batch_of.ways[n].group)
            if isinstance(cost, Infeasible):
                continue
            bound = np.array([batch_of.energies[n], batch_of.latencies[n]])
            bound[0] += leakage_pj * bound[1]
            cycles = cost.latency_cycles
            ratios = np.array([cost.dynamic_pj + leakage_pj * cycles, cycles]) / bound
            assert (ratios >= 1 - 1e-9).all()
            nearest, few = min(nearest, ratios.min()), few + 1
    assert few > 5
    assert nearest < 1.05


@pytest.mark.parametrize("shared", [True, False])
def test_turns_take_no_more_than_any_way_to_deal_tiles(shared: bool) -> None:
    """Tiles of random sizes in random turns: a turn takes as long as a tile that covers all."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        cores, rows, columns = int(rng.integers(2, 5)), np.arange(1, 4), np.arange(1, 3)
        sides = np.array([(r, c) for r in rows for c in columns]).T
        cycles = rng.integers(1, 9, sides.shape[1]).astype(np.float64)
        times = rng.integers(1, 4, sides.shape[1])
        words, n = float(rng.integers(0, 3)), len(times)
        figures = (sides, times, cycles * 2, cycles, np.full(n, words))
        none = np.zeros(n, np.int64)
        (energy,), (busy,), (streamed,) = cost_of_turns(
            SizesOnCores(1, none, none, *figures), cores, shared, 1.0
        )
        tiles = rng.permutation(np.repeat(np.arange(n), times))
        taken, spent, came = 0.0, 0.0, 0.0
        for turn in (tiles[k : k + cores] for k in range(0, len(tiles), cores)):
            high, wide = sides[:, turn].max(axis=1)
            at = int(np.flatnonzero((sides[0] == high) & (sides[1] == wide))[0])
            sent = words * (1 if shared else len(turn))
            taken += max(cycles[at], sent)
            spent += 2 * cycles[at] * len(turn)
            came += sent
        assert busy <= taken + 1e-9
        assert energy <= spent + 1e-9
        assert streamed <= came
