import pytest

from archloom.search.pareto import PickRule

FRONT = [(1.0, 100.0), (2.0, 12.0), (10.0, 8.0), (100.0, 1.0)]
"""Scaled logarithms: (0, 1), (0.15, 0.54), (0.5, 0.45), (1, 0)."""


def test_the_nearest_to_the_ideal_is_the_default() -> None:
    assert PickRule().choose(FRONT) == 1


def test_the_knee_is_farthest_below_the_line_through_the_ends() -> None:
    assert PickRule("knee").choose(FRONT) == 1
    # by Euclid (0.4, 0.3) is nearer to the ideal, by the line (0.05, 0.6) is farther below it
    logs = [(0.0, 1.0), (0.05, 0.6), (0.4, 0.3), (1.0, 0.0)]
    rows = [(10**a, 10**b) for a, b in logs]
    assert PickRule("knee").choose(rows) == 1
    assert PickRule("ideal").choose(rows) == 2


def test_lexicographic_takes_objectives_in_turn() -> None:
    rows = [(1.0, 3.0, 2.0), (1.0, 2.0, 3.0), (2.0, 1.0, 1.0), (1.05, 1.5, 9.0)]
    assert PickRule("lexicographic").choose(rows) == 1
    assert PickRule("lexicographic", order=(0, 2)).choose(rows) == 0
    assert PickRule("lexicographic", order=(2,)).choose(rows) == 2
    assert PickRule("lexicographic", tolerance=0.1).choose(rows) == 3


@pytest.mark.parametrize("name", ["ideal", "knee", "lexicographic"])
def test_a_dominated_design_is_never_picked(name: str) -> None:
    rule = PickRule(name)  # type: ignore[arg-type]
    assert rule.choose([(2.0, 2.0), (1.0, 1.0), (1.0, 1.0)]) == 1
    with pytest.raises(ValueError, match="at least one row"):
        rule.choose([])


def test_bad_rules_are_named() -> None:
    with pytest.raises(ValueError, match="pick rule 'best' is unknown"):
        PickRule("best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="objective twice"):
        PickRule("lexicographic", (0, 0))
    with pytest.raises(ValueError, match="tolerance is -1"):
        PickRule("lexicographic", tolerance=-1)
