"""Random candidates by number: block after block for the lane kernel, or as plain arrays.

Candidate i of a seed is the same whoever draws it, in whatever blocks, on however many threads:
its random words are a stretch of one splitmix64 sequence (Steele et al., OOPSLA 2014), whose
words can be computed at any place. Each dimension takes a row of a table of all ordered
factorisations over the slots that are open to it, so that all are equally likely; loops over
time get random keys instead of a shuffle; a bit decides about each tensor that may be bypassed.
"""

from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, Words
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import ORDER, KernelInputs
from archloom.evaluators.loopnest.simd import LANES, Records, new_nests

#: rows of the largest table; a bound with more factorisations is drawn as a product of parts,
#: which are uniform each
ROWS: Final = 4096

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


class Draws(NamedTuple):
    """How candidates of a setup are drawn.

    ``parts[A, 5]``: dimension, whether it is the first part of that, rows and begin of its table
    and begin of its slots in ``slots`` (level * 3 + kind; those of part A end at the begin of
    part A + 1, which is the last row). ``table`` holds factors, a row of all choices for each
    slot. ``free`` lists the bits (level * 3 + tensor) of ``keep`` that are drawn, ``dims`` the
    dimensions that have loops, and ``words`` are the random words of a candidate.
    """

    parts: Ints
    slots: Ints
    table: Floats
    free: Ints
    dims: Ints
    words: int


def draws_of(setup: KernelInputs) -> Draws:
    """Return the tables that candidates of a setup are drawn from."""
    left, slots = free_bounds(setup), _open_slots(setup)
    loops = tuple(
        # a dimension without a loop has no part: nothing of it is drawn
        (d, int(left[d]), tuple(np.flatnonzero(slots[d]).tolist()))
        for d in np.flatnonzero(left > 1).tolist()
    )
    dims, free = (
        tuple(np.flatnonzero(some).tolist()) for some in (setup.bounds > 1, setup.optional)
    )
    return _draws(loops, dims, free, len(setup.fanout))


# a search that has found a candidate asks again for those of the same problem, to draw it anew
@lru_cache(maxsize=8)
def _draws(
    loops: tuple[tuple[int, int, tuple[int, ...]], ...],
    dims: tuple[int, ...],
    free: tuple[int, ...],
    levels: int,
) -> Draws:
    """Return the tables of (dimension, bound, open slots) of all loops."""
    parts: list[list[int]] = []
    slots: list[int] = []
    tables, begin = [np.zeros(0)], 0
    for d, bound, open_slots in loops:
        for i, value in enumerate(_values(bound, len(open_slots))):
            table = factorisations(value, len(open_slots))
            parts.append([d, i == 0, table.shape[1], begin, len(slots)])
            slots += open_slots
            tables.append(table.ravel())
            begin += table.size
    parts.append([0, 0, 0, 0, len(slots)])
    words = len(parts) // 2 + bool(free) + (levels - 1) * -(-len(dims) // 4)
    return Draws(
        np.array(parts, np.int64),
        np.array(slots, np.int64),
        np.concatenate(tables),
        np.array(free, np.int64),
        np.array(dims, np.int64),
        words,
    )


def free_bounds(setup: KernelInputs) -> Ints:
    """Return what is left of the bounds beside factors that stand in all mappings: int64[8]."""
    left: Ints = setup.bounds // setup.fixed.prod(axis=(0, 1))
    return left


def _open_slots(setup: KernelInputs) -> Flags:
    """Return uint8[8, L * 3]: which slots (level * 3 + kind) are open to each dimension."""
    levels = len(setup.fanout)
    slots = np.ones((8, levels, 3), np.uint8)
    slots[:, 1:, 0] = (setup.within == 0)[:, None]
    slots[:, :, 1:] = ((setup.fanout > 1)[:, :, None] & (setup.spatial > 0)).transpose(2, 0, 1)
    return slots.reshape(8, -1)


