"""Interval arithmetic: the values of an expression while the names in it range over sets.

A set of numbers stands as the interval that holds it, a set of texts as itself. The answer holds
every value that the expression has for any choice of the names (Moore, "Interval Analysis",
1966). It may hold more where a name stands in the expression twice.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import isfinite
from typing import Final, NamedTuple

from ..expression import FUNCTIONS, Value

Texts = frozenset[str]


class Interval(NamedTuple):
    """All numbers from ``low`` to ``high``; a truth is 1, or 0."""

    low: float
    high: float


Range = Interval | Texts
Ranges = Mapping[str, Range]

_FALSE: Final = Interval(0, 0)
_TRUE: Final = Interval(1, 1)
_EITHER: Final = Interval(0, 1)


class NoRangeError(ValueError):
    """No finite range is known: the expression may fail, or mixes numbers and texts."""


def range_of_values(values: Iterable[Value]) -> Range:
    """Return the range that holds the values: all numbers, or all texts."""
    found = list(values)
    numbers = [value for value in found if not isinstance(value, str)]
    if not numbers:
        return frozenset(value for value in found if isinstance(value, str))
    if len(numbers) < len(found):
        raise NoRangeError("numbers and texts have no range together")
    return Interval(min(numbers), max(numbers))


def decided(found: Range) -> bool:
    """Whether there is but one value."""
    return found.low == found.high if isinstance(found, Interval) else len(found) == 1


def truth(found: Range) -> bool | None:
    """Return whether a condition holds; None if that depends on the choice."""
    if isinstance(found, frozenset):
        return None if "" in found and len(found) > 1 else "" not in found
    if found.low > 0 or found.high < 0:
        return True
    return False if found == _FALSE else None


def range_of(tree: ast.expr, names: Ranges) -> Range:
    """Return a range that holds all values of an expression.

    Args:
        tree: of an expression that :func:`archloom.space.design_space.expression.parse` takes.
        names: ranges of all names that it reads.

    Raises:
        NoRangeError: no finite one is known.
    """
    match tree:
        case ast.Constant(value=str() as text):
            return frozenset([text])
        case ast.Constant(value=int() | float() as number):
            return Interval(number, number)
        case ast.Name(id=name):
            return names[name]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _either(truth(range_of(test, names)), body, orelse, names)
        case ast.BoolOp(op=op, values=values):
            return _connected(isinstance(op, ast.And), [range_of(v, names) for v in values])
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared(ops, [range_of(side, names) for side in (left, *others)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _flag(_negated(truth(range_of(operand, names))))
        case ast.UnaryOp(op=op, operand=operand):
            inside = _number(range_of(operand, names))
            return inside if isinstance(op, ast.UAdd) else Interval(-inside.high, -inside.low)
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(op, _number(range_of(left, names)), _number(range_of(right, names)))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _called(name, [_number(range_of(a, names)) for a in arguments])
    raise NoRangeError(f"{ast.unparse(tree)} has no range")


def _number(found: Range) -> Interval:
    if isinstance(found, Interval):
        return found
    raise NoRangeError(f"{sorted(found)} must be numbers")


def _flag(known: bool | None) -> Interval:
    return _EITHER if known is None else Interval(int(known), int(known))


def _negated(known: bool | None) -> bool | None:
    return None if known is None else not known


def _either(known: bool | None, body: ast.expr, orelse: ast.expr, names: Ranges) -> Range:
    if known is not None:
        return range_of(body if known else orelse, names)
    return _joined(range_of(body, names), range_of(orelse, names))


def _joined(a: Range, b: Range) -> Range:
    if isinstance(a, Interval) and isinstance(b, Interval):
        return Interval(min(a.low, b.low), max(a.high, b.high))
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return a | b
    raise NoRangeError("numbers and texts have no range together")


def _connected(every: bool, parts: list[Range]) -> Range:
    """``and`` if ``every``, else ``or``: the first part that decides, or the last."""
    result = parts[0]
    for part in parts[1:]:
        known = truth(result)
        if known is None:
            result = _joined(result, part)
        elif known is every:
            result = part
    return result


def _compared(ops: list[ast.cmpop], sides: list[Range]) -> Interval:
    results = [_relation(op, a, b) for op, a, b in zip(ops, sides[:-1], sides[1:], strict=True)]
    if False in results:
        return _FALSE
    return _EITHER if None in results else _TRUE


def _relation(op: ast.cmpop, a: Range, b: Range) -> bool | None:
    if isinstance(op, ast.NotEq):
        return _negated(_relation(ast.Eq(), a, b))
    if isinstance(op, ast.Eq):
        return _equal(a, b)
    x, y = _number(a), _number(b)
    if isinstance(op, ast.Gt | ast.GtE):
        x, y = y, x
    if isinstance(op, ast.Lt | ast.Gt):
        return True if x.high < y.low else False if x.low >= y.high else None
    return True if x.high <= y.low else False if x.low > y.high else None


def _equal(a: Range, b: Range) -> bool | None:
    if isinstance(a, Interval) and isinstance(b, Interval):
        apart = a.high < b.low or b.high < a.low
    elif isinstance(a, frozenset) and isinstance(b, frozenset):
        apart = not a & b
    else:
        apart = True
    if apart:
        return False
    return True if decided(a) and decided(b) else None


def _computed(op: ast.operator, a: Interval, b: Interval) -> Interval:
    match op:
        case ast.Add():
            return _finite(a.low + b.low, a.high + b.high)
        case ast.Sub():
            return _finite(a.low - b.high, a.high - b.low)
        case ast.Mult():
            return _corners(lambda x, y: x * y, a, b)
        case ast.Div() | ast.FloorDiv() if b.low > 0 or b.high < 0:
            if isinstance(op, ast.Div):
                return _corners(lambda x, y: x / y, a, b)
            return _corners(lambda x, y: x // y, a, b)
        case ast.Mod() if b.low > 0:
            return _remainder(a, b)
        case ast.Pow() if a.low > 0:
            # ln(x ** y) is y ln x, whose extremes are at corners
            return _corners(lambda x, y: x**y, a, b)
        case ast.Pow() if decided(a) and decided(b):
            return _corners(lambda x, y: x**y, a, b)
    raise NoRangeError("an operation may fail somewhere in the range of its operands")


def _remainder(a: Interval, b: Interval) -> Interval:
    if decided(a) and decided(b):
        return Interval(a.low % b.low, a.low % b.low)
    return a if a.low >= 0 and a.high < b.low else Interval(0, b.high)


def _corners(operation: Callable[[float, float], float], a: Interval, b: Interval) -> Interval:
    try:
        values = [operation(x, y) for x, y in product(a, b)]
    except (ArithmeticError, ValueError) as error:
        raise NoRangeError(str(error)) from None
    return _finite(min(values), max(values))


def _finite(low: float, high: float) -> Interval:
    if isinstance(low, complex) or not (isfinite(low) and isfinite(high)):
        raise NoRangeError("a range is not finite")
    return Interval(low, high)


def _called(name: str, arguments: list[Interval]) -> Interval:
    """Every function that an expression may call rises in every argument."""
    function: Callable[..., float] = FUNCTIONS[name]  # type: ignore[assignment]
    if name == "log2" and arguments[0].low <= 0:
        raise NoRangeError("log2 of a range that is not positive")
    try:
        low = function(*(a.low for a in arguments))
        high = function(*(a.high for a in arguments))
    except TypeError as error:
        raise NoRangeError(str(error)) from None
    return _finite(low, high)
