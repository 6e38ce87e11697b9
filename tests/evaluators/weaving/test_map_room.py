"""Room for maps: layers that do not fit, and the fullest moment of random schedules."""

import numpy as np
import pytest

from archloom.evaluators.weaving.chain import Chain, Npu, unfit_layer
from archloom.evaluators.weaving.map_room import map_peak
from archloom.evaluators.weaving.simulator import simulated
from archloom.evaluators.weaving.timeline import schedule_timeline

from ...cases.woven import random_order, random_ticks


def test_a_layer_that_fits_in_no_way_is_named_with_its_bytes():
    chain = Chain("net", [1, 1], [1, 1], [0, 0], [40, 50], [10, 0], ("a", "b"))
    assert unfit_layer(chain, Npu("chip", 1, 1, 9, 50)) is None
    why = unfit_layer(chain, Npu("chip", 1, 1, 9, 49))
    assert why is not None
    assert (why.reason, why.needed, why.available) == ("map_overflow", 50, 49)
    assert why.where == "net, layer b on chip"


@pytest.mark.parametrize("seed", range(20))
def test_the_fullest_moment_is_that_of_the_timeline(seed):
    rng = np.random.default_rng(seed)
    plain = random_ticks(rng, [5, 8, 3])
    rooms = rng.integers(1, 50, (2, 16))
    last = plain.first[1:] - 1
    rooms[1, last] = 0
    # a layer without cycles is over before anyone sees it
    work = plain._replace(compute=plain.compute + 1, footprint=rooms[0], live=rooms[1])
    order = random_order(rng, work, queries=2)
    stamps = simulated(work, order)
    found = map_peak(work, order.chain, stamps)
    held = schedule_timeline(work, order, stamps).on_chip_maps[:, 1:].sum(axis=1)
    assert found.all_bytes == held.max()
    part = stamps.part[found.step]
    assert found.running_bytes == max(work.footprint[part], work.live[part])
