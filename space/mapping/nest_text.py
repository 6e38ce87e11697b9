"""Text of a mapping as a loop nest that people can read."""

from typing import TYPE_CHECKING

from archloom.space.workload import DIMS, TENSORS

if TYPE_CHECKING:
    from archloom.space.hardware import Hardware

    from .mapping import Factors, LevelMapping, Mapping


def loop_nest(mapping: "Mapping", hardware: "Hardware") -> list[str]:
    """Return one line for each storage level, from DRAM inwards.

    A line says which tensors the level holds, its loops from the outermost to the innermost, and
    what runs side by side on the children below it (x across columns, y across rows). Loops of
    one step are left out.
    """
    pairs = list(zip(hardware.levels, mapping.levels, strict=True))[::-1]
    width = max(len(level.name) for level, _ in pairs)
    return [f"{level.name:<{width}}  {_line(loops)}" for level, loops in pairs]


def _line(loops: "LevelMapping") -> str:
    held = "".join(name[0].upper() if kept else "-" for name, kept in _kept(loops))
    # order is innermost first, people read nests from the outside
    steps = [
        f"{DIMS[d]}:{loops.temporal[d]}" for d in reversed(loops.order) if loops.temporal[d] > 1
    ]
    parts = [f"[{held}]", "for " + " ".join(steps) if steps else "once"]
    for axis, factors in (("x", loops.spatial_x), ("y", loops.spatial_y)):
        if _side_by_side(factors):
            parts.append(f"| {axis} {_side_by_side(factors)}")
    return " ".join(parts)


def _kept(loops: "LevelMapping") -> list[tuple[str, bool]]:
    return list(zip(TENSORS, loops.keeps, strict=True))


def _side_by_side(factors: "Factors") -> str:
    return " ".join(f"{DIMS[d]}:{f}" for d, f in enumerate(factors) if f > 1)
