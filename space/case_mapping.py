"""The loops of a case as a mapping over our dimensions."""

from collections.abc import Mapping as Table
from collections.abc import Sequence
from math import prod

from .case_problem import CASE_TENSORS
from .case_record import Loops, RecordError
from .dims import DIMS
from .mapping import Factors, LevelMapping, Mapping, full_order
from .suggest import did_you_mean


def case_mapping(
    loops: Sequence[Loops], levels: Sequence[str], dims: Table[str, int], slots: Table[str, int]
) -> Mapping:
    """Return the mapping; ``slots`` gives the place in DIMS of each of the case's dimensions.

    Raises:
        RecordError: levels that are not the architecture's, unknown dimensions or tensors,
            factors that do not multiply to the bounds, an order that repeats a dimension.
    """
    have = [level.level for level in loops]
    if have != list(levels):
        raise RecordError([f"mapping: levels are {have}, the architecture has {list(levels)}"])
    faults: list[str] = []
    rows = [_level(level, i, dims, slots, faults) for i, level in enumerate(loops)]
    for dim, bound in dims.items():
        covered = prod(table.get(dim, 1) for level in loops for _, table in _tables(level) if table)
        if covered != bound:
            faults.append(f"mapping: factors of {dim} multiply to {covered}, the bound is {bound}")
    if set(loops[-1].keep) != set(CASE_TENSORS):
        faults.append(f"mapping[{len(loops) - 1}].keep: the outermost level must keep every tensor")
    if faults:
        raise RecordError(faults)
    return Mapping(tuple(rows))


def _tables(level: Loops) -> list[tuple[str, dict[str, int]]]:
    tables = [("temporal.factors", level.temporal.factors)]
    if level.spatial is not None:
        tables += [("spatial.X", level.spatial.X), ("spatial.Y", level.spatial.Y)]
    return tables


def _level(
    level: Loops,
    i: int,
    dims: Table[str, int],
    slots: Table[str, int],
    faults: list[str],
) -> LevelMapping:
    for key, table in _tables(level):
        faults += [
            f"mapping[{i}].{key}: {d!r} is not a dimension; {did_you_mean(d, list(dims))}"
            for d in table
            if d not in dims
        ]
    for key, names in (("keep", level.keep), ("no_multicast", level.no_multicast)):
        faults += [
            f"mapping[{i}].{key}: {t!r} is not a tensor; {did_you_mean(t, CASE_TENSORS)}"
            for t in names
            if t not in CASE_TENSORS
        ]
    both = [t for t in level.keep if t in level.bypass]
    if both:
        faults.append(f"mapping[{i}]: {', '.join(both)} cannot be kept and bypass the level")
    orders = [("temporal.permutation_inner_to_outer", level.temporal.permutation_inner_to_outer)]
    spatial = level.spatial
    orders.append(
        ("spatial.order_X_inner_to_outer", spatial.order_X_inner_to_outer if spatial else "")
    )
    orders.append(
        ("spatial.order_Y_inner_to_outer", spatial.order_Y_inner_to_outer if spatial else "")
    )
    placed = [_order(names, f"mapping[{i}].{key}", dims, slots, faults) for key, names in orders]
    factors = [_factors(table, slots) for _, table in _tables(level)]
    ones = (1,) * len(DIMS)
    temporal, x, y = (*factors, ones, ones)[:3]
    held = tuple(t in level.keep for t in CASE_TENSORS)
    return LevelMapping(
        temporal, placed[0], x, y, (held[0], held[1], held[2]), placed[1], placed[2]
    )


def _factors(table: Table[str, int], slots: Table[str, int]) -> Factors:
    factors = [1] * len(DIMS)
    for dim, factor in table.items():
        if dim in slots:
            factors[slots[dim]] = factor
    return tuple(factors)


def _order(
    names: str | Sequence[str],
    where: str,
    dims: Table[str, int],
    slots: Table[str, int],
    faults: list[str],
) -> Factors:
    """Positions in DIMS, innermost first; dimensions that are not named stand outside."""
    unknown = [name for name in names if name not in dims]
    if unknown or len(set(names)) != len(names):
        faults.append(f"{where}: must name each dimension once at most, got {names!r}")
        return full_order([])
    return full_order([slots[name] for name in names if name in slots])
