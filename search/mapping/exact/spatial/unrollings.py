"""All ways to unroll loops over the meshes of a hardware, and to keep tensors or let them pass."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.loopnest import KernelInputs
from archloom.space.workload import INPUTS, C, G, K, N, P, Q, R, S

from .mesh_packing import placed, unrolled

#: more choices than this are not listed
MOST_CHOICES: Final = 2**20


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, ascending."""
    low = [i for i in range(1, int(number**0.5) + 1) if number % i == 0]
    return (*low, *(number // i for i in reversed(low) if i * i < number))


def unrolled_by(setup: KernelInputs, stop: Flags) -> tuple[Ints, Ints] | None:
    """Return products of factors unrolled below each level, in two parts: int64[A, L, 8] of all
    meshes but one, and int64[B, L, 8] of the one with most choices, which descend.

    All products of a row of each that divide the bounds are the choices. None if there are more
    than MOST_CHOICES in a part, or ``stop`` was set.
    """
    levels = len(setup.fanout)
    lists: dict[int, Ints] = {}
    for level in np.flatnonzero(setup.fanout.prod(axis=1) > 1).tolist():
        lists[level] = unrolled(setup, level, MOST_CHOICES, stop)
        if len(lists[level]) > MOST_CHOICES or stop[0]:
            return None
    ones = np.ones((1, levels, 8), np.int64)
    if not lists:
        return ones, ones
    largest = max(lists, key=lambda level: len(lists[level]))
    last = lists.pop(largest)
    rest = np.repeat(ones, len(last), axis=0)
    rest[:, largest] = last[np.argsort(-last.prod(axis=1), kind="stable")]
    prefix = ones
    for level, here in lists.items():
        pairs = _joined(setup, prefix.prod(axis=1), here, stop)
        if len(pairs[0]) > MOST_CHOICES or stop[0]:
            return None
        prefix = prefix[pairs[0]]
        prefix[:, level] = here[pairs[1]]
    return prefix, rest


def _joined(setup: KernelInputs, taken: Ints, here: Ints, stop: Flags) -> tuple[Ints, Ints]:
    """Return which pairs of factors divide the bounds, of as many as are listed and no more."""
    # a few million numbers at a time
    rows = max(1, 2**18 // len(here))
    found: list[tuple[Ints, Ints]] = []
    for first in range(0, len(taken), rows):
        whole = taken[first : first + rows, None] * here[None]
        one, two = np.nonzero((setup.bounds % whole == 0).all(axis=2))
        found.append((one + first, two))
        if sum(len(pair[0]) for pair in found) > MOST_CHOICES or stop[0]:
            break
    ones, twos = zip(*found, strict=True)
    return np.concatenate(ones), np.concatenate(twos)


#: dimensions after rows and columns have changed places
_SWAPPED: Final = [N, G, K, C, Q, P, S, R]


def is_mirrored(setup: KernelInputs) -> bool:
    """Whether rows and columns may change places, so that each choice has a mirror image."""
    rows, columns = setup.window.tolist()
    _, _, _, _, p, q, r, s = setup.bounds.tolist()
    # most layers that are not square are told by this alone
    if rows != columns or p != q or r != s:
        return False
    alike = (setup.spatial == setup.spatial[:, :, _SWAPPED]).all()
    alike &= (setup.fixed == setup.fixed[:, :, _SWAPPED]).all()
    alike &= (setup.within == setup.within[_SWAPPED]).all()
    return bool(alike and (setup.ranks == setup.ranks[:, :, _SWAPPED]).all())


def sides_of(spreads: Ints) -> tuple[Ints, Ints]:
    """Return for each choice of factors the innermost level where it differs from its mirror
    image, and whether it has more (1) or less (-1) there at first; 0 if nowhere: int64[B] each.
    """
    change = (spreads - spreads[:, :, _SWAPPED]).reshape(len(spreads), -1)
    first = np.argmax(change != 0, axis=1)
    return first // 8, np.sign(change[np.arange(len(spreads)), first])


def axes_of(setup: KernelInputs, level: int, spread: Ints) -> tuple[Ints, Ints]:
    """Return factors along x and y whose products are ``spread``.

    Raises:
        ValueError: the mesh has no place for them.
    """
    x = np.ones(8, np.int64)
    if not placed(setup, level, spread, x):
        raise ValueError(f"{spread.tolist()} fit no mesh of {setup.fanout[level].tolist()}")
    return x, spread // x


def axis_factors(setup: KernelInputs, level: int, d: int, whole: int) -> list[int]:
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


def keeps_of(setup: KernelInputs) -> Flags:
    """Return all ways to keep tensors: uint8[B, L, 3]."""
    free = np.argwhere(setup.optional)
    found = np.tile(setup.allowed, (2 ** len(free), 1, 1))
    for i, bits in enumerate(product((1, 0), repeat=len(free))):
        found[(i, *free.T)] = bits
    return found


def guesses_of(setup: KernelInputs, keep: Flags, spread: Ints) -> Iterator[Ints]:
    """Yield how many stretches of inputs the children of each level may start: int64[L]."""
    for guess in product(*(guesses_at(setup, keep, spread, i) for i in range(len(keep)))):
        yield np.array(guess, np.int64)


def guesses_at(setup: KernelInputs, keep: Flags, spread: Ints, level: int) -> list[int]:
    """Return how many stretches of inputs the children of a level may start.

    It matters where rows (or columns) of results and of the kernel are unrolled at once, and
    inputs pass the level inside; 0 where it does not.
    """
    passes = 0 < level <= setup.top[INPUTS] and not keep[level - 1, INPUTS]
    if not (passes and setup.multicast[level, INPUTS]):
        return [0]
    here = spread[level].tolist()
    if not ((here[P] > 1 and here[R] > 1) or (here[Q] > 1 and here[S] > 1)):
        return [0]
    inside = spread[:level].prod(axis=0).tolist()
    left = (setup.bounds // spread.prod(axis=0)).tolist()
    found = []
    for axis, (stride, dilation) in enumerate(setup.window[:, :2].tolist()):
        p, r = P + axis, R + axis
        steps = stride * inside[p], dilation * inside[r]
        found.append(_starts((here[p], here[r]), steps, (left[p], left[r])))
    rows, columns = found
    return sorted({a * b for a in rows for b in columns})


# tiles of one layer, and choices that differ elsewhere, ask for the same again and again
@lru_cache(maxsize=2**12)
def _starts(here: tuple[int, int], steps: tuple[int, int], left: tuple[int, int]) -> frozenset[int]:
    """Return how many stretches of rows (or columns) children may start.

    Args:
        here: children along results and along the kernel.
        steps: rows between neighbours along both, if each takes a tile of one step.
        left: steps over time along both: tiles take a divisor of each.
    """
    tiles = product(divisors(left[0]), divisors(left[1]))
    return frozenset(_sums(here, (steps[0] * out, steps[1] * row)) for out, row in tiles)


def stretches_of(here: Ints, axis: int, step: int, shift: int) -> int:
    """Return how many different sums children start at whose rows are ``step`` and ``shift``
    from those of their neighbours along results and along the kernel.
    """
    return _sums((int(here[P + axis]), int(here[R + axis])), (step, shift))


def _sums(children: tuple[int, int], steps: tuple[int, int]) -> int:
    """Return how many different sums two ranges of such lengths and steps have."""
    rows, shifts = (range(0, n * step, step) for n, step in zip(children, steps, strict=True))
    return len({row + shift for row in rows for shift in shifts})


def touched(setup: KernelInputs) -> Ints:
    """Return rows and columns of the real map that the layer touches, and whether padding is
    never fetched into the level below DRAM: int64[3].
    """
    levels, real = len(setup.fanout), np.zeros(3, np.int64)
    beyond = False
    bounds = setup.bounds.tolist()
    for axis, (stride, dilation, pad, size) in enumerate(setup.window.tolist()):
        out, kernel = bounds[P + axis], bounds[R + axis]
        if kernel <= out:
            real[axis] = _inside(kernel, dilation, out, stride, pad, size)
        else:
            real[axis] = _inside(out, stride, kernel, dilation, pad, size)
        reach = (out - 1) * stride + (kernel - 1) * dilation + 1
        beyond |= pad > 0 or reach > size
    alone = levels > 1 and setup.top[INPUTS] >= levels - 1 and setup.fanout[-1].prod() == 1
    real[2] = alone and beyond
    return real


@lru_cache(maxsize=4096)
def _inside(few: int, apart: int, many: int, step: int, pad: int, size: int) -> int:
    """Return how many of ``i * apart + j * step - pad``, for i below ``few`` and j below
    ``many``, are different and from 0 to ``size``.
    """
    found, before, end = 0, -1, 0
    # numbers of one remainder are stretches, ascending in i
    stretches = [divmod(i * apart - pad, step) for i in range(few)]
    for whole, rest in sorted(stretches, key=lambda stretch: stretch[1]):
        low, high = max(whole, 0), min(whole + many, -(-(size - rest) // step))
        if rest == before:
            low = max(low, end)
        found += max(high - low, 0)
        before, end = rest, high
    return found
