"""Ranges of expressions hold all values that the expressions have."""

import ast
from itertools import product
from math import isclose

import pytest

from archloom.space.design_space.boxes.interval import (
    Interval,
    NoRangeError,
    decided,
    range_of,
    range_of_values,
    truth,
)
from archloom.space.design_space.expression import parse

EXPRESSIONS = (
    "a + b * 2 - c / 4",
    "-a * b",
    "a // b + a % b",
    "a % 5",
    "min(32, max(a, b)) + ceil(c / 3) + floor(c / 3)",
    "log2(b) ** 2 + b ** c",
    "a if b > 3 else c",
    "(a > 2 and b) + (a > 2 or c)",
    "1 if not (a == 2 or b != 4) else 0",
    "1 if 1 < a <= b < 9 else 2",
    "a * b if kind == 'wide' else a",
    "'x' if a > 2 else kind",
    "kind if kind != 'wide' else 'other'",
    "kind and 3",
    "a - a",
    "0 ** a + (c - 4) ** 2",
)
CHOICES = {
    "a": (0, 1, 2, 3, 5, 8),
    "b": (1, 2, 4, 6.5),
    "c": (2, 4, 7),
    "kind": ("wide", "narrow", "odd"),
}


def runs(values: tuple[object, ...]) -> list[tuple[object, ...]]:
    n = len(values)
    return [values[i:j] for i in range(n) for j in range(i + 1, n + 1)]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_a_range_holds_every_value(source: str) -> None:
    expression = parse(source)
    tree = ast.parse(source, mode="eval").body
    known = 0
    for parts in product(*(runs(CHOICES[name]) for name in expression.names)):
        given = dict(zip(expression.names, parts, strict=True))
        try:
            found = range_of(tree, {n: range_of_values(v) for n, v in given.items()})  # type: ignore[arg-type]
        except NoRangeError:
            continue
        known += 1
        for values in product(*parts):
            value = expression.evaluate(dict(zip(expression.names, values, strict=True)))  # type: ignore[arg-type]
            if isinstance(found, Interval):
                assert not isinstance(value, str)
                assert found.low <= value <= found.high
            else:
                assert value in found
        if all(len(part) == 1 for part in parts):
            assert decided(found)
    assert known > 0


@pytest.mark.parametrize(
    "source", ["1 / a", "1 // a", "a % (b - 1)", "log2(a)", "(0 - a) ** b", "kind + 1", "b ** 9999"]
)
def test_what_may_fail_has_no_range(source: str) -> None:
    expression = parse(source)
    whole = {name: range_of_values(CHOICES[name]) for name in expression.names}
    with pytest.raises(NoRangeError):
        range_of(ast.parse(source, mode="eval").body, whole)


def test_truth_is_known_only_where_all_agree() -> None:
    assert [truth(Interval(*v)) for v in ((0, 0), (0, 1), (1, 2), (-2, -1), (-1, 1))] == [
        *(False, None, True, True, None)
    ]
    assert [truth(frozenset(v)) for v in ([""], ["", "x"], ["x", "y"])] == [False, None, True]


def test_monotone_expressions_have_exact_ranges() -> None:
    names = {"a": Interval(2, 5), "b": Interval(1, 4)}
    for source, low, high in (("a * b + 1", 3, 21), ("a / b", 0.5, 5), ("log2(a)", 1, 2.321928)):
        found = range_of(ast.parse(source, mode="eval").body, names)
        assert isinstance(found, Interval)
        assert isclose(found.low, low)
        assert isclose(found.high, high, rel_tol=1e-6)
