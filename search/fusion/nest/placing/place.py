"""One nest in the buffer of one core: whether it fits, and when its iterations end."""

from math import ceil
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled
from archloom.space.fusion import LoopNest

from ..facts import NestFacts
from .group_loops import PlacedBuffer, PlacedGroup, PlacedLoops, placed_group, placed_loops
from .iterations import new_walk, set_iterations, set_uses
from .room import set_left, set_moves
from .times import iteration_times
from .transfers import add_operand


class Placed(NamedTuple):
    """How a nest fits.

    Attributes:
        fits: whether it does.
        left: int64[m], words for what streams to each member; 0 where nothing does.
        late: words that come and leave between iterations, over all of them.
        cycles: float64[n], of iterations that are looked at, times those that each stands for.
    """

    fits: bool
    left: Ints
    late: int
    cycles: Floats


def placed(facts: NestFacts, nest: LoopNest, layer_cycles: Floats) -> Placed | None:
    """Return how a nest fits the buffer; None where a mask may drop tiles or cores share a loop.

    Args:
        facts: of the group.
        nest: that obeys the rules.
        layer_cycles: float64[m], least cycles of each member over all its tiles.
    """
    ranks = tuple(loop.rank for loop in nest.loops)
    if facts.cores.count > 1 or facts.masked(ranks) is not None:
        return None
    group = facts.whole(ranks)
    buffer, dram = facts.hardware.levels[-2], facts.hardware.levels[-1]
    # of one core all that is sent arrives
    sent = np.ones(len(group.operands))
    rates = float(dram.bandwidth_words), float(buffer.bandwidth_words)
    prices = PlacedBuffer(facts.capacity, *rates, sent)
    return place(placed_group(group), placed_loops(group, nest), prices, layer_cycles)


def cycles_of(found: Placed) -> float:
    """Return about the latency of a nest: fill, drain and waits as its cost has them."""
    return float(ceil(float(found.cycles.sum())))


@compiled(brief=True)
def place(
    group: PlacedGroup, loops: PlacedLoops, buffer: PlacedBuffer, layer_cycles: Floats
) -> Placed:
    """Return how a nest around a group fits the buffer of a core."""
    members = group.flags.own.shape[0]
    walk = new_walk(group, loops)
    left = np.zeros(members, np.int64)
    set_uses(group.flags, loops, walk)
    set_iterations(group, loops, walk)
    for t in range(len(group.words)):
        add_operand(group, loops, walk, t)
    nothing = np.zeros(0)
    if not set_left(group, loops, walk, buffer.capacity, left):
        return Placed(False, left, 0, nothing)
    late = set_moves(walk, buffer.capacity, left)
    return Placed(True, left, late, iteration_times(group, loops, walk, buffer, layer_cycles))
