"""A mapping in the format of cases: what ``case_mapping`` reads, written."""

from collections.abc import Mapping as Table
from typing import Any

from .case_problem import CASE_TENSORS
from .dims import TENSORS
from .hardware import Hardware
from .mapping import Factors, LevelMapping, Mapping

Loops = dict[str, Any]


def loops_of(mapping: Mapping, hardware: Hardware, slots: Table[str, int]) -> list[Loops]:
    """Return the JSON values of a record's ``mapping``.

    Args:
        mapping: what is written, levels from the innermost.
        hardware: gives names, fan-outs and what the networks send to several children.
        slots: the record's own name of each dimension, and its place in DIMS.
    """
    names = {place: dim for dim, place in slots.items()}
    return [_level(loops, hardware, i, names) for i, loops in enumerate(mapping.levels)]


def _level(loops: LevelMapping, hardware: Hardware, i: int, names: dict[int, str]) -> Loops:
    level, (columns, rows) = hardware.levels[i], hardware.fanouts[i]
    spatial = None
    if columns * rows > 1:
        spatial = {
            "X": _factors(loops.spatial_x, names),
            "Y": _factors(loops.spatial_y, names),
            "order_X_inner_to_outer": _order(loops.order_x, names, loops.spatial_x),
            "order_Y_inner_to_outer": _order(loops.order_y, names, loops.spatial_y),
            "fanoutX": columns,
            "fanoutY": rows,
        }
    kept = list(zip(CASE_TENSORS, loops.keeps, strict=True))
    return {
        "level": level.name,
        "temporal": {
            "factors": {dim: loops.temporal[place] for place, dim in sorted(names.items())},
            "permutation_inner_to_outer": _order(loops.order, names),
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


def _factors(factors: Factors, names: dict[int, str]) -> dict[str, int]:
    return {dim: factors[place] for place, dim in sorted(names.items()) if factors[place] > 1}


def _order(
    order: Factors, names: dict[int, str], factors: Factors | None = None
) -> str | list[str]:
    """Dimensions from the innermost, as a word if all names are letters; those of ``factors``."""
    named = [names[d] for d in order if d in names and (factors is None or factors[d] > 1)]
    return "".join(named) if all(len(dim) == 1 for dim in named) else named