def _values(bound: int, slots: int) -> list[int]:
    """Return factors of ``bound`` that have at most ROWS factorisations each, all primes in one
    if they fit.
    """
    found: list[int] = []
    rows = ROWS + 1
    for p, exponent in prime_powers(bound).items():
        left = exponent
        while left:
            here = next((e for e in range(left, 1, -1) if comb(e + slots - 1, e) <= ROWS), 1)
            many = comb(here + slots - 1, here)
            if rows * many <= ROWS:
                found[-1], rows = found[-1] * p**here, rows * many
            else:
                found, rows = [*found, p**here], many
            left -= here
    return found


def prime_powers(value: int) -> dict[int, int]:
    """Return the prime factors of ``value`` and how often each divides it."""
    found: dict[int, int] = {}
    p = 2
    while value > 1:
        if p * p > value:
            p = value
        while value % p == 0:
            found[p] = found.get(p, 0) + 1
            value //= p
        p += 1
    return found


@lru_cache(maxsize=256)
def factorisations(value: int, slots: int) -> Floats:
    """Return float64[slots, B]: all ways to write ``value`` as an ordered product, in columns."""
    rows = np.ones((1, slots))
    for p, exponent in prime_powers(value).items():
        places = np.array(list(combinations_with_replacement(range(slots), exponent)))
        powers = np.ones((len(places), slots))
        for column in places.T:
            powers[np.arange(len(places)), column] *= p
        rows = (rows[:, None] * powers).reshape(-1, slots)
    return np.ascontiguousarray(rows.T)


@helper
def draw_words(seed: Any, words: int, which: int, who: Ints, bits: Words) -> None:
    """Set a random word of each candidate in ``who``: number ``which`` of its ``words``."""
    step, place = np.uint64(words), np.uint64(which + 1)
    for i in range(LANES):
        z = seed + (np.uint64(who[i]) * step + place) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits[i] = z ^ (z >> np.uint64(31))


