import numpy as np
import pytest

from archloom.evaluators.weaving import simulated, stream_metrics, throughput_bound

from ...cases.woven import order_of, ticks_of

WORK = ticks_of([[(2, 10), (2, 10)], [(8, 1), (8, 1)]], buffer=100)
ISOLATED = np.array([20.0, 16.0])
PRICES = throughput_bound(WORK, ISOLATED).prices


def test_figures_of_a_stream_by_hand() -> None:
    # fetched at 2, 10, 12, 20; done at 12, 13, 23, 24
    order = order_of([0, 1, 0, 1])
    assert simulated(WORK, order).done.tolist() == [12, 13, 23, 24]
    metrics = stream_metrics(WORK, order, ISOLATED, PRICES)
    assert metrics.elapsed_ticks == 24
    assert metrics.completed.tolist() == [1, 1]
    assert metrics.stp == pytest.approx((20 + 16) / 24)
    assert metrics.mean_slowdown.tolist() == pytest.approx([23 / 20, 24 / 16])
    assert metrics.antt == pytest.approx((23 / 20 + 24 / 16) / 2)
    assert metrics.worst_slowdown.tolist() == pytest.approx([23 / 20, 24 / 16])
    assert metrics.compute_active == pytest.approx(22 / 24)
    assert metrics.memory_active == pytest.approx(20 / 24)


def test_an_open_query_counts_by_its_priced_work() -> None:
    whole = stream_metrics(WORK, order_of([0, 1, 0, 1]), ISOLATED, PRICES)
    more = stream_metrics(WORK, order_of([0, 1, 0, 1, 0]), ISOLATED, PRICES)
    assert more.completed.tolist() == [1, 1]
    # both layers of the first network cost the same
    assert (more.rates * more.elapsed_ticks).tolist() == pytest.approx([1.5, 1])
    assert (whole.rates * whole.elapsed_ticks).tolist() == pytest.approx([1, 1])


def test_who_is_not_served_is_slowed_without_limit() -> None:
    metrics = stream_metrics(WORK, order_of([0, 0, 0, 0, 1]), ISOLATED, PRICES)
    assert metrics.mean_slowdown[1] == metrics.worst_slowdown[1] == metrics.antt == np.inf
    # a network that was served once and then no more waits until the end
    late = stream_metrics(WORK, order_of([1, 1, *[0] * 20]), ISOLATED, PRICES)
    assert late.worst_slowdown[1] > 10
    assert late.mean_slowdown[1] < 2
    with pytest.raises(ValueError, match="an empty schedule"):
        stream_metrics(WORK, order_of([]), ISOLATED, PRICES)
