"""Turns of layers on cores: what tiles of many sizes take at the least, however they are dealt."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled, helper


class SizesOnCores(NamedTuple):
    """The n sizes in which the members of some tilings run; those of a member of a tiling are side
    by side, and are all pairs of some rows and some columns.

    Attributes:
        tilings: how many there are.
        owners, members: int64[n], whose each is.
        sides: int64[2, n], rows and columns that are made.
        times: int64[n], tiles of that size, of all images.
        energy_pj, cycles: float64[n], of one on a core, at the least.
        words: float64[n], of weights that stream to one.
    """

    tilings: int
    owners: Ints
    members: Ints
    sides: Ints
    times: Ints
    energy_pj: Floats
    cycles: Floats
    words: Floats


@helper
def _least_above(sides: Ints, values: Floats, begin: int, end: int, k: int) -> float:
    """The least value of a size, or of one that is as large in both sides: smaller tiles run in the
    loops of the largest tile of their turn."""
    least: float = values[k]
    for n in range(begin, end):
        if sides[0, n] >= sides[0, k] and sides[1, n] >= sides[1, k]:
            least = min(least, values[n])
    return least


@helper
def _largest_left(cycles: Floats, done: Ints, begin: int, end: int) -> int:
    """The place of the most cycles among those that are not done yet."""
    best = -1
    for k in range(begin, end):
        if not done[k] and (best < 0 or cycles[k] > cycles[best]):
            best = k
    return best


@helper
def _end(sizes: SizesOnCores, begin: int) -> int:
    """Where the sizes of a member of a tiling end."""
    end, owner, member = begin, sizes.owners[begin], sizes.members[begin]
    while end < len(sizes.owners) and sizes.owners[end] == owner and sizes.members[end] == member:
        end += 1
    return end


@compiled
def cost_of_turns(sizes: SizesOnCores, cores: int, shared: bool, rate: float) -> Floats:
    """Return float64[3, tilings], energy (pJ) of all tiles, cycles of all members one after
    another, and words of weights that stream, at the least.

    Args:
        sizes: in which members run.
        cores: that take tiles side by side.
        shared: whether DRAM sends weights to all cores at once.
        rate: words of DRAM a cycle.
    """
    count = len(sizes.owners)
    found, done = np.zeros((3, sizes.tilings)), np.zeros(count, np.int64)
    cycles, begin = np.zeros(count), 0
    while begin < count:
        owner, end, tiles, busy = sizes.owners[begin], _end(sizes, begin), 0, 0.0
        for k in range(begin, end):
            energy = _least_above(sizes.sides, sizes.energy_pj, begin, end, k)
            cycles[k] = _least_above(sizes.sides, sizes.cycles, begin, end, k)
            found[0, owner] += energy * sizes.times[k]
        # a turn takes as long as its longest tile: no way to deal them takes less than this one
        words = sizes.words[begin]
        for _ in range(begin, end):
            k = _largest_left(cycles, done, begin, end)
            done[k] = 1
            turns = (tiles + sizes.times[k] + cores - 1) // cores - (tiles + cores - 1) // cores
            busy += turns * max(cycles[k], words / rate if shared else 0.0)
            tiles += sizes.times[k]
        streamed = words * ((tiles + cores - 1) // cores if shared else tiles)
        found[1, owner] += max(busy, streamed / rate)
        found[2, owner] += streamed
        begin = end
    return found
