"""The least mapping for one choice of kept tensors and unrolled factors, level by level.

A *label* is a way to lay out the loops up to a level: its tile, which keepers' runs are still
open, the energy of all that has ended, and what ports have moved. Of two labels that agree in
tile and open runs, one that is no better in anything is dropped; so is one that cannot lead below
what is known already.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, helper, inlined, lean
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.bounds import CostToGo
from archloom.search.mapping.exact.subproblem import (
    NONE,
    NOTHING,
    Lattice,
    Subproblem,
    end_runs,
    ends,
    may_lead,
    may_stay,
    moved,
    port_cycles,
    run_of,
    staying,
    still_leads,
    tile_at,
    tries,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, G, P

from ...loop_orders import ways_of
from ...objectives import score_of
from .labels import (
    Labels,
    Walk,
    add_label,
    copy_units,
    opened_at,
    opened_from,
    pack,
    put_off,
    row_of,
    still_open,
)

#: how a walk ended
DONE, FULL, STOPPED = range(3)


class Step(NamedTuple):
    """Scratch of one step outwards: tile, loops, what ports have moved, words that pass, and
    costs by price.

    What runs of a tensor cost that end there does not depend on the others: it is found once by
    :func:`_slot`, where ``known[3, 10]``: energy, what ports move, and words that pass.
    """

    tau: Ints
    outside: Ints
    factors: Ints
    scratch: Ints
    ended: Floats
    passing: Floats
    costs: Floats
    known: Flags
    run_pj: Floats
    run_units: Floats
    run_passing: Floats


def new_step(levels: int) -> Step:
    """Return scratch for a walk."""
    tau, outside, factors = (np.ones(8, np.int64) for _ in range(3))
    costs = np.zeros(1 + 2 * 3 * levels)
    scratch, ended = np.zeros((3, 4, 8), np.int64), np.zeros((levels, 2))
    known, run_pj, run_units = np.zeros((3, 10), np.uint8), np.zeros((3, 10)), (3, 10, levels, 2)
    return Step(
        *(tau, outside, factors, scratch, ended, np.zeros(3), costs, known, run_pj),
        *(np.zeros(run_units), np.zeros((3, 10))),
    )


@helper
def _slot(t: int, stays: int, first: int) -> int:
    """Place of a tensor's run: weights and results mind only whether it is they that stay."""
    if t != INPUTS:
        return int(stays != t)
    return (first - P if first >= P else 4) + (5 if stays == INPUTS else 0)


@inlined
def _end(
    setup: KernelInputs, frame: Subproblem, real: Ints, labels: Labels, walk: Walk, step: Step,
        label: int,
    level: int, run: int, still: int, stays: int, first: int,
) -> float:  # fmt: skip
    """End a label's open runs of all tensors that a loop of the level moves."""
    if walk.bounded:
        copy_units(labels.units[label], step.ended)
    energy, last = 0.0, level == frame.keep.shape[0] - 1
    for t in range(3):
        step.passing[t] = labels.passing[label * int(walk.carried), t]
        if not (last or ends(t, step.factors)):
            continue
        at = _slot(t, stays, first)
        if not step.known[t, at]:
            step.known[t, at], units = 1, step.run_units[t, at]
            for outer in range(units.shape[0]):
                units[outer, 0] = units[outer, 1] = 0.0
            step.run_pj[t, at] = end_runs(
                setup, frame, real, t, opened_from(labels.opened[label], t), level, step.tau,
                step.factors, run_of(t, stays, still, run), stays, first, step.scratch, units,
                step.passing,
            )  # fmt: skip
            step.run_passing[t, at] = step.passing[t] if frame.needed[level, t] else 0.0
        energy += step.run_pj[t, at]
        step.passing[t] = step.run_passing[t, at]
        if walk.bounded:
            for outer in range(step.ended.shape[0]):
                step.ended[outer, 0] += step.run_units[t, at, outer, 0]
                step.ended[outer, 1] += step.run_units[t, at, outer, 1]
    return energy


