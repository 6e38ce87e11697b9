"""The grammar of a line: what it means, and where it breaks."""

from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as some

from archloom.space.importers.einsum.parser import parse_einsum
from archloom.space.importers.einsum.syntax import (
    Access,
    Call,
    Einsum,
    EinsumError,
    Index,
    Number,
    Product,
    Quotient,
    Sum,
)


def access(tensor: str, *ranks: str) -> Access:
    return Access(tensor, tuple(Index(((1, rank),)) for rank in ranks))


def test_a_product_a_bias_and_a_function() -> None:
    line = parse_einsum("Y[m,f] = gelu(X[m,d] * W[d,f] + B[f])")
    product = Product((access("X", "m", "d"), access("W", "d", "f")))
    assert line == Einsum("Y", ("m", "f"), Call("gelu", Sum((product, access("B", "f")))))


def test_products_bind_before_sums_and_division_is_from_the_left() -> None:
    line = parse_einsum("Y[]=A[] - B[]*C[]/2/D[]")
    products = Quotient(Quotient(Product((access("B"), access("C"))), Number(2)), access("D"))
    assert line == Einsum("Y", (), Sum((access("A"), products)))


def test_ranks_of_a_function_and_parentheses() -> None:
    line = parse_einsum("Y[q] = softmax((A[q]), q) * (B[q])")
    assert line.value == Product((Call("softmax", access("A", "q"), ("q",)), access("B", "q")))


def test_indices_are_sums_of_ranks() -> None:
    (index, other) = parse_einsum("Y[p] = I[2*p + r*3 - 1, q]").value.indices  # type: ignore[union-attr]
    assert index == Index(((2, "p"), (3, "r")), -1)
    assert (index.plain, other.plain) == (None, "q")
    assert str(index) == "2*p+3*r-1"


_NAMES = some.sampled_from(["a", "b2", "_c"])
_INDICES = some.builds(
    lambda factors, offset: Index(tuple((f, r) for r, f in factors.items()), offset),
    some.dictionaries(_NAMES, some.integers(1, 9), min_size=1),
    some.integers(-9, 9),
)
_ACCESSES = some.builds(
    Access, some.sampled_from("XYZ"), some.lists(_INDICES, max_size=3).map(tuple)
)
_VALUES = some.recursive(
    _ACCESSES,
    lambda inner: some.one_of(
        some.builds(Call, some.just("relu"), inner, some.lists(_NAMES, max_size=2).map(tuple)),
        some.builds(Product, some.lists(inner, min_size=2, max_size=3).map(tuple)),
        some.builds(Quotient, inner, inner),
    ),
    max_leaves=6,
)


@given(some.lists(_NAMES, unique=True, max_size=3), _VALUES)
@settings(max_examples=60, deadline=None)
def test_the_text_of_a_line_is_that_line(ranks, value) -> None:
    line = Einsum("T", tuple(ranks), value)
    assert parse_einsum(str(line)) == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a tensor at character 1, has the end"),
        ("Y[q = X[q]", r"needs , or \] at character 5, has '='"),
        ("Y[q] X[q]", "needs = at character 6, has 'X'"),
        ("Y[q] = X", r"X at character 8 has no ranks; write them as X\[...\]"),
        ("Y[q] = X[q", r"needs , or \] at character 11, has the end"),
        ("Y[q] = X[q] X[q]", "needs an operator or the end at character 13, has 'X'"),
        ("Y[q] = relu(X[q]", r"needs \) at character 17, has the end"),
        ("Y[q] = X[q] + ", "needs a tensor, a function, a number or .* has the end"),
        ("Y[q,q] = X[q]", r"rank q occurs twice in Y\[q,q\]"),
        ("Y[q] = X[q+q]", "rank q occurs twice in index q"),
        ("Y[q] = X[q-r]", "index q-r has -1 times rank r, must be 1 or more"),
        ("Y[q] = X[0*q]", r"index 0\*q has 0 times rank q"),
        ("Y[q] = X[3]", "index 3 has no rank; it needs one"),
        ("Y[q] = X[1.5*q]", "'1.5' at character 10 must be a whole number"),
        (f"Y[q] = {'(' * 50}X[q]{')' * 50}", "is nested more than 40 levels deep"),
        (f"Y[q] = {'X[q] + ' * 900}X[q]", "characters, must have at most 4000"),
    ],
)
def test_what_is_no_line(text: str, message: str) -> None:
    with pytest.raises(EinsumError, match=message):
        parse_einsum(text)


@given(some.text("XYpq[]()=+-*/,12. ", max_size=30))
@settings(max_examples=150, deadline=None)
def test_nonsense_is_told_in_words(text: str) -> None:
    with suppress(EinsumError):
        assert isinstance(parse_einsum(text), Einsum)
