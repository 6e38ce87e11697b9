"""Annealing with restarts (Kirkpatrick et al., Science 1983), many walks at once.

A block holds WALKS walks of TRIES lanes each. In every step each walk is changed in TRIES ways,
the lane kernel prices the block, and the best of the changes that the walk accepts is made; the
idea of several tries a step is that of Liu, Liang and Wong (JASA 2000), the choice of the best is
ours. Late in a round hardly any change is accepted, so that TRIES tries do what as many steps of
one walk would do.

Evaluation i belongs to lane i % LANES of block i // LANES, and its random words are a stretch of
one splitmix64 sequence (Steele et al., OOPSLA 2014). A budget that ends inside a block looks at
its first lanes only and moves nothing, so that the result does not depend on how it is cut.
"""

from typing import Any, Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import KernelInputs
from archloom.evaluators.loopnest.simd import LANES, Records, simd_inputs

from .candidates import (
    BatchEvaluator,
    Block,
    Scratch,
    Stand,
    Stretch,
    copied,
    evaluate,
    evaluator_of,
    keep_best,
    new_scratch,
    number,
    put,
    start,
    stretch,
)
from .draws import draw_words
from .moves import NOTHING, follow, move, moves_of, undo

#: lanes that try changes of the same walk; blocks of a round, and its first and last temperature
#: (in units of ln objective). Chosen by benchmarks/mapping/mapping_search.py.
TRIES: Final = 4
ROUND: Final = 128
HOT: Final = 2.0
COLD: Final = 0.02

#: -ln of the least random number that a change is accepted by
MOST: Final = 36.0


def annealed(setup: KernelInputs, walks: Block, seed: int, done: int, budget: int) -> Block:
    """Return the walks after ``budget`` more evaluations than the first ``done``.

    The same whether or not lanes cover the setup.
    """
    after, moves = copied(walks), moves_of(setup)
    anneal_blocks(
        evaluator_of(setup, simd_inputs(setup)),
        moves,
        setup.ranks,
        start(setup, moves),
        after,
        new_scratch(len(setup.fanout)),
        stretch(seed, done, budget),
    )
    return after


@helper
def _accepts(score: float, now: float, heat: float, word: Any) -> bool:
    """Whether a walk that stands at ``now`` goes to ``score`` (Metropolis et al., 1953)."""
    if score <= now:
        return score < np.inf
    if not score - now < MOST * heat:
        return False
    # 50 bits that no choice of a move is made by
    chance = (np.float64(word >> np.uint64(14)) + 0.5) * 2.0**-50
    return score < now - heat * np.log(chance)


@helper
def _go(moves: Any, ranks: Ints, lanes: Any, step: Any, nests: Records, heat: float) -> None:
    """Let each walk make the best change that it accepts, and undo all others."""
    for first in range(0, LANES, TRIES):
        leader, now = -1, lanes.scores[first]
        for i in range(first, first + TRIES):
            better = leader < 0 or step.score[i] < step.score[leader]
            if better and _accepts(step.score[i], now, heat, step.more[i]):
                leader = i
        for i in range(first, first + TRIES):
            if i != leader:
                undo(moves, ranks, lanes, step, nests, i)
        if leader < 0:
            continue
        for i in range(first, first + TRIES):
            lanes.scores[i] = step.score[leader]
            if i != leader:
                follow(moves, ranks, lanes, step, nests, i, leader)


@lean
def anneal_blocks(
    evaluator: BatchEvaluator,
    all_moves: Records,
    ranks: Ints,
    first: Stand,
    walks: Block,
    scratch: Scratch,
    some: Stretch,
) -> None:
    """Evaluate some candidates, all walks in place.

    Even rounds start from scratch, odd ones from the incumbent.
    """
    moves, state, step, seed = all_moves[0], walks.lanes[0], scratch.step[0], some.seed
    nests, end = walks.nests, some.first + some.length
    for block in range(some.first // LANES, (end + LANES - 1) // LANES):
        number(step, block)
        draw_words(seed, 2, 0, step.who, step.words)
        draw_words(seed, 2, 1, step.who, step.more)
        for i in range(LANES):
            step.kind[i] = NOTHING
            # the very first candidate is the one that fits wherever any does
            if step.who[i] > 0:
                move(moves, ranks, state, step, nests, i)
        evaluate(evaluator, nests, scratch)
        seen = min(LANES, end - block * LANES)
        keep_best(moves, state, nests, step, seen, walks)
        if seen < LANES:
            for i in range(LANES):
                undo(moves, ranks, state, step, nests, i)
            continue
        _go(moves, ranks, state, step, nests, HOT * (COLD / HOT) ** (block % ROUND / (ROUND - 1)))
        if (block + 1) % ROUND == 0:
            warm = (block + 1) // ROUND % 2 == 1
            for i in range(LANES):
                if warm:
                    put(moves, state, walks.best, walks.least[0], nests, i)
                else:
                    put(moves, state, first, np.inf, nests, i)
