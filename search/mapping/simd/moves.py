"""Moves of walks over mappings, a block of walks at a time, each undone where it is refused.

A mapping is kept as the slot in which each prime factor of each bound stands (level * 4 + kind of
the kernel's ``loops``), so that a move is a few look-ups and two products, beside the factors,
keys and kept tensors that the lane kernel reads.
"""

from typing import Any, Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import MAX_LEVELS, SPATIAL_X, SPATIAL_Y, TEMPORAL, KernelInputs
from archloom.evaluators.loopnest.simd import LANES, Records

from .draws import free_bounds, prime_powers

#: what a move changes
NOTHING, FACTORS, LOOPS, WAY, KEPT = range(5)

#: shares of moves that swap two loops, exchange two factors, and flip a bit of the bypass mask;
#: all others move one factor. Chosen by benchmarks/mapping/mapping_search.py.
SWAPS: Final = 0.05
EXCHANGES: Final = 0.5
FLIPS: Final = 0.08


#: most prime factors of all bounds: their product has to be an integer of 63 bits
PRIMES: Final = 63

#: What moves of a setup choose from. The prime factors above 1 of all bounds stand in ``prime``,
#: those of dimension d from ``begin[d]`` up to ``begin[d + 1]``; ``dim`` are their dimensions.
#: ``slots`` of each dimension are open to it, listed in ``slot``; ``opened`` says the same by slot.
#: There are loops of ``dims`` dimensions, listed in ``moving``, of which factors of the first
#: ``movable`` may move; ``bits`` (level * 3 + tensor) of the bypass mask may flip, listed in
#: ``free``. ``fixed`` are factors that stand in all mappings, ``ways`` to order the loops of each
#: level (0 for any), and ``both_axes`` whether a dimension may be unrolled along x and y of a mesh.
MOVES: Final = np.dtype(
    [
        ("primes", np.int64),
        ("prime", np.float64, PRIMES),
        ("dim", np.int64, PRIMES),
        ("begin", np.int64, 9),
        ("slots", np.int64, 8),
        ("slot", np.int64, (8, 3 * MAX_LEVELS)),
        ("opened", np.uint8, (8, 4 * MAX_LEVELS)),
        ("dims", np.int64),
        ("moving", np.int64, 8),
        ("movable", np.int64),
        ("bits", np.int64),
        ("free", np.int64, 3 * MAX_LEVELS),
        ("fixed", np.float64, (MAX_LEVELS, 2, 8)),
        ("ways", np.int64, MAX_LEVELS),
        ("both_axes", np.int64),
    ]
)

#: Where each lane stands: the slot of each prime, the way in which loops of each level are
#: ordered, and the ln objective. The key of a loop is eight times its rank in that way, and a
#: number below eight that moves choose.
WALKS: Final = np.dtype(
    [
        ("places", np.uint8, (PRIMES, LANES)),
        ("ways", np.uint8, (MAX_LEVELS, LANES)),
        ("scores", np.float64, LANES),
    ]
)

#: A step of each lane: who it is, its random words, what moves (``kind``) and its ln objective.
#: A move is that of primes ``one`` and ``other`` (-1 for none) from the slots ``was`` and
#: ``other_was``; or of a level (``one``) two dimensions or ways (``was``, ``other``); or a bit.
STEP: Final = np.dtype(
    [
        ("who", np.int64, LANES),
        ("words", np.uint64, LANES),
        ("more", np.uint64, LANES),
        ("kind", np.int64, LANES),
        ("one", np.int64, LANES),
        ("was", np.int64, LANES),
        ("other", np.int64, LANES),
        ("other_was", np.int64, LANES),
        ("score", np.float64, LANES),
    ]
)


