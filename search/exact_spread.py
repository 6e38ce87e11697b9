"""All ways to unroll loops over the meshes of a hardware, and to keep tensors or let them pass."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from ..evaluators.setup import Setup
from ..evaluators.words import Int
from ..space.dims import INPUTS, C, G, K, N, P, Q, R, S
from .exact_frame import Flags

#: more choices than this are not listed
MOST_CHOICES: Final = 2**20


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, ascending."""
    low = [i for i in range(1, int(number**0.5) + 1) if number % i == 0]
    return (*low, *(number // i for i in reversed(low) if i * i < number))


def spreads_of(setup: Setup, stop: Flags) -> Int | None:
    """Return all products of factors unrolled below each level: int64[B, L, 8].

    None if there are more than MOST_CHOICES, or ``stop`` was set.
    """
    levels = len(setup.fanout)
    found, taken = np.ones((1, levels, 8), np.int64), np.ones((1, 8), np.int64)
    for level in range(levels):
        here = _spreads_of_level(setup, level, stop)
        if here is None or stop[0] or len(here) * len(found) > 64 * MOST_CHOICES:
            return None
        if (here == 1).all():
            continue
        one, two = _joined(setup, taken, here, stop)
        if len(one) > MOST_CHOICES or stop[0]:
            return None
        found, taken = found[one], taken[one] * here[two]
        found[:, level] = here[two]
    return found


def _joined(setup: Setup, taken: Int, here: Int, stop: Flags) -> tuple[Int, Int]:
    """Return which pairs of factors divide the bounds, of as many as are listed and no more."""
    # a few million numbers at a time
    rows = max(1, 2**18 // len(here))
    found: list[tuple[Int, Int]] = []
    for first in range(0, len(taken), rows):
        whole = taken[first : first + rows, None] * here[None]
        one, two = np.nonzero((setup.bounds % whole == 0).all(axis=2))
        found.append((one + first, two))
        if sum(len(pair[0]) for pair in found) > MOST_CHOICES or stop[0]:
            break
    ones, twos = zip(*found, strict=True)
    return np.concatenate(ones), np.concatenate(twos)


def _spreads_of_level(setup: Setup, level: int, stop: Flags) -> Int | None:
    """Return the products of factors of one level: int64[B, 8]."""
    along = [_along(setup, level, axis) for axis in (0, 1)]
    if len(along[0]) * len(along[1]) > 16 * MOST_CHOICES:
        return None
    sizes = [divisors(int(bound)) for bound in setup.bounds]
    places = np.cumprod([1, *(len(size) for size in sizes)])[:8]
    codes = []
    for x in along[0]:
        if stop[0]:
            return None
        rows = along[1]
        if not setup.both_axes:
            rows = rows[(np.minimum(x, rows) == 1).all(axis=1)]
        whole = x * rows
        whole = whole[(setup.bounds % whole == 0).all(axis=1)]
        ranks = [np.searchsorted(sizes[d], whole[:, d]) for d in range(8)]
        codes.append(np.stack(ranks, axis=1) @ places)
    unique = np.unique(np.concatenate(codes))
    columns = [np.array(sizes[d])[unique // places[d] % len(sizes[d])] for d in range(8)]
    return np.stack(columns, axis=1)


def _along(setup: Setup, level: int, axis: int) -> Int:
    """Return all factors that may be unrolled along one axis: int64[B, 8]."""
    children = int(setup.fanout[level, axis])
    found, taken = np.ones((1, 8), np.int64), np.ones(1, np.int64)
    for d in range(8):
        some = setup.fixed[level, axis, d : d + 1]
        if setup.spatial[level, axis, d]:
            some = np.array([f for f in divisors(int(setup.bounds[d])) if f <= children])
        if (some == 1).all():
            continue
        whole = taken[:, None] * some[None]
        one, two = np.nonzero(whole <= children)
        found = found[one]
        found[:, d] = some[two]
        taken = whole[one, two]
    return found


def unmirrored(setup: Setup, spreads: Int) -> Int:
    """Leave out of each pair that rows and columns exchanged turn into each other the second."""
    swapped = [N, G, K, C, Q, P, S, R]
    alike = (setup.window[0] == setup.window[1]).all()
    alike &= (setup.bounds == setup.bounds[swapped]).all()
    alike &= (setup.spatial == setup.spatial[:, :, swapped]).all()
    alike &= (setup.fixed == setup.fixed[:, :, swapped]).all()
    alike &= (setup.within == setup.within[swapped]).all()
    if not (alike and (setup.ranks == setup.ranks[:, :, swapped]).all()):
        return spreads
    change = (spreads - spreads[:, :, swapped]).reshape(len(spreads), -1)
    # the first place where the two differ decides; mirror images of themselves stay
    first = np.argmax(change != 0, axis=1)
    kept: Int = spreads[change[np.arange(len(spreads)), first] >= 0]
    return kept


def axes_of(setup: Setup, level: int, spread: Int) -> tuple[Int, Int]:
    """Return factors along x and y whose products are ``spread``.

    Raises:
        ValueError: the mesh has no place for them.
    """
    x = np.ones(8, np.int64)
    if not _place(setup, level, spread, x, 0):
        raise ValueError(f"{spread.tolist()} fit no mesh of {setup.fanout[level].tolist()}")
    return x, spread // x


def _place(setup: Setup, level: int, spread: Int, x: Int, d: int) -> bool:
    y = spread[:d] // x[:d]
    if x[:d].prod() > setup.fanout[level, 0] or y.prod() > setup.fanout[level, 1]:
        return False
    if d == 8:
        return True
    for factor in axis_factors(setup, level, d, int(spread[d])):
        x[d] = factor
        if _place(setup, level, spread, x, d + 1):
            return True
    x[d] = 1
    return False


def axis_factors(setup: Setup, level: int, d: int, whole: int) -> list[int]:
    """Return the factors along x with which a dimension may be unrolled, ``whole`` in all."""
    found = []
    for factor in divisors(whole):
        along = (factor, whole // factor)
        permitted = all(
            setup.spatial[level, axis, d] or f == setup.fixed[level, axis, d]
            for axis, f in enumerate(along)
        )
        if permitted and (min(along) == 1 or setup.both_axes):
            found.append(factor)
    return found


def keeps_of(setup: Setup) -> Flags:
    """Return all ways to keep tensors: uint8[B, L, 3]."""
    free = np.argwhere(setup.optional)
    found = np.tile(setup.allowed, (2 ** len(free), 1, 1))
    for i, bits in enumerate(product((1, 0), repeat=len(free))):
        found[(i, *free.T)] = bits
    return found


def guesses_of(setup: Setup, keep: Flags, spread: Int) -> Iterator[Int]:
    """Yield how many stretches of inputs the children of each level may start: int64[L]."""
    for guess in product(*(guesses_at(setup, keep, spread, i) for i in range(len(keep)))):
        yield np.array(guess, np.int64)


def guesses_at(setup: Setup, keep: Flags, spread: Int, level: int) -> list[int]:
    """Return how many stretches of inputs the children of a level may start.

    It matters where rows (or columns) of results and of the kernel are unrolled at once, and
    inputs pass the level inside; 0 where it does not.
    """
    passes = 0 < level <= setup.top[INPUTS] and not keep[level - 1, INPUTS]
    here = spread[level]
    meeting = (here[P] > 1 and here[R] > 1) or (here[Q] > 1 and here[S] > 1)
    if not (passes and meeting and setup.multicast[level, INPUTS]):
        return [0]
    rows, columns = (_starts(setup, spread, level, axis) for axis in (0, 1))
    return sorted({a * b for a in rows for b in columns})


def _starts(setup: Setup, spread: Int, level: int, axis: int) -> set[int]:
    """Return how many stretches of rows (or columns) children may start."""
    inside, left = spread[:level].prod(axis=0), setup.bounds // spread.prod(axis=0)
    found = set()
    tiles = product(*(divisors(int(left[d])) for d in (P + axis, R + axis)))
    for out, kernel in tiles:
        step = setup.window[axis, 0] * out * inside[P + axis]
        shift = setup.window[axis, 1] * kernel * inside[R + axis]
        found.add(stretches_of(spread[level], axis, int(step), int(shift)))
    return found


def stretches_of(here: Int, axis: int, step: int, shift: int) -> int:
    """Return how many different sums children start at whose rows are ``step`` and ``shift``
    from those of their neighbours along results and along the kernel.
    """
    first = np.arange(here[P + axis])[:, None] * step
    return len(np.unique(first + np.arange(here[R + axis]) * shift))


def touched(setup: Setup) -> Int:
    """Return rows and columns of the real map that the layer touches, and whether padding is
    never fetched into the level below DRAM: int64[3].
    """
    levels, real = len(setup.fanout), np.zeros(3, np.int64)
    beyond = False
    for axis in (0, 1):
        stride, dilation, pad, size = (int(v) for v in setup.window[axis])
        out, kernel = int(setup.bounds[P + axis]), int(setup.bounds[R + axis])
        if kernel <= out:
            real[axis] = _inside(kernel, dilation, out, stride, pad, size)
        else:
            real[axis] = _inside(out, stride, kernel, dilation, pad, size)
        reach = (out - 1) * stride + (kernel - 1) * dilation + 1
        beyond |= pad > 0 or reach > size
    alone = levels > 1 and setup.top[INPUTS] >= levels - 1 and setup.fanout[-1].prod() == 1
    real[2] = alone and beyond
    return real


def _inside(few: int, apart: int, many: int, step: int, pad: int, size: int) -> int:
    """Return how many of ``i * apart + j * step - pad``, for i below ``few`` and j below
    ``many``, are different and from 0 to ``size``.
    """
    whole, rest = np.divmod(np.arange(few) * apart - pad, step)
    # numbers of one remainder are stretches, ascending in i
    order = np.argsort(rest, kind="stable")
    whole, rest = whole[order], rest[order]
    low, high = np.maximum(whole, 0), np.minimum(whole + many, -(-(size - rest) // step))
    follows = rest[1:] == rest[:-1]
    low[1:][follows] = np.maximum(low[1:], high[:-1])[follows]
    return int(np.maximum(high - low, 0).sum())
