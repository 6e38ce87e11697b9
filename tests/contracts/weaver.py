"""Contract of weaving schedulers; the tests of each inherit it."""

import numpy as np

from archloom.evaluators.weaving import makespan, stream_metrics
from archloom.search.registry import WEAVERS
from archloom.search.weaving.protocol import Weaver

from ..cases.woven import random_ticks
from ..cases.woven_pairs import pair


class WeaverContract:
    """What every scheduler does."""

    name: str

    def weaver(self) -> Weaver:
        weaver: Weaver = WEAVERS[self.name]()
        return weaver

    def test_each_chain_runs_once_and_bounds_hold(self) -> None:
        rng = np.random.default_rng(11)
        for number in range(12):
            work = random_ticks(rng, rng.integers(1, 9, 1 + number % 4).tolist(), largest=20)
            woven = self.weaver().weave(work, seed=3)
            assert woven.rule
            assert np.bincount(woven.order.chain).tolist() == np.diff(work.first).tolist()
            assert woven.upper_ticks == makespan(work, woven.order)
            assert woven.bounds.best <= woven.lower_ticks <= woven.upper_ticks
            assert woven.proven == (woven.gap == 0)

    def test_a_stream_is_below_its_bound(self) -> None:
        work = pair(("resnet50", "bert_base"), "memory_centric")
        stream = self.weaver().stream(work, seed=3)
        assert 0 < stream.share <= 1
        again = stream_metrics(work, stream.order, stream.isolated_ticks, stream.bound.prices)
        assert again.stp == stream.metrics.stp
        assert stream.metrics.compute_active <= 1
        assert stream.metrics.memory_active <= 1
        bound = stream.bound
        prices = bound.compute_price + bound.memory_price + bound.order_price
        assert abs(prices - bound.value) < 1e-9

    def test_the_same_seed_gives_the_same_schedules(self) -> None:
        work = random_ticks(np.random.default_rng(5), [9, 12, 4], largest=30)
        one, other = self.weaver().weave(work, 7), self.weaver().weave(work, 7)
        assert (one.rule, one.lower_ticks) == (other.rule, other.lower_ticks)
        assert np.array_equal(one.order.chain, other.order.chain)
        first, second = self.weaver().stream(work, 7), self.weaver().stream(work, 7)
        assert first.rule == second.rule
        assert np.array_equal(first.order.chain, second.order.chain)
