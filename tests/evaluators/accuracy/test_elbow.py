"""The elbow by cases."""

import pytest

from archloom.evaluators.accuracy import LevelAccuracy, allowed_drop, elbow_of


def levels(**percents: tuple[float, ...]) -> list[LevelAccuracy]:
    return [LevelAccuracy(int(name[1:]) / 100, found) for name, found in percents.items()]


@pytest.mark.parametrize(
    ("dense", "percents", "tolerance", "expected"),
    [
        # the last level before the drop
        ((90.0,), {"_50": (90.0,), "_80": (89.2,), "_95": (80.0,)}, 1.0, 0.80),
        # exactly the tolerance is no drop
        ((90.0,), {"_50": (89.0,), "_80": (88.9,)}, 1.0, 0.50),
        # no elbow at all
        ((90.0,), {"_50": (88.0,), "_80": (90.0,)}, 1.0, None),
        # better again after a drop does not count
        ((90.0,), {"_50": (90.0,), "_80": (80.0,), "_95": (90.0,)}, 1.0, 0.50),
        # everything holds
        ((90.0,), {"_50": (91.0,), "_99": (90.0,)}, 0.0, 0.99),
        # the order in which they come does not matter
        ((90.0,), {"_95": (50.0,), "_50": (90.0,)}, 1.0, 0.50),
        # seeds of the dense model differ by more than the tolerance: 2 points are noise
        ((88.0, 90.0, 92.0), {"_50": (88.0, 88.0, 88.0), "_80": (87.0, 88.0, 88.0)}, 1.0, 0.50),
        # one bad seed pulls the mean below
        ((90.0, 90.0), {"_50": (90.0, 87.0)}, 1.0, None),
    ],
)
def test_the_elbow(
    dense: tuple[float, ...],
    percents: dict[str, tuple[float, ...]],
    tolerance: float,
    expected: float | None,
) -> None:
    found = elbow_of(dense, levels(**percents), tolerance)
    assert (found.level if found else None) == expected


def test_what_may_be_lost() -> None:
    assert allowed_drop((90.0,), 1.5) == 1.5
    assert allowed_drop((90.0, 90.2), 1.5) == 1.5
    assert allowed_drop((88.0, 90.0, 92.0), 1.5) == 2.0
