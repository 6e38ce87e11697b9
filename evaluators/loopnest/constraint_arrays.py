"""Constraints on mappings as the arrays that searches read, or why a hardware cannot obey them."""

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np

from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.mapping import MappingConstraints
from archloom.space.workload import DIMS, RELEVANT, TENSORS, Dim, Q, R, S

from ..arrays import Flags, Ints

_STATIONARY: Final = {f"{tensor[:-1]}_stationary": t for t, tensor in enumerate(TENSORS)}


def constraint_arrays(
    constraints: MappingConstraints,
    hardware: Hardware,
    allowed: Flags,
    optional: Flags,
    top: Ints,
) -> dict[str, Any]:
    """Return the kernel inputs that constraints decide whatever the loop bounds are.

    Args:
        constraints: that the hardware can obey (:func:`conflict`).
        hardware: gives levels their names.
        allowed, optional: uint8[L, 3], what the hardware holds and what may pass it.
        top: int64[3], the outermost level that takes part for a tensor.
    """
    if _nothing(constraints):
        return {
            "allowed": allowed.copy(),
            "optional": optional.copy(),
            "both_axes": int(constraints.both_axes),
            "ranks": np.full((len(hardware.levels), 0, 8), -1, np.int64),
            "within": np.zeros(8, np.uint8),
        }
    allowed, optional = _held(constraints, hardware, allowed, optional)
    ranks = [_ranks(constraints, hardware, i, allowed, top) for i in range(len(hardware.levels))]
    ways = max(map(len, ranks))
    free = not any(row.any() for level in ranks for row in level)
    padded = np.full((len(ranks), 0 if free else ways, 8), -1, np.int64)
    for i, level in enumerate(ranks if not free else []):
        padded[i, : len(level)] = level
    within = np.zeros(8, np.uint8)
    within[S] = constraints.dataflow == "row_stationary"
    return {
        "allowed": allowed,
        "optional": optional,
        "both_axes": int(constraints.both_axes),
        "ranks": padded,
        "within": within,
    }


def _nothing(constraints: MappingConstraints) -> bool:
    """Whether there is neither a dataflow nor a rule for any level."""
    return constraints.dataflow == "any" and not constraints.levels


def pe_level(hardware: Hardware) -> int:
    """Return the level that feeds the PEs: the one with most children, not the innermost one."""
    children = [prod(fanout) for fanout in hardware.fanouts[1:]]
    return 1 + children.index(max(children))


def _held(
    constraints: MappingConstraints, hardware: Hardware, allowed: Flags, optional: Flags
) -> tuple[Flags, Flags]:
    allowed, optional = allowed.copy(), optional.copy()
    for i, level in enumerate(hardware.levels):
        rules = constraints.of_level(level.name)
        for t, tensor in enumerate(TENSORS):
            if optional[i, t] and tensor in (*rules.keep, *rules.bypass):
                optional[i, t], allowed[i, t] = 0, tensor in rules.keep
    if constraints.dataflow in _STATIONARY:
        t = _STATIONARY[constraints.dataflow]
        optional[np.flatnonzero(allowed[:, t])[0], t] = 0
    if constraints.dataflow == "row_stationary":
        optional[pe_level(hardware) - 1] = 0
    return allowed, optional


def _ranks(
    constraints: MappingConstraints, hardware: Hardware, i: int, allowed: Flags, top: Ints
) -> list[Ints]:
    """Ranks of loops at a level in each way to order them; those of lower rank stand inside."""
    flow, free = constraints.dataflow, np.zeros(8, np.int64)
    if flow in _STATIONARY:
        t = _STATIONARY[flow]
        outside = np.flatnonzero(allowed[:, t])[0] < i <= top[t]
        free = np.array(RELEVANT[t], np.int64) * outside
    elif flow == "row_stationary" and i == pe_level(hardware):
        free = np.arange(8) != Q
    found = []
    for order in constraints.of_level(hardware.levels[i].name).orders or ((),):
        named = np.full(8, len(order))
        for place, d in enumerate(order):
            named[DIMS.index(d)] = place
        # two rankings that nowhere contradict each other are one: by this, then by that
        if not _contradict(free, named):
            found.append(np.unique(free * 9 + named, return_inverse=True)[1])
    return found


def _contradict(one: Ints, other: Ints) -> bool:
    before, after = one[:, None] < one[None], other[:, None] > other[None]
    return bool((before & after).any())


def unrolled_arrays(
    constraints: MappingConstraints, hardware: Hardware, bounds: tuple[int, ...]
) -> dict[str, Any]:
    """Return the kernel inputs that say which dimensions may be unrolled where, and by how much
    they are in all mappings of loops with these bounds.
    """
    free, named = _unrolled(constraints, hardware)
    spatial, fixed = np.zeros((len(hardware.levels), 2, 8), np.uint8), np.ones_like(free)
    spatial[:] = free
    left = list(bounds)
    for place, most in named:
        bound = left[place[2]]
        fixed[place] = next(f for f in range(min(most, bound), 0, -1) if bound % f == 0)
        left[place[2]] //= fixed[place]
    if not constraints.both_axes:
        # what is unrolled along one axis for certain is unrolled along no other
        spatial[fixed[:, ::-1] > 1] = 0
    return {"spatial": spatial, "fixed": fixed}


