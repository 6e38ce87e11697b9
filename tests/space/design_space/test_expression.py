import pytest
from hypothesis import given, strategies as st

from archloom.space.design_space.expression import Expression, ExpressionError, Value, parse


@pytest.mark.parametrize(
    ("source", "values", "expected"),
    [
        ("pe_x * pe_y", {"pe_x": 3, "pe_y": 4}, 12),
        ("2 ** n - 7 // 2 + 7 % 4", {"n": 5}, 32),
        ("-a / 2", {"a": 3}, -1.5),
        ("'big' if a >= 512 else 'small'", {"a": 512}, "big"),
        ("mode == 'private' and not a > 2 or a == 9", {"mode": "private", "a": 3}, False),
        ("max(a, 4) + min(a, 4) + ceil(0.5) + floor(1.5) + log2(8)", {"a": 6}, 15),
    ],
)
def test_values(source: str, values: dict[str, Value], expected: Value) -> None:
    expression = parse(source)
    assert expression.names == tuple(sorted(values))
    assert expression.evaluate({**values, "unused": 1}) == expected


@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(1, 99))
def test_arithmetic_is_that_of_python(a: int, b: int, c: int) -> None:
    found = parse("(a + b) * a - b // c + a % c").evaluate({"a": a, "b": b, "c": c})
    assert found == (a + b) * a - b // c + a % c


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 +", "'1 \\+' is not an expression"),
        ("a.real", "may not use Attribute"),
        ("[1, 2]", "may not use List"),
        ("a << 2", "may not use LShift"),
        ("a is 2", "may not use Is"),
        ("None", "may not use the constant None"),
        ("maxi(1, 2)", "calls 'maxi', which is not a function; did you mean max"),
        ("__import__('os')", "calls '__import__', which is not a function"),
        ("max(1, key=2)", "may call min, max, .* with values only"),
        ("a.b()", "may call min, max, .* with values only"),
    ],
)
def test_what_no_template_needs_is_refused(source: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / a", "'1 / a' cannot be evaluated for a = 0: division by zero"),
        ("log2(a)", "'log2\\(a\\)' cannot be evaluated for a = 0"),
        ("a + 'x'", "cannot be evaluated for a = 0"),
        ("2 ** (10 ** 9 + a)", "cannot be evaluated for a = 0"),
    ],
)
def test_failing_arithmetic_names_the_values(source: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(source).evaluate({"a": 0})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("'%999999999d' % 1", "% works on numbers only"),
        ("1 % 'x'", "% works on numbers only"),
        ("'a' ** 2", r"\*\* works on numbers only"),
        ("2 ** 4000000", r"the power must be at most 2\*\*256"),
        ("-9.5 ** 3999999", r"the power must be at most 2\*\*256"),
        ("2 ** (10 ** 9)", r"the power must be at most 2\*\*256"),
        ("'a' * 1000000000", "too long|that long"),
    ],
)
def test_what_would_fill_the_memory_is_refused(source: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(source).evaluate({})


def test_comparisons_with_texts_are_on_record() -> None:
    expression = parse("mode == 'private' or 'big' != size")
    assert expression.literals == (("mode", "private"), ("size", "big"))
    assert parse("a > 2").literals == ()


def test_expressions_are_values() -> None:
    assert parse(" a + 1 ") == parse("a + 1") == Expression("a + 1", ("a",))
