"""What layers of a network are known to cost at the least does not depend on earlier designs."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import design_and_prices
from archloom.evaluators.bounds.layer_kernel import layer_costs
from archloom.evaluators.bounds.network import work as work_module
from archloom.evaluators.bounds.network.inside import without_dram
from archloom.evaluators.bounds.network.work import network_work
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network


def some_designs(name: str, count: int) -> list[Hardware]:
    """Designs along walks through a space, so that they have levels and meshes in common."""
    space, rng = HardwareSpace.load(name), np.random.default_rng(3)
    found: list[Hardware] = []
    while len(found) < count:
        near = [space.sample(rng)]
        near += space.neighbours(near[0])[::4]
        found += [h for h in map(space.build, near) if isinstance(h, Hardware)]
    return found[:count]


@pytest.mark.parametrize("most", [1, 1024], ids=["forgetful", "remembering"])
@pytest.mark.parametrize("space", ["casco_edge", "fast"])
def test_designs_before_change_no_bound(
    space: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "_MOST_LEVELS", most)
    monkeypatch.setattr(work_module, "_MOST_MESHES", most)
    designs, known = some_designs(space, 25), 0
    # networks are shared within a process, and other tests' designs must not be known
    fresh = replace(network("mobilenetv2").with_batch(3))
    ((zeros, nests),) = network_work(fresh).nests.items()
    for hardware in [*designs, *reversed(designs)]:
        for priced in (design_and_prices(hardware, zeros), without_dram(hardware, zeros)):
            known = max(known, len(nests.fills))
            alone = layer_costs(*priced, nests.bounds, nests.windows)
            assert np.array_equal(nests.costs(*priced), alone)
    # levels in common are looked up
    assert known == 1 if most == 1 else 1 < known < 2 * len(designs) * len(designs[0].levels)


@pytest.mark.parametrize("space", ["casco_edge", "fast"])
def test_layers_cost_the_same_alone_and_among_others(space: str) -> None:
    ((zeros, nests),) = network_work(network("resnet18")).nests.items()
    for hardware in some_designs(space, 4):
        priced = design_and_prices(hardware, zeros)
        alone = [
            layer_costs(*priced, nests.bounds[i : i + 1], nests.windows[i : i + 1])[0]
            for i in range(len(nests.bounds))
        ]
        assert np.array_equal(np.array(alone), layer_costs(*priced, nests.bounds, nests.windows))
