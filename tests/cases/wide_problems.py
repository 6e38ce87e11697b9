"""Small mapping problems that reach for what :mod:`.small_problems` does not draw.

One to five levels, any set of loops, kernels below their stride, padding beyond the window, maps
of any size, tiles that fill a buffer to the last word, buffers without room for a tensor, meshes
below DRAM, clusters, ports of a part of a word, leakage.
"""

from dataclasses import dataclass, replace
from math import inf, prod
from random import Random

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.constraints import LevelConstraints, MappingConstraints
from archloom.space.workload.dims import DIMS, TENSORS, C, R, S

from ..oracles.enumerated_mappings import Int, size, tilings
from .mapped_layers import draw_staged, part, some
from .small_problems import chip

#: most mappings of a problem
MOST = 100_000

HEIGHTS = (1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5)


@dataclass(frozen=True)
class Wide:
    """A problem, its tilings, and how many mappings they make."""

    problem: MappingProblem
    tiled: Int
    mappings: int


def wide_problem(number: int, rough: bool = False) -> Wide:
    """Return the problem of that number, the same everywhere.

    ``rough`` draws shares, rates and energies that are no sums of powers of two.
    """
    rng = Random(f"wide-{number}-{rough}")
    while True:
        problem = _draw(rng, rough)
        if problem.impossible() or problem.setup.optional.sum() > 6:
            continue
        problem = replace(problem, constraints=_constrained(rng, problem))
        if problem.impossible():
            continue
        tiled = tilings(problem.setup, MOST)
        if tiled is None:
            continue
        mappings = size(problem.setup, tiled)
        if mappings <= MOST:
            return Wide(problem, tiled, mappings)


def packed_problem(number: int) -> Wide:
    """Return the packed problem of that number: one of :func:`wide_problem`, with zero weights."""
    rng = Random(f"packed-{number}")
    while True:
        wide = wide_problem(rng.randrange(10**6))
        problem, levels = wide.problem, list(wide.problem.hardware.levels)
        first = next(i for i, level in enumerate(levels) if "weights" in level.keeps)
        if first > len(levels) - 3:
            continue
        levels[first] = replace(levels[first], optional=False)
        kind = rng.choice(("bitmask", "run_length", "csr"))
        effects = replace(problem.hardware.effects, weight_format=kind)
        problem = replace(
            problem,
            hardware=replace(problem.hardware, levels=tuple(levels), effects=effects),
            density=(rng.choice((0.0625, 0.125, 0.25)), problem.density[1]),
            row_words=prod(problem.bounds[d] for d in (C, R, S)),
            constraints=MappingConstraints(both_axes=problem.constraints.both_axes),
        )
        tiled = None if problem.impossible() else tilings(problem.setup, MOST)
        if tiled is not None and size(problem.setup, tiled) <= MOST:
            return Wide(problem, tiled, size(problem.setup, tiled))


def _constrained(rng: Random, problem: MappingProblem) -> MappingConstraints:
    """Draw whether a dimension may be along both axes, and whether bypass is given."""
    both, setup, rules = rng.random() < 0.5, problem.setup, []
    given = rng.random() < 0.3
    for i, level in enumerate(problem.hardware.levels):
        free = [t for t in TENSORS if given and setup.optional[i, TENSORS.index(t)]]
        keep = tuple(t for t in free if rng.random() < 0.5)
        passed = tuple(t for t in free if t not in keep)
        if free:
            rules.append(LevelConstraints(level.name, keep=keep, bypass=passed))
    return MappingConstraints(both_axes=both, levels=tuple(rules))


def _draw(rng: Random, rough: bool) -> MappingProblem:
    bounds = dict.fromkeys(DIMS, 1)
    for d in rng.sample(DIMS, rng.choice((0, 1, 2, 3, 3, 4, 4, 5, 6))):
        bounds[d] = rng.choice((2, 2, 2, 2, 3, 3, 4, 5, 6, 7, 9, 12))
    if rng.random() < 0.15:
        bounds["Q"], bounds["S"] = bounds["P"], bounds["R"]
    stride, dilation = ([rng.choice((1, 1, 1, 2, 2, 3, 4)) for _ in range(2)] for _ in range(2))
    pads, sizes = [], []
    for a, (out, kernel) in enumerate((("P", "R"), ("Q", "S"))):
        window = (bounds[kernel] - 1) * dilation[a] + 1
        pad = rng.choice((0, 0, rng.randrange(window), rng.randrange(2 * window + 1)))
        whole = (bounds[out] - 1) * stride[a] + window - pad
        pads.append(pad)
        sizes.append(max(1, whole + rng.choice((0, 0, 0, -1, -2, -3, 1, 5))))
    if rng.random() < 0.3:
        stride, dilation = [stride[0]] * 2, [dilation[0]] * 2
        pads, sizes = [pads[0]] * 2, [sizes[0]] * 2
    shape = tuple(bounds[d] for d in DIMS)
    hardware = _hardware(rng, rough, shape, (stride, dilation))
    shares: tuple[float, ...] = (0.1, 0.3, 0.7, 0.45) if rough else (0.25, 0.5, 0.75, 1.0)
    staged = draw_staged(rng, hardware) if len(hardware.levels) > 1 else (False,) * 3
    return MappingProblem(
        shape,
        (stride[0], stride[1]),
        (dilation[0], dilation[1]),
        (pads[0], pads[1]),
        (sizes[0], sizes[1]),
        hardware,
        staged,
        rng.randrange(60) if any(staged) and rng.random() < 0.3 else None,
        (rng.choice(shares), rng.choice(shares)),
    )


