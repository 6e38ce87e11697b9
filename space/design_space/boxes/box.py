"""Boxes of a hardware space: a run of values for each parameter, and bounds for the designs in it.

A box stands for all designs whose parameters have values in its runs. Quantities of a design are
expressions over few parameters: where these have few choices together, all values are worked out
once, and the range over a box is exact; else interval arithmetic gives a range that holds all of
them (:mod:`archloom.space.design_space.boxes.interval`). Nothing is assumed to be monotone.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..expression import Expression, Value
from ..hardware_space import HardwareSpace
from ..parameter import Point
from ..template import Field
from .interval import Interval, NoRangeError, Range, Texts, range_of, range_of_values, truth

Box = tuple[tuple[int, int], ...]
"""For each parameter the first position among its values, and the one after the last."""

#: Choices of the parameters of a quantity up to which all its values are worked out.
_ENUMERATED: Final = 8192

#: Quantities of boxes that are remembered, of each kind.
_MOST_REMEMBERED: Final = 4096


def make_room(remembered: dict[Any, Any]) -> None:
    """Forget what is remembered of boxes once it is much: parts of a box are asked for soon after
    it, or not at all.
    """
    if len(remembered) >= _MOST_REMEMBERED:
        remembered.clear()


def size(box: Box) -> int:
    """Return the points of a box in which every parameter's effect is decided."""
    return prod(stop - start for start, stop in box)


def runs(box: Box, parameters: Iterable[int]) -> Box:
    """Return the runs of some parameters, by position."""
    return tuple([box[i] for i in parameters])


def cut(box: Box, parameter: int, at: int) -> tuple[Box, Box]:
    """Return the parts of a box with values before position ``at`` and from there on."""
    start, stop = box[parameter]
    before, after = box[:parameter], box[parameter + 1 :]
    return (*before, (start, at), *after), (*before, (at, stop), *after)


@dataclass(frozen=True, eq=False)
class Formula:
    """A quantity of a design, as an expression over parameters alone.

    Attributes:
        tree: the expression, definitions put in.
        reads: positions of the parameters in it, ascending.
    """

    tree: ast.expr
    reads: tuple[int, ...]


