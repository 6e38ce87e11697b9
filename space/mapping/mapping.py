"""Mapping: how one layer's loop nest runs on one hardware."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from archloom.space.workload import DIMS, TENSORS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Factors = tuple[int, ...]

_AS_DIMS = tuple(range(len(DIMS)))


@dataclass(frozen=True, slots=True)
class LevelMapping:
    """Loops of one storage level.

    Attributes:
        temporal: factor of each dimension (order of DIMS).
        order: positions in DIMS, innermost loop first; a permutation of 0..7.
        spatial_x, spatial_y: factors unrolled over the children of the level.
        keeps: whether the level holds weights, inputs, outputs.
        order_x, order_y: orders of the unrolled loops, innermost first. They say which children
            lie side by side, and matter for nothing but hops on the network.
    """

    temporal: Factors
    order: Factors
    spatial_x: Factors
    spatial_y: Factors
    keeps: tuple[bool, bool, bool]
    order_x: Factors = _AS_DIMS
    order_y: Factors = _AS_DIMS

    def __post_init__(self) -> None:
        for factors in (self.temporal, self.spatial_x, self.spatial_y):
            if len(factors) != len(DIMS) or min(factors) < 1:
                raise ValueError(f"need {len(DIMS)} factors of at least 1, got {factors}")
        for order in (self.order, self.order_x, self.order_y):
            if sorted(order) != list(range(len(DIMS))):
                raise ValueError(f"order must be a permutation of 0..7, got {order}")


@dataclass(frozen=True, slots=True)
class Mapping:
    """Loops of every storage level, innermost level first."""

    levels: tuple[LevelMapping, ...]

    @property
    def factors(self) -> Factors:
        """Product of all factors of each dimension."""
        return tuple(
            prod(lv.temporal[d] * lv.spatial_x[d] * lv.spatial_y[d] for lv in self.levels)
            for d in range(len(DIMS))
        )

    def arrays(self) -> "tuple[NDArray[np.int64], NDArray[np.uint8]]":
        """Return what the kernel reads: loops [L, 4, 8] (temporal, x, y, order), keeps [L, 3]."""
        import numpy as np

        loops = [[v.temporal, v.spatial_x, v.spatial_y, v.order] for v in self.levels]
        return np.array(loops, np.int64), np.array([v.keeps for v in self.levels], np.uint8)

    def to_text(self) -> str:
        """Return one short word per level, innermost first; :meth:`from_text` is the inverse.

        ``WI-:C2.K4/K8/Q2`` holds weights and inputs, loops over 2 of C inside 4 of K, and
        unrolls 8 of K along x and 2 of Q along y. Loops of one step are left out.
        """
        return " ".join(map(_level_text, self.levels))

    @classmethod
    def from_text(cls, text: str) -> "Mapping":
        """Build a mapping from :meth:`to_text`; raises ValueError if it is none."""
        return cls(tuple(map(_level_of, text.split())))

    @classmethod
    def from_rows(cls, rows: Any) -> "Mapping":
        """Build a mapping from a row per level: temporal, order, x, y, keeps (as the kernel)."""
        levels = []
        for temporal, order, x, y, keeps in rows:
            held = (bool(keeps[0]), bool(keeps[1]), bool(keeps[2]))
            levels.append(LevelMapping(_ints(temporal), _ints(order), _ints(x), _ints(y), held))
        return cls(tuple(levels))


def _level_text(level: LevelMapping) -> str:
    held = "".join(t[0].upper() if k else "-" for t, k in zip(TENSORS, level.keeps, strict=True))
    temporal = _factors_text(level.temporal, level.order)
    x = _factors_text(level.spatial_x, level.order_x)
    y = _factors_text(level.spatial_y, level.order_y)
    return f"{held}:{temporal}/{x}/{y}"


def _factors_text(factors: Factors, order: Iterable[int]) -> str:
    return ".".join(f"{DIMS[d]}{factors[d]}" for d in order if factors[d] > 1)


def _level_of(text: str) -> LevelMapping:
    held, _, loops = text.partition(":")
    parts = [[(DIMS.index(f[0]), int(f[1:])) for f in p.split(".") if f] for p in loops.split("/")]
    if len(held) != len(TENSORS) or len(parts) != 3:
        raise ValueError(f"{text!r} must be a level of a mapping, such as 'WI-:C2.K4/K8/Q2'")
    order, order_x, order_y = (full_order([d for d, _ in part]) for part in parts)
    # loops that stand as in DIMS are in the plain order, wherever those of one step are
    order_x, order_y = (
        _AS_DIMS if part == sorted(part) else given
        for part, given in zip(parts[1:], (order_x, order_y), strict=True)
    )
    temporal, x, y = (tuple(dict(p).get(d, 1) for d in range(len(DIMS))) for p in parts)
    keeps = (held[0] != "-", held[1] != "-", held[2] != "-")
    return LevelMapping(temporal, order, x, y, keeps, order_x, order_y)


def full_order(named: Sequence[int]) -> Factors:
    """Return an order of all dimensions: those named, then the others, outside them."""
    return (*named, *(d for d in range(len(DIMS)) if d not in named))


def _ints(values: Any) -> Factors:
    return tuple(int(v) for v in values)


def trimmed(mapping: Mapping, bounds: Factors) -> Mapping:
    """Drop the steps and children that would start beyond the bounds.

    From the outermost loop of each dimension inwards, a loop is cut to the steps that the bound
    needs, until one is left that does more than one step. In a level the temporal loop is
    outside, then come the children along y, then those along x.

    Raises:
        ValueError: factors that multiply to less than a bound.
    """
    loops = [[list(f) for f in (v.temporal, v.spatial_y, v.spatial_x)] for v in mapping.levels]
    for d, (covered, bound) in enumerate(zip(mapping.factors, bounds, strict=True)):
        if covered < bound:
            raise ValueError(
                f"{DIMS[d]}: factors multiply to {covered}, must multiply to the bound {bound}"
            )
        inside = covered
        for factors in (factors for level in reversed(loops) for factors in level):
            inside //= factors[d]
            factors[d] = -(-bound // inside)
            if factors[d] > 1:
                break
    pairs = zip(mapping.levels, loops, strict=True)
    return Mapping(
        tuple(
            replace(level, temporal=tuple(t), spatial_y=tuple(y), spatial_x=tuple(x))
            for level, (t, y, x) in pairs
        )
    )
