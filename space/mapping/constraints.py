"""Constraints on mappings, as architects write them: dataflow, unrolling, loop orders, bypass."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from archloom.space.workload import DIMS, TENSORS, Dim, Tensor

from ..errors import did_you_mean

if TYPE_CHECKING:
    from archloom.space.design_space import LevelTemplate
    from archloom.space.hardware import Hardware, StorageLevel

    from .mapping import Mapping

Dataflow = Literal[
    "any", "weight_stationary", "input_stationary", "output_stationary", "row_stationary"
]
DATAFLOWS: Final[tuple[Dataflow, ...]] = get_args(Dataflow)

#: dimensions that may be unrolled along an axis, each by as much as suits (None) or by so many
Unrolled: TypeAlias = tuple[tuple[Dim, int | None], ...]


@dataclass(frozen=True, slots=True)
class LevelConstraints:
    """Constraints on mappings at one storage level.

    Attributes:
        level: name of the level.
        unroll_x: the only dimensions that may be unrolled over the children of the level along x,
            with factors. A factor is reduced to the largest divisor of the remaining loop bound, so
            small layers may leave children idle (default: any dimension).
        unroll_y: the same along y (default: any dimension).
        orders: permitted orders of the innermost loops, innermost first (Timeloop's
            ``permutation``); the other loops follow outside in any order. Loops with one iteration
            are ignored (default: all orders).
        keep: tensors that the level must hold. Tensors in neither list are free if the level is
            ``optional``. Operands of a fused group that stay in a level are always held there.
        bypass: tensors that must bypass the level.

    Raises:
        ValueError: an unknown or repeated dimension or tensor, a number below 1, a tensor that is
            kept and passes; all that is wrong at once.
    """

    level: str
    unroll_x: Unrolled | None = None
    unroll_y: Unrolled | None = None
    orders: tuple[tuple[Dim, ...], ...] = ()
    keep: tuple[Tensor, ...] = ()
    bypass: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        wrong = "; ".join(f"{key} {message}" for key, message in self._wrong())
        if wrong:
            raise ValueError(f"level {self.level}: {wrong}")

    def _wrong(self) -> Iterator[tuple[str, str]]:
        for key, unrolled in (("unroll_x", self.unroll_x), ("unroll_y", self.unroll_y)):
            yield from unroll_faults(key, unrolled or ())
        for order in self.orders:
            yield from name_faults("orders", order, DIMS)
        for key, tensors in (("keep", self.keep), ("bypass", self.bypass)):
            yield from name_faults(key, tensors, TENSORS)
        for tensor in self.keep:
            if tensor in self.bypass:
                yield "bypass", f"names {tensor}, which keep names too; remove it from one of them"

    def misfits(self, level: "StorageLevel | LevelTemplate") -> Iterator[tuple[str, str]]:
        """Say, with the key, what a level cannot do, and what it can."""
        for key, unrolled, may in (
            ("unroll_x", self.unroll_x, level.spatial_x),
            ("unroll_y", self.unroll_y, level.spatial_y),
        ):
            for d, _ in unrolled or ():
                if d not in may:
                    can = f"dimensions that may: {', '.join(may)}" if may else "no dimension may"
                    axis = key[-1]
                    yield key, f"{d} may not be unrolled along {axis} at {level.name}; {can}"
        held = ", ".join(level.keeps)
        for tensor in self.keep:
            if tensor not in level.keeps:
                yield "keep", f"{level.name} cannot hold {tensor}; it can hold {held}"
        for tensor in self.bypass:
            if tensor in level.keeps and not level.optional:
                hint = (
                    f"{tensor} may not bypass {level.name}, because the hardware does not set "
                    "it optional"
                )
                yield "bypass", hint


def unroll_faults(key: str, unrolled: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    """Say, with the key, what is wrong with dimensions that are to be unrolled."""
    pairs = list(unrolled)
    yield from name_faults(key, [d for d, _ in pairs], DIMS)
    for d, factor in pairs:
        if factor is not None and (type(factor) is not int or factor < 1):
            yield key, f"unrolls {d} by {factor!r}, must be a whole number from 1 up"


def name_faults(
    key: str, names: Iterable[str], known: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Say, with the key, which names are unknown or stand twice."""
    seen: set[str] = set()
    for name in names:
        if name not in known:
            yield key, f"names {name!r}, which is unknown; {did_you_mean(name, known)}"
        elif name in seen:
            yield key, f"names {name} twice"
        seen.add(name)


