"""Uniform sampling of mappings on the lane kernel: draw, filter, evaluate, keep the best."""

from typing import Any, Final, NamedTuple

import numpy as np

from ..evaluators.compiled import compiled, part
from ..evaluators.kernel import VALID, evaluate_batch, ln_objective
from ..evaluators.lane_records import LANES, Records
from ..evaluators.lane_setup import Lanes, lanes_of
from ..evaluators.lanes import Room, cost_block, filter_block, gather, new_room
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .draws import (
    Draws,
    Words,
    blank_nests,
    draw_candidates,
    draw_factors,
    draw_orders,
    draws_of,
    freely_drawn,
)

#: candidates that the kernel evaluates at a time where lanes cannot
CHUNK: Final = 1024

_score = part(ln_objective)


class Sample(NamedTuple):
    """The best of a stretch of candidates: ln objective (inf if none is valid) and number."""

    score: float
    number: int


class _Hat(NamedTuple):
    """What a thread needs to draw: a block, who is in it, random words, rows that were picked."""

    nests: Records
    who: Int
    bits: Words
    picks: Int


def sample(setup: Setup, seed: int, first: int, count: int) -> Sample:
    """Return the best of ``count`` random candidates of a seed from number ``first`` on.

    The same whether or not lanes cover the setup; the first of several equal ones. Candidates
    that must be changed to be permitted are evaluated one by one.
    """
    lanes = lanes_of(setup) if freely_drawn(setup) else None
    if lanes is None:
        return _sample_one_by_one(setup, seed, first, count)
    rows = (np.zeros(LANES, np.int64), np.zeros(LANES, np.uint64), np.zeros(LANES, np.int64))
    hat = _Hat(blank_nests(setup, 1)[0], *rows)
    found = np.array([np.inf, -1.0])
    word = np.uint64(seed % 2**64)
    room = new_room(len(setup.fanout))
    objective = setup.weights, setup.leakage_pj
    sample_lanes(lanes, draws_of(setup), room, hat, word, first, count, *objective, found)
    return Sample(float(found[0]), int(found[1]))


@compiled
def sample_lanes(
    lanes: Lanes,
    draws: Draws,
    room: Room,
    hat: _Hat,
    seed: Any,
    first: int,
    count: int,
    weights: Float,
    leakage_pj: float,
    found: Float,
) -> None:
    """Set the least ln objective and its number among ``count`` candidates in ``found``."""
    total, blocks = room.total[0], (count + LANES - 1) // LANES
    least, low_energy, low_cycles = np.inf, np.inf, np.inf
    # not a literal, for which all that is called with it would compile apart
    waiting: Any = np.int64(0)
    for b in range(blocks + 1):
        valid, taken = 0, 0
        if b < blocks:
            for i in range(LANES):
                hat.who[i] = first + b * LANES + i
            draw_factors(draws, seed, hat.who, hat.nests, hat.bits, hat.picks)
            valid = filter_block(lanes, hat.nests, room)
            while valid > 0 and hat.who[room.picks[valid - 1]] >= first + count:
                valid -= 1
        while taken < valid or (b == blocks and waiting > 0):
            many = min(valid - taken, LANES - waiting)
            if many > 0:
                picks = room.picks[taken : taken + many]
                gather(lanes, hat.nests, picks, room.pending, waiting)
            for i in range(many):
                room.where[waiting + i] = hat.who[room.picks[taken + i]]
            taken, waiting = taken + many, waiting + many
            if waiting < LANES and b < blocks:
                continue
            draw_orders(draws, seed, room.where, room.pending, hat.bits)
            cost_block(lanes, room.pending, room, False)
            for i in range(waiting):
                cycles = max(total.cycles[0, i], total.cycles[1, i])
                energy = total.energy[i]
                # logarithms take as long as all the rest
                if energy >= low_energy and cycles >= low_cycles:
                    continue
                score = _score(weights, leakage_pj, energy, cycles)
                if score < least:
                    least, low_energy, low_cycles = score, energy, cycles
                    found[0], found[1] = score, room.where[i]
            waiting = np.int64(0)


def _sample_one_by_one(setup: Setup, seed: int, first: int, count: int) -> Sample:
    """Do what :func:`sample_lanes` does with the kernel."""
    best = Sample(np.inf, -1)
    for begin in range(first, first + count, CHUNK):
        many = min(CHUNK, first + count - begin)
        loops, keep = draw_candidates(setup, seed, begin, many)
        status, energy, chip, dram = evaluate_batch(setup, loops, keep)
        cycles = np.maximum(chip, dram)
        valid = status == VALID
        scores = np.full(many, np.inf)
        scores[valid] = ln_objective(setup.weights, setup.leakage_pj, energy[valid], cycles[valid])
        if scores.min() < best.score:
            best = Sample(float(scores.min()), begin + int(scores.argmin()))
    return best
