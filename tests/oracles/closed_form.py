"""The closed form of the loop-nest model in plain Python, whose integers do not overflow.

Written from the description of the model alone, for nests too large to walk; maps have no
padding, all energies are of one word.

Independent of: compiled code and fixed-width integers; its loop nest is that of the walk.
"""

from math import gcd, prod

from .walked_nest import ALL, INDEXED_BY, INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, Nest, P, R, S


def span(nest: Nest, axis: int, out: int, kernel: int) -> int:
    return (out - 1) * nest.stride[axis] + (kernel - 1) * nest.dilation[axis] + 1


def tile(nest: Nest, tensor: int, size: list[int]) -> int:
    """Words of the box around a tile of the given extents."""
    if tensor == WEIGHTS:
        return prod(size[d] for d in (G, K, C, R, S))
    if tensor == OUTPUTS:
        return prod(size[d] for d in INDEXED_BY[OUTPUTS])
    sides = prod(span(nest, a, size[P + a], size[R + a]) for a in (0, 1))
    return size[N] * size[G] * size[C] * sides


def extents(nest: Nest, level: int) -> list[int]:
    return [nest.size(level, d) for d in ALL]


def stream(nest: Nest, tensor: int, level: int) -> int:
    """Words into one instance: the first tile, what each turn of the first loop adds, repeated."""
    size = extents(nest, level)
    whole = tile(nest, tensor, size)
    loops = [loop for loop in nest.loops_above(level) if loop[1] > 1]
    while loops and loops[0][0] not in INDEXED_BY[tensor]:
        loops.pop(0)
    if not loops:
        return whole
    (d, bound, stride), *outer = loops
    fresh = whole
    if tensor == INPUTS and d >= P:
        axis = (d - P) % 2
        reach = span(nest, axis, size[P + axis], size[R + axis])
        step = stride * (nest.stride if d < R else nest.dilation)[axis]
        fresh = whole // reach * min(reach, step)
    return (whole + (bound - 1) * fresh) * prod(n for _, n, _ in outer)


def groups(nest: Nest, tensor: int, level: int) -> int:
    """Children of one instance whose tiles differ."""
    spread, below = [nest.spatial(level, d) for d in ALL], extents(nest, level - 1)
    if tensor != INPUTS:
        return prod(spread[d] for d in INDEXED_BY[tensor])
    found = spread[N] * spread[G] * spread[C]
    for axis in (0, 1):
        a, b = spread[P + axis], spread[R + axis]
        u, v = nest.stride[axis] * below[P + axis], nest.dilation[axis] * below[R + axis]
        # i u + j v repeats when i grows by v / g and j falls by u / g
        shared = gcd(u, v)
        found *= a * b - max(0, a - v // shared) * max(0, b - u // shared)
    return found


def count(nest: Nest) -> list[list[list[int]]]:
    """Reads, fills and updates of each level and tensor, in one used instance."""
    counts = [[[0, 0, 0] for _ in range(3)] for _ in range(nest.levels)]
    for tensor in range(3):
        asked = nest.steps()
        for level in range(nest.levels):
            asked *= groups(nest, tensor, level)
            if not nest.keep[level][tensor]:
                continue
            content, outermost = asked, level == nest.levels - 1
            asked = enters = 0 if outermost else stream(nest, tensor, level)
            if tensor != OUTPUTS:
                counts[level][tensor] = [content, enters, 0]
                continue
            above = [n for d, n, _ in nest.loops_above(level) if d in INDEXED_BY[OUTPUTS]]
            owned = tile(nest, OUTPUTS, extents(nest, level)) * prod(above)
            counts[level][tensor] = [content - owned, max(0, enters - owned), content]
    return counts


def used(nest: Nest) -> list[int]:
    return [
        prod(nest.spatial(v, d) for v in range(level + 1, nest.levels) for d in ALL)
        for level in range(nest.levels)
    ]
