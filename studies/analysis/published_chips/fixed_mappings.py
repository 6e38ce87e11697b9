"""Levels of mappings that a chip's paper fixes, from the factors that are not one."""

from archloom.space.mapping import LevelMapping, full_order
from archloom.space.workload import DIMS


def level(
    temporal: dict[int, int],
    order: tuple[int, ...] = (),
    keeps: tuple[bool, bool, bool] = (True, True, True),
    x: dict[int, int] | None = None,
    y: dict[int, int] | None = None,
) -> LevelMapping:
    """Return the loops of a level; of dimensions that ``order`` leaves out, as the others come."""

    def row(factors: dict[int, int]) -> tuple[int, ...]:
        return tuple(factors.get(d, 1) for d in range(len(DIMS)))

    return LevelMapping(row(temporal), full_order(order), row(x or {}), row(y or {}), keeps)