def moves_of(setup: KernelInputs) -> Records:
    """Return what moves of a setup choose from: MOVES[1]."""
    levels, moves = len(setup.fanout), np.zeros(1, MOVES)
    one = moves[0]
    opened = np.zeros((8, levels, 4), np.uint8)
    opened[:, :, 0] = setup.within[:, None] == 0
    opened[:, 0, 0] = 1
    meshes = (setup.fanout[:, :, None] > 1) & (setup.spatial > 0)
    opened[:, :, 1:3] = meshes.transpose(2, 0, 1)
    one["opened"][:, : 4 * levels] = opened.reshape(8, -1)
    primes: list[int] = []
    for d, bound in enumerate(free_bounds(setup).tolist()):
        where = np.flatnonzero(one["opened"][d])
        one["slots"][d], one["slot"][d, : len(where)] = len(where), where
        found = [p for p, exponent in prime_powers(bound).items() for _ in range(exponent)]
        one["dim"][len(primes) : len(primes) + len(found)] = d
        primes += found
        one["begin"][d + 1] = len(primes)
    one["primes"], one["prime"][: len(primes)] = len(primes), primes
    one["fixed"][:levels], one["both_axes"] = setup.fixed, setup.both_axes
    one["ways"][:levels] = (setup.ranks[:, :, 0] >= 0).sum(axis=1)
    movable = (free_bounds(setup) > 1) & (one["slots"] > 1)
    moving = [*np.flatnonzero(movable), *np.flatnonzero((setup.bounds > 1) & ~movable)]
    one["dims"], one["movable"], one["moving"][: len(moving)] = len(moving), movable.sum(), moving
    free = np.flatnonzero(setup.optional)
    one["bits"], one["free"][: len(free)] = len(free), free
    return moves


@helper
def pick(word: Any, shift: int, many: int) -> Any:
    """One of ``many`` numbers by 14 bits of a random word."""
    field = (word >> np.uint64(shift)) & np.uint64(0x3FFF)
    return np.int64((field * np.uint64(many)) >> np.uint64(14))


@helper
def slot_of(walks: Any, j: int, i: int) -> Any:
    """Where prime factor ``j`` of lane ``i`` stands, as numba's usual integer."""
    return np.int64(walks.places[j, i])


@helper
def place(moves: Any, walks: Any, nests: Records, i: int, j: int, slot: int) -> None:
    """Let prime factor ``j`` of lane ``i`` stand in a slot."""
    before, d, p = slot_of(walks, j, i), moves.dim[j], moves.prime[j]
    nests[before >> 2].factors[before & 3, d, i] /= p
    nests[slot >> 2].factors[slot & 3, d, i] *= p
    walks.places[j, i] = slot


@helper
def prime_of(moves: Any, d: int, word: Any, shift: int) -> int:
    """One of the prime factors of a dimension."""
    begin = moves.begin[d]
    return begin + pick(word, shift, moves.begin[d + 1] - begin)


@helper
def _other(moves: Any, dims: int, d: int, word: Any, shift: int) -> int:
    """One of the first ``dims`` dimensions but ``d``: the last of them stands in for ``d``."""
    e = moves.moving[pick(word, shift, dims - 1)]
    return moves.moving[dims - 1] if e == d else e


@helper
def permits(moves: Any, nests: Records, i: int, d: int, slot: int) -> bool:
    """Whether a factor of dimension ``d`` may stand in a slot as lane ``i`` now is."""
    kind = slot & 3
    if not moves.opened[d, slot]:
        return False
    if moves.both_axes or kind == TEMPORAL:
        return True
    return bool(nests[slot >> 2].factors[SPATIAL_X + SPATIAL_Y - kind, d, i] == 1.0)


@helper
def _note(step: Any, i: int, kind: int, one: int, was: int, other: int) -> None:
    step.kind[i], step.one[i], step.was[i], step.other[i] = kind, one, was, other


@helper
def move_factor(moves: Any, walks: Any, step: Any, nests: Records, i: int) -> None:
    """Move a prime factor to another slot that is open to it."""
    if moves.movable == 0:
        return
    word = step.words[i]
    d = moves.moving[pick(word, 10, moves.movable)]
    many = moves.slots[d]
    j = prime_of(moves, d, word, 24)
    before = slot_of(walks, j, i)
    # the last slot stands in for the one where the factor is
    slot = moves.slot[d, pick(word, 38, many - 1)]
    slot = moves.slot[d, many - 1] if slot == before else slot
    if permits(moves, nests, i, d, slot):
        _note(step, i, FACTORS, j, before, -1)
        place(moves, walks, nests, i, j, slot)


@helper
def exchange(moves: Any, walks: Any, step: Any, nests: Records, i: int) -> bool:
    """Let prime factors of two dimensions change slots; False if they cannot.

    It keeps a full mesh or buffer nearly full, where two single moves would pass through a
    mapping that is far worse or does not fit.
    """
    if moves.movable < 2:
        return False
    word = step.words[i]
    d = moves.moving[pick(word, 10, moves.movable)]
    e = _other(moves, moves.movable, d, word, 24)
    j, k = prime_of(moves, d, word, 38), prime_of(moves, e, step.more[i], 0)
    a, b = slot_of(walks, j, i), slot_of(walks, k, i)
    if a == b or not permits(moves, nests, i, d, b) or not permits(moves, nests, i, e, a):
        return False
    _note(step, i, FACTORS, j, a, k)
    step.other_was[i] = b
    place(moves, walks, nests, i, j, b)
    place(moves, walks, nests, i, k, a)
    return True


