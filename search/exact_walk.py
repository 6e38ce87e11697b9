"""The least mapping for one choice of kept tensors and unrolled factors, level by level.

A *label* is a way to lay out the loops up to a level: its tile, which keepers' runs are still
open, the energy of all that has ended, and what ports have moved. Of two labels that agree in
tile and open runs, one that is no better in anything is dropped; so is one that cannot lead below
what is known already.
"""

from typing import Final, NamedTuple

import numpy as np

from ..evaluators.compiled import inlined, lean, part
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from ..space.dims import INPUTS, OUTPUTS, WEIGHTS, P
from .exact_closing import NOTHING, end_runs, ends, may_stay, run_of, tries
from .exact_frame import Flags, Frame, port_cycles
from .exact_lattice import Lattice, tile_at
from .exact_orders import may_lead, staying
from .permitted import ways_of

#: how a walk ended
DONE, FULL, STOPPED = range(3)

#: open runs of a tensor begin at one of these levels, and ``how`` packs what stays and is first
_BASE: Final = 16


class Labels(NamedTuple):
    """Room for labels: tile, open runs, energy, parent, choice, next of the same tile, units."""

    tile: Int
    opened: Int
    energy: Float
    parent: Int
    how: Int
    following: Int
    units: Float


class Walk(NamedTuple):
    """What a walk reads and leaves beside labels.

    ``heads[size]`` starts the lists of labels of each tile; ``limits[5]`` are the energy that
    labels stay below, the score (ln) to beat, cycles that every mapping takes, leakage in a
    cycle, and the most cycles that count; ``best[3]`` are score, energy and cycles of what was
    found, ``tally[3]`` the label that it ends with (-1), its choice, and labels that were tried;
    ``bounded`` says whether ports can decide cycles; once ``stop[1]`` is set, the walk ends.
    """

    heads: Int
    limits: Float
    best: Float
    tally: Int
    bounded: bool
    stop: Flags


def new_labels(count: int, levels: int, bounded: bool) -> Labels:
    """Return room for so many labels; units have a place where ports matter."""
    whole = (np.empty(count, np.int64) for _ in range(5))
    tile, opened, parent, how, following = whole
    units = np.zeros((count if bounded else 1, levels, 2))
    return Labels(tile, opened, np.empty(count), parent, how, following, units)


@part
def score_of(setup: Setup, energy: float, cycles: float, leakage: float) -> float:
    """Ln of the objective."""
    score = 0.0
    if setup.weights[0] > 0:
        score += setup.weights[0] * np.log(energy + leakage * cycles)
    if setup.weights[1] > 0:
        score += setup.weights[1] * np.log(cycles)
    return score


@part
def _pack(weights: int, inputs: int, outputs: int) -> int:
    return (weights * _BASE + inputs) * _BASE + outputs


@part
def _opened(packed: int, tensor: int) -> int:
    return (packed >> (4 * (2 - tensor))) & (_BASE - 1)


@part
def _still_open(frame: Frame, tensor: int, begin: int, level: int) -> int:
    """Innermost keeper from ``begin`` to ``level``; ``level + 1`` if there is none."""
    while begin <= level and (begin >= frame.keep.shape[0] or frame.parent[begin, tensor] < 0):
        begin += 1
    return begin


@part
def _put_off(frame: Frame, packed: int, level: int) -> float:
    """Least energy with which open runs of keepers inside a level can end."""
    energy = 0.0
    for t in range(3):
        for inner in range(_opened(packed, t), level):
            if frame.parent[inner, t] >= 0:
                energy += frame.least_pj[inner, t]
    return energy


@inlined
def _opened_at(frame: Frame, packed: int, factors: Int, level: int) -> int:
    """Open runs after the loops of ``level``."""
    w = level if ends(WEIGHTS, factors) else _opened(packed, WEIGHTS)
    i = level if ends(INPUTS, factors) else _opened(packed, INPUTS)
    o = level if ends(OUTPUTS, factors) else _opened(packed, OUTPUTS)
    return _pack(
        _still_open(frame, WEIGHTS, w, level),
        _still_open(frame, INPUTS, i, level),
        _still_open(frame, OUTPUTS, o, level),
    )


@part
def _no_more(setup: Setup, units: Float, than: Float) -> bool:
    """Whether no port that has a limit moves more than in the other label."""
    for level in range(units.shape[0]):
        read, written = units[level, 0], units[level, 1]
        other_read, other_written = than[level, 0], than[level, 1]
        if setup.bandwidth[level, 0] < np.inf and read > other_read:
            return False
        if setup.bandwidth[level, 1] < np.inf and written > other_written:
            return False
        if setup.bandwidth[level, 2] < np.inf and read + written > other_read + other_written:
            return False
    return True


