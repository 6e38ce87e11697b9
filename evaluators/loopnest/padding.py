"""Padding of loop bounds so that they divide well over the hardware's meshes."""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf, prod

from archloom.space.hardware import Hardware
from archloom.space.workload import DIMS

from .problem import MappingProblem

#: a tile can hold no part of a prime: above this one, small buffers and meshes hold none of it
_LARGEST_PRIME = 13


def padded_bounds(
    problem: MappingProblem, slack: Fraction | float = Fraction(1, 8)
) -> tuple[int, ...]:
    """Return bounds from ``problem.bounds`` up that occupy the meshes best.

    Axes are looked at one by one, the widest first, for it has most to lose. Factors of the
    dimensions that may be unrolled over an axis of n children multiply to some f up to n, and
    f / n of it is occupied. If padding one of these bounds from B to b lets f grow so much that
    the useful share B / b * f / n is larger, the bound and the least b with the largest share
    are taken. What an axis takes is gone for the next one. So one bound is padded for an axis,
    and only where no bounds of the layer fill it as they are: padding all that could be unrolled
    multiplies the work by more than one axis can give back.

    Then bounds of which a factor remains that is a prime above 13 go to the next number without,
    so that tiles exist on levels without a mesh too.

    Examples: on 14 children P = 55 alone becomes 56, but stays beside K = 64 and C = 7, which
    fill them. P = 13 stays, for it takes one step padded or not. K = 1009 becomes 1050.

    Args:
        problem: its ``bounds`` and hardware count; ``loop_bounds`` do not.
        slack: most that may be added to a dimension, as a share of B, rounded to a whole number.
            FAST (section 5.1) pads before mapping and states no limit. An eighth is an
            assumption: it lets 7 become 8, and leaves kernels of 3 rows as they are.

    Raises:
        ValueError: a slack that is negative, infinite or not a number.
    """
    if not 0 <= slack < inf:
        raise ValueError(f"slack must be at least 0, got {slack}")
    return _padded_bounds(problem.bounds, problem.hardware, Fraction(slack))


# tiles of one size come with many residencies and free words
@lru_cache(maxsize=1024)
def _padded_bounds(layer: tuple[int, ...], hardware: Hardware, share: Fraction) -> tuple[int, ...]:
    above, whole = share.numerator, share.denominator
    # to the nearest whole number; fractions take ten times as long
    most = [bound + (2 * bound * above + whole) // (2 * whole) for bound in layer]
    bounds, taken = list(layer), [1] * len(DIMS)
    for children, dims in _axes(hardware):
        d, bound = _padded(bounds, taken, dims, most, children)
        bounds[d] = bound
        rests = tuple(bounds[d] // taken[d] for d in dims)
        for d, factor in zip(dims, _split(rests, children), strict=True):
            taken[d] *= factor
    return tuple(
        next((b for b in _from(bound, top, used) if _smooth(b // used)), bound)
        for bound, top, used in zip(bounds, most, taken, strict=True)
    )


def _axes(hardware: Hardware) -> list[tuple[int, list[int]]]:
    """Children of each axis, and the dimensions that may be unrolled over it; widest first."""
    axes = [
        (children, [DIMS.index(d) for d in allowed])
        for level, fanout in zip(hardware.levels, hardware.fanouts, strict=True)
        for allowed, children in zip((level.spatial_x, level.spatial_y), fanout, strict=True)
        if children > 1 and allowed
    ]
    return sorted(axes, key=lambda axis: -axis[0])


def _padded(
    bounds: Sequence[int],
    taken: Sequence[int],
    dims: Sequence[int],
    most: Sequence[int],
    children: int,
) -> tuple[int, int]:
    """Return a dimension and what to pad its bound to, for one axis; its bound if to nothing."""
    rests = tuple(bounds[d] // taken[d] for d in dims)
    best = (dims[0], bounds[dims[0]])
    # the largest useful share as numerator and denominator
    most_useful = prod(_split(rests, children)), 1
    for i, d in enumerate(dims):
        useful, per = most_useful
        others: tuple[int, ...] = ()
        for b in _from(bounds[d], most[d], taken[d]):
            # a larger bound leaves a smaller share useful, however full the axis is
            if children * bounds[d] * per <= useful * b:
                break
            rest = b // taken[d]
            if b == bounds[d] or not _smooth(rest):
                continue
            others = others or _products((*rests[:i], *rests[i + 1 :]), children)
            filled = max(
                f * others[bisect_right(others, children // f) - 1]
                for f in _divisors(rest, children)
            )
            if filled * bounds[d] * per > useful * b:
                best, (useful, per) = (d, b), (filled * bounds[d], b)
        most_useful = useful, per
    return best


def _from(bound: int, most: int, step: int) -> range:
    return range(bound, most + 1, step)


@lru_cache(maxsize=4096)
def _divisors(number: int, most: int) -> tuple[int, ...]:
    return tuple(f for f in range(1, min(number, most) + 1) if number % f == 0)


@lru_cache(maxsize=4096)
def _products(numbers: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return all products up to ``most`` of a divisor of each number, ascending."""
    found = {1}
    for number in numbers:
        if number > 1:
            found = {p * f for p in found for f in _divisors(number, most // p)}
    return tuple(sorted(found))


@lru_cache(maxsize=4096)
def _split(numbers: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return a divisor of each number, with the largest product up to ``most``."""
    found: dict[int, tuple[int, ...]] = {1: ()}
    for number in numbers:
        further: dict[int, tuple[int, ...]] = {}
        for product, factors in found.items():
            for f in _divisors(number, most // product):
                further.setdefault(product * f, (*factors, f))
        found = further
    return found[max(found)]


def _smooth(number: int) -> bool:
    for prime in (2, 3, 5, 7, 11, _LARGEST_PRIME):
        while number % prime == 0:
            number //= prime
    return number == 1