def _hardware(
    rng: Random, rough: bool, bounds: tuple[int, ...], window: tuple[list[int], list[int]]
) -> Hardware:
    height = rng.choice(HEIGHTS)
    meshes = [(1, 1)]
    for _ in range(height):
        fan = (rng.choice((1, 2, 2, 3, 4, 6)), rng.choice((1, 1, 2, 2, 3, 5)))
        fan = fan if rng.random() < 0.5 else (1, 1)
        meshes.append((meshes[-1][0] * fan[0], meshes[-1][1] * fan[1]))
    *storage, macs = meshes
    bits = rng.choice((8, 16))
    tile = [1] * 8
    levels = []
    for i, mesh in enumerate(reversed(storage)):
        tile = [rng.choice([t for t in range(1, b + 1) if b % t == 0 and t % tile[d] == 0])
                for d, b in enumerate(bounds)]  # fmt: skip
        levels.append(_level(rng, i, mesh, bits, rough, words(tile, *window)))
    return chip(rng, bits, macs, levels)


def words(tile: list[int], stride: list[int], dilation: list[int]) -> tuple[int, int, int]:
    """Words of weights, inputs and outputs of a tile."""
    n, g, k, c, p, q, r, s = tile
    rows = (p - 1) * stride[0] + (r - 1) * dilation[0] + 1
    columns = (q - 1) * stride[1] + (s - 1) * dilation[1] + 1
    return g * k * c * r * s, n * g * c * rows * columns, n * g * k * p * q


def _level(
    rng: Random, i: int, mesh: tuple[int, int], bits: int, rough: bool, held: tuple[int, ...]
) -> StorageLevel:
    def price() -> float:
        return rng.random() * 4**i if rough else rng.randrange(64) * 4**i / 8

    def rate() -> float:
        usual: tuple[float, ...] = (0.1, 0.3, 0.7, 1.1) if rough else (0.25, 0.5, 0.75, 1, 2.5)
        return rng.choice((inf, *usual)) if limited else inf

    limited, private, optional = rng.random() < 0.35, rng.random() < 0.3, rng.random() < 0.2
    keeps = some(rng, 0.8) or TENSORS
    copies = rng.choice((1.0, 1.0, 1.5, 2.0))
    own = tuple((t, rng.choice((8, 16, 24))) for t in some(rng, 0.15))
    slack = rng.choice((0, 0, 0, -1, 1, 10))
    room = {
        t: max(1, held[TENSORS.index(t)] + slack) * copies * dict(own).get(t, bits) / 8
        for t in keeps
    }
    if private and optional and rng.random() < 0.5:
        # a bit: not even one word
        room[rng.choice(keeps)] = 1 / 8
    return StorageLevel(
        name=f"level {i}",
        storage="sram",
        keeps=keeps,
        mesh=mesh,
        capacity_bytes=tuple(room.items()) if private else sum(room.values()),
        bandwidth_words=rate(),
        width_words=rng.choice((1, 1, 2, 3)),
        spatial_x=DIMS if rng.random() < 0.7 else tuple(d for d in DIMS if rng.random() < 0.6),
        spatial_y=DIMS if rng.random() < 0.7 else tuple(d for d in DIMS if rng.random() < 0.6),
        optional=optional,
        read_bandwidth_words=rate(),
        write_bandwidth_words=rate(),
        multiple_buffering=copies,
        multicast=TENSORS if rng.random() < 0.6 else some(rng, 0.5),
        cluster_size=part(rng, prod(mesh)),
        tensor_bits=own,
        energy=AccessEnergy(
            price(),
            price(),
            price(),
            leakage_pj=rng.choice((0, 0.375, 1.5)),
            address_pj=rng.choice((0, 0, 0.5)),
        ),
    )


def kinds(wide: Wide) -> list[str]:
    """Return what a problem has of what a search may get wrong."""
    problem, setup = wide.problem, wide.problem.setup
    spread, levels = setup.fanout.prod(axis=1), problem.hardware.levels
    windows = zip(problem.bounds[6:], problem.dilation, problem.stride, problem.padding,
                  strict=True)  # fmt: skip
    reach = [((k - 1) * d + 1, s, p) for k, d, s, p in windows]
    n, g, k, c, *_ = problem.bounds
    has = {
        f"{len(levels)} levels": True,
        "ports limit it": bool((setup.bandwidth < inf).any()),
        "bypass is free": bool(setup.optional.any()),
        "a level must pass a tensor": not setup.allowed.all(),
        "strided": max(problem.stride) > 1,
        "dilated": max(problem.dilation) > 1,
        "a kernel below its stride": any(r < s for r, s, _ in reach),
        "padded": max(problem.padding) > 0,
        "padded beyond the window": any(p >= r for r, _, p in reach),
        "depthwise": g > 1 and k * c == 1,
        "grouped": g > 1 and k * c > 1,
        "several images": n > 1,
        "operands in the buffer": any(problem.staged),
        "no multicast of some tensor": not setup.multicast.all(),
        "wide accesses": bool((setup.width > 1).any()),
        "clusters": bool((setup.cluster > 1).any()),
        "private buffers": any(v.private for v in levels),
        "meshes at several levels": int((spread > 1).sum()) > 1,
        "a mesh below DRAM": bool(spread[-1] > 1),
        "leakage in use": bool((setup.used_leakage_pj > 0).any()),
        "zeros": bool((setup.served < 1).any()),
        "one axis for a dimension": not setup.both_axes,
        "bypass is given": any(v.keep or v.bypass for v in problem.constraints.levels),
    }
    return [name for name, holds in has.items() if holds]
