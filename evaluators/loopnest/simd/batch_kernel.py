"""The kernel for many candidates at once: SIMD over candidates, the same results in every bit.

A batch of LANES candidates is filtered, the valid ones are gathered until they fill a batch of
their own, and that one is evaluated. Limits, prices and switches are numbers that compiled code
reads, so that another architecture costs no compilation. What SIMD records do not cover (energy of
networks and addresses, leakage of instances in use, counts that floats cannot hold) goes through
the kernel: :func:`evaluate_simd` always answers.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import helper, lean

from ...arrays import Flags, Floats, Ints
from ..data_reuse import ORDER
from ..kernel import evaluate_batch
from ..kernel_inputs import KernelInputs
from .cost import (
    VALID,
    ask,
    begin,
    count,
    fill_array,
    finish,
    fits_capacity,
    fits_mesh,
    load,
    price,
    spare,
    wait,
    widen,
)
from .inputs import SimdInputs, simd_inputs
from .records import LANES, OF_DRAM, ON_CHIP, TOTAL, Records, new_nests, new_tiles
from .tiles import cross, differ, enter, enter_unpadded, measure, occupy, unroll, walk

#: blocks that :func:`evaluate_simd` lays out at a time: they fit the second cache
CHUNK: Final = 16


class Room(NamedTuple):
    """Scratch space of one thread: tiles, sums, a batch that fills up and who is in it."""

    tiles: Records
    total: Records
    pending: Records
    picks: Ints
    where: Ints


def new_room(levels: int) -> Room:
    """Return scratch space for problems of so many levels."""
    rows = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    return Room(new_tiles(levels), np.zeros(1, TOTAL), new_nests(levels), *rows)


@helper
def _shape_block(problem: Any, levels: Records, nests: Records, tiles: Records) -> None:
    """Set the extents of all tiles."""
    dims = problem.dim[: problem.dims]
    for level in range(levels.shape[0]):
        unroll(nests[level], tiles[level], tiles[level + 1], dims, levels[level].spreads)


@helper
def _check_block(levels: Records, nests: Records, tiles: Records, total: Any) -> None:
    """Set the status of each candidate: the first rule that it breaks, innermost level first."""
    for i in range(LANES):
        total.status[i] = VALID
    for level in range(levels.shape[0]):
        if levels[level].spreads:
            fits_mesh(levels[level].fanout, nests[level], total)
        if levels[level].limited:
            fits_capacity(levels[level], nests[level], tiles[level + 1], total)


@helper
def _move_block(
    problem: Any, levels: Records, unpadded: Floats, apart: Floats, nests: Records, tiles: Records
) -> None:
    """Set what moves: how often tiles change, between how many instances, how many words."""
    outermost = levels.shape[0] - 1
    for level in range(outermost, -1, -1):
        if level > 0:
            walk(nests[level], tiles[level], tiles[level + 1], problem.window)
        enter(tiles[level + 1])
        if levels[level].spreads:
            for axis in range(2):
                if levels[level].crossed[axis]:
                    begin, columns = 2 * problem.table_begin[axis], problem.table_columns[axis]
                    cross(tiles[level], axis, apart, begin, columns)
            differ(tiles[level])
        occupy(tiles[level], tiles[level + 1])
    if problem.cut:
        enter_unpadded(
            nests[outermost], tiles[outermost], unpadded, problem.table_rows, problem.table_columns
        )


@helper
def _evaluate_block(
    problem: Any, levels: Records, nests: Records, tiles: Records, total: Any
) -> None:
    """Set energy and cycles of each candidate."""
    begin(nests[0], tiles[1], problem.served, total)
    for v in range(levels.shape[0]):
        level, nest, tile = levels[v], nests[v], tiles[v + 1]
        for t in range(3):
            if not level.used[t]:
                continue
            if level.spreads:
                ask(t, level.multicast[t], tiles[v], total)
            if not level.held[t]:
                continue
            count(t, level.inside[t], nest, tile, total)
            if level.ports:
                load(t, level.unit[t], total)
            if level.width[t] > 1:
                widen(level.width[t], total)
            if problem.zeros:
                spare(t, nest, total)
            price(t, level, tile, total)
        if level.ports:
            wait(level.bandwidth, OF_DRAM if v == levels.shape[0] - 1 else ON_CHIP, total)
    finish(problem.macs_pj, problem.busy, total)
    if problem.fill_drain:
        fill_array(problem, nests, tiles[1], total)


@helper
def cost_block(lanes: SimdInputs, nests: Records, room: Room, filtered: bool) -> None:
    """Set energy and cycles of candidates that are valid (of others they mean nothing).

    ``filtered`` says that :func:`filter_block` has just left its tiles of the same block.
    """
    problem, levels = lanes.problem[0], lanes.levels
    if not filtered:
        _shape_block(problem, levels, nests, room.tiles)
    for level in range(levels.shape[0]):
        if not (filtered and levels[level].limited):
            measure(room.tiles[level + 1], problem.window)
    _move_block(problem, levels, lanes.unpadded, lanes.apart, nests, room.tiles)
    _evaluate_block(problem, levels, nests, room.tiles, room.total[0])


@helper
def filter_block(lanes: SimdInputs, nests: Records, room: Room) -> int:
    """Return how many candidates are valid, and set their lanes in ``room.picks``."""
    problem, total, found = lanes.problem[0], room.total[0], 0
    _shape_block(problem, lanes.levels, nests, room.tiles)
    for level in range(lanes.levels.shape[0]):
        if lanes.levels[level].limited:
            measure(room.tiles[level + 1], problem.window)
    _check_block(lanes.levels, nests, room.tiles, total)
    for i in range(LANES):
        if total.status[i] == VALID:
            room.picks[found] = i
            found += 1
    return found


@helper
def gather(lanes: SimdInputs, nests: Records, picks: Ints, pending: Records, begin: int) -> None:
    """Copy factors and kept tensors of the lanes ``picks`` to a block, from lane ``begin`` on."""
    problem, levels = lanes.problem[0], lanes.levels
    for level in range(levels.shape[0]):
        source, target = nests[level], pending[level]
        for kind in range(3 if levels[level].spreads else 1):
            for j in range(problem.dims):
                d = problem.dim[j]
                for i in range(picks.shape[0]):
                    target.factors[kind, d, begin + i] = source.factors[kind, d, picks[i]]
        for t in range(3):
            for i in range(picks.shape[0]):
                target.keep[t, begin + i] = source.keep[t, picks[i]]


@helper
def _gather_keys(
    lanes: SimdInputs, nests: Records, picks: Ints, pending: Records, begin: int
) -> None:
    """Copy the order of loops of the lanes ``picks`` to a block, from lane ``begin`` on."""
    problem = lanes.problem[0]
    for level in range(1, lanes.levels.shape[0]):
        source, target = nests[level], pending[level]
        for j in range(problem.dims):
            d = problem.dim[j]
            for i in range(picks.shape[0]):
                target.key[d, begin + i] = source.key[d, picks[i]]


@lean
def evaluate_blocks(
    lanes: SimdInputs,
    room: Room,
    blocks: Records,
    status: NDArray[np.int8],
    energy: Floats,
    cycles: Floats,
) -> None:
    """Evaluate ``blocks[B, L]``; of invalid candidates only the status is set.

    ``status`` and ``energy`` have B * LANES entries, and so have both rows (on chip, of DRAM)
    of ``cycles``.
    """
    count_, total = blocks.shape[0], room.total[0]
    # not a literal, for which all that is called with it would compile apart
    waiting: Any = np.int64(0)
    for b in range(count_ + 1):
        found, taken = 0, 0
        if b < count_:
            found = filter_block(lanes, blocks[b], room)
            for i in range(LANES):
                status[b * LANES + i] = np.int8(total.status[i])
        while taken < found or (b == count_ and waiting > 0):
            many = min(found - taken, LANES - waiting)
            for i in range(many):
                room.where[waiting + i] = b * LANES + room.picks[taken + i]
            block = room.pending
            if many == LANES:
                block = blocks[b]
            elif many > 0:
                picks = room.picks[taken : taken + many]
                gather(lanes, blocks[b], picks, block, waiting)
                _gather_keys(lanes, blocks[b], picks, block, waiting)
            taken, waiting = taken + many, waiting + many
            if waiting == LANES or b == count_:
                cost_block(lanes, block, room, many == LANES)
                for i in range(waiting):
                    energy[room.where[i]] = total.energy[i]
                    cycles[ON_CHIP, room.where[i]] = total.cycles[ON_CHIP, i]
                    cycles[OF_DRAM, room.where[i]] = total.cycles[OF_DRAM, i]
                waiting = np.int64(0)


@lean
def pack(loops: Ints, keep: Flags, blocks: Records) -> None:
    """Lay ``loops[B, L, 4, 8]`` and ``keep[B, L, 3]`` out in batches; the last one fills up."""
    for at in range(blocks.shape[0] * LANES):
        one = min(at, loops.shape[0] - 1)
        for level in range(loops.shape[1]):
            nest, lane = blocks[at // LANES, level], at % LANES
            for d in range(8):
                for kind in range(3):
                    nest.factors[kind, d, lane] = loops[one, level, kind, d]
                nest.key[loops[one, level, ORDER, d], lane] = d
            for t in range(3):
                nest.keep[t, lane] = keep[one, level, t]


def evaluate_simd(
    setup: KernelInputs, loops: Ints, keep: Flags
) -> tuple[NDArray[np.int8], Floats, Floats, Floats]:
    """Evaluate ``loops[B, L, 4, 8]`` with ``keep[B, L, 3]``, as the kernel's ``evaluate_batch``.

    Returns status, energy_pj, on-chip cycles and DRAM cycles, each of shape [B].
    """
    spreads: Flags = np.any(loops[:, :, 1:ORDER] != 1, axis=(0, 2, 3)).astype(np.uint8)
    held: Flags = np.max(keep, axis=0, initial=0)
    lanes = simd_inputs(setup, spreads, held)
    # tables are laid out for exact factors
    exact = (loops[:, :, :ORDER].prod(axis=(1, 2)) == setup.bounds).all()
    if lanes is None or not exact or len(loops) == 0:
        return evaluate_batch(setup, loops, keep)
    room, many = new_room(loops.shape[1]), -(-len(loops) // LANES)
    status = np.zeros(many * LANES, np.int8)
    energy, cycles = np.full(many * LANES, np.inf), np.full((2, many * LANES), np.inf)
    blocks = new_nests(CHUNK, loops.shape[1])
    for first in range(0, many, CHUNK):
        some = blocks[: min(CHUNK, many - first)]
        here = slice(first * LANES, (first + len(some)) * LANES)
        pack(loops[here], keep[here], some)
        evaluate_blocks(lanes, room, some, status[here], energy[here], cycles[:, here])
    count_ = len(loops)
    return status[:count_], energy[:count_], cycles[ON_CHIP, :count_], cycles[OF_DRAM, :count_]
