"""Operators of GAMMA (Kao and Krishna, ICCAD 2020) on mappings in lanes.

Crossover takes the tile sizes of each dimension, and the order and bypass of each level, from one
of two parents. Mutation moves a prime factor, or two that change slots; reordering moves loops of a
level; growth moves a factor from time to a mesh, and aging takes all factors off one axis of a
mesh. GAMMA adds and removes levels of parallelism instead: here the hardware has a number of
meshes. Bypass, which GAMMA does not have, mutates too. How often operators are used is ours, and
so is that of several mappings with the same score one lives.

The population is a block; a generation is another one, priced in one call. Evaluation i belongs
to lane i % LANES of generation i // LANES. A budget that ends inside a generation looks at its
first lanes only, and none of them joins the population.
"""

from typing import Any, Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import ORDER, SPATIAL_X, TEMPORAL, KernelInputs
from archloom.evaluators.loopnest.simd import LANES, Records, simd_inputs

from .candidates import (
    BatchEvaluator,
    Block,
    Scratch,
    Stretch,
    copied,
    evaluate,
    evaluator_of,
    keep_best,
    new_scratch,
    number,
    stretch,
)
from .draws import draw_words
from .moves import (
    exchange,
    flip,
    move_factor,
    move_loops,
    moves_of,
    permits,
    pick,
    place,
    prime_of,
    slot_of,
)

#: random words of a child
WORDS: Final = 12

#: shares of children that each operator is used on
CROSSOVER: Final = 0.5
MUTATION: Final = 0.5
EXCHANGE: Final = 0.5
REORDERING: Final = 0.1
BYPASS: Final = 0.1
GROWTH: Final = 0.1
AGING: Final = 0.03


def bred(setup: KernelInputs, people: Block, seed: int, done: int, budget: int) -> Block:
    """Return the population after ``budget`` more evaluations than the first ``done``.

    The same whether or not lanes cover the setup.
    """
    after = copied(people)
    breed_blocks(
        evaluator_of(setup, simd_inputs(setup)),
        moves_of(setup),
        setup.ranks,
        after,
        copied(people),
        new_scratch(len(setup.fanout)),
        stretch(seed, done, budget),
    )
    return after


@helper
def _chosen(word: Any, share: float) -> bool:
    """Whether an operator is used, by ten bits that :func:`pick` does not look at."""
    return bool(np.float64(word & np.uint64(0x3FF)) < 1024.0 * share)


@helper
def _copy_level(
    lanes: Any, nests: Records, i: int, to_lanes: Any, to_nests: Records, j: int, level: int
) -> None:
    """Take order and bypass of a level over from lane ``i`` of another block."""
    for d in range(8):
        to_nests[level].key[d, j] = nests[level].key[d, i]
    for t in range(3):
        to_nests[level].keep[t, j] = nests[level].keep[t, i]
    to_lanes.ways[level, j] = lanes.ways[level, i]


@helper
def _copy(
    moves: Any, lanes: Any, nests: Records, i: int, to_lanes: Any, to_nests: Records, j: int
) -> None:
    """Let lane ``j`` of a block stand where lane ``i`` of another does."""
    for prime in range(moves.primes):
        to_lanes.places[prime, j] = lanes.places[prime, i]
    for level in range(nests.shape[0]):
        _copy_level(lanes, nests, i, to_lanes, to_nests, j, level)
        source, target = nests[level].factors, to_nests[level].factors
        for m in range(moves.dims):
            d = moves.moving[m]
            for kind in range(ORDER):
                target[kind, d, j] = source[kind, d, i]


@helper
def _fitter(scores: Any, word: Any, shift: int) -> int:
    """The fitter of two random members of the population."""
    one, other = pick(word, shift, LANES), pick(word, shift + 14, LANES)
    return one if scores[one] <= scores[other] else other


@helper
def _cross(
    moves: Any, lanes: Any, nests: Records, mate: int, kids: Any, kid_nests: Records, i: int,
    bits: Any,
) -> None:  # fmt: skip
    """Take dimensions and levels whose random bit is set from the mate."""
    for j in range(moves.primes):
        if (bits >> np.uint64(moves.dim[j])) & np.uint64(1):
            place(moves, kids, kid_nests, i, j, slot_of(lanes, j, mate))
    for level in range(nests.shape[0]):
        if (bits >> np.uint64(8 + level)) & np.uint64(1):
            _copy_level(lanes, nests, mate, kids, kid_nests, i, level)


@helper
def _grow(moves: Any, kids: Any, nests: Records, i: int, word: Any) -> None:
    """Unroll a prime factor that runs over time."""
    if moves.movable == 0:
        return
    d = moves.moving[pick(word, 10, moves.movable)]
    j, slot = prime_of(moves, d, word, 24), moves.slot[d, pick(word, 38, moves.slots[d])]
    over_time = slot_of(kids, j, i) & 3 == TEMPORAL
    if over_time and slot & 3 != TEMPORAL and permits(moves, nests, i, d, slot):
        place(moves, kids, nests, i, j, slot)


