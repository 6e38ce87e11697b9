"""Random sampling of mappings behind the protocol of all mapping searches."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Ints, Words
from archloom.evaluators.jit import lean
from archloom.evaluators.loopnest import (
    VALID,
    KernelInputs,
    MappingProblem,
    evaluate_batch,
    ln_objective,
)
from archloom.evaluators.loopnest.simd import (
    LANES,
    OF_DRAM,
    ON_CHIP,
    Records,
    Room,
    cost_block,
    filter_block,
    gather,
    new_room,
    simd_inputs,
)

from .objectives import score_in_batch
from .protocol import MappedLayer, MappingSearch
from .result import mapped_layer, no_mapping, reset
from .simd import (
    BatchEvaluator,
    Draws,
    Stretch,
    blank_nests,
    draw_candidates,
    draw_factors,
    draw_orders,
    draws_of,
    evaluator_of,
    freely_drawn,
    stretch,
)


@dataclass(frozen=True)
class RandomState:
    """The incumbent ``loops[L, 4, 8]`` and ``keep[L, 3]`` and its ln objective.

    Before the first evaluation it is the trivial mapping, with no score (inf).
    """

    evaluations: int
    seed: int
    loops: Ints
    keep: Flags
    score: float


class RandomMapping(MappingSearch[RandomState]):
    """Uniform draws of factors, orders and bypass, as Timeloop's random mapper does.

    The very first candidate is the trivial one, which fits wherever any does.
    """

    name: ClassVar[str] = "random"

    def start(self, problem: MappingProblem, seed: int) -> RandomState:
        """Return the state before anything was evaluated."""
        levels = len(problem.hardware.levels)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(problem.setup, loops, keep)
        return RandomState(0, seed % 2**64, loops, keep, np.inf)

    def advance(self, problem: MappingProblem, state: RandomState, budget: int) -> RandomState:
        """Evaluate ``budget`` more mappings."""
        setup, done = problem.setup, state.evaluations
        after = replace(state, evaluations=done + budget)
        if done == 0 and budget > 0:
            status, energy, chip, dram = evaluate_batch(setup, state.loops[None], state.keep[None])
            if status[0] == VALID:
                cycles = max(chip[0], dram[0])
                score = ln_objective(setup.weights, setup.leakage_pj, energy[0], cycles)
                after = replace(after, score=float(score))
        first = max(1, done)
        found = sample(setup, state.seed, first, done + budget - first)
        if found.score < after.score:
            drawn, kept = draw_candidates(setup, state.seed, found.number, 1)
            after = replace(after, loops=drawn[0], keep=kept[0], score=found.score)
        return after

    def best(self, problem: MappingProblem, state: RandomState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        if state.score == np.inf:
            return no_mapping(problem, state.evaluations)
        return mapped_layer(problem, state.loops, state.keep, state.evaluations)


#: candidates that the kernel evaluates at a time where lanes cannot
CHUNK: Final = 1024


class Sample(NamedTuple):
    """The best of a stretch of candidates: ln objective (inf if none is valid) and number."""

    score: float
    number: int


#: The best of some candidates: its ln objective (inf if none is valid), and which it is.
BEST: Final = np.dtype([("score", np.float64), ("number", np.int64)])


class _Scratch(NamedTuple):
    """What a thread needs: room for costs, a block that is drawn, who is in it, random words, and
    rows that were picked.
    """

    room: Room
    nests: Records
    who: Ints
    bits: Words
    picks: Ints


def sample(setup: KernelInputs, seed: int, first: int, count: int) -> Sample:
    """Return the best of ``count`` random candidates of a seed from number ``first`` on.

    The same whether or not lanes cover the setup; the first of several equal ones. Candidates
    that must be changed to be permitted are evaluated one by one.
    """
    simd = simd_inputs(setup) if freely_drawn(setup) else None
    if simd is None:
        return _sample_one_by_one(setup, seed, first, count)
    rows = (np.zeros(LANES, np.int64), np.zeros(LANES, np.uint64), np.zeros(LANES, np.int64))
    scratch = _Scratch(new_room(len(setup.fanout)), blank_nests(setup, 1)[0], *rows)
    best, some = np.array([(np.inf, -1)], BEST), stretch(seed, first, count)
    sample_simd(evaluator_of(setup, simd), draws_of(setup), scratch, some, best)
    return Sample(float(best[0]["score"]), int(best[0]["number"]))


@lean
def sample_simd(
    evaluator: BatchEvaluator, draws: Draws, scratch: _Scratch, some: Stretch, best: Records
) -> None:
    """Set which of some candidates is the best, ``best[1]``."""
    simd: Any = evaluator.simd
    room, nests, who = scratch.room, scratch.nests, scratch.who
    weights, leakage_pj, found = evaluator.weights, evaluator.leakage_pj, best[0]
    seed, first, end = some.seed, some.first, some.first + some.length
    total, blocks = room.total[0], (some.length + LANES - 1) // LANES
    least, low_energy, low_cycles = np.inf, np.inf, np.inf
    # not a literal, for which all that is called with it would compile apart
    waiting: Any = np.int64(0)
    for b in range(blocks + 1):
        valid, taken = 0, 0
        if b < blocks:
            for i in range(LANES):
                who[i] = first + b * LANES + i
            draw_factors(draws, seed, who, nests, scratch.bits, scratch.picks)
            valid = filter_block(simd, nests, room)
            while valid > 0 and who[room.picks[valid - 1]] >= end:
                valid -= 1
        while taken < valid or (b == blocks and waiting > 0):
            many = min(valid - taken, LANES - waiting)
            if many > 0:
                picks = room.picks[taken : taken + many]
                gather(simd, nests, picks, room.pending, waiting)
            for i in range(many):
                room.where[waiting + i] = who[room.picks[taken + i]]
            taken, waiting = taken + many, waiting + many
            if waiting < LANES and b < blocks:
                continue
            draw_orders(draws, seed, room.where, room.pending, scratch.bits)
            cost_block(simd, room.pending, room, False)
            for i in range(waiting):
                cycles = max(total.cycles[ON_CHIP, i], total.cycles[OF_DRAM, i])
                energy = total.energy[i]
                # logarithms take as long as all the rest
                if energy >= low_energy and cycles >= low_cycles:
                    continue
                score = score_in_batch(weights, leakage_pj, energy, cycles)
                if score < least:
                    least, low_energy, low_cycles = score, energy, cycles
                    found.score, found.number = score, room.where[i]
            waiting = np.int64(0)


def _sample_one_by_one(setup: KernelInputs, seed: int, first: int, count: int) -> Sample:
    """Do what :func:`sample_simd` does with the kernel."""
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
