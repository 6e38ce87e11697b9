"""Which bounds to pad a layer's loops to, so that they divide well over the hardware's meshes."""

from fractions import Fraction
from math import inf

from ..space.dims import DIMS
from ..space.hardware import Hardware
from .problem import MappingProblem

#: a tile can hold no part of a prime: above this one, small buffers and meshes hold none of it
_LARGEST_PRIME = 13
_HALF = Fraction(1, 2)


def padded_bounds(
    problem: MappingProblem, slack: Fraction | float = Fraction(1, 8)
) -> tuple[int, ...]:
    """Return bounds from ``problem.bounds`` up that occupy the meshes best.

    Each dimension is looked at alone, on every axis of more than one child that it may be
    unrolled over. Of a bound b that pads B up, an axis of n children can take any divisor f of b
    up to n; then it works for b / f steps, and B / (b / f * n) of it is occupied. The best share
    of the widest axis decides, for it has most to lose, then that of the next one. So on 14
    children B = 13 stays (it takes one step as it is), and B = 55 becomes 56.

    Where shares are equal, a bound without prime factors above 13 is better, so that tiles exist
    on levels without a mesh too, and then the least. Bounds above B must be such numbers in any
    case. This also decides for a dimension that may not be unrolled: B = 17 becomes 18.

    Args:
        problem: its ``bounds`` and hardware count; ``loop_bounds`` do not.
        slack: most that may be added to a dimension, as a share of B, rounded to a whole number.
            FAST (section 5.1) pads before mapping and states no limit. An eighth is an
            assumption: it lets 7 become 8, and leaves kernels of 3 rows as they are, whose
            padding multiplies the work of a layer that is not unrolled over them.

    Raises:
        ValueError: a slack that is negative, infinite or not a number.
    """
    if not 0 <= slack < inf:
        raise ValueError(f"slack must be from 0 up, got {slack}")
    widths = _axis_widths(problem.hardware)
    return tuple(
        _padded(bound, axes, int(bound * slack + _HALF))
        for bound, axes in zip(problem.bounds, widths, strict=True)
    )


def _axis_widths(hardware: Hardware) -> list[list[int]]:
    """For each dimension the children along axes that it may be unrolled over, widest first."""
    axes = [
        (allowed, children)
        for level, fanout in zip(hardware.levels, hardware.fanouts, strict=True)
        for allowed, children in zip((level.spatial_x, level.spatial_y), fanout, strict=True)
        if children > 1
    ]
    return [sorted({n for allowed, n in axes if d in allowed}, reverse=True) for d in DIMS]


def _padded(bound: int, widths: list[int], room: int) -> int:
    above = range(bound + 1, bound + room + 1)
    candidates = (bound, *(b for b in above if _smooth(b)))

    def worth(b: int) -> tuple[list[Fraction], bool, int]:
        # B / (b / f * n) grows with f / b; B and n are the same for all
        shares = [Fraction(_largest_divisor(b, n), b) for n in widths]
        return shares, _smooth(b), -b

    return max(candidates, key=worth)


def _largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of ``number`` that is at most ``most``."""
    return next(f for f in range(min(number, most), 0, -1) if number % f == 0)


def _smooth(number: int) -> bool:
    for prime in (2, 3, 5, 7, 11, _LARGEST_PRIME):
        while number % prime == 0:
            number //= prime
    return number == 1
