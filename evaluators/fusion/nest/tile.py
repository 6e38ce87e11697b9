"""Cost of one layer of a nest on each distinct tile that it runs on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from archloom.evaluators.loopnest import LayerCost, MappingProblem, vector_cost
from archloom.space import Infeasible
from archloom.space.fusion import STREAMED
from archloom.space.hardware import Hardware

from ...arrays import Ints
from ..tile import ProblemMapper
from .walk import NestWalk

_N, _G, _K, _C, _P, _Q = range(6)


@dataclass(frozen=True)
class TileRuns:
    """A layer on one size of tile.

    Attributes:
        at: int64[n], in which iterations, of those looked at one after another.
        times: how often over all iterations.
        cost: of one.
    """

    at: Ints
    times: int
    cost: LayerCost


@dataclass(frozen=True)
class TileKind:
    """A size of tile that a layer runs on.

    Attributes:
        tile: how much of each looped rank of the layer.
        at, times: as of :class:`TileRuns`.
    """

    tile: dict[int, int]
    at: Ints
    times: int


def tile_kinds(walk: NestWalk, m: int) -> Iterator[TileKind]:
    """Yield the sizes of a member's tiles, larger ones first."""
    runs, times = np.flatnonzero(walk.runs(m)), walk.times.ravel()
    looped = [loop.rank for loop in walk.nest.loops if loop.rank in walk.group.own[m]]
    tiles = [np.broadcast_to(walk.tile(rank), walk.shape).ravel()[runs] for rank in looped]
    kinds = np.stack(tiles, axis=1) if tiles else np.zeros((len(runs), 0), np.int64)
    sizes, of = np.unique(kinds, axis=0, return_inverse=True)
    of = of.ravel()
    for kind in reversed(range(len(sizes))):
        tile = dict(zip(looped, sizes[kind].tolist(), strict=True))
        at = runs[of == kind]
        yield TileKind(tile, at, int(times[at].sum()))


def tile_runs(
    walk: NestWalk, m: int, hardware: Hardware, left: int | None, mapper: ProblemMapper
) -> list[TileRuns] | Infeasible:
    """Evaluate a member on each of its tiles; ``left`` words of the buffer are for what streams."""
    found = list[TileRuns]()
    for kind in tile_kinds(walk, m):
        cost = tile_cost(walk, m, kind.tile, hardware, left, mapper)
        if isinstance(cost, Infeasible):
            return cost
        found.append(TileRuns(kind.at, kind.times, cost))
    return found


def tile_cost(
    walk: NestWalk,
    m: int,
    tile: dict[int, int],
    hardware: Hardware,
    left: int | None,
    mapper: ProblemMapper,
) -> LayerCost | Infeasible:
    """Evaluate a member on a tile of so much of each looped rank."""
    problem = tile_problem(walk, m, tile, hardware, left)
    if isinstance(problem, MappingProblem):
        return mapper(problem)
    return problem()


def tile_problem(
    walk: NestWalk, m: int, tile: dict[int, int], hardware: Hardware, left: int | None
) -> MappingProblem | Callable[[], LayerCost]:
    """Return the mapping problem of a tile, or what costs it if it runs on the vector unit."""
    group, layer = walk.group, walk.group.layers[m]
    sizes = group.ranks.sizes
    n, g, k, c, p, q = (
        prod(tile.get(rank, sizes[rank]) for rank in group.ranks.dims[m][d]) for d in range(6)
    )
    if not layer.uses_macs:
        # channels in g; length of a vector in k and c
        part = replace(
            layer,
            n=1,
            g=g,
            k=k,
            c=c,
            p=p,
            q=q,
            input_size=(p, q) if p * q < layer.p * layer.q else layer.input_size,
            slices=(),
            weights_of="",
            mask=None,
        )
        there = all(walk.nest.depth[t] != STREAMED for t in group.weights[m])
        return lambda: vector_cost(part, hardware, n * p, q, staged=True, resident=there)
    images, groups = (1, n * g) if layer.multiplies_maps else (n, g)
    box = (
        (p - 1) * layer.stride[0] + (layer.r - 1) * layer.dilation[0] + 1,
        (q - 1) * layer.stride[1] + (layer.s - 1) * layer.dilation[1] + 1,
    )
    stays = [walk.nest.depth[t] != STREAMED for t in (*group.weights[m], *group.maps[m])]
    count = len(group.weights[m])
    staged = (
        all(stays[:count]),
        all(stays[count:]),
        walk.nest.depth[group.made[m]] != STREAMED,
    )
    return MappingProblem(
        (images, groups, k, c, p, q, layer.r, layer.s),
        layer.stride,
        layer.dilation,
        (0, 0),
        box,
        hardware,
        staged=staged,
        free_words=None if all(staged) else left,
        density=layer.density,
    )
