"""Counted work: the same number whatever a process knows, and a limit that stops at it."""

import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest

from archloom.search.fusion.counted_work import CountedWork, WorkLimitError
from archloom.search.fusion.deepfrack.planner import DeepFrackPlanner, DeepFrackSearch
from archloom.search.fusion.optimus.planner import OptimusPlanner, optimus_plan
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.networks import network
from archloom.space.workload import Network

from ...cases.small_designs import casco_edge

CNN = network("tiny_cnn")


def evaluator(of: Network = CNN, kib: int = 64) -> MemoizedPlanEvaluator:
    return MemoizedPlanEvaluator(of, casco_edge(kib), Mapper(RandomMapping(), 30, seed=1))


def renamed() -> Network:
    """The network as another value, of which nothing is remembered."""
    return replace(CNN, name="unheard_of")


def deepfrack_work(of: Network, kib: int) -> int:
    search = DeepFrackSearch(evaluator(of, kib))
    search.plan()
    return search.work.spent


def optimus_work(of: Network, kib: int) -> int:
    work = CountedWork("optimus", "")
    optimus_plan(evaluator(of, kib), spend=work.spend)
    return work.spent


@pytest.mark.parametrize("count", [deepfrack_work, optimus_work])
def test_counts_do_not_depend_on_what_is_known(count: Callable[[Network, int], int]) -> None:
    fresh = count(renamed(), 64)
    known = renamed()
    counted = [count(known, kib) for kib in (32, 64, 256, 64)]
    assert counted[1] == counted[3] == fresh > 0
    # tiny networks end where all that Optimus counts is one group
    assert len({*counted}) > 1 or count is optimus_work, "a design decides it"


@pytest.mark.parametrize(
    ("planner", "work"),
    [(DeepFrackPlanner, deepfrack_work(CNN, 64)), (OptimusPlanner, optimus_work(CNN, 64))],
)
def test_a_limit_is_kept_to_the_unit(
    planner: type[DeepFrackPlanner] | type[OptimusPlanner], work: int
) -> None:
    free, enough, short = (planner(evaluator(), limit) for limit in (None, work, work - 1))
    assert enough.advance(enough.start(0), 2) == free.advance(free.start(0), 2)
    # layer by layer comes first, and is no work of the planner
    before = short.advance(short.start(0), 1)
    with pytest.raises(WorkLimitError) as raised:
        short.advance(before, 1)
    assert raised.value.limit == work - 1
    assert raised.value.spent >= work
    crossed = pickle.loads(pickle.dumps(raised.value))
    assert str(crossed) == str(raised.value)
    assert (crossed.limit, crossed.spent) == (raised.value.limit, raised.value.spent)
    with pytest.raises(ValueError, match="work_limit is 0, must be at least 1"):
        planner(evaluator(), 0)