@helper
def draw_factors(
    draws: Draws, seed: Any, who: Ints, nests: Records, bits: Words, picks: Ints
) -> None:
    """Draw factors and kept tensors of the candidates in ``who``."""
    parts, slots, table = draws.parts, draws.slots, draws.table
    for a in range(parts.shape[0] - 1):
        if a % 2 == 0:
            draw_words(seed, draws.words, a // 2, who, bits)
        d, first, rows, begin = parts[a, 0], parts[a, 1], parts[a, 2], parts[a, 3]
        shift, many = np.uint64(32 * (a % 2)), np.uint64(rows)
        for i in range(LANES):
            half = (bits[i] >> shift) & np.uint64(0xFFFFFFFF)
            picks[i] = begin + np.int64((half * many) >> np.uint64(32))
        for j in range(parts[a, 4], parts[a + 1, 4]):
            nest, kind, row = nests[slots[j] // 3], slots[j] % 3, rows * (j - parts[a, 4])
            if first:
                for i in range(LANES):
                    nest.factors[kind, d, i] = table[row + picks[i]]
            else:
                for i in range(LANES):
                    nest.factors[kind, d, i] *= table[row + picks[i]]
    if draws.free.shape[0] > 0:
        draw_words(seed, draws.words, parts.shape[0] // 2, who, bits)
    for j in range(draws.free.shape[0]):
        nest, t = nests[draws.free[j] // 3], draws.free[j] % 3
        bit = np.uint64(draws.free[j])
        for i in range(LANES):
            nest.keep[t, i] = np.float64((bits[i] >> bit) & np.uint64(1))


@helper
def draw_orders(draws: Draws, seed: Any, who: Ints, nests: Records, bits: Words) -> None:
    """Draw keys of the loops of the candidates in ``who``: 16 random bits, ties by dimension."""
    dims = draws.dims
    which = draws.parts.shape[0] // 2 + (1 if draws.free.shape[0] > 0 else 0)
    for level in range(1, nests.shape[0]):
        for j in range(dims.shape[0]):
            if j % 4 == 0:
                draw_words(seed, draws.words, which, who, bits)
                which += 1
            d, shift = dims[j], np.uint64(16 * (j % 4))
            for i in range(LANES):
                random = (bits[i] >> shift) & np.uint64(0xFFFF)
                nests[level].key[d, i] = np.float64(random * np.uint64(8) + np.uint64(d))


@compiled
def draw_blocks(draws: Draws, seed: Any, first: int, blocks: Records) -> None:
    """Draw candidates from number ``first`` on into ``blocks[B, L]`` of :func:`blank_nests`."""
    who, picks = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    bits = np.empty(LANES, np.uint64)
    for b in range(blocks.shape[0]):
        for i in range(LANES):
            who[i] = first + b * LANES + i
        draw_factors(draws, seed, who, blocks[b], bits, picks)
        draw_orders(draws, seed, who, blocks[b], bits)


def blank_nests(setup: KernelInputs, *shape: int) -> Records:
    """Return candidates [*shape, L] that keep and unroll what they must, to be drawn."""
    nests = new_nests(*shape, len(setup.fanout))
    nests["factors"][..., 1:, :, :] = setup.fixed[..., None]
    nests["keep"] = setup.allowed[..., None]
    return nests


def freely_drawn(setup: KernelInputs) -> bool:
    """Whether all that is drawn is permitted as it is."""
    return bool(setup.both_axes) and setup.ranks.shape[1] == 0


def _constrain(setup: KernelInputs, first: int, loops: Ints) -> None:
    """Change candidates from number ``first`` on into ones that constraints permit.

    What is unrolled along y beside x goes to the loop over time of the level; loops are sorted
    into one way to order them, each way for as many candidates.
    """
    if not setup.both_axes:
        both = (loops[:, :, 1] > 1) & (loops[:, :, 2] > 1)
        loops[:, :, 0] *= np.where(both, loops[:, :, 2], 1)
        loops[:, :, 2] = np.where(both, 1, loops[:, :, 2])
    numbers = np.arange(first, first + len(loops))
    for level in range(loops.shape[1] if setup.ranks.shape[1] else 0):
        ways = int((setup.ranks[level, :, 0] >= 0).sum())
        numbers, way = np.divmod(numbers, ways)
        order = loops[:, level, ORDER]
        ranks = np.take_along_axis(setup.ranks[level][way], order, axis=1)
        sort = np.argsort(ranks, axis=1, kind="stable")
        loops[:, level, ORDER] = np.take_along_axis(order, sort, axis=1)


def draw_candidates(setup: KernelInputs, seed: int, first: int, count: int) -> tuple[Ints, Flags]:
    """Return candidates from number ``first`` on as ``loops[B, L, 4, 8]`` and ``keep[B, L, 3]``."""
    blocks = blank_nests(setup, -(-count // LANES))
    draw_blocks(draws_of(setup), np.uint64(seed % 2**64), first, blocks)
    lanes_last = (0, 4, 1, 2, 3)
    shape = (-1, len(setup.fanout))
    factors = blocks["factors"].transpose(lanes_last).reshape(*shape, 3, 8)[:count]
    keep = blocks["keep"].transpose(0, 3, 1, 2).reshape(*shape, 3)[:count]
    keys = blocks["key"].transpose(0, 3, 1, 2).reshape(*shape, 8)[:count]
    loops = np.empty((count, shape[1], 4, 8), np.int64)
    loops[:, :, :ORDER] = factors
    # dimensions without loops stand outside: their key is 1, below all others but that of 0
    loops[:, :, ORDER] = np.argsort(np.where(setup.bounds > 1, keys, np.inf), axis=2, kind="stable")
    if not freely_drawn(setup):
        _constrain(setup, first, loops)
    return loops, keep.astype(np.uint8, order="C")
