"""Hypervolumes of searches of one case, in closed form: objectives are powers of ten."""

from math import inf, log10
from types import SimpleNamespace

import pytest

from archloom.search import AREA, EDP, ObjectiveSet
from archloom.studies.solve.papers.searches.hypervolumes import CORNER, Step, compared, steps_of

#: decades from a worst value to the corner
EDGE = log10(CORNER)


def test_shares_are_areas_of_decades_below_the_corner_of_all() -> None:
    # the front of all is (1, 100), (100, 1); beyond it, (100, 100) adds nothing and moves nothing
    one = [Step(4, ((1.0, 100.0),)), Step(6, ((100.0, 1.0),))]
    other = [Step(5, ((100.0, 100.0),))]
    first, second = compared([one, other])
    # each end is a strip of 2 decades and the edge; they share a square
    whole = 2 * (2 + EDGE) * EDGE - EDGE**2
    assert first.share == pytest.approx(1.0)
    assert second.share == pytest.approx(EDGE**2 / whole)
    assert second.plans == inf


def test_plans_are_those_of_the_first_batch_that_has_nine_tenths() -> None:
    best = [Step(9, ((1.0, 1.0),))]
    # below the corner of (1, 1) alone: 0.96 and then 0.98 of the edge in the first objective
    near = [Step(3, ((CORNER**0.2, 1.0),)), Step(7, ((CORNER**0.04, 1.0),)), Step(8, ())]
    one, other = compared([best, near])
    assert (one.share, one.plans) == (pytest.approx(1.0), 9)
    assert (other.share, other.plans) == (pytest.approx(0.96), 7)


def test_another_search_of_the_case_moves_all_shares() -> None:
    steps = [Step(2, ((10.0, 10.0),))]
    (alone,) = compared([steps])
    beside, _ = compared([steps, [Step(2, ((1.0, 1.0),))]])
    assert alone.share == pytest.approx(1.0)
    assert beside.share == 0.0


def test_a_case_without_a_design_has_none() -> None:
    assert [found.share for found in compared([[Step(4, ())], []])] == [0.0, 0.0]


def test_other_objectives_are_refused() -> None:
    with pytest.raises(ValueError, match="other objectives"):
        compared([[Step(1, ((1.0, 2.0),))], [Step(1, ((1.0, 2.0, 3.0),))]])


def test_steps_are_what_each_batch_adds_to_the_front() -> None:
    def trial(batch: int, evaluations: int, edp: float, area: float) -> SimpleNamespace:
        found = SimpleNamespace(
            batch=batch,
            evaluations=evaluations,
            costs=lambda _: (edp, area),
            keeps_limits=lambda _: area <= 5,
        )
        found.outcomes = (found,)
        return found

    trials = [
        trial(1, 1, 1.0, 4.0),
        trial(0, 2, 3.0, 2.0),
        trial(0, 3, 2.0, 3.0),
        trial(0, 4, 4.0, 4.0),
        trial(1, 5, 0.5, 6.0),
        trial(2, 6, 1.0, 4.0),
    ]
    objectives = ObjectiveSet.of((EDP, AREA), ())
    assert steps_of(trials, objectives) == (  # type: ignore[arg-type]
        Step(9, ((3.0, 2.0), (2.0, 3.0))),
        Step(15, ((1.0, 4.0),)),
        Step(21, ()),
    )