class BoxedSpace:
    """Ranges over boxes of one space, each worked out once.

    Args:
        space: whose boxes.
    """

    def __init__(self, space: HardwareSpace) -> None:
        self.space = space
        self._positions = {p.name: i for i, p in enumerate(space.parameters)}
        self._define: dict[str, ast.expr] = {}
        for name, field in space.template.define:
            self._define[name] = self._inlined(field)
        self._whens = [None if p.when is None else self.formula(p.when) for p in space.parameters]
        self._grids: dict[Formula, NDArray[np.float64] | NDArray[np.object_] | None] = {}
        self._ranges: dict[tuple[Formula, Box], Range] = {}
        self._values: dict[tuple[Formula, Box], tuple[float, ...]] = {}

    @property
    def whole(self) -> Box:
        """All values of all parameters."""
        return tuple((0, len(p.values)) for p in self.space.parameters)

    def formula(self, field: Field) -> Formula:
        """Return a field of the template as a formula."""
        return self._formula(self._inlined(field))

    def parameter(self, name: str) -> Formula:
        """Return the value of a parameter as a formula."""
        return self._formula(ast.Name(name))

    def combined(self, op: ast.operator, a: Formula, b: Formula) -> Formula:
        """Return the formula of two quantities with an operator between them."""
        return self._formula(ast.BinOp(a.tree, op, b.tree))

    def compared(self, a: Formula, op: ast.cmpop, number: float) -> Formula:
        """Return the condition that a quantity has to a number."""
        return self._formula(ast.Compare(a.tree, [op], [ast.Constant(number)]))

    def point(self, box: Box) -> Point:
        """Return the first point of a box."""
        parameters = zip(self.space.parameters, box, strict=True)
        return {p.name: p.values[start] for p, (start, _) in parameters}

    def positions(self, point: Mapping[str, Value]) -> tuple[int, ...]:
        """Return the positions of the values of a canonical point."""
        return tuple(p.index[point[p.name]] for p in self.space.parameters)

    def canonical(self, box: Box) -> tuple[Box, Formula | None]:
        """Return a box with the first value of what has no effect, and the first open condition.

        None: of all parameters it is decided whether they have an effect.
        """
        for i, when in enumerate(self._whens):
            if when is None:
                continue
            known = truth(self.range(when, box))
            if known is None:
                return box, when
            if not known:
                box = (*box[:i], (0, 1), *box[i + 1 :])
        return box, None

    def range(self, formula: Formula, box: Box) -> Range:
        """Return a range that holds the quantity of every design in a box.

        Raises:
            NoRangeError: no finite one is known.
        """
        key = (formula, runs(box, formula.reads))
        found = self._ranges.get(key)
        if found is None:
            make_room(self._ranges)
            found = self._ranges[key] = self._range(formula, key[1])
        return found

    def interval(self, formula: Formula, box: Box) -> Interval:
        """Return the range of a number; raises NoRangeError also if it is a text."""
        found = self.range(formula, box)
        if isinstance(found, Interval):
            return found
        raise NoRangeError(f"{sorted(found)} must be numbers")

    def values(self, formula: Formula, box: Box) -> tuple[float, ...] | None:
        """Return all values of a number in a box, ascending; None where they are too many."""
        grid = self._grid(formula)
        if grid is None or grid.dtype == np.object_:
            return None
        key = (formula, runs(box, formula.reads))
        if key not in self._values:
            make_room(self._values)
            found = np.unique(grid[tuple(slice(*run) for run in key[1])])
            self._values[key] = tuple(found[np.isfinite(found)].tolist())
        return self._values[key]

    def _range(self, formula: Formula, read: Box) -> Range:
        grid = self._grid(formula)
        if grid is None:
            parameters = [self.space.parameters[i] for i in formula.reads]
            names = {
                p.name: range_of_values(p.values[start:stop])
                for p, (start, stop) in zip(parameters, read, strict=True)
            }
            return range_of(formula.tree, names)
        part = grid[tuple(slice(start, stop) for start, stop in read)]
        if part.dtype == np.object_:
            none: Texts = frozenset()
            return none.union(*part.ravel().tolist())
        if np.isnan(part).any():
            raise NoRangeError(f"{ast.unparse(formula.tree)} has no value somewhere")
        return Interval(float(part.min()), float(part.max()))

    def _grid(self, formula: Formula) -> NDArray[np.float64] | NDArray[np.object_] | None:
        """Values for all choices of the parameters, an axis for each, and a last one of length 1;
        None if they are many."""
        if formula not in self._grids:
            choices = [self.space.parameters[i].values for i in formula.reads]
            few = prod(map(len, choices)) <= _ENUMERATED
            self._grids[formula] = self._worked_out(formula, choices) if few else None
        return self._grids[formula]

    def _worked_out(
        self, formula: Formula, choices: list[tuple[Value, ...]]
    ) -> NDArray[np.float64] | NDArray[np.object_]:
        names = [self.space.parameters[i].name for i in formula.reads]
        found: list[Range | None] = []
        for values in product(*choices):
            given = {n: range_of_values([v]) for n, v in zip(names, values, strict=True)}
            try:
                found.append(range_of(formula.tree, given))
            except NoRangeError:
                found.append(None)
        shape = [*map(len, choices), 1]
        if any(isinstance(one, frozenset) for one in found):
            texts = np.empty(len(found), np.object_)
            texts[:] = [one if isinstance(one, frozenset) else frozenset() for one in found]
            return texts.reshape(shape)
        # of one choice an expression has one value
        numbers = [np.nan if one is None else next(iter(one)) for one in found]
        return np.array(numbers, np.float64).reshape(shape)

    def _formula(self, tree: ast.expr) -> Formula:
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return Formula(tree, tuple(sorted(i for n, i in self._positions.items() if n in names)))

    def _inlined(self, field: Field) -> ast.expr:
        if not isinstance(field, Expression):
            return ast.Constant(field)
        tree = ast.parse(field.source, mode="eval").body
        return _Inlining(self._define).visit(tree)  # type: ignore[no-any-return]


class _Inlining(ast.NodeTransformer):
    """Puts definitions in the place of their names."""

    def __init__(self, define: Mapping[str, ast.expr]) -> None:
        self._define = define

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._define.get(node.id, node)