def _unrolled(
    constraints: MappingConstraints, hardware: Hardware
) -> tuple[Ints, tuple[tuple[tuple[int, int, int], int], ...]]:
    """Return int64[L, 2, 8], 1 where any number of a dimension may be unrolled, and places (level,
    axis, dimension) where a number of it is unrolled, with the most that it may be.
    """
    if _nothing(constraints):
        return _whole_meshes(tuple((v.spatial_x, v.spatial_y) for v in hardware.levels)), ()
    return _named(constraints, hardware)


@lru_cache(maxsize=256)
def _whole_meshes(axes: tuple[tuple[tuple[Dim, ...], ...], ...]) -> Ints:
    """Return int64[L, 2, 8], 1 where a dimension is named among those of a level and axis."""
    return np.array([[[d in dims for d in DIMS] for dims in level] for level in axes], np.int64)


@lru_cache(maxsize=256)
def _named(
    constraints: MappingConstraints, hardware: Hardware
) -> tuple[Ints, tuple[tuple[tuple[int, int, int], int], ...]]:
    wanted = {
        (i, axis, d): most
        for i in range(len(hardware.levels))
        for axis in (0, 1)
        for d, most in _wanted(constraints, hardware, i, axis).items()
    }
    free = np.zeros((len(hardware.levels), 2, 8), np.int64)
    for place, most in wanted.items():
        free[place] = most is None
    return free, tuple((place, most) for place, most in wanted.items() if most is not None)


def _wanted(
    constraints: MappingConstraints, hardware: Hardware, i: int, axis: int
) -> dict[int, int | None]:
    """Dimensions that are unrolled along an axis: by so many at most, or None for any number."""
    level = hardware.levels[i]
    rules = constraints.of_level(level.name)
    unrolled = (rules.unroll_x, rules.unroll_y)[axis]
    if unrolled is None:
        unrolled = tuple((d, None) for d in (level.spatial_x, level.spatial_y)[axis])
    found = {DIMS.index(d): most for d, most in unrolled}
    if constraints.dataflow != "row_stationary":
        return found
    found = {d: most for d, most in found.items() if d not in (Q, R, S)}
    if axis == 1 and i == pe_level(hardware):
        children = hardware.fanouts[i][1]
        found[R] = max(1, children // prod(most or 1 for most in found.values()))
    return found


def conflict(constraints: MappingConstraints, hardware: Hardware) -> Infeasible | None:
    """Return the first constraint that no mapping on the hardware can obey; None without any."""
    # most have none, and to look for conflicts takes as long as all other arrays of a problem
    return None if _nothing(constraints) else _first_conflict(constraints, hardware)


# asked of every problem, and the same for all of a design
@lru_cache(maxsize=256)
def _first_conflict(constraints: MappingConstraints, hardware: Hardware) -> Infeasible | None:
    return next(conflicts(constraints, hardware), None)


def conflicts(constraints: MappingConstraints, hardware: Hardware) -> Iterator[Infeasible]:
    """Yield each constraint that no mapping on the hardware can obey."""
    for i, level in enumerate(hardware.levels):
        for key, hint in constraints.of_level(level.name).misfits(level):
            yield _broken(key, level.name, hint)
        for axis in (0, 1):
            yield from _mesh_conflicts(constraints, hardware, i, axis)
    yield from _order_conflicts(constraints, hardware)


def _broken(rule: str, where: str, hint: str) -> Infeasible:
    return Infeasible(f"{rule}_constraint", where, 1, 0, "", hint)


def _mesh_conflicts(
    constraints: MappingConstraints, hardware: Hardware, i: int, axis: int
) -> Iterator[Infeasible]:
    level, along = hardware.levels[i], "xy"[axis]
    rules = constraints.of_level(level.name)
    named = (rules.unroll_x, rules.unroll_y)[axis] or ()
    factors, children = [most or 1 for _, most in named], hardware.fanouts[i][axis]
    if prod(factors) > children:
        yield Infeasible(
            f"unroll_{along}_constraint",
            level.name,
            float(prod(factors)),
            float(children),
            f"instances along {along}",
            f"reduce the unrolling, or give {level.name} a mesh with more instances along "
            f"{along} in it",
        )
    rows = constraints.dataflow == "row_stationary" and i == pe_level(hardware) and axis == 1
    listed = rules.unroll_y is None or "R" in dict(rules.unroll_y)
    if rows and not ("R" in level.spatial_y and listed):
        hint = f"row_stationary unrolls R along y, so {level.name} must allow R along y"
        yield _broken("dataflow", level.name, hint)


def _order_conflicts(constraints: MappingConstraints, hardware: Hardware) -> Iterator[Infeasible]:
    allowed = np.array([[t in v.keeps for t in TENSORS] for v in hardware.levels], np.uint8)
    optional = np.array([[v.optional] * 3 for v in hardware.levels], np.uint8) & allowed
    allowed, _ = _held(constraints, hardware, allowed, optional)
    top = np.full(3, len(hardware.levels) - 1)
    for i, level in enumerate(hardware.levels):
        if not _ranks(constraints, hardware, i, allowed, top):
            hint = (
                f"none of the orders is one that {constraints.dataflow} permits; begin "
                "them with the "
                "loops that it has innermost, or leave the dataflow out"
            )
            yield _broken("orders", level.name, hint)
