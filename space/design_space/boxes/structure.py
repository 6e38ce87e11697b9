"""Structure of a hardware space: choices to fix before a box of designs can be bounded as a whole.

Which levels there are and of what they are built, word widths, clock, batch, effects and what runs
have one value in such a box, and either one instance of the outermost on-chip level or several. All
other quantities of the designs have finite ranges.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from ..template import Field, LevelTemplate
from .box import Box, BoxedSpace, Formula, cut, size
from .interval import NoRangeError, decided, truth

#: Positions of a run at which it may be cut, if there are more than those.
_CUTS: Final = 16

_PORTS: Final = ("read_bandwidth_words", "write_bandwidth_words")

Kind = Literal["condition", "value", "range"]


@dataclass(frozen=True, eq=False)
class LevelFormulas:
    """Quantities of a storage level.

    Attributes:
        level: what the template says of it.
        when: whether it is there; None for always.
        several: whether it has several instances.
        mesh: instances along x and y.
        capacity: bytes of its buffers, in the order of the template: one if tensors share it, none
            for DRAM.
        bandwidth, read, write: words per cycle; None where there is no limit.
        width: words of an access.
        copies: multiple buffering.
        storage, cluster: what it is built of, and instances accessed together.
        bits: bits of words of tensors that have their own.
        energy: of its own, by field.
    """

    level: LevelTemplate
    when: Formula | None
    several: Formula
    mesh: tuple[Formula, Formula]
    capacity: tuple[Formula, ...]
    bandwidth: Formula
    read: Formula | None
    write: Formula | None
    width: Formula
    copies: Formula
    storage: Formula
    cluster: Formula
    bits: tuple[Formula, ...]
    energy: dict[str, Formula] | None

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """Positions of the parameters in any of these quantities, ascending."""
        conditions = (f for f in (self.when, self.several) if f is not None)
        every = (*conditions, *self.values, *self.ranges)
        return tuple(sorted({i for formula in every for i in formula.reads}))

    @property
    def values(self) -> Iterator[Formula]:
        """What has to have one value."""
        yield from (self.storage, self.cluster, *self.bits)

    @property
    def ranges(self) -> Iterator[Formula]:
        """What has to have a finite range."""
        yield from (*self.mesh, *self.capacity, self.bandwidth, self.width, self.copies)
        yield from (f for f in (self.read, self.write) if f is not None)
        yield from (self.energy or {}).values()


class BoxStructure:
    """The formulas of a space, and its boxes in which all of that is decided.

    Args:
        boxed: ranges of the space.
    """

    def __init__(self, boxed: BoxedSpace) -> None:
        self.boxed = boxed
        template = boxed.space.template
        self.levels = tuple(_level_formulas(boxed, level) for level in template.levels)
        self.effects = {key: boxed.formula(field) for key, field in template.effects}
        self.frequency = boxed.formula(template.frequency_mhz)
        self.word_bits = boxed.formula(template.word_bits)
        self.native_batch = boxed.formula(template.native_batch)
        self.mac_bits = None if template.mac_bits is None else boxed.formula(template.mac_bits)
        self.mac_pj = None if template.mac_pj is None else boxed.formula(template.mac_pj)
        self.lanes = boxed.formula(template.vector_lanes)
        sides = zip(template.pe_mesh, template.array, strict=True)
        self.macs = tuple(
            boxed.combined(ast.Mult(), boxed.formula(pes), boxed.formula(array))
            for pes, array in sides
        )
        self.rules = tuple(
            (boxed.formula(rule.needed), boxed.formula(rule.available)) for rule in template.rules
        )
        self.beside = tuple(boxed.parameter(name) for name in boxed.space.beside)
        self._fans: dict[tuple[int, int, int], Formula] = {}

    def present(self, box: Box) -> tuple[int, ...]:
        """Return the levels of the designs of a decided box."""
        return tuple(i for i, level in enumerate(self.levels) if self._there(level, box))

    def fanout(self, below: int, level: int, axis: int) -> Formula:
        """Return the children of a level along an axis: instances of ``below``, or MACs for -1."""
        key = (below, level, axis)
        if key not in self._fans:
            inside = self.macs[axis] if below < 0 else self.levels[below].mesh[axis]
            mesh = self.levels[level].mesh[axis]
            self._fans[key] = self.boxed.combined(ast.Div(), inside, mesh)
        return self._fans[key]

    def decided_boxes(self, most: int) -> list[Box] | None:
        """Cut the space into boxes in which all is decided; None if they are more than ``most``.

        Every canonical point of the space is in one of them. A box of one point is never cut.
        """
        waiting, found = [self.boxed.whole], list[Box]()
        while waiting:
            box, when = self.boxed.canonical(waiting.pop())
            undecided: tuple[Kind, Formula] | None = None
            if when is not None:
                undecided = ("condition", when)
            elif size(box) > 1:
                undecided = next(self._undecided(box), None)
            if undecided is None:
                found.append(box)
            else:
                waiting += reversed(self._parts(box, *undecided))
            if len(found) + len(waiting) > most:
                return None
        return found

    def decided(self, box: Box) -> bool:
        """Whether all is decided in a box of canonical points."""
        same, when = self.boxed.canonical(box)
        return when is None and same == box and next(self._undecided(box), None) is None

    def _there(self, level: LevelFormulas, box: Box) -> bool:
        return level.when is None or bool(truth(self.boxed.range(level.when, box)))

    def _undecided(self, box: Box) -> Iterator[tuple[Kind, Formula]]:
        """Yield what is undecided, the presence of levels first."""
        for kind, formula in self._needed(box):
            if not self._known(kind, formula, box):
                yield kind, formula

    def _needed(self, box: Box) -> Iterator[tuple[Kind, Formula]]:
        for level in self.levels:
            if level.when is not None:
                yield "condition", level.when
        of_chip = (self.frequency, self.word_bits, self.native_batch)
        for formula in (*of_chip, *self.effects.values(), *self.beside):
            yield "value", formula
        if self.mac_bits is not None:
            yield "value", self.mac_bits
        present = [self.levels[i] for i in self.present(box)]
        for level in present:
            for formula in level.values:
                yield "value", formula
        if len(present) > 1:
            yield "condition", present[-2].several
        for level in present:
            for formula in level.ranges:
                yield "range", formula
        for formula in (*self.macs, self.lanes, *(side for rule in self.rules for side in rule)):
            yield "range", formula
        if self.mac_pj is not None:
            yield "range", self.mac_pj

    def _known(self, kind: Kind, formula: Formula, box: Box) -> bool:
        try:
            found = self.boxed.range(formula, box)
        except NoRangeError:
            return False
        if kind == "condition":
            return truth(found) is not None
        return kind == "range" or decided(found)

    def _parts(self, box: Box, kind: Kind, formula: Formula) -> tuple[Box, Box]:
        """Cut a box such that as much as possible is known of a formula in the parts."""
        best, most = None, -1
        for i in formula.reads:
            start, stop = box[i]
            places = range(start + 1, stop)
            if len(places) > _CUTS:
                places = range(start + 1, stop, -(-len(places) // _CUTS))
            for at in places:
                parts = cut(box, i, at)
                known = sum(self._known(kind, formula, part) for part in parts)
                if known > most:
                    best, most = parts, known
        if best is None:
            raise NoRangeError(f"{ast.unparse(formula.tree)} has no value")
        return best


def _level_formulas(boxed: BoxedSpace, level: LevelTemplate) -> LevelFormulas:
    def of(field: Field) -> Formula:
        return boxed.formula(field)

    sizes = level.capacity_bytes
    if sizes is None:
        capacity: tuple[Field, ...] = ()
    else:
        capacity = tuple(field for _, field in sizes) if isinstance(sizes, tuple) else (sizes,)
    numbers = dict(level.switches.numbers)
    mesh = of(level.mesh[0]), of(level.mesh[1])
    count = boxed.combined(ast.Mult(), *mesh)
    rates = [of(numbers[k]) if k in numbers else None for k in _PORTS]
    energy = level.switches.energy
    return LevelFormulas(
        level=level,
        when=None if level.when is None else of(level.when),
        several=boxed.compared(count, ast.Gt(), 1),
        mesh=mesh,
        capacity=tuple(map(of, capacity)),
        bandwidth=of(level.bandwidth_words),
        read=rates[0],
        write=rates[1],
        width=of(level.width_words),
        copies=of(numbers.get("multiple_buffering", 1)),
        storage=of(level.storage),
        cluster=of(numbers.get("cluster_size", 1)),
        bits=tuple(of(field) for _, field in level.switches.tensor_bits),
        energy=None if energy is None else {key: of(field) for key, field in energy},
    )
