"""Hardware space: named parameters, and the accelerator that each choice of their values gives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import Infeasible, did_you_mean
from .expression import Expression, Value
from .parameter import Parameter, Point
from .shipped import PRESETS, TEMPLATES, shipped_file
from .template import LevelTemplate, Template, TemplateError
from .template_changes import NO_CHANGES, Changes
from .template_reader import read_template

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from archloom.space.hardware import Hardware, Pair

__all__ = ["HardwareSpace", "Point", "TemplateError", "Value"]


#: of a parameter: its name, positions of its values, these, and when it has an effect
_Row: TypeAlias = tuple[str, Mapping[Value, int], Sequence[Value], Expression | None]


class HardwareSpace:
    """All accelerators that one template describes.

    A point maps each parameter to one of its values. Parameters that have no effect, because
    their ``when`` does not hold, may be left out; a *canonical* point has their first value, so
    that equal hardware has one canonical point.

    Args:
        template: of the hardware.
        beside: parameters of what runs on it, which the hardware does not depend on.

    Attributes:
        beside: their names.

    Raises:
        TemplateError: the template has no hardware at a point where no rule says so; looked
            for at the ends of every parameter and at all values of a text.
    """

    def __init__(self, template: Template, beside: Sequence[Parameter] = ()) -> None:
        if beside:
            template = replace(template, parameters=(*template.parameters, *beside))
        self._template = template
        self.beside = tuple(p.name for p in beside)
        self._by_name = {p.name: p for p in template.parameters}
        first = {p.name: p.values[0] for p in template.parameters}
        for parameter in template.parameters:
            ends = (parameter.values[0], parameter.values[-1])
            for value in parameter.values if parameter.scale == "categorical" else ends:
                self.build({**first, parameter.name: value})
        if not template.parameters:
            self.build({})

    @classmethod
    def load(cls, name_or_path: str | Path, changes: Changes = NO_CHANGES) -> "HardwareSpace":
        """Return a built-in space by name, or that of a YAML file; a preset is a space of one
        design.

        Args:
            name_or_path: of the template.
            changes: values of the template that are replaced, by key path.

        Raises:
            TemplateError: no such template, or faults in it: all of them.
        """
        path = shipped_file(str(name_or_path)) or Path(name_or_path)
        if not path.is_file():
            hint = did_you_mean(str(name_or_path), [*TEMPLATES, *PRESETS])
            raise TemplateError([f"{name_or_path}: is neither a template nor a file; {hint}"])
        return cls(read_template(path, changes))

    def with_parameters(self, beside: Sequence[Parameter]) -> "HardwareSpace":
        """Return the space with parameters of what runs on the hardware, behind its own.

        Raises:
            TemplateError: a name that the template has already.
        """
        taken = {*self._by_name, *(name for name, _ in self._template.define)}
        if twice := [p.name for p in beside if p.name in taken]:
            raise TemplateError(
                [f"{self._template.file}: {twice[0]} is a name of the template and of what runs"]
            )
        return HardwareSpace(self._template, beside)

    @property
    def name(self) -> str:
        """Name of the template."""
        return self._template.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters in the order of the template; it is the order of points and columns."""
        return self._template.parameters

    @property
    def template(self) -> Template:
        """What the space was read from."""
        return self._template

    @property
    def levels(self) -> tuple[LevelTemplate, ...]:
        """Levels from the innermost, those among them that some designs leave out."""
        return self._template.levels

    @property
    def file(self) -> Path:
        """Where the template was read from."""
        return Path(self._template.file)

    @property
    def technology(self) -> str:
        """Name of the technology table that prices every design of the space."""
        return self._template.technology

    @cached_property
    def word_bits(self) -> int:
        """Bits of a word, of the design with the first value of every parameter."""
        return self._template.word_width({p.name: p.values[0] for p in self.parameters})

    def operand_widths(self) -> "list[Pair]":
        """Return all widths, ascending, that weights and inputs can have at a multiplier."""
        first = {p.name: p.values[0] for p in self.parameters}
        read = [p for p in self.parameters if p.name in self._template.width_names]
        return sorted({self._template.operand_widths(first | p) for p in self._points(read)})

    @cached_property
    def cardinality(self) -> int:
        """Number of canonical points, whether or not they keep the rules."""
        # only parameters that others depend on need be enumerated; the rest multiply
        rest = [p for p in self.parameters if p.name not in self._switches]
        return sum(
            prod(len(p.values) for p in rest if p.active(point))
            for point in self._points([p for p in self.parameters if p.name in self._switches])
        )

    @cached_property
    def _switches(self) -> frozenset[str]:
        """Names of the parameters that decide whether others have an effect."""
        return frozenset(name for p in self.parameters if p.when for name in p.when.names)

    @cached_property
    def _conditional(self) -> bool:
        """Whether some parameters have no effect in some designs."""
        return any(p.when for p in self.parameters)

    def canonical(self, point: Mapping[str, Value]) -> Point:
        """Return the canonical point for the same hardware, in the order of the parameters.

        Raises:
            ValueError: an unknown or missing parameter, or a value that it does not have.
        """
        full: Point = {}
        try:
            for name, index, values, when in self._looked_up:
                value = values[index[point[name]]]
                full[name] = value if when is None or when.evaluate(full) else values[0]
        except (KeyError, TypeError):
            return self._completed(point)
        return full if len(point) == len(full) else self._completed(point)

    @cached_property
    def _looked_up(self) -> list[_Row]:
        """What most points are made canonical by, at a third of the cost of looking for faults."""
        return [(p.name, p.index, p.values, p.when) for p in self.parameters]

    def _completed(self, point: Mapping[str, Value]) -> Point:
        """Return the canonical point of any point, or say what is wrong with it."""
        full: Point = {}
        for p in self.parameters:
            if p.name in point:
                i = p.check(point[p.name])
                full[p.name] = p.values[i] if p.active(full) else p.values[0]
            elif p.active(full):
                raise ValueError(f"parameter {p.name} is missing in {dict(point)}")
            else:
                full[p.name] = p.values[0]
        if point.keys() - full.keys():
            odd = min(point.keys() - full.keys())
            raise ValueError(f"parameter {odd!r} is not known; {did_you_mean(odd, self._by_name)}")
        return full

    def point_key(self, point: Mapping[str, Value]) -> str:
        """Return a text that two points share if and only if they are the same hardware.

        Raises:
            ValueError: as :meth:`canonical`.
        """
        return key_of(self.canonical(point))

    def sample(self, rng: "np.random.Generator") -> Point:
        """Draw a canonical point: each parameter that has an effect uniformly, in order."""
        point: Point = {}
        for p in self.parameters:
            i = int(rng.integers(len(p.values))) if p.active(point) else 0
            point[p.name] = p.values[i]
        return point

    def neighbours(self, point: Mapping[str, Value]) -> list[Point]:
        """Return the canonical points that differ by one step of one number or by one text.

        A text that makes other parameters count starts them at their first values.

        Raises:
            ValueError: as :meth:`canonical`.
        """
        here = self.canonical(point)
        found: list[Point] = []
        for p in self.parameters:
            if not p.active(here):
                continue
            i = p.index[here[p.name]]
            categorical = p.scale == "categorical"
            steps = range(len(p.values)) if categorical else (i - 1, i + 1)
            for j in steps:
                # whatever it switches, no two have the same value of p
                if j != i and 0 <= j < len(p.values):
                    near = {**here, p.name: p.values[j]}
                    found.append(self.canonical(near) if p.name in self._switches else near)
        return found

    def encode(self, points: Sequence[Mapping[str, Value]]) -> "NDArray[np.float64]":
        """Return float64[n, d] in [0, 1]: one column per number, one per value of a text.

        Columns follow the parameters; those without effect stand at their first value.

        Raises:
            ValueError: as :meth:`canonical`.
        """
        import numpy as np

        full = [self.canonical(point) for point in points]
        blocks = [
            np.array(p.columns, np.float64)[[p.index[point[p.name]] for point in full]]
            for p in self.parameters
        ]
        return np.hstack(blocks) if full and blocks else np.zeros((len(full), self._width))

    @cached_property
    def _width(self) -> int:
        return sum(len(p.columns[0]) for p in self.parameters)

    def build(self, point: Mapping[str, Value]) -> "Hardware | Infeasible":
        """Return the hardware of a point, or the first rule of the template that it breaks.

        Raises:
            ValueError: as :meth:`canonical`.
            TemplateError: the template has no hardware there and no rule says so.
        """
        return self.build_canonical(self.canonical(point))

    def build_canonical(self, point: Point) -> "Hardware | Infeasible":
        """Return :meth:`build` of a canonical point."""
        shown = point
        if self._conditional:
            shown = {p.name: point[p.name] for p in self.parameters if p.active(point)}
        label = f"{self.name}({key_of(shown)})" if shown else self.name
        return self._template.build(point, label)

    def enumerate(self) -> Iterator[Point]:
        """Yield every canonical point once; the last parameter moves fastest."""
        return self._points(self.parameters)

    def _points(self, parameters: Sequence[Parameter]) -> Iterator[Point]:
        """Yield the canonical points of some parameters that depend on no others."""
        if not parameters:
            yield {}
            return
        *outer, last = parameters
        for point in self._points(outer):
            for value in last.values if last.active(point) else last.values[:1]:
                yield {**point, last.name: value}


def key_of(point: Mapping[str, Value]) -> str:
    """Return :meth:`HardwareSpace.point_key` of a canonical point."""
    return ", ".join([f"{name}={value}" for name, value in point.items()])