@helper
def _age(moves: Any, kids: Any, nests: Records, i: int, word: Any) -> None:
    """Let all that is unrolled along one axis of a mesh, and may move, run over time."""
    slot = 4 * pick(word, 10, nests.shape[0]) + SPATIAL_X + pick(word, 24, 2)
    for j in range(moves.primes):
        if slot_of(kids, j, i) == slot:
            over_time = slot & ~3
            stays = moves.opened[moves.dim[j], over_time]
            place(moves, kids, nests, i, j, over_time if stays else 0)


@helper
def _scatter(moves: Any, kids: Any, step: Any, nests: Records, seed: Any) -> None:
    """Move factors of all lanes but the first, which is the one that fits wherever any does."""
    for which in range(WORDS):
        draw_words(seed, WORDS, which, step.who, step.words)
        for i in range(1, LANES):
            move_factor(moves, kids, step, nests, i)


@helper
def _beget(
    moves: Any, lanes: Any, nests: Records, kids: Any, step: Any, kid_nests: Records, seed: Any
) -> None:
    """Let each child be one parent, or two that are crossed."""
    draw_words(seed, WORDS, 0, step.who, step.words)
    draw_words(seed, WORDS, 1, step.who, step.more)
    for i in range(LANES):
        parent = _fitter(lanes.scores, step.words[i], 10)
        _copy(moves, lanes, nests, parent, kids, kid_nests, i)
        if _chosen(step.words[i], CROSSOVER):
            mate = _fitter(lanes.scores, step.more[i], 20)
            # bits 48 on, which no parent was chosen by
            _cross(moves, lanes, nests, mate, kids, kid_nests, i, step.more[i] >> np.uint64(48))


@helper
def _mutate(moves: Any, ranks: Ints, kids: Any, step: Any, nests: Records, seed: Any) -> None:
    """Use the other operators on the children."""
    for which in range(2, WORDS, 2):
        draw_words(seed, WORDS, which, step.who, step.words)
        draw_words(seed, WORDS, which + 1, step.who, step.more)
        for i in range(LANES):
            word = step.words[i]
            if which == 2 and _chosen(word, MUTATION):
                move_factor(moves, kids, step, nests, i)
            elif which == 4 and _chosen(word, EXCHANGE):
                exchange(moves, kids, step, nests, i)
            elif which == 6 and _chosen(word, REORDERING):
                move_loops(moves, ranks, kids, step, nests, i)
            elif which == 8 and _chosen(word, GROWTH):
                _grow(moves, kids, nests, i, word)
            elif which == 8 and not _chosen(word, 1.0 - AGING):
                _age(moves, kids, nests, i, word)
            elif which == 10 and moves.bits > 0 and _chosen(word, BYPASS):
                flip(nests, i, moves.free[pick(word, 10, moves.bits)])


@helper
def _select(
    moves: Any, lanes: Any, nests: Records, kids: Any, step: Any, kid_nests: Records
) -> None:
    """Let each child take the place of the least fit, unless it is no fitter or no news."""
    for i in range(LANES):
        score, worst, known = step.score[i], 0, False
        for j in range(LANES):
            worst = j if lanes.scores[j] > lanes.scores[worst] else worst
            known = known or lanes.scores[j] == score
        if not known and score < lanes.scores[worst]:
            _copy(moves, kids, kid_nests, i, lanes, nests, worst)
            lanes.scores[worst] = score


@lean
def breed_blocks(
    evaluator: BatchEvaluator,
    all_moves: Records,
    ranks: Ints,
    people: Block,
    children: Block,
    scratch: Scratch,
    some: Stretch,
) -> None:
    """Evaluate some candidates, the population in place; children begin where that does."""
    moves, step, seed = all_moves[0], scratch.step[0], some.seed
    adults, nests = people.lanes[0], people.nests
    kids, kid_nests = children.lanes[0], children.nests
    end = some.first + some.length
    for block in range(some.first // LANES, (end + LANES - 1) // LANES):
        number(step, block)
        if block == 0:
            _scatter(moves, kids, step, kid_nests, seed)
        else:
            _beget(moves, adults, nests, kids, step, kid_nests, seed)
            _mutate(moves, ranks, kids, step, kid_nests, seed)
        evaluate(evaluator, kid_nests, scratch)
        seen = min(LANES, end - block * LANES)
        keep_best(moves, kids, kid_nests, step, seen, people)
        if seen == LANES:
            _select(moves, adults, nests, kids, step, kid_nests)
