"""Conversion between mappings and the loops of a case record, both ways."""

from collections import abc
from math import prod
from typing import Any

from archloom.space.hardware import Hardware
from archloom.space.mapping import Factors, LevelMapping, Mapping, full_order
from archloom.space.workload import DIMS, TENSORS

from ...errors import did_you_mean
from .problem import CASE_TENSORS
from .record import Loops, RecordError, parse_loops

WrittenLoops = dict[str, Any]


def loops_of(
    mapping: Mapping, hardware: Hardware, slots: abc.Mapping[str, int]
) -> list[WrittenLoops]:
    """Return the JSON values of a record's ``mapping``.

    Args:
        mapping: what is written, levels from the innermost.
        hardware: gives names, fan-outs and what the networks send to several children.
        slots: the record's own name of each dimension, and its place in DIMS.
    """
    names = {place: dim for dim, place in slots.items()}
    return [_written_level(loops, hardware, i, names) for i, loops in enumerate(mapping.levels)]


def _written_level(
    loops: LevelMapping, hardware: Hardware, i: int, names: dict[int, str]
) -> WrittenLoops:
    level, (columns, rows) = hardware.levels[i], hardware.fanouts[i]
    spatial = None
    if columns * rows > 1:
        spatial = {
            "X": _written_factors(loops.spatial_x, names),
            "Y": _written_factors(loops.spatial_y, names),
            "order_X_inner_to_outer": _written_order(loops.order_x, names, loops.spatial_x),
            "order_Y_inner_to_outer": _written_order(loops.order_y, names, loops.spatial_y),
            "fanoutX": columns,
            "fanoutY": rows,
        }
    kept = list(zip(CASE_TENSORS, loops.keeps, strict=True))
    return {
        "level": level.name,
        "temporal": {
            "factors": {dim: loops.temporal[place] for place, dim in sorted(names.items())},
            "permutation_inner_to_outer": _written_order(loops.order, names),
        },
        "spatial": spatial,
        "keep": [tensor for tensor, held in kept if held],
        "bypass": [tensor for tensor, held in kept if not held],
        "no_multicast": [
            name
            for name, tensor in zip(CASE_TENSORS, TENSORS, strict=True)
            if tensor not in level.multicast
        ],
    }


def _written_factors(factors: Factors, names: dict[int, str]) -> dict[str, int]:
    return {dim: factors[place] for place, dim in sorted(names.items()) if factors[place] > 1}


def _written_order(
    order: Factors, names: dict[int, str], factors: Factors | None = None
) -> str | list[str]:
    """Dimensions from the innermost, as a word if all names are letters; those of ``factors``."""
    named = [names[d] for d in order if d in names and (factors is None or factors[d] > 1)]
    return "".join(named) if all(len(dim) == 1 for dim in named) else named


def written_mapping(data: Any, hardware: Hardware, bounds: abc.Mapping[str, int]) -> Mapping:
    """Return the mapping whose loops :func:`loops_of` wrote, or somebody by hand.

    Factors may cover more than the bounds: what lies outside is cut off.

    Args:
        data: plain values, levels from the innermost.
        hardware: whose levels they are.
        bounds: of the layer, by dimension, in the order of DIMS.

    Raises:
        RecordError: all that is wrong with them.
    """
    loops = parse_loops(data)
    covered = {
        dim: prod(table.get(dim, 1) for level in loops for _, table in _tables(level))
        for dim in bounds
    }
    dims = {dim: max(bound, covered[dim]) for dim, bound in bounds.items()}
    slots: dict[str, int] = {dim: place for place, dim in enumerate(DIMS)}
    if not loops:
        raise RecordError(["mapping: is empty; it must have an entry for each level"])
    return case_mapping(loops, [level.name for level in hardware.levels], dims, slots)


def case_mapping(
    loops: abc.Sequence[Loops],
    levels: abc.Sequence[str],
    dims: abc.Mapping[str, int],
    slots: abc.Mapping[str, int],
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
            faults.append(
                f"mapping: factors of {dim} multiply to {covered}, must multiply to the "
                f"bound {bound}"
            )
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
    dims: abc.Mapping[str, int],
    slots: abc.Mapping[str, int],
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
        faults.append(f"mapping[{i}]: {', '.join(both)} cannot both be kept and bypass the level")
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


def _factors(table: abc.Mapping[str, int], slots: abc.Mapping[str, int]) -> Factors:
    factors = [1] * len(DIMS)
    for dim, factor in table.items():
        if dim in slots:
            factors[slots[dim]] = factor
    return tuple(factors)


def _order(
    names: str | abc.Sequence[str],
    where: str,
    dims: abc.Mapping[str, int],
    slots: abc.Mapping[str, int],
    faults: list[str],
) -> Factors:
    """Positions in DIMS, innermost first; dimensions that are not named stand outside."""
    unknown = [name for name in names if name not in dims]
    if unknown or len(set(names)) != len(names):
        faults.append(f"{where}: must name each dimension at most once, got {names!r}")
        return full_order([])
    return full_order([slots[name] for name in names if name in slots])
