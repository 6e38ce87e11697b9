"""How one layer's loop nest runs on one hardware, and when that is valid."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .dims import DIMS, TENSORS, Tensor
from .hardware import Hardware
from .layer import Layer

Factors = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LevelMapping:
    """Loops of one storage level.

    Attributes:
        temporal: factor of each dimension (order of DIMS).
        order: positions in DIMS, innermost loop first; a permutation of 0..7.
        spatial_x, spatial_y: factors unrolled over the children of the level.
        keeps: whether the level holds weights, inputs, outputs.
    """

    temporal: Factors
    order: Factors
    spatial_x: Factors
    spatial_y: Factors
    keeps: tuple[bool, bool, bool]

    def __post_init__(self) -> None:
        for factors in (self.temporal, self.spatial_x, self.spatial_y):
            if len(factors) != len(DIMS) or min(factors) < 1:
                raise ValueError(f"need {len(DIMS)} factors of at least 1, got {factors}")
        if sorted(self.order) != list(range(len(DIMS))):
            raise ValueError(f"order must be a permutation of 0..7, got {self.order}")


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

    def to_rows(self) -> list[list[list[int]]]:
        """Return plain lists for JSON; :meth:`from_rows` is the inverse."""
        return [
            [
                list(v.temporal),
                list(v.order),
                list(v.spatial_x),
                list(v.spatial_y),
                [int(b) for b in v.keeps],
            ]
            for v in self.levels
        ]

    @classmethod
    def from_rows(cls, rows: Any) -> "Mapping":
        """Build a mapping from :meth:`to_rows` or from int arrays of the same shape."""
        levels = []
        for temporal, order, x, y, keeps in rows:
            held = (bool(keeps[0]), bool(keeps[1]), bool(keeps[2]))
            levels.append(LevelMapping(_ints(temporal), _ints(order), _ints(x), _ints(y), held))
        return cls(tuple(levels))


def _ints(values: Any) -> Factors:
    return tuple(int(v) for v in np.asarray(values))


def mapping_violations(mapping: Mapping, layer: Layer, hardware: Hardware) -> list[str]:
    """Return every rule that the mapping's structure breaks, with the numbers; empty if none.

    Capacity is not looked at here: it depends on what else lives in a buffer, and the
    evaluators check it.
    """
    if len(mapping.levels) != len(hardware.levels):
        have, want = len(mapping.levels), len(hardware.levels)
        return [f"mapping has {have} levels, {hardware.name} has {want}"]
    broken = [
        f"{DIMS[d]}: factors multiply to {got}, the bound is {want}"
        for d, (got, want) in enumerate(zip(mapping.factors, layer.bounds, strict=True))
        if got != want
    ]
    for level, loops, fanout in zip(hardware.levels, mapping.levels, hardware.fanouts, strict=True):
        for axis, factors, allowed, children in (
            ("x", loops.spatial_x, level.spatial_x, fanout[0]),
            ("y", loops.spatial_y, level.spatial_y, fanout[1]),
        ):
            if prod(factors) > children:
                broken.append(
                    f"{level.name}: {prod(factors)} children along {axis}, has {children}"
                )
            broken += [
                f"{level.name}: {DIMS[d]} may not be unrolled along {axis}"
                for d, factor in enumerate(factors)
                if factor > 1 and DIMS[d] not in allowed
            ]
        broken += _keep_violations(level.name, loops.keeps, level.keeps, level.optional)
    return broken


def _keep_violations(
    name: str, kept: tuple[bool, bool, bool], keeps: tuple[Tensor, ...], optional: bool
) -> list[str]:
    broken = []
    for tensor, held in zip(TENSORS, kept, strict=True):
        if held and tensor not in keeps:
            broken.append(f"{name}: cannot hold {tensor}")
        if not held and tensor in keeps and not optional:
            broken.append(f"{name}: {tensor} may not bypass it")
    return broken
