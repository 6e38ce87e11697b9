"""Labels of a walk: ways to lay out the loops up to a level, and which of them are no use."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, helper, inlined
from archloom.search.mapping.exact.subproblem import Ports, Subproblem, ends, moved
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

#: open runs of a tensor begin at one of these levels, and ``how`` packs what stays and is first
_BASE: Final = 16


class Labels(NamedTuple):
    """Room for labels: tile, open runs, energy, parent, choice, next of the same tile, units,
    and the words ``passing[n, 3]`` that enter the innermost keeper whose run has ended.
    """

    tile: Ints
    opened: Ints
    energy: Floats
    parent: Ints
    how: Ints
    following: Ints
    units: Floats
    passing: Floats


class Walk(NamedTuple):
    """What a walk reads and leaves beside labels.

    ``heads[size]`` starts the lists of labels of each tile. By ``prices[J, 1 + K]`` of energy and
    of ports, what a mapping costs stays below ``ceilings[J]``; the first 1 + K are for energy and
    each port alone. ``limits[4]`` are the score (ln) to beat, cycles that every mapping takes,
    leakage in a cycle, and the most cycles that count. ``best[3]`` are score, energy and cycles
    of what was found, ``tally[3]`` the label that it ends with (-1), its choice, and labels that
    were tried; ``live[K]`` says which ports can decide cycles, ``bounded`` whether any can, and
    ``carried`` whether labels differ in words that pass routers. Once ``stop[1]`` is set, the
    walk ends.
    """

    heads: Ints
    ports: Ports
    prices: Floats
    ceilings: Floats
    limits: Floats
    best: Floats
    tally: Ints
    live: Flags
    bounded: bool
    carried: bool
    stop: Flags


def new_labels(count: int, levels: int, bounded: bool, carried: bool) -> Labels:
    """Return room for so many labels; units have a place where ports matter, words that pass
    where routers do.
    """
    whole = (np.empty(count, np.int64) for _ in range(5))
    tile, opened, parent, how, following = whole
    units = np.zeros((count if bounded else 1, levels, 2))
    passing = np.zeros((count if carried else 1, 3))
    return Labels(tile, opened, np.empty(count), parent, how, following, units, passing)


@helper
def pack(weights: int, inputs: int, outputs: int) -> int:
    """Levels where open runs of each tensor begin, in one number."""
    return (weights * _BASE + inputs) * _BASE + outputs


@helper
def opened_from(packed: int, tensor: int) -> int:
    """Level where the open runs of a tensor begin."""
    return (packed >> (4 * (2 - tensor))) & (_BASE - 1)


@helper
def still_open(frame: Subproblem, tensor: int, begin: int, level: int) -> int:
    """Innermost run from ``begin`` to ``level``; ``level + 1`` if there is none."""
    while begin <= level and (begin >= frame.keep.shape[0] or not frame.runs[begin, tensor]):
        begin += 1
    return begin


@helper
def put_off(frame: Subproblem, packed: int, level: int) -> float:
    """Least energy with which open runs of keepers inside a level can end."""
    energy = 0.0
    for t in range(3):
        for inner in range(opened_from(packed, t), level):
            if frame.runs[inner, t]:
                energy += frame.least_pj[inner, t]
    return energy


@inlined
def opened_at(frame: Subproblem, packed: int, factors: Ints, level: int) -> int:
    """Open runs after the loops of ``level``."""
    w = level if ends(WEIGHTS, factors) else opened_from(packed, WEIGHTS)
    i = level if ends(INPUTS, factors) else opened_from(packed, INPUTS)
    o = level if ends(OUTPUTS, factors) else opened_from(packed, OUTPUTS)
    return pack(
        still_open(frame, WEIGHTS, w, level),
        still_open(frame, INPUTS, i, level),
        still_open(frame, OUTPUTS, o, level),
    )


@helper
def _no_more(walk: Walk, units: Floats, than: Floats) -> bool:
    """Whether no port that can decide cycles moves more than in the other label, or than there
    is time for in every mapping.
    """
    for port in range(len(walk.live)):
        if walk.live[port]:
            here = moved(walk.ports, port, units)
            if here > moved(walk.ports, port, than) and (
                here > walk.ports.rate[port] * walk.limits[1]
            ):
                return False
    return True


@helper
def _place_for(
    labels: Labels, walk: Walk, begin: int, units: Floats, passing: Floats, tile: int, opened: int,
    energy: float,
) -> int:  # fmt: skip
    """Return the place of a label that the new one makes useless, -1 if there is none, or -2 if
    the new one is itself no better than another; mark all that are useless.
    """
    at, place = walk.heads[tile], -1
    while at >= begin and not walk.stop[0]:
        alike = labels.opened[at] == opened
        if alike and walk.carried:
            for t in range(3):
                alike = alike and labels.passing[at, t] == passing[t]
        if alike:
            other = labels.units[at if walk.bounded else 0]
            if labels.energy[at] <= energy and (not walk.bounded or _no_more(walk, other, units)):
                return -2
            if labels.energy[at] >= energy and (not walk.bounded or _no_more(walk, units, other)):
                labels.energy[at] = np.inf
                place = at
        at = labels.following[at]
    return place


@helper
def copy_units(units: Floats, to: Floats) -> None:
    """Copy units[L, 2], element by element."""
    for level in range(units.shape[0]):
        for port in range(2):
            to[level, port] = units[level, port]


@helper
def add_label(
    labels: Labels, walk: Walk, begin: int, count: int, units: Floats, passing: Floats, tile: int,
    opened: int, energy: float, parent: int, how: int,
) -> int:  # fmt: skip
    """Keep a label unless another is as good; return how many there are then, -1 if no room."""
    place = _place_for(labels, walk, begin, units, passing, tile, opened, energy)
    if place == -2:
        return count
    if place == -1:
        if count >= len(labels.tile):
            return -1
        place = count
        labels.tile[place], labels.opened[place] = tile, opened
        labels.following[place] = walk.heads[tile]
        walk.heads[tile] = place
        count += 1
    labels.energy[place], labels.parent[place], labels.how[place] = energy, parent, how
    if walk.bounded:
        copy_units(units, labels.units[place])
    if walk.carried:
        for t in range(3):
            labels.passing[place, t] = passing[t]
    return count


@inlined
def row_of(walk: Walk, j: int, energy: float, units: Floats) -> float:
    """What an energy and units[L, 2] cost by price j."""
    cost = walk.prices[j, 0] * energy
    for port in range(len(walk.live)):
        cost += walk.prices[j, 1 + port] * moved(walk.ports, port, units)
    return cost
