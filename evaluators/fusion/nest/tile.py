"""Cost of one layer of a nest on each distinct tile that it runs on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from archloom.evaluators.loopnest import LayerCost, MappingProblem, vector_cost
from archloom.space import Infeasible
from archloom.space.fusion import STREAMED
from archloom.space.hardware import Hardware
from archloom.space.workload import Layer

from ...arrays import Ints
from ..tile import ProblemMapper
from .cores import NestCores
from .ranks import windowless
from .walk import NestWalk

_N, _G, _K, _C, _P, _Q = range(6)


@dataclass(frozen=True)
class TileRuns:
    """A layer on one size of tile.

    Attributes:
        kind: the size, and where it runs.
        cost: of one.
    """

    kind: "TileKind"
    cost: LayerCost


@dataclass(frozen=True, eq=False)
class TileKind:
    """A size of tile that a layer runs on, and whether its partial sums are there.

    Attributes:
        tile: how much of each looped rank of the layer.
        adds: whether it adds to partial sums that were begun before.
        at: int64[n], in which iterations, of those looked at one after another, any core runs it.
        cores: int64[n], how many do.
        walks: int64[...] for each walk of cores, in which iterations these do.
        times: how often it runs, over all iterations and cores.
        rounds: in how many iterations it runs.
    """

    tile: dict[int, int]
    adds: bool
    at: Ints
    cores: Ints
    walks: tuple[Ints, ...]
    times: int
    rounds: int


def tile_kinds(cores: NestCores, m: int) -> Iterator[TileKind]:
    """Yield the sizes of a member's tiles, larger ones first; of each those that begin sums before
    those that add to them."""
    times, nest = cores.times, cores.first.nest
    looped = [loop.rank for loop in nest.loops if loop.rank in cores.group.own[m]]
    runs = [np.flatnonzero(walk.runs(m)) for walk in cores.walks]
    kinds = np.concatenate(
        [_sizes(walk, m, looped, at) for walk, at in zip(cores.walks, runs, strict=True)]
    )
    sizes, of = np.unique(kinds, axis=0, return_inverse=True)
    parts = np.split(of.ravel(), np.cumsum([len(at) for at in runs])[:-1])
    for kind in reversed(range(len(sizes))):
        *size, begins = sizes[kind].tolist()
        tile = dict(zip(looped, size, strict=True))
        walks = tuple(at[part == kind] for at, part in zip(runs, parts, strict=True))
        working = np.zeros(times.size, np.int64)
        for at, count in zip(walks, cores.counts, strict=True):
            working[at] += count
        at = np.flatnonzero(working)
        busy = working[at]
        every = int((times[at] * busy).sum()), int(times[at].sum())
        yield TileKind(tile, not begins, at, busy, walks, *every)


def _sizes(walk: NestWalk, m: int, looped: list[int], at: Ints) -> Ints:
    """int64[n, k + 1], how much of each looped rank some iterations cover, and whether a member
    begins sums in them."""
    tiles = [np.broadcast_to(walk.tile(rank), walk.shape).ravel()[at] for rank in looped]
    return np.stack([*tiles, (~walk.adds(m)).ravel()[at].astype(np.int64)], axis=1)


def tile_runs(
    cores: NestCores, m: int, left: int | None, mapper: ProblemMapper
) -> list[TileRuns] | Infeasible:
    """Evaluate a member on each of its tiles; ``left`` words of the buffer are for what streams."""
    found = list[TileRuns]()
    for kind in tile_kinds(cores, m):
        cost = tile_cost(cores.first, m, kind, cores.one, left, mapper)
        if isinstance(cost, Infeasible):
            return cost
        found.append(TileRuns(kind, cost))
    return found


def tile_cost(
    walk: NestWalk,
    m: int,
    kind: TileKind,
    hardware: Hardware,
    left: int | None,
    mapper: ProblemMapper,
) -> LayerCost | Infeasible:
    """Evaluate a member on a tile."""
    problem = tile_problem(walk, m, kind.tile, hardware, left)
    if not isinstance(problem, MappingProblem):
        assert not kind.adds, "no loop runs over what a vector operator adds up"
        return problem()
    return mapper(replace(problem, begun=kind.adds))


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
        *_window(layer, p, q, in_buffer=staged[1]),
        hardware,
        staged=staged,
        free_words=None if all(staged) else left,
        density=layer.density,
    )


def _window(
    layer: Layer, p: int, q: int, *, in_buffer: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Padding, and rows and columns of the map, that so many rows and columns of a result need.

    Of a map in the buffer, words of the padding are read like all others; of one that streams from
    DRAM they are not (docs/explanation/model.md, "Padding").
    """
    sizes = zip((p, q), layer.stride, (layer.r, layer.s), layer.dilation, strict=True)
    rows, columns = (
        (made - 1) * stride + (taps - 1) * dilation + 1 for made, stride, taps, dilation in sizes
    )
    if in_buffer or windowless(layer):
        return (0, 0), (rows, columns)
    # no loop runs over rows or columns of windows
    top, left = layer.padding
    return (top, left), (
        min(rows - top, layer.input_size[0]),
        min(columns - left, layer.input_size[1]),
    )
