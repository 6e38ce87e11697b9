"""Candidates in lanes: where each stands, how it gets there, and what it costs.

A :class:`Stand` is one mapping by itself; a block of them are the ``nests`` that the lane kernel
reads and the slots of primes (``lane_moves.WALKS``).
"""

from typing import Any, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import (
    ORDER,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    KernelInputs,
    Workspace,
    evaluate_one,
    new_workspace,
)
from archloom.evaluators.loopnest.simd import (
    LANES,
    OF_DRAM,
    ON_CHIP,
    VALID,
    Records,
    Room,
    SimdInputs,
    cost_block,
    filter_block,
    new_nests,
    new_room,
)

from ..objectives import score_in_batch
from .moves import STEP, WALKS, moves_of


class Stand(NamedTuple):
    """One mapping: ``places`` of its primes, ``keys[L, 8]``, ``keep[L, 3]`` and ``ways[L]``."""

    places: Flags
    keys: Floats
    keep: Floats
    ways: Flags


class Block(NamedTuple):
    """Where all lanes stand after a number of whole blocks, and the incumbent.

    ``nests[L]`` is what the lane kernel reads, ``lanes[1]`` are the slots and scores of all lanes,
    ``best`` is the incumbent and ``least[1]`` its ln objective.
    """

    nests: Records
    lanes: Records
    best: Stand
    least: Floats


def new_block(setup: KernelInputs) -> Block:
    """Return a block whose lanes all stand where every search begins, without a score."""
    moves = moves_of(setup)
    first = start(setup, moves)
    block = Block(new_nests(len(setup.fanout)), np.zeros(1, WALKS), first, np.array([np.inf]))
    put_all(moves, first, np.inf, block.lanes, block.nests)
    return block


def copied(block: Block) -> Block:
    """Return a block that may be changed in place."""
    places, keys, keep, ways = block.best
    best = Stand(places.copy(), keys.copy(), keep.copy(), ways.copy())
    return Block(block.nests.copy(), block.lanes.copy(), best, block.least.copy())


class BatchEvaluator(NamedTuple):
    """How candidates get their ln objectives, by exponents ``weights[2]`` and the chip's leakage
    (pJ in a cycle): all lanes at once, or where the SIMD kernel does not cover a setup one by one.
    Exactly one of ``simd`` and ``setup`` is None.
    """

    simd: SimdInputs | None
    setup: KernelInputs | None
    weights: Floats
    leakage_pj: float


def evaluator_of(setup: KernelInputs, simd: SimdInputs | None) -> BatchEvaluator:
    """Return how candidates of a setup are evaluated."""
    alone = setup if simd is None else None
    return BatchEvaluator(simd, alone, setup.weights, setup.leakage_pj)


class Stretch(NamedTuple):
    """The candidates of a seed (a 64-bit word) from number ``first`` on, so many."""

    seed: np.uint64
    first: int
    length: int


def stretch(seed: int, first: int, length: int) -> Stretch:
    """Return a stretch of the candidates of any seed."""
    return Stretch(np.uint64(seed % 2**64), first, length)


class Scratch(NamedTuple):
    """What a thread needs: room for costs, a step, and one candidate as the kernel takes it."""

    room: Room
    step: Records
    loops: Ints
    keep: Flags
    found: Workspace


def new_scratch(levels: int) -> Scratch:
    """Return what a thread needs for problems of so many levels."""
    return Scratch(
        new_room(levels),
        np.zeros(1, STEP),
        np.empty((levels, 4, 8), np.int64),
        np.empty((levels, 3), np.uint8),
        new_workspace(levels),
    )


def start(setup: KernelInputs, moves: Records) -> Stand:
    """Return the mapping that fits wherever any does: every loop at the outermost level, but for
    those that constraints put elsewhere.
    """
    levels = len(setup.fanout)
    # where bypass is free it is also what fits best
    keep = np.where(setup.optional, 0, setup.allowed).astype(np.float64)
    places = np.where(setup.within[moves["dim"][0]], 0, 4 * (levels - 1)).astype(np.uint8)
    keys = np.tile(np.arange(8.0), (levels, 1))
    if setup.ranks.shape[1]:
        keys += 8.0 * setup.ranks[:, 0]
    return Stand(places, keys, keep, np.zeros(levels, np.uint8))


def mapping_of(setup: KernelInputs, one: Stand) -> tuple[Ints, Flags]:
    """Return a mapping as ``loops[L, 4, 8]`` and ``keep[L, 3]``."""
    moves = moves_of(setup)[0]
    many = moves["primes"]
    places, primes = one.places[:many], moves["prime"][:many].astype(np.int64)
    loops = np.ones((len(one.keys), 4, 8), np.int64)
    loops[:, SPATIAL_X:ORDER] = setup.fixed
    np.multiply.at(loops, (places >> 2, places & 3, moves["dim"][:many]), primes)
    loops[:, ORDER] = np.argsort(one.keys, axis=1)
    return loops, one.keep.astype(np.uint8)


