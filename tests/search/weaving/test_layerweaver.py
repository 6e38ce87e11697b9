import numpy as np
import pytest

from archloom.evaluators.weaving import simulated
from archloom.search.weaving.applied import ByIdleTime
from archloom.search.weaving.online import Layerweaver

from ...cases.woven import layers_of, random_ticks, ticks_of
from ...oracles.printed_greedy import printed_order


@pytest.mark.parametrize("seed", range(3))
def test_choices_are_those_of_the_printed_algorithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(300):
        counts = rng.integers(1, 12, 2 + number % 2).tolist()
        work = random_ticks(rng, counts)
        chains = [[(fetch, compute) for _, fetch, compute in chain] for chain in layers_of(work)]
        _, order = ByIdleTime()(work, 0)
        assert order.chain.tolist() == printed_order(chains, work.buffer)


def test_networks_that_wait_for_the_same_engine_are_not_woven() -> None:
    work = ticks_of([[(1, 5), (2, 9)], [(1, 4)]], buffer=8)
    assert "disabled" in Layerweaver().weave(work).rule
    stream = Layerweaver().stream(work)
    assert "disabled" in stream.rule
    assert stream.bound.value == pytest.approx(1.0)
    assert stream.share == pytest.approx(1.0, abs=0.01)


def test_a_pause_lets_nothing_be_fetched_across_the_end_of_a_query() -> None:
    work = ticks_of([[(4, 9), (4, 9)], [(6, 1), (6, 1)]], buffer=30)
    paused, plain = Layerweaver(pause=True).stream(work), Layerweaver().stream(work)
    assert paused.metrics.stp < plain.metrics.stp
    stamps = simulated(work, paused.order)
    ends = np.flatnonzero(np.isin(stamps.part, work.first[1:] - 1))[:-1]
    for end in ends[:50]:
        fetched, moved = stamps.fetched[end + 1], work.fetch[stamps.part[end + 1]]
        assert fetched >= stamps.done[end] + moved


def test_additional_idle_time_is_another_rule() -> None:
    rng = np.random.default_rng(0)
    works = [random_ticks(rng, [8, 8]) for _ in range(50)]
    plain = [ByIdleTime()(w, 0)[1].chain.tolist() for w in works]
    additional = [ByIdleTime(additional=True)(w, 0)[1].chain.tolist() for w in works]
    assert plain != additional
    assert "additional" in ByIdleTime(additional=True)(works[0], 0)[0]
