"""Arithmetic and conditions of hardware templates, evaluated without Python's ``eval``."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log2
from typing import Any, Final

from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

from ..errors import did_you_mean

Value = int | float | str

FUNCTIONS: Final = {"min": min, "max": max, "ceil": ceil, "floor": floor, "log2": log2}
"""What an expression may call."""

_ALLOWED: Final = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.IfExp),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BoolOp, ast.And, ast.Or),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)


#: Largest power: sizes, counts and energies are far below it, and digits beyond it cost time.
_LARGEST_POWER: Final = 2.0**256


class ExpressionError(ValueError):
    """An expression that cannot be read, or that has no value for the names it was given."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression over named values; :func:`parse` makes it.

    Attributes:
        source: the text.
        names: the names that it reads, sorted.
        literals: (name, text) for each comparison of a name with a text, so that the reader of
            a template can tell a comparison that can never hold.
    """

    source: str
    names: tuple[str, ...]
    literals: tuple[tuple[str, str], ...] = ()

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """Return the value for the given names.

        Raises:
            ExpressionError: the arithmetic fails, for example a division by zero.
        """
        return _evaluate(self.source, self.names, tuple([values[n] for n in self.names]))


def parse(source: str) -> Expression:
    """Read an expression: numbers, texts, names, arithmetic, comparisons, and/or/not, if/else.

    Raises:
        ExpressionError: the text is no such expression; says which part is not.
    """
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"{source!r} is not an expression: {error.msg}") from None
    called = set()
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ExpressionError(f"{source!r} may not use {type(node).__name__}")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str):
            raise ExpressionError(f"{source!r} may not use the constant {node.value!r}")
        if isinstance(node, ast.Call):
            called.add(_function(node, source))
    nodes = list(ast.walk(tree))
    names = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called}
    compared = [pair for n in nodes if isinstance(n, ast.Compare) for pair in _literals(n)]
    return Expression(source.strip(), tuple(sorted(names)), tuple(compared))


def circle(fields: Mapping[str, object], start: str) -> tuple[str, ...]:
    """Return the names through which a definition comes back to itself, ``start`` at both ends.

    Args:
        fields: by name, numbers and texts of expressions.
        start: one of the names.

    Returns:
        Empty if it does not, or an expression on the way cannot be read.
    """
    paths: list[tuple[str, ...]] = [(start,)]
    seen = set[str]()
    while paths:
        path = paths.pop()
        text = fields.get(path[-1])
        try:
            read = parse(text.strip().removeprefix("=")).names if isinstance(text, str) else ()
        except ExpressionError:
            read = ()
        if start in read:
            return (*path, start)
        paths += [(*path, name) for name in read if name not in seen]
        seen.update(read)
    return ()


def _function(call: ast.Call, source: str) -> int:
    if not isinstance(call.func, ast.Name) or call.keywords:
        raise ExpressionError(f"{source!r} may call {', '.join(FUNCTIONS)} with values only")
    name = call.func.id
    if name not in FUNCTIONS:
        hint = did_you_mean(name, FUNCTIONS)
        raise ExpressionError(f"{source!r} calls {name!r}, which is not a function; {hint}")
    return id(call.func)


def _literals(compare: ast.Compare) -> list[tuple[str, str]]:
    sides = [compare.left, *compare.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [s.value for s in sides if isinstance(s, ast.Constant) and isinstance(s.value, str)]
    return [(name, text) for name in names for text in texts]


def _remainder(a: Any, b: Any) -> Any:
    """Return a % b of numbers; of a text it would be Python's formatting, of any width."""
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError("% works on numbers only")
    return a % b


def _power(a: Any, b: Any) -> Any:
    """Return a ** b, unless it has hundreds of digits."""
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError("** works on numbers only")
    try:
        small = abs(float(a) ** b) <= _LARGEST_POWER
    except OverflowError:
        small = False
    if not small:
        raise ValueError("the power must be at most 2**256")
    return a**b


_OPERATORS: Final = DEFAULT_OPERATORS | {ast.Mod: _remainder, ast.Pow: _power}


@lru_cache(maxsize=4096)
def _tree(source: str) -> Any:
    return SimpleEval.parse(source)


# A search builds the same few values of each expression over and over; the bound keeps a long
# study from growing. Keyed by text and values, so expressions stay plain data.
@lru_cache(maxsize=1 << 16)
def _evaluate(source: str, names: tuple[str, ...], values: tuple[Value, ...]) -> Value:
    given = dict(zip(names, values, strict=True))
    evaluator = SimpleEval(_OPERATORS, FUNCTIONS, given, allowed_attrs={})
    try:
        result = evaluator.eval(source, previously_parsed=_tree(source))
    except (InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
        where = ", ".join(f"{name} = {value!r}" for name, value in given.items())
        raise ExpressionError(f"{source!r} cannot be evaluated for {where}: {error}") from None
    if not isinstance(result, int | float | str):
        raise ExpressionError(f"{source!r} is {result!r}, which is neither a number nor a text")
    return result
