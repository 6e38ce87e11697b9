"""All mappings of small problems, listed without any code of the exact search.

Factors are shared out over every place that a mesh and a level give them. Of the orders of a
level only those of loops with more than one step are listed, since no other loop does anything,
and no order at the innermost level, where MACs ask for words in every step.

Independent of: all code of the exact mapping search; costs are those of the batch kernel.
"""

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from math import factorial, isqrt

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs

Int = NDArray[np.int64]
Float = NDArray[np.float64]
Flags = NDArray[np.uint8]

#: mappings that are priced at once
BLOCK = 50_000


@cache
def shared_out(number: int, places: int) -> list[tuple[int, ...]]:
    """Return every way to write a number as a product of so many factors."""
    if places == 1:
        return [(number,)]
    low = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return [
        (first, *rest)
        for first in (*low, *(number // n for n in reversed(low) if n * n < number))
        for rest in shared_out(number // first, places - 1)
    ]


def tilings(setup: KernelInputs, most: int) -> Int | None:
    """Return all factors that the meshes have room for: int64[B, L, 3, 8].

    None if there are more than ``most``, or many more are to be looked at.
    """
    levels = len(setup.fanout)
    found = np.ones((1, levels, 3, 8), np.int64)
    for d in range(8):
        places = [
            (level, kind)
            for level in range(levels)
            for kind in range(3)
            if kind == 0
            or (setup.spatial[level, kind - 1, d] and setup.fanout[level, kind - 1] > 1)
        ]
        table = np.array(shared_out(int(setup.bounds[d]), len(places)))
        ways = np.ones((len(table), levels, 3, 8), np.int64)
        for column, (level, kind) in enumerate(places):
            ways[:, level, kind, d] = table[:, column]
        ways = ways[_on_mesh(setup, ways)]
        if len(found) * len(ways) > 4 * most:
            return None
        found = (found[:, None] * ways[None]).reshape(-1, levels, 3, 8)
        found = found[_on_mesh(setup, found)]
    return None if len(found) > most else found.astype(np.int64)


def _on_mesh(setup: KernelInputs, found: Int) -> NDArray[np.bool_]:
    meshed = (found[:, :, 1:].prod(axis=3) <= setup.fanout).all(axis=(1, 2))
    if setup.both_axes:
        return np.asarray(meshed)
    return np.asarray(meshed & (found[:, :, 1:].min(axis=2) == 1).all(axis=(1, 2)))


def orders(tiled: Int) -> int:
    """How many mappings so many tilings make with all orders of their loops."""
    moving = (tiled[:, 1:, 0] > 1).sum(axis=2)
    return int(np.array([factorial(n) for n in range(9)])[moving].prod(axis=1).sum())


def _ordered(tiled: Int) -> Iterator[Int]:
    """Yield all mappings of tilings: int64[B, L, 4, 8] at a time."""
    levels = tiled.shape[1]
    moving = tiled[:, :, 0] > 1
    masks = moving[:, 1:] @ (1 << np.arange(8))
    for mask in np.unique(masks, axis=0):
        here = tiled[(masks == mask).all(axis=1)]
        ways = []
        for one in mask:
            loops = [d for d in range(8) if one >> d & 1]
            still = [d for d in range(8) if d not in loops]
            ways.append([[*way, *still] for way in permutations(loops)])
        combined = list(product(*ways))
        every = np.array(combined, np.int64).reshape(len(combined), levels - 1, 8)
        found = np.empty((len(here), len(every), levels, 4, 8), np.int64)
        found[:, :, :, :ORDER] = here[:, None]
        found[:, :, 0, ORDER] = np.arange(8)[::-1]
        found[:, :, 1:, ORDER] = every
        yield found.reshape(-1, levels, 4, 8)


def kept(setup: KernelInputs) -> list[Flags]:
    """Return every way to keep tensors that the hardware lets a mapping choose."""
    found = [setup.allowed.copy()]
    for level, t in zip(*np.nonzero(setup.optional), strict=True):
        for keep in list(found):
            less = keep.copy()
            less[level, t] = 0
            found.append(less)
    return found


def all_prices(setup: KernelInputs, keeps: list[Flags], tiled: Int) -> tuple[Float, Float]:
    """Energy, leakage of the chip included, and cycles of every mapping that is valid."""
    energies, latencies = [np.zeros(0)], [np.zeros(0)]
    waiting: list[Int] = []
    for loops in (*_ordered(tiled), None):
        if loops is not None:
            waiting.append(loops)
            if sum(map(len, waiting)) < BLOCK:
                continue
        if not waiting:
            continue
        whole, waiting = np.concatenate(waiting), []
        for keep in keeps:
            flags = np.broadcast_to(keep, (len(whole), *keep.shape)).copy()
            status, energy, chip, dram = evaluate_batch(setup, whole, flags)
            cycles = np.maximum(chip, dram)[status == VALID]
            energies.append(energy[status == VALID] + setup.leakage_pj * cycles)
            latencies.append(cycles)
    return np.concatenate(energies), np.concatenate(latencies)


def size(setup: KernelInputs, tiled: Int) -> int:
    """How many mappings there are, valid or not, with every way to keep tensors."""
    return orders(tiled) * 2 ** int(setup.optional.sum())