@part
def _place_for(
    setup: Setup, labels: Labels, walk: Walk, begin: int, units: Float, tile: int, opened: int,
    energy: float,
) -> int:  # fmt: skip
    """Return the place of a label that the new one makes useless, -1 if there is none, or -2 if
    the new one is itself no better than another; mark all that are useless.
    """
    at, place = walk.heads[tile], -1
    while at >= begin and not walk.stop[0]:
        if labels.opened[at] == opened:
            other = labels.units[at if walk.bounded else 0]
            if labels.energy[at] <= energy and (not walk.bounded or _no_more(setup, other, units)):
                return -2
            if labels.energy[at] >= energy and (not walk.bounded or _no_more(setup, units, other)):
                labels.energy[at] = np.inf
                place = at
        at = labels.following[at]
    return place


@part
def _copy(units: Float, to: Float) -> None:
    for level in range(units.shape[0]):
        for port in range(2):
            to[level, port] = units[level, port]


@part
def _add(
    setup: Setup, labels: Labels, walk: Walk, begin: int, count: int, units: Float, tile: int,
    opened: int, energy: float, parent: int, how: int,
) -> int:  # fmt: skip
    """Keep a label unless another is as good; return how many there are then, -1 if no room."""
    place = _place_for(setup, labels, walk, begin, units, tile, opened, energy)
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
        _copy(units, labels.units[place])
    return count


class Step(NamedTuple):
    """Scratch of one step outwards: tile, loops, and what ports have moved."""

    tau: Int
    outside: Int
    factors: Int
    scratch: Int
    units: Float
    ended: Float


def new_step(levels: int) -> Step:
    """Return scratch for a walk."""
    tau, outside, factors = (np.ones(8, np.int64) for _ in range(3))
    units, ended = np.zeros((levels, 2)), np.zeros((levels, 2))
    return Step(tau, outside, factors, np.zeros((2, 4, 8), np.int64), units, ended)


@inlined
def _end(
    setup: Setup, frame: Frame, real: Int, step: Step, tensor: int, opened: int, level: int,
    run: int, stays: int, first: int,
) -> float:  # fmt: skip
    """End the open runs of a tensor at a level, if one of its loops moves it."""
    last = level == frame.keep.shape[0] - 1
    if not (last or ends(tensor, step.factors)):
        return 0.0
    return end_runs(
        setup, frame, real, tensor, _opened(opened, tensor), level, step.tau, step.factors, run,
        stays, first, step.scratch, step.ended,
    )  # fmt: skip


@inlined
def _finish(setup: Setup, walk: Walk, step: Step, energy: float, label: int, how: int) -> None:
    """Compare a whole mapping with the best one."""
    cycles = max(walk.limits[2], port_cycles(setup, step.ended))
    score = score_of(setup, energy, cycles, walk.limits[3])
    if cycles <= walk.limits[4] and score < walk.limits[1] and score < walk.best[0]:
        walk.best[0], walk.best[1], walk.best[2] = score, energy, cycles
        walk.tally[0], walk.tally[1] = label, how


@part
def _hopeless(setup: Setup, walk: Walk, step: Step, least: float) -> bool:
    """Whether nothing better can come of a label with at least so much energy."""
    if not least < walk.limits[0]:
        return True
    if not walk.bounded:
        return False
    cycles = port_cycles(setup, step.ended)
    if cycles <= walk.limits[2]:
        return False
    if cycles > walk.limits[4]:
        return True
    return bool(score_of(setup, least, cycles, walk.limits[3]) >= walk.limits[1])


@part
def _runs_of_inputs(frame: Frame, step: Step, opened: int, level: int) -> bool:
    """Whether runs of inputs end at the level, so that it matters which loop is first."""
    if not ends(INPUTS, step.factors):
        return False
    return _still_open(frame, INPUTS, _opened(opened, INPUTS), level - 1) < level


