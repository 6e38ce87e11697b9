import pytest

from archloom.space.design_space.expression import Value, parse
from archloom.space.design_space.parameter import Parameter, Scale


@pytest.mark.parametrize(
    ("values", "scale", "columns"),
    [
        ((2, 4, 10), "linear", ((0.0,), (0.25,), (1.0,))),
        ((1, 4, 16), "pow2", ((0.0,), (0.5,), (1.0,))),
        ((0, 1, 2), "pow2", ((0.0,), (0.5,), (1.0,))),
        ((7,), "linear", ((0.0,),)),
        (("a", "b"), "categorical", ((1.0, 0.0), (0.0, 1.0))),
    ],
)
def test_encoding(
    values: tuple[Value, ...], scale: Scale, columns: tuple[tuple[float, ...], ...]
) -> None:
    assert Parameter("p", values, scale).columns == columns


@pytest.mark.parametrize(
    ("values", "scale", "message"),
    [
        ((), "linear", "values must not repeat"),
        ((1, 1), "linear", r"values must not repeat, got \[1, 1\]"),
        ((1, "a"), "linear", "all numbers or all texts"),
        ((True, False), "linear", "all numbers or all texts"),
        ((2, 1), "linear", "values must be in ascending order"),
        (("a", "b"), "pow2", "scale pow2 cannot be used"),
        ((1, 2), "categorical", "scale categorical cannot be used"),
        ((-1, 2), "pow2", "scale pow2 needs values of 0 or more"),
        ((0,), "pow2", "scale pow2 needs values of 0 or more"),
    ],
)
def test_impossible_parameters_are_refused(
    values: tuple[Value, ...], scale: Scale, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Parameter("p", values, scale)


@pytest.mark.parametrize(
    ("values", "value", "message"),
    [
        ((1, 4, 16), 5, "parameter p: 5 is not one of its values; the nearest is 4"),
        ((1, 4, 16), "4", "'4' is not one of its values"),
        (("private", "shared"), "privat", "did you mean private"),
        ((1, 4, 16), [4], r"\[4\] is not one of its values"),
    ],
)
def test_a_wrong_value_names_the_nearest(
    values: tuple[Value, ...], value: object, message: str
) -> None:
    scale: Scale = "categorical" if isinstance(values[0], str) else "linear"
    with pytest.raises(ValueError, match=message):
        Parameter("p", values, scale).check(value)


def test_a_condition_decides_whether_it_counts() -> None:
    conditional = Parameter("size", (1, 2), "pow2", parse("mode == 'private'"))
    assert conditional.active({"mode": "private"})
    assert not conditional.active({"mode": "shared"})
    assert Parameter("size", (1, 2), "pow2").active({})
