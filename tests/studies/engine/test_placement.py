from collections.abc import Sequence

from hypothesis import given, strategies as st

from archloom.studies.engine.placement import Placement


def test_a_trial_goes_on_where_it_was() -> None:
    placement = Placement()
    assert placement.choose(0, [10, 11]) == 0
    assert placement.choose(1, [11]) == 0
    assert placement.choose(1, [10, 11]) == 1
    assert placement.choose(0, [12, 10]) == 1


def test_a_single_task_waits_for_its_worker_and_of_two_the_last_is_taken() -> None:
    placement = Placement()
    for trial in (10, 11, 12):
        placement.choose(0, [trial])
    assert placement.choose(1, [10]) is None
    assert placement.choose(1, [10, 11, 12]) == 2
    assert placement.choose(0, [12]) is None, "it has moved"


def test_what_nobody_has_had_comes_before_what_another_has() -> None:
    placement = Placement()
    for trial in (10, 11):
        placement.choose(0, [trial])
    assert placement.choose(1, [10, 11, 12]) == 2


def test_trials_of_a_worker_that_is_gone_have_no_home() -> None:
    placement = Placement()
    placement.choose(0, [10])
    placement.lost(0)
    assert placement.choose(1, [10]) == 0


@given(st.lists(st.integers(0, 5), max_size=12), st.data())
def test_all_tasks_are_done_whoever_is_idle(trials: list[int], data: st.DataObject) -> None:
    placement, waiting = Placement(), list(trials)
    while waiting:
        chosen = [_choice(placement, waiting, worker) for worker in data.draw(_WORKERS)]
        assert any(chosen) or not trials, "one of all workers finds a task that is worth its while"


_WORKERS = st.permutations(range(3))


def _choice(placement: Placement, waiting: list[int], worker: int) -> bool:
    chosen = placement.choose(worker, waiting)
    if chosen is not None:
        waiting.pop(chosen)
    return chosen is not None


def test_nothing_waits() -> None:
    nothing: Sequence[int] = ()
    assert Placement().choose(0, nothing) is None
