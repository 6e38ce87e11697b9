"""What meshes leave to whole layers, against all whole factors of small layers."""

from itertools import product
from math import ceil, prod
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import design_and_prices
from archloom.evaluators.bounds.level_capacity import Design, shares_of
from archloom.evaluators.bounds.network.plans import layer_by_layer_pass
from archloom.evaluators.bounds.network.whole_steps import _quotients, whole_shares
from archloom.evaluators.bounds.network.work import network_work
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload import DIMS, INPUTS, NO_ZEROS, OUTPUTS, WEIGHTS, C, K, N, P, R

from ...source_tree import ROOT

#: dimensions that the cases unroll
SOME = (N, K, C, P, R)
SPACES = sorted((ROOT / "examples" / "spaces").iterdir())


def meshed(axes: dict[tuple[int, int], tuple[int, tuple[int, ...]]]) -> Design:
    """A design of edgetpu's levels with axes (level, x or y): children and dimensions."""
    design, _ = design_and_prices(preset("edgetpu"), NO_ZEROS)
    fanout, dims = np.ones_like(design.fanout), np.zeros_like(design.dims)
    for place, (children, unrolled) in axes.items():
        fanout[place], dims[place] = children, sum(1 << d for d in unrolled)
    return design._replace(fanout=fanout, dims=dims, multicast=np.ones_like(design.multicast))


def most_at_once(design: Design, bounds: np.ndarray, of: tuple[int, ...] = SOME) -> float:
    """MACs that work on average under the best whole factors of some dimensions; images count in
    fractions."""
    picks = []
    for level, axis in np.argwhere(design.fanout > 1):
        children, dims = int(design.fanout[level, axis]), int(design.dims[level, axis])
        ranges = [range(1, children + 1 if dims >> d & 1 else 2) for d in SOME]
        picks.append([found for found in product(*ranges) if prod(found) <= children])
    best = 1.0
    for pick in product(*picks):
        spatial = [prod(factors) for factors in zip(*pick, strict=True)] or [1] * len(SOME)
        sizes = [int(bounds[d]) for d in SOME]
        working = [
            min(size, s) if d == N else size / ceil(size / s)
            for d, size, s in zip(SOME, sizes, spatial, strict=True)
            if d in of
        ]
        best = max(best, prod(working))
    return best


@pytest.mark.parametrize("apart", [True, False])
def test_factors_are_whole_numbers(apart: bool) -> None:
    """On axes with different dimensions nothing is lost; on like ones the limit still holds."""
    rng, closer = np.random.default_rng(5 + apart), 0
    for _ in range(60):
        bounds = np.ones(len(DIMS), np.int64)
        bounds[list(SOME)] = rng.choice([1, 2, 3, 5, 7], len(SOME))
        first, second, third = (int(v) for v in rng.integers(2, 7, 3))
        two = {(0, 1): (first, (C, R)), (3, 0): (second, (N, K, P))}
        more = {(2, 0): (min(third, 3), (K, C))} if apart else {(3, 1): (third, (N, K, P))}
        design = meshed(two | more)
        # with whole taps, too, as bounds of networks have it
        loose = shares_of(design._replace(strict=bool(rng.integers(2))), bounds[None])
        shares = whole_shares(design, bounds[None], loose)
        whole = float(shares.at_once[0])
        best = most_at_once(design, bounds)
        assert best <= whole * (1 + 1e-12)
        if apart:
            assert whole == pytest.approx(best)
        sent = shares.shares[0, -1] * (1 + 1e-12)
        for tensor, of in ((WEIGHTS, (N, P)), (INPUTS, (K,)), (OUTPUTS, (C, R))):
            assert (
                most_at_once(design, bounds, of)
                <= sent[tensor]
                <= loose.shares[0, -1, tensor] * (1 + 1e-9)
            )
        assert best <= shares.shared[0, -1] * (1 + 1e-12)
        closer += whole < float(loose.at_once[0]) * (1 - 1e-12)
    assert closer > 20


def test_more_children_never_leave_less() -> None:
    rng = np.random.default_rng(7)
    bounds = np.array([[1, 1, 96, 40, 14, 14, 3, 3], [4, 32, 1, 1, 7, 7, 3, 3]], np.int64)
    for _ in range(40):
        sizes = rng.integers(1, 200, 3)
        before, after = (
            whole_shares(design, bounds, shares_of(design, bounds))
            for design in (
                meshed(
                    {
                        (0, 1): (int(sizes[0] * more), (C, R)),
                        (3, 0): (int(sizes[1]), (N, K, P)),
                        (3, 1): (int(sizes[2] + more), (K, C, P)),
                    }
                )
                for more in (1, 2)
            )
        )
        for name in ("at_once", "shares", "shared"):
            assert (getattr(before, name) <= getattr(after, name) * (1 + 1e-12)).all()


@pytest.mark.parametrize("size", [1, 2, 12, 97, 4096])
def test_all_numbers_of_children_that_may_be_left(size: int) -> None:
    assert _quotients(size).tolist() == sorted({size // f for f in range(1, size + 1)})[::-1]


@pytest.mark.parametrize("folder", SPACES, ids=lambda path: path.name)
def test_no_software_goes_below_whole_steps(folder: Path) -> None:
    """Free factors come nearest; the bound is above that of fractions somewhere."""
    space, rng, higher = HardwareSpace.load(folder / "hardware.yaml"), np.random.default_rng(2), 0
    settings = SoftwareSettings(fusion="none", mapping="exact", mapping_evaluations=3000)
    net, measured = network("tiny_mobile"), 0
    while measured < 6:
        hardware = space.build(space.sample(rng))
        if not isinstance(hardware, Hardware):
            continue
        measured += 1
        found = advance(SoftwareTask(hardware, [net], settings, 0), None, 1)
        energy_pj, cycles = layer_by_layer_pass(net, hardware)
        design, prices = design_and_prices(hardware, NO_ZEROS)
        for nests in network_work(net).nests.values():
            uncut, free = (nests.costs(design, prices, uncut=how) for how in (True, False))
            assert (uncut >= free * (1 - 1e-12)).all()
            higher += int((uncut > free).any())
        if found.infeasible is None:
            result = found.networks[net.name]
            assert energy_pj <= result.energy_pj
            assert cycles <= result.latency_cycles
    assert higher
