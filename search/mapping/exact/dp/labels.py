"""Labels: ways to lay out the loops up to a level, and which of them are no use."""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import MAX_LEVELS, READ_PORT, WRITE_PORT
from archloom.evaluators.loopnest.simd import Records
from archloom.search.mapping.exact.bounds import CostToGo
from archloom.search.mapping.exact.subproblem import (
    ArrayFill,
    Ending,
    Subproblem,
    Tile,
    Traffic,
    ends,
    fill_cycles,
    least_fill,
    moved,
    new_tile,
    run_of,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

#: open runs of a tensor begin at one of these levels, as ``Labels.opened`` packs them
_BASE: Final = 16

#: bits of ``Labels.opened`` before those of tensors that the innermost level still holds
_WAITING: Final = 12

#: What came of a subproblem: evaluations that are ``left`` of the budget, how many ``tiles`` were
#: bounded (0 if none is left), and how many labels were ``tried``. Of the best mapping its
#: ``score`` (ln), ``energy_pj`` and ``cycles``, the ``label`` that it ends with (-1) and the
#: ``order`` of its outermost loops; and how the search ended that found it.
OUTCOME: Final = np.dtype(
    [
        ("left", np.int64),
        ("tiles", np.int64),
        ("tried", np.int64),
        ("score", np.float64),
        ("energy_pj", np.float64),
        ("cycles", np.float64),
        ("label", np.int64),
        ("order", np.int64),
        ("ended", np.int64),
    ]
)


class Labels(NamedTuple):
    """Room for labels: tile, open runs, energy, parent, order, next of the same tile, units, the
    words ``passing[n, 3]`` that enter the innermost keeper whose run has ended, and the least
    cycles in which the array fills and drains.
    """

    tile: Ints
    opened: Ints
    energy: Floats
    parent: Ints
    order: Ints
    following: Ints
    units: Floats
    passing: Floats
    fill: Floats


class Label(NamedTuple):
    """A label that may be kept, but for units and words that pass."""

    tile: int
    opened: int
    energy: float
    parent: int
    order: int
    fill: float


class Step(NamedTuple):
    """Scratch of one step outwards: the steps inside it, ``tile``, and all outside it, ``left[1]``;
    those inside the tile that it leads to, ``outside[8]``, positions in the lattice and turns of
    both, traffic of runs that end, and costs by price.

    What runs of a tensor cost that end there does not depend on the others: it is found once, by
    tensor and what matters of the order: energy, units and words that pass. ``known[3, 10]`` says
    for how many steps that leave the tensor where it is, 0 where nothing is known. Those of inputs
    are of one tile that the step leads to, all others of the tile inside it.
    """

    tile: Tile
    left: Ints
    outside: Ints
    positions: Ints
    turns: Ints
    traffic: Traffic
    costs: Floats
    known: Ints
    run_pj: Floats
    run_units: Floats
    run_passing: Floats


class Workspace(NamedTuple):
    """What all searches of one thread use: room for labels and a step, and :data:`OUTCOME`, of
    which there is one. Once ``stop[1]`` is set, searches end.
    """

    labels: Labels
    step: Step
    outcome: Records
    stop: Flags


class LabelSetting(NamedTuple):
    """One search through a subproblem for mappings with less than a score.

    ``heads[size]`` starts the lists of labels of each tile. By the prices of ``costs``, what a
    mapping costs stays below ``ceilings[J]``; the first 1 + K are for energy and each port alone.
    All mappings have ``shared_pj`` in common, take ``cycles``, ``inner`` of them on chip while the
    ``array`` does not fill, and leak ``leakage_pj`` in a cycle; those that take more than
    ``most_cycles`` do not count. ``fills[size]`` are the least cycles in which the array fills, and
    ``scores[size]`` what no mapping is below, by tile of the innermost level. ``live[K]`` says
    which ports can decide cycles, ``bounded`` whether any can, ``filled`` whether it matters how
    often the array fills, and ``carried`` whether labels differ in words that pass routers.
    """

    labels: Labels
    step: Step
    outcome: Records
    costs: CostToGo
    heads: Ints
    ceilings: Floats
    score: float
    most_cycles: float
    shared_pj: float
    cycles: float
    inner: float
    leakage_pj: float
    array: ArrayFill
    fills: Floats
    scores: Floats
    live: Flags
    bounded: bool
    filled: bool
    carried: bool
    stop: Flags


def new_labels(count: int, levels: int, bounded: bool, carried: bool) -> Labels:
    """Return room for so many labels; units have a place where ports matter, words that pass
    where routers do.
    """
    whole = (np.empty(count, np.int64) for _ in range(5))
    tile, opened, parent, order, following = whole
    units = np.zeros((count if bounded else 1, levels, 2))
    passing, fill = np.zeros((count if carried else 1, 3)), np.empty(count)
    energy = np.empty(count)
    return Labels(tile, opened, energy, parent, order, following, units, passing, fill)


def new_workspace(labels: Labels, levels: int, stop: Flags) -> Workspace:
    """Return what searches need for problems of so many levels."""
    # copies of arrays take a third of the time that making them does
    step = Step(*(_copied(part) for part in _empty_step(levels)))
    return Workspace(labels, step, np.zeros(1, OUTCOME), stop)


def _copied(part: Any) -> Any:
    """Copy an array, or a record of arrays."""
    return type(part)(*map(_copied, part)) if isinstance(part, tuple) else part.copy()


@lru_cache(maxsize=MAX_LEVELS)
def _empty_step(levels: int) -> Step:
    outside, positions, turns = (np.ones(8, np.int64) for _ in range(3))
    # one for energy, and two for each port of a level
    traffic, costs = Traffic(np.zeros((levels, 2)), np.zeros(3)), np.zeros(1 + 2 * 3 * levels)
    known, run_pj, run_passing = np.zeros((3, 10), np.int64), np.zeros((3, 10)), np.zeros((3, 10))
    run_units = np.zeros((3, 10, levels, 2))
    runs = (known, run_pj, run_units, run_passing)
    return Step(new_tile(), np.ones(1, np.int64), outside, positions, turns, traffic, costs, *runs)


@helper
def pack_open(weights: int, inputs: int, outputs: int) -> int:
    """Levels where open runs of each tensor begin, in one number."""
    return (weights * _BASE + inputs) * _BASE + outputs


@helper
def opened_from(packed: int, tensor: int) -> int:
    """Level where the open runs of a tensor begin."""
    return (packed >> (4 * (2 - tensor))) & (_BASE - 1)


@helper
def pack_waiting(packed: int, waiting: int) -> int:
    """Add the tensors whose runs in the innermost level are open, a bit for each, whether or not
    another level outside feeds them.
    """
    return packed | waiting << _WAITING


@helper
def waiting_in(packed: int) -> int:
    """Tensors whose runs in the innermost level are open."""
    return packed >> _WAITING


@helper
def still_open(subproblem: Subproblem, tensor: int, begin: int, level: int) -> int:
    """Innermost run from ``begin`` to ``level``; ``level + 1`` if there is none."""
    while begin <= level and (
        begin >= subproblem.keep.shape[0] or not subproblem.runs[begin, tensor]
    ):
        begin += 1
    return begin


@helper
def open_pj(subproblem: Subproblem, packed: int, level: int) -> float:
    """Least energy with which open runs of keepers inside a level can end."""
    energy = 0.0
    for t in range(3):
        for inner in range(opened_from(packed, t), level):
            if subproblem.runs[inner, t]:
                energy += subproblem.least_pj[inner, t]
    return energy


@helper
def opened_at(subproblem: Subproblem, packed: int, factors: Ints, level: int) -> int:
    """Open runs after the loops of ``level``."""
    w = level if ends(WEIGHTS, factors) else opened_from(packed, WEIGHTS)
    i = level if ends(INPUTS, factors) else opened_from(packed, INPUTS)
    o = level if ends(OUTPUTS, factors) else opened_from(packed, OUTPUTS)
    return pack_open(
        still_open(subproblem, WEIGHTS, w, level),
        still_open(subproblem, INPUTS, i, level),
        still_open(subproblem, OUTPUTS, o, level),
    )


@helper
def _no_more(search: LabelSetting, units: Floats, than: Floats) -> bool:
    """Whether no port that can decide cycles moves more than in the other label.

    Not even what all mappings have time for: loops outside may move more through the same port.
    """
    ports = search.costs.prices.ports
    for port in range(len(search.live)):
        if search.live[port] and moved(ports, port, units) > moved(ports, port, than):
            return False
    return True


@helper
def _place_for(search: LabelSetting, begin: int, new: Label, units: Floats, passing: Floats) -> int:
    """Return the place of a label that the new one makes useless, -1 if there is none, or -2 if
    the new one is itself no better than another; mark all that are useless.
    """
    labels, bounded = search.labels, search.bounded
    at, place = search.heads[new.tile], -1
    while at >= begin and not search.stop[0]:
        alike = labels.opened[at] == new.opened
        if alike and search.carried:
            for t in range(3):
                alike = alike and labels.passing[at, t] == passing[t]
        if alike:
            other = labels.units[at if bounded else 0]
            sooner = not search.filled or labels.fill[at] <= new.fill
            no_later = not search.filled or labels.fill[at] >= new.fill
            sooner = sooner and labels.energy[at] <= new.energy
            no_later = no_later and labels.energy[at] >= new.energy
            if sooner and (not bounded or _no_more(search, other, units)):
                return -2
            if no_later and (not bounded or _no_more(search, units, other)):
                labels.energy[at] = np.inf
                place = at
        at = labels.following[at]
    return place


@helper
def copy_units(units: Floats, to: Floats) -> None:
    """Copy units[L, 2], element by element."""
    for level in range(units.shape[0]):
        to[level, READ_PORT] = units[level, READ_PORT]
        to[level, WRITE_PORT] = units[level, WRITE_PORT]


@helper
def add_label(
    search: LabelSetting, begin: int, count: int, new: Label, units: Floats, passing: Floats
) -> int:
    """Keep a label unless another is as good; return how many there are then, -1 if no room."""
    labels, place = search.labels, _place_for(search, begin, new, units, passing)
    if place == -2:
        return count
    if place == -1:
        if count >= len(labels.tile):
            return -1
        place = count
        labels.tile[place], labels.opened[place] = new.tile, new.opened
        labels.following[place] = search.heads[new.tile]
        search.heads[new.tile] = place
        count += 1
    labels.energy[place] = new.energy
    labels.parent[place], labels.order[place] = new.parent, new.order
    labels.fill[place] = new.fill
    if search.bounded:
        copy_units(units, labels.units[place])
    if search.carried:
        for t in range(3):
            labels.passing[place, t] = passing[t]
    return count


@helper
def fill_after(
    subproblem: Subproblem,
    search: LabelSetting,
    label: int,
    ending: Ending,
    still: int,
    after: int,
    last: bool,
) -> float:
    """Least cycles in which the array fills, once the loops of a level are laid out that leave
    ``after`` in the innermost level.
    """
    labels, step, array = search.labels, search.step, search.array
    waiting, loads = waiting_in(labels.opened[label]), array.steps
    if not waiting:
        return float(labels.fill[label])
    if after:
        return least_fill(array, subproblem, after, step.outside)
    # the run that ends last is the one with the fewest loads
    for t in range(3):
        if waiting >> t & 1 and (last or ends(t, step.tile.factors)):
            loads = min(loads, run_of(t, ending.stays, still, ending.steps))
    return fill_cycles(array, loads)
