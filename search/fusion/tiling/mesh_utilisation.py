"""Mesh utilisation by exact factors: MACs that work at once when factors multiply to loop bounds.

Bounds on cycles let loops be cut anywhere. Mappings with exact factors unroll divisors: 282 rows
fill 12 of 14 MACs in a row, 280 all of them. So a tile may take fewer cycles than the whole map.
"""

from functools import lru_cache
from math import prod
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import compiled, fill_row, helper
from archloom.space.hardware import Hardware
from archloom.space.workload import DIMS, P, Q

#: children along an axis, and which dimensions (in the order of DIMS) it may unroll
Axis: TypeAlias = tuple[int, tuple[bool, ...]]

#: products of factors along all axes up to which they are told apart: larger meshes have more
#: dimensions to fill them, and counting takes milliseconds a tile there (ours)
_MOST: Final = 2**12

#: sides of tiles for each axis, half of it aside
_DOUBLED: Final = 4


@lru_cache(maxsize=64)
def mesh_axes(hardware: Hardware) -> tuple[Axis, ...]:
    """Return every axis of every mesh that has children."""
    return tuple(
        (children, tuple(d in dims for d in DIMS))
        for level, fanout in zip(hardware.levels, hardware.fanouts, strict=True)
        for dims, children in zip((level.spatial_x, level.spatial_y), fanout, strict=True)
        if children > 1
    )


@lru_cache(maxsize=2**16)
def most_parallel(axes: tuple[Axis, ...], bounds: tuple[int, ...]) -> int | None:
    """Return the most MACs that exact factors of loop bounds occupy; None for large meshes.

    Args:
        axes: those of :func:`mesh_axes`.
        bounds: of the loops, in the order of DIMS.
    """
    if _products(axes) > _MOST:
        return None
    children = np.array([size for size, _ in axes], np.int64)
    allowed = np.array([may for _, may in axes], np.uint8).reshape(-1, len(DIMS))
    return int(_most_parallel(np.array(bounds, np.int64), children, allowed))


def even_sides(hardware: Hardware) -> tuple[int, ...]:
    """Return rows or columns of tiles that fill an axis of a mesh, ascending; none for large ones.

    They are the children of an axis that may unroll rows or columns, half of them, and their
    products with powers of 2.
    """
    axes = mesh_axes(hardware)
    if _products(axes) > _MOST:
        return ()
    some = {size for size, may in axes if may[P] or may[Q]}
    halves = {max(1, size // 2) for size in some}
    return tuple(sorted(halves | {size * 2**n for size in some for n in range(_DOUBLED)}))


def _products(axes: tuple[Axis, ...]) -> float:
    return prod(size + 1.0 for size, _ in axes)


@helper
def _next(bound: int, used: Ints, children: Ints, may: Flags, factor: Ints) -> bool:
    """Go to the next divisors of a bound along all axes that fit; whether any."""
    for a in range(len(factor)):
        if may[a]:
            factor[a] += 1
            while factor[a] * used[a] <= children[a] and bound % factor[a]:
                factor[a] += 1
            if factor[a] * used[a] <= children[a] and factor[a] <= bound:
                return True
            factor[a] = 1
    return False


@compiled(brief=True)
def _most_parallel(bounds: Ints, children: Ints, allowed: Flags) -> int:
    """Go through the dimensions with all products of factors that the axes can have so far.

    A number stands for products u[a] along all axes: the sum of u[a] * stride[a].
    """
    axes = len(children)
    stride, first = np.ones(axes + 1, np.int64), 0
    for a in range(axes):
        stride[a + 1] = stride[a] * (children[a] + 1)
        first += stride[a]
    known = np.zeros(stride[axes], np.bool_)
    listed = np.empty(stride[axes], np.int64)
    known[first], listed[0], count = True, first, 1
    used, factor = np.ones(axes, np.int64), np.ones(axes, np.int64)
    for d in range(len(bounds)):
        for n in range(count):
            for a in range(axes):
                used[a] = listed[n] // stride[a] % (children[a] + 1)
            fill_row(factor, 1)
            while _next(bounds[d], used, children, allowed[:, d], factor):
                whole, number = 1, 0
                for a in range(axes):
                    whole *= factor[a]
                    number += used[a] * factor[a] * stride[a]
                if bounds[d] % whole == 0 and not known[number]:
                    known[number], listed[count] = True, number
                    count += 1
    most = 1
    for n in range(count):
        here = 1
        for a in range(axes):
            here *= listed[n] // stride[a] % (children[a] + 1)
        most = max(most, here)
    return most