@helper
def _swap(nests: Records, i: int, level: int, d: int, e: int) -> None:
    key = nests[level].key
    key[d, i], key[e, i] = key[e, i], key[d, i]


@helper
def _order(walks: Any, ranks: Ints, nests: Records, i: int, level: int, way: int) -> None:
    """Order the loops of a level in a way; those of equal rank stay as they stand."""
    key = nests[level].key
    for d in range(8):
        key[d, i] = 8.0 * ranks[level, way, d] + key[d, i] % 8.0
    walks.ways[level, i] = way


@helper
def move_loops(moves: Any, ranks: Ints, walks: Any, step: Any, nests: Records, i: int) -> None:
    """Order a level another way, or swap two loops of equal rank.

    The innermost level's order never matters.
    """
    levels, word = nests.shape[0], step.words[i]
    if levels < 2 or moves.dims < 2:
        return
    level = 1 + pick(word, 10, levels - 1)
    ways, now = moves.ways[level], walks.ways[level, i]
    way = pick(step.more[i], 0, ways)
    if ways > 1 and way != now:
        _note(step, i, WAY, level, now, way)
        _order(walks, ranks, nests, i, level, way)
        return
    d = moves.moving[pick(word, 24, moves.dims)]
    e = _other(moves, moves.dims, d, word, 38)
    if ways == 0 or ranks[level, now, d] == ranks[level, now, e]:
        _note(step, i, LOOPS, level, d, e)
        _swap(nests, i, level, d, e)


@helper
def flip(nests: Records, i: int, bit: int) -> None:
    """Let a level keep a tensor that passes it, or let one pass that it keeps."""
    keep, t = nests[bit // 3].keep, bit % 3
    keep[t, i] = 1.0 - keep[t, i]


@helper
def move(moves: Any, ranks: Ints, walks: Any, step: Any, nests: Records, i: int) -> None:
    """Change one thing of lane ``i``, by its random words, and note what."""
    step.kind[i] = NOTHING
    share = np.float64(step.words[i] & np.uint64(0x3FF)) * (1.0 / 1024.0)
    if moves.bits > 0 and (share >= 1.0 - FLIPS or moves.movable == 0):
        bit = moves.free[pick(step.words[i], 10, moves.bits)]
        step.kind[i], step.one[i] = KEPT, bit
        flip(nests, i, bit)
    elif share < SWAPS:
        move_loops(moves, ranks, walks, step, nests, i)
    elif share >= SWAPS + EXCHANGES or not exchange(moves, walks, step, nests, i):
        move_factor(moves, walks, step, nests, i)


@helper
def undo(moves: Any, ranks: Ints, walks: Any, step: Any, nests: Records, i: int) -> None:
    """Undo the last move of lane ``i``."""
    kind, one, was, other = step.kind[i], step.one[i], step.was[i], step.other[i]
    if kind == FACTORS:
        if other >= 0:
            place(moves, walks, nests, i, other, step.other_was[i])
        place(moves, walks, nests, i, one, was)
    elif kind == LOOPS:
        _swap(nests, i, one, was, other)
    elif kind == WAY:
        _order(walks, ranks, nests, i, one, was)
    elif kind == KEPT:
        flip(nests, i, one)


@helper
def follow(
    moves: Any, ranks: Ints, walks: Any, step: Any, nests: Records, i: int, leader: int
) -> None:
    """Make in lane ``i`` the last move of the lane ``leader``, which was where ``i`` is."""
    kind, one, other = step.kind[leader], step.one[leader], step.other[leader]
    if kind == FACTORS:
        place(moves, walks, nests, i, one, slot_of(walks, one, leader))
        if other >= 0:
            place(moves, walks, nests, i, other, slot_of(walks, other, leader))
    elif kind == LOOPS:
        _swap(nests, i, one, step.was[leader], other)
    elif kind == WAY:
        _order(walks, ranks, nests, i, one, other)
    elif kind == KEPT:
        flip(nests, i, one)
