"""Mappings that a chip's paper fixes: levels of few factors, and row-stationary passes."""

from dataclasses import dataclass
from typing import Annotated, Final

from archloom.space.hardware import Hardware
from archloom.space.mapping import LevelMapping, Mapping, full_order
from archloom.space.workload import DIMS, C, G, K, Layer, N, P, Q, R, S
from archloom.studies.config import Section, whole

#: a number of a pass
_COUNT: Final = whole(1, most=2**20)


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


@dataclass(frozen=True, kw_only=True)
class Pass(Section):
    """A processing pass of a row-stationary array (Chen et al., JSSC 52(1), 2017, table III).

    Attributes:
        m: filters of a pass.
        n: images of a pass.
        e: output rows of a pass.
        p: filters that a PE works on in turn.
        q: channels that a PE works on in turn.
        r: groups of channels that lie side by side in the array.
        t: groups of filters that lie side by side in the array.
    """

    m: Annotated[int, _COUNT]
    n: Annotated[int, _COUNT]
    e: Annotated[int, _COUNT]
    p: Annotated[int, _COUNT]
    q: Annotated[int, _COUNT]
    r: Annotated[int, _COUNT]
    t: Annotated[int, _COUNT]


def row_stationary(layer: Layer, shape: Pass, hardware: Hardware) -> Mapping:
    """Return the mapping of a layer in such passes: filter rows along y, output rows along x.

    A PE slides one filter row along one input row. Output rows that are more than the array is
    wide go on below, in the same pass; filters and channels fill what rows are left.

    Raises:
        ValueError: the hardware has other levels than scratchpads, a buffer and DRAM, or a pass has
            fewer filters than the array.
    """
    if len(hardware.levels) != 3:
        names = ", ".join(v.name for v in hardware.levels)
        raise ValueError(
            f"a row-stationary pass needs hardware with three levels (scratchpads, buffer, DRAM); "
            f"{hardware.name} has {names}; write the loops of each level instead"
        )
    if shape.m < shape.p * shape.t:
        raise ValueError(
            f"m: a pass has {shape.m} filters, must have at least the {shape.p * shape.t} that "
            "are in the array at once (p x t)"
        )
    columns = hardware.pe_mesh[0]
    x, y = {P: min(shape.e, columns)}, {R: layer.r, C: shape.r}
    if shape.e * shape.t <= columns:
        x[K] = shape.t
    else:
        y[P], y[K] = -(-shape.e // columns), shape.t
    rows = x[P] * y.get(P, 1)
    spad = level({S: layer.s, K: shape.p, C: shape.q}, (S, C, K))
    # weights stay in the PE while all columns and images of the pass go by
    passes = {Q: layer.q, N: shape.n, K: -(-shape.m // (shape.p * shape.t))}
    kept = tuple(tensor in hardware.levels[1].keeps for tensor in ("weights", "inputs", "outputs"))
    glb = level(passes, (Q, N, K), (kept[0], kept[1], kept[2]), x, y)
    # the last pass of a dimension may be partly empty
    outer = {
        C: -(-layer.c // (shape.q * shape.r)),
        N: -(-layer.n // shape.n),
        P: -(-layer.p // rows),
        K: -(-layer.k // shape.m),
        G: layer.g,
    }
    # partial sums stay in the buffer until all channels are in
    return Mapping((spad, glb, level(outer, (C, N, P, K, G))))