@inlined
def _finish(
    setup: KernelInputs, walk: Walk, step: Step, energy: float, label: int, how: int
) -> None:
    """Compare a whole mapping with the best one."""
    cycles = walk.limits[1]
    if walk.bounded:
        cycles = max(cycles, port_cycles(setup, step.ended))
    score = score_of(setup, energy, cycles, walk.limits[2])
    if cycles <= walk.limits[3] and score < walk.limits[0] and score < walk.best[0]:
        walk.best[0], walk.best[1], walk.best[2] = score, energy, cycles
        walk.tally[0], walk.tally[1] = label, how


@helper
def _hopeless(
    setup: KernelInputs,
    walk: Walk,
    step: Step,
    found: CostToGo,
    level: int,
    tile: int,
    energy: float,
) -> bool:
    """Whether nothing better can come of a label of a tile with so much energy, and what ports
    have moved.
    """
    for j in range(len(walk.ceilings)):
        cost = row_of(walk, j, energy, step.ended) + found.ahead[j, level, tile]
        if not cost < walk.ceilings[j]:
            return True
    cycles = walk.limits[1]
    for port in range(len(walk.live)):
        units = moved(walk.ports, port, step.ended) + found.ahead[1 + port, level, tile]
        cycles = max(cycles, units / walk.ports.rate[port])
    if cycles <= walk.limits[1]:
        return False
    least = energy + found.ahead[0, level, tile]
    return bool(score_of(setup, least, cycles, walk.limits[2]) >= walk.limits[0])


@helper
def _runs_of_inputs(frame: Subproblem, step: Step, opened: int, level: int) -> bool:
    """Whether runs of inputs end at the level, so that it matters which loop is first."""
    if not ends(INPUTS, step.factors):
        return False
    return still_open(frame, INPUTS, opened_from(opened, INPUTS), level - 1) < level


@inlined
def _branch(
    setup: KernelInputs, found: CostToGo, labels: Labels, walk: Walk, step: Step, label: int, level:
        int,
    tile: int, begin: int, count: int, after: int, energy: float, later: float, how: int,
) -> int:  # fmt: skip
    """Look at one order: at the outermost level it is a mapping, and where ports or routers may
    decide a label of its own. Return how many labels there are, -1 if full.
    """
    if level == len(setup.fanout) - 1:
        _finish(setup, walk, step, energy, label, how)
        return count
    if not walk.bounded and not walk.carried:
        return count
    if _hopeless(setup, walk, step, found, level, tile, energy + later):
        return count
    return add_label(
        labels, walk, begin, count, step.ended, step.passing, tile, after, energy, label, how
    )


@inlined
def _outwards(
    setup: KernelInputs, frame: Subproblem, real: Ints, found: CostToGo, labels: Labels, walk: Walk,
        step: Step,
    label: int, level: int, tile: int, begin: int, count: int,
) -> int:  # fmt: skip
    """Add labels for one way to continue to ``level``; return how many there are, -1 if full."""
    opened, run = labels.opened[label], 1
    for d in range(8):
        step.factors[d] = step.outside[d] // step.tau[d]
        run *= frame.steps[d] // step.tau[d]
    last = level == frame.keep.shape[0] - 1
    after = 0 if last else opened_at(frame, opened, step.factors, level)
    later = 0.0 if last else put_off(frame, after, level)
    mover = INPUTS if _runs_of_inputs(frame, step, opened, level) else OUTPUTS
    # where words of inputs that pass are carried, fewer of them may cost more
    every = bool(frame.carries[1]) and setup.ranks.shape[1] == 0
    stayed, least, least_how = False, np.inf, 0
    for choice in range(4 * max(1, ways_of(setup, level))):
        way, stays = choice // 4, choice % 4
        if stays == 0:
            step.known[:] = 0
        stayed = stays > 0 and stayed
        still = staying(setup, level, way, stays, step.factors)
        if not may_stay(stays, still, stayed, every and step.factors[G] > 1):
            continue
        stayed, some = True, False
        # with G innermost no window is first
        moves = OUTPUTS if every and stays == NONE else mover
        for place in range(5):
            first = P + place if place < 4 else NOTHING
            led = may_lead(setup, level, way, stays, first, step.factors)
            beside = every and still_leads(stays, step.factors)
            if not led or not tries(moves, stays, first, step.factors, some, beside):
                continue
            some = True
            energy = labels.energy[label] + _end(
                setup, frame, real, labels, walk, step, label, level, run, still, stays, first
            )
            walk.tally[2] += 1
            how = choice * 16 + first + 1
            count = _branch(
                setup, found, labels, walk, step, label, level, tile, begin, count, after, energy,
                later, how,
            )  # fmt: skip
            if count < 0:
                return -1
            if energy < least:
                least, least_how = energy, how
    if last or walk.bounded or walk.carried:
        return count
    cost = walk.prices[0, 0] * (least + later) + found.ahead[0, level, tile]
    if not cost < walk.ceilings[0]:
        return count
    return add_label(
        labels, walk, begin, count, step.ended, step.passing, tile, after, least, label, least_how
    )