@dataclass(frozen=True, slots=True)
class MappingConstraints:
    """Constraints on all mappings of a search.

    Attributes:
        dataflow: tensor that stays in place longest (Chen et al., ISCA 2016, section IV).
            ``weight_stationary``, ``input_stationary``, ``output_stationary``: the innermost
            level that can hold the tensor holds it, and at all levels outside, loops that the
            tensor does not depend on are innermost. ``row_stationary``: a PE works on one
            row of the kernel and one row of inputs at a time. S and Q are never unrolled. R is
            only unrolled over the PEs, along y, by the largest divisor that fits. S has all its
            loops in the innermost level. The loop over Q is innermost at the level that feeds the
            PEs, and the level inside holds all tensors that it can. The PEs are fed by the level
            with the most children, not the innermost one; other dimensions may be unrolled there
            too.
        both_axes: whether one dimension may be unrolled along both axes of a mesh.
        levels: constraints at single levels, by name of the level.

    Raises:
        ValueError: an unknown dataflow, a level that is named twice, or a dimension that is to be
            unrolled along both axes and must not; all that is wrong at once.
    """

    dataflow: Dataflow = "any"
    both_axes: bool = True
    levels: tuple[LevelConstraints, ...] = ()

    def __post_init__(self) -> None:
        wrong = "; ".join(self._wrong())
        if wrong:
            raise ValueError(wrong)

    def _wrong(self) -> Iterator[str]:
        if self.dataflow not in DATAFLOWS:
            hint = did_you_mean(str(self.dataflow), DATAFLOWS)
            yield f"dataflow {self.dataflow!r} is unknown; {hint}"
        names = [rules.level for rules in self.levels]
        for name in dict.fromkeys(n for n in names if names.count(n) > 1):
            yield f"level {name} has two entries; merge them"
        if self.both_axes:
            return
        for rules in self.levels:
            along = [dict(axis or ()) for axis in (rules.unroll_x, rules.unroll_y)]
            for d in along[0]:
                if min(along[0][d] or 0, along[1].get(d) or 0) > 1:
                    yield (
                        f"level {rules.level}: {d} is unrolled along x and along y, which "
                        "both_axes: false forbids"
                    )

    def of_level(self, name: str) -> LevelConstraints:
        """Return what holds at the level of that name."""
        return next((v for v in self.levels if v.level == name), LevelConstraints(name))

    def within(self, levels: Iterable[str]) -> "MappingConstraints":
        """Return the same without levels that have none of these names."""
        names = set(levels)
        kept = tuple(v for v in self.levels if v.level in names)
        return MappingConstraints(self.dataflow, self.both_axes, kept)

    def unknown_levels(self, levels: Iterable[str]) -> list[tuple[str, str]]:
        """Return each name that is not among ``levels``, and the nearest ones in words."""
        known = list(levels)
        return [(v.level, did_you_mean(v.level, known)) for v in self.levels
                if v.level not in known]  # fmt: skip


#: every mapping that the hardware permits
UNCONSTRAINED: Final = MappingConstraints()


def kept_as(mapping: "Mapping", hardware: "Hardware") -> MappingConstraints:
    """Return the constraint that each level holds what it holds in ``mapping``.

    Raises:
        ValueError: the mapping has other levels than the hardware.
    """
    levels = [
        LevelConstraints(
            level.name,
            keep=tuple(t for t, held in zip(TENSORS, loops.keeps, strict=True) if held),
            bypass=tuple(
                t
                for t, held in zip(TENSORS, loops.keeps, strict=True)
                if not held and t in level.keeps
            ),
        )
        for level, loops in zip(hardware.levels, mapping.levels, strict=True)
    ]
    return MappingConstraints(levels=tuple(levels))
