"""What moves for tilings of kinds of steps: no more than each takes, and bounds that end where
those of all listed tilings do."""

import numpy as np
import pytest

from archloom.search.fusion.joint.proofs import plans_on_design
from archloom.search.fusion.joint.proofs.moved_tilings import NO_MOVED
from archloom.search.fusion.joint.proofs.plan_space import PlanSpaces
from archloom.search.fusion.joint.proofs.plans_on_design import PlansOnDesign
from archloom.search.fusion.joint.tilings import moved_prices
from archloom.space.networks.registry import network

from .test_plan_space import edges, first_layers


@pytest.mark.parametrize(("name", "enough"), [("resnet18", 3), ("mobilenetv2", 30)])
def test_no_tiling_moves_less(name: str, enough: int) -> None:
    net, spaces, compared = first_layers(name, 24), PlanSpaces(), 0
    for hardware in edges(4):
        spaces.least(net, hardware, hardware, 0.0)
    for space in spaces._spaces.values():
        assert space is not None
        hardware = space._hardware
        design = PlansOnDesign(space, hardware, hardware, 0.0)
        prices = moved_prices(hardware)
        some = np.flatnonzero(space.is_moved & space.worth_listing & ~space.is_listed)
        space.list(some[:40].tolist())
        space.fill(design._sides, design._uneven)
        kinds, moved = space.least_moved(prices, design._sides, design._uneven)
        least = dict(zip(kinds.tolist(), moved.tolist(), strict=True))
        for listed in (space.listed, space.filling[design._sides].listed):
            if listed.sums is None:
                continue
            sums, ends = listed.sums, np.cumsum(listed.counts)
            # all that tilings take if what runs inside takes nothing
            totals = sums.totals(np.zeros((2, len(sums.places))), prices)
            for kind, end, count in zip(listed.kinds.tolist(), ends, listed.counts, strict=True):
                if kind in least:
                    assert (totals[:, end - count : end].min(axis=1) >= least[kind]).all()
                    compared += 1
    assert compared > enough


def test_bounds_end_where_those_of_listed_tilings_do(monkeypatch: pytest.MonkeyPatch) -> None:
    net, hardware = network("mobilenetv2"), edges(1)[0]

    def bounds() -> tuple[float, int]:
        spaces, found = PlanSpaces(), [0.0]
        while len(found) < 3 or found[-1] > found[-2]:
            found.append(spaces.least(net, hardware, hardware, 0.0, steps=False).product)
        (space,) = spaces._spaces.values()
        assert space is not None
        return found[-1], int(space.is_listed.sum())

    product, listed = bounds()
    monkeypatch.setattr(plans_on_design, "_LOOKED", 0)
    every, more = bounds()
    # corners of nests are worked out at the price of the path on which they are met first
    assert product == pytest.approx(every, rel=1e-6)
    # tilings of far fewer kinds take part
    assert 3 * listed < more


def test_kinds_without_tilings_are_left_out() -> None:
    net, hardware = network("mobilenetv2"), edges(1)[0]
    spaces = PlanSpaces()
    spaces.least(net, hardware, hardware, 0.0)
    (space,) = spaces._spaces.values()
    assert space is not None
    some = np.flatnonzero(space.is_moved)[:20].tolist()
    found = {kind: space._options.tiling_sums(kind) for kind in some}
    moved = NO_MOVED.and_more({kind: sums for kind, sums in found.items() if sums is not None})
    assert set(moved.kinds.tolist()) == set(some) - set(np.flatnonzero(space.bare).tolist())
    figures = moved.least(moved_prices(hardware), len(space.bare))
    assert np.isfinite(figures[moved.kinds]).all()
    assert np.isinf(np.delete(figures, moved.kinds, axis=0)).all()