@helper
def put(moves: Any, lanes: Any, one: Stand, score: float, nests: Records, i: int) -> None:
    """Let lane ``i`` stand at a mapping."""
    for level in range(nests.shape[0]):
        for d in range(8):
            nests[level].factors[TEMPORAL, d, i] = 1.0
            nests[level].factors[SPATIAL_X, d, i] = moves.fixed[level, 0, d]
            nests[level].factors[SPATIAL_Y, d, i] = moves.fixed[level, 1, d]
            nests[level].key[d, i] = one.keys[level, d]
        for t in range(3):
            nests[level].keep[t, i] = one.keep[level, t]
        lanes.ways[level, i] = one.ways[level]
    for j in range(moves.primes):
        slot = one.places[j]
        nests[slot >> 2].factors[slot & 3, moves.dim[j], i] *= moves.prime[j]
        lanes.places[j, i] = slot
    lanes.scores[i] = score


@lean(brief=True)
def put_all(moves: Records, one: Stand, score: float, lanes: Records, nests: Records) -> None:
    """Let all lanes stand at a mapping."""
    for i in range(LANES):
        put(moves[0], lanes[0], one, score, nests, i)


@helper
def take(moves: Any, lanes: Any, nests: Records, i: int, best: Stand) -> None:
    """Let ``best`` be where lane ``i`` stands."""
    for j in range(moves.primes):
        best.places[j] = lanes.places[j, i]
    for level in range(nests.shape[0]):
        for d in range(8):
            best.keys[level, d] = nests[level].key[d, i]
        for t in range(3):
            best.keep[level, t] = nests[level].keep[t, i]
        best.ways[level] = lanes.ways[level, i]


@helper
def _unpack(nests: Records, i: int, loops: Ints, keep: Flags) -> None:
    """Lay lane ``i`` out as the kernel takes it."""
    for level in range(nests.shape[0]):
        nest = nests[level]
        for d in range(8):
            for kind in range(ORDER):
                loops[level, kind, d] = np.int64(nest.factors[kind, d, i])
            inside = 0
            for e in range(8):
                inside += 1 if nest.key[e, i] < nest.key[d, i] else 0
            loops[level, ORDER, inside] = d
        for t in range(3):
            keep[level, t] = np.uint8(nest.keep[t, i])


@helper
def _evaluate(
    simd: Any, setup: Any, evaluator: BatchEvaluator, nests: Records, scratch: Scratch
) -> None:
    """Set ln objectives; for the one of ``simd`` and ``setup`` that is None numba leaves out what
    is not reached.
    """
    total, score = scratch.room.total[0], scratch.step[0].score
    weights, leakage_pj = evaluator.weights, evaluator.leakage_pj
    if simd is not None:
        if filter_block(simd, nests, scratch.room) > 0:
            cost_block(simd, nests, scratch.room, True)
        for i in range(LANES):
            score[i] = np.inf
            if total.status[i] == VALID:
                cycles = max(total.cycles[ON_CHIP, i], total.cycles[OF_DRAM, i])
                score[i] = score_in_batch(weights, leakage_pj, total.energy[i], cycles)
    if setup is not None:
        loops, keep = scratch.loops, scratch.keep
        for i in range(LANES):
            _unpack(nests, i, loops, keep)
            status, energy, chip, dram = evaluate_one(setup, loops, keep, scratch.found)
            score[i] = np.inf
            if status == 0:
                score[i] = score_in_batch(weights, leakage_pj, energy, max(chip, dram))


@helper
def evaluate(evaluator: BatchEvaluator, nests: Records, scratch: Scratch) -> None:
    """Set ln objectives of a block, ``scratch.step``; inf where a candidate is not valid."""
    _evaluate(evaluator.simd, evaluator.setup, evaluator, nests, scratch)


@helper
def number(step: Any, block: int) -> None:
    """Set which candidates the lanes of a block are."""
    for i in range(LANES):
        step.who[i] = block * LANES + i


@helper
def keep_best(
    moves: Any, lanes: Any, nests: Records, step: Any, seen: int, incumbent: Block
) -> None:
    """Let the incumbent be the best of the first ``seen`` lanes, if that is better."""
    least = 0
    for i in range(1, seen):
        least = i if step.score[i] < step.score[least] else least
    if step.score[least] < incumbent.least[0]:
        take(moves, lanes, nests, least, incumbent.best)
        incumbent.least[0] = step.score[least]
