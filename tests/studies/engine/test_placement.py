from hypothesis import given, strategies as st

from archloom.studies.engine.executors.placement import Placed, Placement


def tasks(*trials: int) -> list[Placed]:
    return [Placed(trial, "like") for trial in trials]


def test_a_trial_goes_on_where_it_was() -> None:
    placement = Placement()
    assert placement.choose(0, tasks(10, 11)) == 0
    assert placement.choose(1, tasks(11)) == 0
    assert placement.choose(1, tasks(10, 11)) == 1
    assert placement.choose(0, tasks(12, 10)) == 1


def test_few_tasks_wait_for_their_worker_and_of_many_the_last_is_taken() -> None:
    placement = Placement()
    for trial in (10, 11, 12):
        placement.choose(0, tasks(trial))
    assert placement.choose(1, tasks(10)) is None
    assert placement.choose(1, tasks(10, 11)) is None
    assert placement.choose(1, tasks(10, 11, 12)) == 2
    assert placement.choose(0, tasks(12)) is None, "it has moved"


def test_what_nobody_has_had_comes_before_what_another_has() -> None:
    placement = Placement()
    for trial in (10, 11, 12):
        placement.choose(0, tasks(trial))
    assert placement.choose(1, tasks(10, 11, 12, 13)) == 3


def test_of_new_trials_a_worker_takes_what_is_like_its_own_and_not_what_is_like_others() -> None:
    placement = Placement()
    placement.choose(0, [Placed(1, "32 KiB")])
    placement.choose(1, [Placed(2, "64 KiB")])
    waiting = [Placed(3, "32 KiB"), Placed(4, "128 KiB"), Placed(5, "64 KiB")]
    assert placement.choose(1, waiting) == 2
    assert placement.choose(1, waiting[:2]) == 1
    assert placement.choose(1, waiting[:1]) == 0


def test_trials_of_a_worker_that_is_gone_have_no_home() -> None:
    placement = Placement()
    placement.choose(0, tasks(10))
    placement.lost(0)
    assert placement.choose(1, tasks(10)) == 0


@given(st.lists(st.builds(Placed, st.integers(0, 5), st.integers(0, 2)), max_size=12), st.data())
def test_all_tasks_are_done_whoever_is_idle(waiting: list[Placed], data: st.DataObject) -> None:
    placement = Placement()
    while waiting:
        begun = len(waiting)
        for worker in data.draw(st.permutations(range(3))):
            chosen = placement.choose(worker, waiting)
            if chosen is not None:
                waiting.pop(chosen)
        assert len(waiting) < begun, "one of all workers finds a task that is worth its while"


def test_nothing_waits() -> None:
    assert Placement().choose(0, []) is None