@inlined
def _outwards(
    setup: Setup, frame: Frame, real: Int, labels: Labels, walk: Walk, step: Step,
    label: int, level: int, tile: int, ahead: float, begin: int, count: int,
) -> int:  # fmt: skip
    """Add labels for one way to continue to ``level``; return how many there are, -1 if full."""
    opened, run = labels.opened[label], 1
    for d in range(8):
        step.factors[d] = step.outside[d] // step.tau[d]
        run *= frame.steps[d] // step.tau[d]
    last = level == frame.keep.shape[0] - 1
    after = 0 if last else _opened_at(frame, opened, step.factors, level)
    ahead += 0.0 if last else _put_off(frame, after, level)
    mover = INPUTS if _runs_of_inputs(frame, step, opened, level) else OUTPUTS
    found, least, least_how = False, np.inf, 0
    for choice in range(4 * max(1, ways_of(setup, level))):
        way, stays = choice // 4, choice % 4
        found = stays > 0 and found
        still = staying(setup, level, way, stays, step.factors)
        if not may_stay(stays, still, found):
            continue
        found, some = True, False
        for place in range(5):
            first = P + place if place < 4 else NOTHING
            led = may_lead(setup, level, way, stays, first, step.factors)
            if not led or not tries(mover, stays, first, step.factors, some):
                continue
            some = True
            # without ports that matter there is one place for units, which nothing reads
            _copy(labels.units[label * int(walk.bounded)], step.ended)
            energy = labels.energy[label]
            for t in range(3):
                ending = run_of(t, stays, still, run)
                energy += _end(setup, frame, real, step, t, opened, level, ending, stays, first)
            walk.tally[2] += 1
            how = choice * 16 + first + 1
            if last:
                _finish(setup, walk, step, energy, label, how)
            elif walk.bounded and not _hopeless(setup, walk, step, energy + ahead):
                count = _add(
                    setup, labels, walk, begin, count, step.ended, tile, after, energy, label, how
                )
                if count < 0:
                    return -1
            if energy < least:
                least, least_how = energy, how
    if not last and not walk.bounded and least + ahead < walk.limits[0]:
        count = _add(
            setup, labels, walk, begin, count, step.units, tile, after, least, label, least_how
        )
    return count


@inlined
def _start(
    setup: Setup, frame: Frame, lattice: Lattice, labels: Labels, walk: Walk, ahead: Float,
    fixed: float,
) -> int:  # fmt: skip
    """Make a label of every tile of the innermost level; return how many, -1 if full."""
    count = 0
    opened = _pack(
        _still_open(frame, WEIGHTS, 0, 0),
        _still_open(frame, INPUTS, 0, 0),
        _still_open(frame, OUTPUTS, 0, 0),
    )
    for tile in range(lattice.size):
        if walk.stop[0]:
            break
        walk.heads[tile] = -1
        if fixed + ahead[tile] < walk.limits[0]:
            count = _add(setup, labels, walk, 0, count, frame.units, tile, opened, fixed, -1, 0)
            if count < 0:
                return -1
    return count


@inlined
def _continue(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, here: Float, ahead: Float,
    labels: Labels, walk: Walk, step: Step, label: int, level: int, begin: int, count: int,
) -> int:  # fmt: skip
    """Continue a label to all tiles of ``level`` that contain its own."""
    tile, last = labels.tile[label], level == frame.keep.shape[0] - 1
    so_far = labels.energy[label] + here[tile]
    so_far += _put_off(frame, labels.opened[label], level - 1)
    positions, turns = step.scratch[1, 1], step.scratch[1, 2]
    for d in range(8):
        positions[d], turns[d] = tile // lattice.places[d] % lattice.counts[d], 0
    outer = lattice.size - 1 if last else tile
    tile_at(lattice, outer, step.outside)
    while True:
        least = 0.0 if last else ahead[outer]
        if so_far + least < walk.limits[0]:
            count = _outwards(
                setup, frame, real, labels, walk, step, label, level, outer, least, begin, count
            )
        if last or count < 0 or walk.stop[0]:
            return count
        d = 0
        while d < 8:
            old = lattice.multiples[d, positions[d], turns[d]]
            turns[d] += 1
            if turns[d] == lattice.many[d, positions[d]]:
                turns[d] = 0
            new = lattice.multiples[d, positions[d], turns[d]]
            outer += (new - old) * lattice.places[d]
            step.outside[d] = lattice.values[d, new]
            if turns[d] > 0:
                break
            d += 1
        if d == 8:
            return count


@lean
def walk_outwards(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, here: Float, ahead: Float,
    labels: Labels, walk: Walk, step: Step, fixed: float, most: int,
) -> int:  # fmt: skip
    """Find the least mapping below the limits; return how it ended.

    ``here`` and ``ahead`` come from :func:`archloom.search.exact_lattice.least_ahead`, ``fixed``
    is the energy of all mappings of the frame, ``most`` the labels that may be tried.
    """
    levels = frame.keep.shape[0]
    count, begin = _start(setup, frame, lattice, labels, walk, ahead[0], fixed), 0
    for level in range(1, levels):
        if walk.stop[0]:
            return STOPPED
        if count < 0:
            return FULL
        end = count
        last = level == levels - 1
        for label in range(begin, end):
            if not labels.energy[label] < np.inf:
                continue
            tile_at(lattice, labels.tile[label], step.tau)
            count = _continue(
                setup, frame, real, lattice, here[level - 1], ahead[level - 1 if last else level],
                labels, walk, step, label, level, end, count,
            )  # fmt: skip
            if count < 0:
                return FULL
            if walk.tally[2] > most or walk.stop[0]:
                return STOPPED
        begin = end
    return DONE
