"""Estimated latency of a nest, iteration by iteration, and nests of which layers may wait less."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.fusion.nest import (
    NestCores,
    NestFit,
    NestGroup,
    NestWalk,
    depths,
    nest_cores,
    nest_cycles,
)
from archloom.space.fusion import STREAMED, LoopNest

from .facts import NestFacts


def estimated_cycles(
    facts: NestFacts, cores: NestCores, fits: Sequence[NestFit], layer_cycles: Floats
) -> float:
    """Return about the latency of a nest: fill, drain and waits as its cost has them.

    Each tile of a layer takes as much of the layer's cycles as it has of the layer's work, and at
    least those in which DRAM sends once what streams.

    Args:
        facts: of the group.
        cores, fits: of the nest.
        layer_cycles: float64[m], least cycles of each member over all its tiles.
    """
    walk, times = cores.first, cores.times
    body, streamed = np.zeros(times.size), np.zeros(times.size)
    group, depth = walk.group, walk.nest.depth
    for m, cycles in enumerate(layer_cycles.tolist()):
        chip = shared_cycles(walk, m, cycles)
        dram = np.zeros(times.size)
        for t in {*group.weights[m], *group.maps[m], group.made[m]}:
            if depth[t] == STREAMED:
                words = walk.tile_words(t) * facts.sent(group.operands[t])
                dram += np.where(walk.runs(m), words, 0).ravel() / facts.rate
        body += np.maximum(chip, dram)
        streamed += dram
    none = [np.zeros(times.size) for _ in cores.walks]
    return float(nest_cycles(cores, fits, body, streamed, none))


def shared_cycles(walk: NestWalk, m: int, cycles: float) -> Floats:
    """Return float64[n], of a member's cycles as many as each iteration has of its work."""
    tiles = [walk.tile(x.rank) for x in walk.nest.loops if x.rank in walk.group.own[m]]
    work = reduce(np.multiply, tiles, walk.runs(m).astype(np.float64)).ravel()
    shares: Floats = cycles * work / float((work * walk.times.ravel()).sum())
    return shares


class OtherStay(NamedTuple):
    """A nest in which one operand stays otherwise.

    Attributes:
        nest: with that operand's depth.
        moved_pj, moved_words: how much more moves between DRAM and buffer.
    """

    nest: LoopNest
    moved_pj: float
    moved_words: float


def other_stays(facts: NestFacts, group: NestGroup, nest: LoopNest) -> Iterator[OtherStay]:
    """Yield nests with another depth of one operand that members do not pass to each other; they
    need not obey the rules."""
    ranks = tuple(loop.rank for loop in nest.loops)
    walk = None if nest.in_turn else NestWalk(group, nest)
    moved = _moved_by_core(facts, group, nest, walk)
    for t, operand in enumerate(group.operands):
        if operand.kind == "made" and operand.readers:
            continue
        second = any(t in some for some in group.weights)
        some = (*depths(group, ranks, t), STREAMED)
        if second and not facts.keeps_weights:
            continue
        came, left = moved(t)
        price, copies = facts.price_pj(operand), facts.sent(operand)
        for depth in some:
            if depth == nest.depth[t]:
                continue
            stays = (*nest.depth[:t], depth, *nest.depth[t + 1 :])
            other = replace(nest, depth=stays)
            comes, leaves = _moved_by_core(facts, group, other, walk)(t)
            more_pj = (comes - came) * price + (leaves - left) * copies * facts.store_pj
            yield OtherStay(other, more_pj, (comes - came + leaves - left) * copies)


def _moved_by_core(
    facts: NestFacts, group: NestGroup, nest: LoopNest, like: NestWalk | None
) -> Callable[[int], tuple[float, float]]:
    """Return what tells the words of an operand that come and leave, of what a core has of the
    group; ``like`` is the walk of a nest that differs in nothing but that operand's stay."""
    if not nest.in_turn:
        if like is None or like.masked:
            # which iterations are looked at depends on stays
            return partial(_moved, NestWalk(group, nest))
        # who runs when follows from the loops, and from what members pass on
        walk = copy(like)
        walk.nest = nest
        return partial(_moved, walk)
    ranks = tuple(loop.rank for loop in nest.loops)
    cores = nest_cores(facts.whole(ranks), nest, frozenset(), facts.cores)

    def of_core(t: int) -> tuple[float, float]:
        moved = np.array([_moved(walk, t) for walk in cores.walks])
        came, left = (np.array(cores.counts) @ moved) / facts.times(group.operands[t].ranks)
        return float(came), float(left)

    return of_core


def _moved(walk: NestWalk, t: int) -> tuple[int, int]:
    """Words of an operand that come from DRAM and that leave to it."""
    operand = walk.group.operands[t]
    piece = walk.tile_words(t) * walk.times
    if walk.nest.depth[t] == STREAMED and operand.kind != "made":
        # it comes whenever what reads it runs
        return int((piece * walk.runs(operand.readers[0])).sum()), 0
    if walk.nest.depth[t] == STREAMED:
        again = int(np.where(walk.passes(operand.maker), piece, 0).sum())
        return again, operand.words + again
    came, left = (np.where(when, piece, 0).sum() for when in (walk.comes(t), walk.leaves(t)))
    return int(came), int(left)
