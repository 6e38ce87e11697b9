"""Random small layers on random small hardware under random mappings, by a number each.

All amounts are multiples of powers of two, so that sums in floating point are exact and figures
of the closed form and of the walked nest must be equal to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from math import inf, prod
from random import Random

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.dims import TENSORS, Tensor
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv1d, conv2d, conv_transpose2d, linear, matmul

from ..oracles.walked_cost import nest_of, slot_bits, word_bits
from ..oracles.walked_nest import ALL, C, Layout, P, R, S

#: most multiply-accumulates of a case, each as likely as the others
LARGEST = (16, 64, 160, 160, 400, 400, 1000)
#: strides and dilations
STEPS = (*((1, 1),) * 4, (2, 1), (3, 1), (4, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (4, 2))
#: most MACs of a chip
MOST_MACS = 36

Pair = tuple[int, int]


@dataclass(frozen=True)
class Drawn:
    """One case: what kind of layer, and everything that decides its cost."""

    kind: str
    problem: MappingProblem
    mapping: Mapping


def drawn(seed: int, number: int) -> Drawn:
    """Return the case of that number; the same on every machine."""
    rng = Random(f"{seed}-{number}")
    limit, kind = rng.choice(LARGEST), rng.choice(tuple(KINDS))
    layer = KINDS[kind](rng)
    while layer.macs > limit:
        layer = KINDS[kind](rng)
    met = draw_meeting(rng, layer.bounds) if rng.random() < 0.4 else None
    hardware = draw_hardware(rng, met)
    staged = draw_staged(rng, hardware)
    mapping = draw_mapping(rng, layer.bounds, hardware, staged, met)
    free = rng.choice((None, rng.randrange(200))) if any(staged) else None
    density = (rng.choice((0.25, 0.5, 1.0)), rng.choice((0.5, 0.75, 1.0)))
    problem = replace(
        MappingProblem.of_layer(layer, hardware), staged=staged, free_words=free, density=density
    )
    return Drawn(kind, fitted(rng, problem, mapping), mapping)


def drawn_packed(seed: int, number: int) -> Drawn:
    """Return a case whose hardware packs weights, like one of :func:`drawn` but for that."""
    rng = Random(f"packed-{seed}-{number}")
    while True:
        case = drawn(seed, rng.randrange(10**6))
        levels = list(case.problem.hardware.levels)
        first = next(i for i, level in enumerate(levels) if "weights" in level.keeps)
        if case.kind != "matmul" and first <= len(levels) - 3:
            break
    # weights are unpacked there, so no mapping passes it by
    levels[first] = replace(levels[first], optional=False)
    effects = replace(
        case.problem.hardware.effects,
        weight_format=rng.choice(("bitmask", "run_length", "csr")),
    )
    rows = list(case.mapping.levels)
    kept = levels[first].keeps
    rows[first] = replace(
        rows[first], keeps=("weights" in kept, "inputs" in kept, "outputs" in kept)
    )
    problem = replace(
        case.problem,
        hardware=replace(case.problem.hardware, levels=tuple(levels), effects=effects),
        density=(rng.choice((0.0625, 0.125, 0.25, 0.5)), case.problem.density[1]),
        row_words=prod(case.problem.bounds[d] for d in (C, R, S)),
    )
    mapping = Mapping(tuple(rows))
    return Drawn(case.kind, fitted(rng, problem, mapping), mapping)


def small(rng: Random) -> int:
    return rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9))


def sides(rng: Random, flat: bool = False) -> list[tuple[int, int, int, int, int, int]]:
    """Draw size, kernel, stride, padding, dilation and outputs of both axes."""
    found = []
    for axis in (0, 1):
        if flat and axis:
            found.append((1, 1, 1, 0, 1, 1))
            continue
        out, kernel = rng.choice((1, 2, 3, 4, 5, 6, 8)), rng.choice((1, 1, 2, 3, 3, 4))
        stride, dilation = rng.choice(STEPS)
        reach = (kernel - 1) * dilation + 1
        spare = rng.randrange(stride)
        whole = (out - 1) * stride + reach + spare
        pad = rng.choice((0, reach - 1, reach - 1, rng.randrange(reach)))
        pad = min(pad, (whole - 1) // 2)
        found.append((whole - 2 * pad, kernel, stride, pad, dilation, out))
    return found


def convolution(rng: Random, groups: int, k: int, c: int) -> Layer:
    y, x = sides(rng)
    size, kernel, stride, padding, dilation, _ = zip(y, x, strict=True)
    layer = conv2d(
        "l", groups * c, groups * k, size, kernel, stride, padding, dilation, groups, bias=False
    )
    return layer.with_batch(rng.choice((1, 1, 2, 3)))


def sequence(rng: Random) -> Layer:
    (length, kernel, stride, padding, dilation, _), _ = sides(rng, flat=True)
    groups = rng.choice((1, 1, 2))
    channels = groups * small(rng), groups * small(rng)
    return conv1d("l", *channels, length, kernel, stride, padding, dilation, groups)


def transposed(rng: Random) -> Layer:
    kernel, stride = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 3))
    size = (rng.choice((1, 2, 3, 4)), rng.choice((2, 3, 5)))
    padding = rng.randrange(kernel) if min(size) > 1 else 0
    try:
        return conv_transpose2d("l", small(rng), small(rng), size, kernel, stride, padding)
    except ValueError:
        return conv_transpose2d("l", small(rng), small(rng), size, kernel, stride)


def lopsided(rng: Random) -> Layer:
    """Draw a convolution whose last windows end inside or outside the map, on each axis."""
    p, r = zip(*((out, kernel) for _, kernel, _, _, _, out in sides(rng)), strict=True)
    stride, dilation = ((rng.randint(1, 4), rng.randint(1, 4)) for _ in range(2))
    padding, size = [], []
    for axis in (0, 1):
        window = (r[axis] - 1) * dilation[axis] + 1
        pad = rng.randrange(window)
        least = max(1, (p[axis] - 1) * stride[axis] - pad + 1)
        exact = (p[axis] - 1) * stride[axis] + window - pad
        padding.append(pad)
        size.append(rng.randint(least, max(least, exact + 2)))
    return Layer(
        "l",
        "conv",
        n=rng.choice((1, 2)),
        g=rng.choice((1, 1, 2, 3)),
        k=small(rng),
        c=small(rng),
        p=p[0],
        q=p[1],
        r=r[0],
        s=r[1],
        stride=stride,
        dilation=dilation,
        padding=(padding[0], padding[1]),
        input_size=(size[0], size[1]),
    )


KINDS = {
    "convolution": lambda rng: convolution(rng, 1, small(rng), small(rng)),
    "depthwise": lambda rng: convolution(rng, rng.choice((2, 3, 4, 5)), 1, 1),
    "grouped": lambda rng: convolution(rng, rng.choice((2, 3)), small(rng), small(rng)),
    "one-dimensional": sequence,
    "transposed": transposed,
    "lopsided": lopsided,
    "gemm": lambda rng: linear("l", small(rng) * small(rng), small(rng), small(rng)),
    "matmul": lambda rng: matmul("l", small(rng), small(rng), small(rng), small(rng)).with_batch(
        rng.choice((1, 2))
    ),
}


@dataclass(frozen=True)
class Meeting:
    """A loop over results along x and one over their windows along y, of rows or of columns."""

    side: int
    out: int
    kernel: int


def draw_meeting(rng: Random, bounds: Sequence[int]) -> Meeting | None:
    sides = [side for side in (0, 1) if bounds[P + side] > 1 < bounds[R + side]]
    if not sides:
        return None
    side = rng.choice(sides)
    return Meeting(side, rng.choice(primes(bounds[P + side])), rng.choice(primes(bounds[R + side])))


def draw_hardware(rng: Random, met: Meeting | None) -> Hardware:
    """Draw one to six levels, meshes, ports, word widths and effects; room for everything."""
    height = rng.choice((1, *(2,) * 4, *(3,) * 8, *(4,) * 5, *(5, 6) * 3))
    crossed = rng.randrange(height)
    meshes, macs = [(1, 1)], 1
    for level in range(height):
        options = (1, 1, 1, 1, 2) if level == 0 else (1, 2, 2, 3, 4)
        fan = (rng.choice(options), rng.choice(options))
        if met and level == crossed:
            fan = (met.out, met.kernel)
        if macs * prod(fan) > MOST_MACS:
            fan = (1, 1)
        macs *= prod(fan)
        meshes.append((meshes[-1][0] * fan[0], meshes[-1][1] * fan[1]))
    *storage, mac_mesh = meshes
    pes = rng.choice((*meshes, (part(rng, mac_mesh[0]), part(rng, mac_mesh[1]))))
    plain = rng.random() < 0.3
    bits = rng.choice((8, 8, 16))
    levels = [draw_level(rng, i, mesh, plain) for i, mesh in enumerate(reversed(storage))]
    if rng.random() < 0.3:
        # maps may live in a buffer whose words are as wide as those of DRAM
        levels[-2:] = [replace(v, keeps=TENSORS, tensor_bits=()) for v in levels[-2:]]
    levels[-1] = replace(
        levels[-1], storage="dram", keeps=TENSORS, capacity_bytes=None, optional=False
    )
    return Hardware(
        name="chip",
        technology="cacti_45nm",
        frequency_mhz=1000,
        word_bits=bits,
        pe_mesh=pes,
        array=(mac_mesh[0] // pes[0], mac_mesh[1] // pes[1]),
        levels=tuple(levels),
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=rng.randrange(16) / 8,
        effects=Effects() if plain else draw_effects(rng),
    )


def part(rng: Random, whole: int) -> int:
    return rng.choice([d for d in range(1, whole + 1) if whole % d == 0])


def draw_effects(rng: Random) -> Effects:
    return Effects(
        network=rng.choice(("free", "mesh")),
        fill_drain=rng.choice(("none", "overlapped", "exposed")),
        weight_zeros=rng.choice(("computed", "computed", "gated", "skipped")),
        input_zeros=rng.choice(("computed", "computed", "gated", "skipped")),
    )


def draw_level(rng: Random, i: int, mesh: Pair, plain: bool) -> StorageLevel:
    pj = [rng.randrange(1, 64) / 8 for _ in range(3)]
    level = StorageLevel(
        name=f"level {i}",
        storage="sram",
        keeps=some(rng, 0.8) or TENSORS,
        mesh=mesh,
        capacity_bytes=2.0**40,
        bandwidth_words=rng.choice((inf, 0.5, 0.75, 1, 2.5, 4, 16)),
        width_words=rng.choice((1, 1, 2, 3, 4)),
        optional=True,
        energy=AccessEnergy(*pj),
    )
    if plain:
        return level
    extra = [rng.choice((0, rng.randrange(16) / 8)) for _ in range(3)]
    multicast = TENSORS if rng.random() < 0.6 else some(rng, 0.5)
    return replace(
        level,
        read_bandwidth_words=rng.choice((inf, inf, 0.25, 1, 3.5)),
        write_bandwidth_words=rng.choice((inf, inf, 0.25, 1, 3.5)),
        multiple_buffering=rng.choice((1.0, 1.0, 1.5, 2.0, 3.0)),
        multicast=multicast,
        cluster_size=part(rng, prod(mesh)),
        tensor_bits=tuple((t, rng.choice((4, 8, 12, 16, 24))) for t in some(rng, 0.3)),
        energy=AccessEnergy(*pj, rng.choice((0, 0.375, 1.5)), *extra),
    )


def some(rng: Random, share: float) -> tuple[Tensor, ...]:
    return tuple(t for t in TENSORS if rng.random() < share)


def draw_staged(rng: Random, hardware: Hardware) -> tuple[bool, bool, bool]:
    """Draw which operands live in the buffer, where there is one that may hold them."""
    buffer = hardware.fusion_level
    keeps = hardware.levels[buffer].keeps if buffer is not None and rng.random() < 0.7 else ()
    weights, inputs, outputs = (t in keeps and rng.random() < 0.6 for t in TENSORS)
    return weights, inputs, outputs


def primes(number: int) -> list[int]:
    found: list[int] = []
    for p in count(2):
        while number % p == 0:
            found.append(p)
            number //= p
        if number == 1:
            return found
    return found


def draw_mapping(
    rng: Random,
    bounds: Sequence[int],
    hardware: Hardware,
    staged: tuple[bool, ...],
    met: Meeting | None,
) -> Mapping:
    """Deal the prime factors of all bounds to loops; few of them where there is no room."""
    height = len(hardware.levels)
    rows = [[[1] * 8 for _ in range(3)] for _ in range(height)]
    unrolled = rng.choice((0.2, 0.6, 0.9))
    slots = [(level, axis) for level in range(height) for axis in (0, 1)]
    # now and then windows move outside alone, over the borders of a map
    bordered = rng.random() < 0.3
    left = {d: primes(bounds[d]) for d in ALL}
    for level, fanout in enumerate(hardware.fanouts):
        if met and fanout[0] >= met.out and fanout[1] >= met.kernel:
            rows[level][1][P + met.side] = met.out
            rows[level][2][R + met.side] = met.kernel
            left[P + met.side].remove(met.out)
            left[R + met.side].remove(met.kernel)
            break
    for d in ALL:
        for factor in left[d]:
            free = [
                (level, axis)
                for level, axis in slots
                if hardware.fanouts[level][axis] >= factor * prod(rows[level][1 + axis])
            ]
            if rng.random() < 0.005:
                free = slots
            level, kind = rng.randrange(height), 0
            if bordered and d >= P:
                level, free = rng.choice((0, height - 1, height - 1)), []
            if free and rng.random() < unrolled:
                level, axis = rng.choice(free)
                kind = 1 + axis
            rows[level][kind][d] *= factor
    keep_share = rng.choice((0.4, 0.7, 1.0))
    levels = []
    for i, (level, (temporal, x, y)) in enumerate(zip(hardware.levels, rows, strict=True)):
        home = [lives and i == hardware.fusion_level for lives in staged]
        whole = i == height - 1 or (bordered and i == height - 2)
        keeps = [
            t in level.keeps and (whole or lives or rng.random() < keep_share)
            for t, lives in zip(TENSORS, home, strict=True)
        ]
        orders = [tuple(rng.sample(ALL, 8)) for _ in range(3)]
        held = (keeps[0], keeps[1], keeps[2])
        levels.append(
            LevelMapping(tuple(temporal), orders[0], tuple(x), tuple(y), held, orders[1], orders[2])
        )
    return Mapping(tuple(levels))


def fitted(rng: Random, problem: MappingProblem, mapping: Mapping) -> MappingProblem:
    """Give each level a capacity near what the mapping needs; a few are too small."""
    nest, levels = nest_of(problem, mapping), list(problem.hardware.levels)
    for i, level in enumerate(levels[:-1]):
        bits = {}
        for t, tensor in enumerate(TENSORS):
            words = Layout(nest, t).tile([nest.size(i, d) for d in ALL]).bit_count()
            held = mapping.levels[i].keeps[t] and i <= nest.top[t]
            bits[tensor] = words * word_bits(problem, i, t) if held else Fraction(0)
        slot = slot_bits(problem, i)
        spare = rng.choice((0, 0, 0, 1, slot, 4 * slot, 1000 * slot))
        if rng.random() < 0.03:
            spare = -rng.choice((1, slot, 3 * slot))

        def room(
            need: Fraction, spare: Fraction | int = spare, level: StorageLevel = level
        ) -> float:
            return max(1.0, float(need * Fraction(level.multiple_buffering) + spare)) / 8

        private = i != problem.hardware.fusion_level and rng.random() < 0.3
        size = (
            tuple((t, room(bits[t])) for t in level.keeps) if private else room(sum(bits.values()))
        )
        levels[i] = replace(level, capacity_bytes=size)
    return replace(problem, hardware=replace(problem.hardware, levels=tuple(levels)))
