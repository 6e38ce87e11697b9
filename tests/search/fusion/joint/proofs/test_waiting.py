"""Maps for which the buffer has no room ahead of time come between tiles, and bounds say so."""

import numpy as np

from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import group_options
from archloom.search.fusion.joint.proofs.space_bound import listed_bounds
from archloom.search.fusion.joint.tilings.tiling_sums import MovedPrices, TilingSums
from archloom.space.errors import Infeasible
from archloom.space.networks.registry import network

from .....cases.small_designs import casco_edge, cheap_evaluator

#: of the tilings of each kind of step, those of the lowest bounds are priced
LOWEST = 4


def test_tilings_that_wait_are_above_their_bounds_and_near_them() -> None:
    price = cheap_evaluator(network("mobilenetv2"), casco_edge(32), 1000)
    options = group_options(price)
    edges, leakage_pj = options.edges(), access_costs(price.hardware).leakage_pj_per_cycle
    ratios = list[float]()
    for kind in np.flatnonzero((edges.members > 2) & (edges.members < 5))[:40].tolist():
        listed = listed_bounds(options, kind, np.zeros(2), leakage_pj)
        assert listed is not None
        tilings, figures = listed
        for n in np.argsort(figures.prod(axis=1))[:LOWEST].tolist():
            way = tilings.ways[n]
            cost = price.group(way.group, way.residents)
            if isinstance(cost, Infeasible):
                continue
            energy = cost.dynamic_pj + leakage_pj * cost.latency_cycles
            assert figures[n, 0] <= energy * (1 + 1e-9)
            assert figures[n, 1] <= cost.latency_cycles * (1 + 1e-9)
            if not cost.prefetch:
                ratios.append(cost.latency_cycles / figures[n, 1])
    assert len(ratios) > 5
    # some is as fast as its bound, with all of its waiting
    assert min(ratios) < 1.001


def test_what_waits_adds_to_what_runs() -> None:
    """Two tilings of 30 cycles and 40 words at 2 words a cycle, of which 0 and 30 wait."""
    prices = MovedPrices(1.0, 0.5, 1.0, 1.0, rate=2.0, rounded_pj=0.0)
    one = np.array([0, 1, 2]), np.array([0, 0]), np.array([3, 3])
    words = np.array([[30, 30], [10, 10], [0, 0]])
    sums = TilingSums(*one, np.zeros(2), words, np.array([0, 30]))
    energy, cycles = sums.totals(np.array([[5.0, 5.0], [10.0, 10.0]]), prices)
    assert energy.tolist() == [55.0, 55.0]
    assert cycles.tolist() == [30.0, 45.0]