@inlined
def _start(
    frame: Subproblem, lattice: Lattice, found: CostToGo, labels: Labels, walk: Walk, step: Step,
    fixed: float,
) -> int:  # fmt: skip
    """Make a label of every tile of the innermost level; return how many, -1 if full."""
    count = 0
    opened = pack(
        still_open(frame, WEIGHTS, 0, 0),
        still_open(frame, INPUTS, 0, 0),
        still_open(frame, OUTPUTS, 0, 0),
    )
    for t in range(3):
        step.passing[t] = 0.0
    for tile in range(lattice.size):
        if walk.stop[0]:
            break
        walk.heads[tile] = -1
        open_end = True
        for j in range(len(walk.ceilings)):
            cost = row_of(walk, j, fixed, frame.units) + found.ahead[j, 0, tile]
            open_end = open_end and cost < walk.ceilings[j]
        if open_end:
            count = add_label(
                labels, walk, 0, count, frame.units, step.passing, tile, opened, fixed, -1, 0
            )
            if count < 0:
                return -1
    return count


@inlined
def _continue(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, found: CostToGo, labels:
        Labels,
    walk: Walk, step: Step, label: int, level: int, begin: int, count: int,
) -> int:  # fmt: skip
    """Continue a label to all tiles of ``level`` that contain its own."""
    tile, last = labels.tile[label], level == frame.keep.shape[0] - 1
    energy = labels.energy[label] + put_off(frame, labels.opened[label], level - 1)
    units = labels.units[label] if walk.bounded else frame.units
    for j in range(len(walk.ceilings)):
        step.costs[j] = row_of(walk, j, energy, units) + found.here[j, level - 1, tile]
    positions, turns = step.scratch[1, 1], step.scratch[1, 2]
    for d in range(8):
        positions[d], turns[d] = tile // lattice.places[d] % lattice.counts[d], 0
    outer = lattice.size - 1 if last else tile
    tile_at(lattice, outer, step.outside)
    while True:
        j = 0
        while j < len(walk.ceilings):
            cost = step.costs[j] + (0.0 if last else found.ahead[j, level, outer])
            if not cost < walk.ceilings[j]:
                break
            j += 1
        if j == len(walk.ceilings):
            count = _outwards(
                setup, frame, real, found, labels, walk, step, label, level, outer, begin, count
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
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, found: CostToGo, labels:
        Labels,
    walk: Walk, step: Step, fixed: float, most: int,
) -> int:  # fmt: skip
    """Find the least mapping below the limits; return how it ended.

    ``found`` comes from :func:`archloom.search.mapping.exact.bounds.cost_to_go.potentials`,
    ``fixed`` is the energy of all mappings of the frame, ``most`` the labels that may be tried.
    """
    levels = frame.keep.shape[0]
    count, begin = _start(frame, lattice, found, labels, walk, step, fixed), 0
    for level in range(1, levels):
        if walk.stop[0]:
            return STOPPED
        if count < 0:
            return FULL
        end = count
        for label in range(begin, end):
            if not labels.energy[label] < np.inf:
                continue
            tile_at(lattice, labels.tile[label], step.tau)
            count = _continue(
                setup, frame, real, lattice, found, labels, walk, step, label, level, end, count
            )
            if count < 0:
                return FULL
            if walk.tally[2] > most or walk.stop[0]:
                return STOPPED
        begin = end
    return DONE
