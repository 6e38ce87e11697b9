"""Einsum: one line, a tensor on the left and what it is made of on the right.

Ranks that only stand on the right are summed over, as in Kjolstad et al. (OOPSLA 2017) and
Nayak et al. (TeAAL, MICRO 2023); an index may be a sum of ranks, such as ``2*p+r``.
"""

from collections.abc import Iterator
from dataclasses import dataclass


class EinsumError(ValueError):
    """What is wrong with a line, in words."""


@dataclass(frozen=True, slots=True)
class Index:
    """One index of a tensor: a sum of ranks, each times a number, and a number.

    Attributes:
        terms: (factor, rank), each rank once.
        offset: the number that stands alone.
    """

    terms: tuple[tuple[int, str], ...]
    offset: int = 0

    @property
    def plain(self) -> str | None:
        """The rank, if the index is nothing else."""
        if self.offset or len(self.terms) != 1 or self.terms[0][0] != 1:
            return None
        return self.terms[0][1]

    @property
    def ranks(self) -> tuple[str, ...]:
        """Ranks in the order in which they stand."""
        return tuple(rank for _, rank in self.terms)

    def __str__(self) -> str:
        text = "+".join(rank if factor == 1 else f"{factor}*{rank}" for factor, rank in self.terms)
        return f"{text}{self.offset:+d}" if self.offset else text


@dataclass(frozen=True, slots=True)
class Access:
    """A tensor that is read at some indices."""

    tensor: str
    indices: tuple[Index, ...]

    @property
    def ranks(self) -> tuple[str, ...]:
        """All ranks of the indices, each once."""
        return tuple(dict.fromkeys(rank for index in self.indices for rank in index.ranks))

    def __str__(self) -> str:
        return f"{self.tensor}[{','.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, which costs nothing."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one expression; ``along`` are the ranks that it works over."""

    function: str
    argument: "Expression"
    along: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({', '.join([str(self.argument), *self.along])})"


@dataclass(frozen=True, slots=True)
class Product:
    """Factors that are multiplied, then summed over the ranks that nothing outside has."""

    factors: tuple["Expression", ...]

    def __str__(self) -> str:
        return " * ".join(map(_inner, self.factors))


@dataclass(frozen=True, slots=True)
class Quotient:
    """One expression divided by another, value by value."""

    dividend: "Expression"
    divisor: "Expression"

    def __str__(self) -> str:
        return f"{_inner(self.dividend)} / {_inner(self.divisor)}"


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms that are added or subtracted, which costs the same."""

    terms: tuple["Expression", ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms))


Expression = Access | Number | Call | Product | Quotient | Sum


@dataclass(frozen=True, slots=True)
class Einsum:
    """One line.

    Attributes:
        tensor: that it makes.
        ranks: of that tensor.
        value: what it is made of.
    """

    tensor: str
    ranks: tuple[str, ...]
    value: Expression

    def __str__(self) -> str:
        return f"{self.tensor}[{','.join(self.ranks)}] = {self.value}"


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that one is made of directly."""
    match expression:
        case Call(argument=argument):
            return (argument,)
        case Product(factors=inner) | Sum(terms=inner):
            return inner
        case Quotient(dividend=dividend, divisor=divisor):
            return (dividend, divisor)
        case _:
            return ()


def accesses(expression: Expression) -> Iterator[Access]:
    """Yield all tensors that an expression reads, from left to right."""
    if isinstance(expression, Access):
        yield expression
    for part in parts(expression):
        yield from accesses(part)


def calls(expression: Expression) -> Iterator[Call]:
    """Yield all functions that an expression calls, outer ones first."""
    if isinstance(expression, Call):
        yield expression
    for part in parts(expression):
        yield from calls(part)


def ranks_in(expression: Expression) -> frozenset[str]:
    """Return all ranks that stand in an expression."""
    inside = [rank for access in accesses(expression) for rank in access.ranks]
    return frozenset([*inside, *(rank for call in calls(expression) for rank in call.along)])


def free_ranks(expression: Expression) -> frozenset[str]:
    """Return the ranks of an expression that no product inside of it can sum over.

    A product can sum over what two of its factors have, or one of them sums over itself.
    """
    each = [free_ranks(part) for part in parts(expression)]
    free = frozenset().union(*each)
    if isinstance(expression, Access):
        return frozenset(expression.ranks)
    if isinstance(expression, Call):
        return free.union(expression.along)
    if isinstance(expression, Product):
        inside = [ranks_in(factor) for factor in expression.factors]
        return frozenset(rank for rank in free if sum(rank in ranks for ranks in inside) == 1)
    return free


def _inner(expression: Expression) -> str:
    """Return a factor as text."""
    compound = isinstance(expression, Product | Quotient | Sum)
    return f"({expression})" if compound else str(expression)
