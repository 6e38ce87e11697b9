"""The least mapping for one choice of kept tensors and unrolled factors, level by level.

A *label* is a way to lay out the loops up to a level: its tile, which keepers' runs are still
open, the energy of all that has ended, and what ports have moved. Of two labels that agree in
tile and open runs, one that is no better in anything is dropped; so is one that cannot lead below
what is known already.
"""

import numpy as np

from archloom.evaluators.jit import helper, lean
from archloom.evaluators.loopnest import READ_PORT, WRITE_PORT, KernelInputs
from archloom.search.mapping.exact.subproblem import (
    NONE,
    NOTHING,
    OF_INPUTS,
    Ending,
    Subproblem,
    Traffic,
    end_runs,
    ends,
    may_lead,
    may_stay,
    moved,
    pack_order,
    port_cycles,
    priced,
    run_of,
    staying,
    still_leads,
    still_waiting,
    tile_at,
    tries,
    waiting_at,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, G, P

from ...loop_orders import ways_of
from ...objectives import score_of
from .labels import (
    Label,
    LabelSetting,
    Step,
    add_label,
    copy_units,
    fill_after,
    open_pj,
    opened_at,
    opened_from,
    pack_open,
    pack_waiting,
    still_open,
    waiting_in,
)

#: how a search ended: all was tried; there was no room for labels; or it was stopped
DONE, FULL, STOPPED = range(3)


@helper
def _slot(t: int, stays: int, first: int) -> int:
    """Place of a tensor's run: weights and results mind only whether it is they that stay."""
    if t != INPUTS:
        return int(stays != t)
    return (first - P if first >= P else 4) + (5 if stays == INPUTS else 0)


@helper
def _forget(step: Step, t: int) -> None:
    """Forget what runs of a tensor cost."""
    for at in range(step.known.shape[1]):
        step.known[t, at] = 0


@helper
def _end(
    setup: KernelInputs,
    subproblem: Subproblem,
    search: LabelSetting,
    label: int,
    ending: Ending,
    still: int,
) -> float:
    """End a label's open runs of all tensors that a loop of a level moves, of which ``still`` steps
    leave one tensor where it is; ``ending.steps`` are all steps from there on.
    """
    labels, step, level, stays = search.labels, search.step, ending.outer, ending.stays
    units, passing = step.traffic.units, step.traffic.passing
    if search.bounded:
        copy_units(labels.units[label], units)
    energy, last = 0.0, level == subproblem.keep.shape[0] - 1
    for t in range(3):
        passing[t] = labels.passing[label * int(search.carried), t]
        if not (last or ends(t, step.tile.factors)):
            continue
        at = _slot(t, stays, ending.first)
        # of all loops of the level, those of weights and of results mind what stays alone
        key = still if stays == t else 1
        if step.known[t, at] != key:
            step.known[t, at], run_units = key, step.run_units[t, at]
            for outer in range(run_units.shape[0]):
                run_units[outer, READ_PORT] = run_units[outer, WRITE_PORT] = 0.0
            begin = opened_from(labels.opened[label], t)
            end = Ending(level, run_of(t, stays, still, ending.steps), stays, ending.first)
            run = Traffic(run_units, passing)
            step.run_pj[t, at] = end_runs(setup, subproblem, t, begin, end, step.tile, run)
            step.run_passing[t, at] = passing[t] if subproblem.needed[level, t] else 0.0
        energy += step.run_pj[t, at]
        passing[t] = step.run_passing[t, at]
        if search.bounded:
            for outer in range(units.shape[0]):
                units[outer, READ_PORT] += step.run_units[t, at, outer, READ_PORT]
                units[outer, WRITE_PORT] += step.run_units[t, at, outer, WRITE_PORT]
    return energy


@helper
def _finish(
    setup: KernelInputs, search: LabelSetting, energy: float, label: int, order: int, fill: float
) -> None:
    """Compare a whole mapping with the best one."""
    inner, cycles, best = search.inner, search.cycles, search.outcome[0]
    if search.bounded:
        chip, dram = port_cycles(setup, search.step.traffic.units)
        inner, cycles = max(inner, chip), max(cycles, dram)
    cycles = max(inner + fill, cycles)
    score = score_of(setup, energy, cycles, search.leakage_pj)
    if cycles <= search.most_cycles and score < search.score and score < best.score:
        best.score, best.energy_pj, best.cycles = score, energy, cycles
        best.label, best.order = label, order


@helper
def _hopeless(
    setup: KernelInputs, search: LabelSetting, level: int, tile: int, energy: float, fill: float
) -> bool:
    """Whether nothing better can come of a label of a tile with so much energy, so many cycles in
    which the array fills, and what ports have moved.
    """
    total, prices, units = search.costs.total, search.costs.prices, search.step.traffic.units
    for j in range(len(search.ceilings)):
        if not priced(prices, j, energy, units) + total[j, level, tile] < search.ceilings[j]:
            return True
    cycles, inner, last = search.cycles, search.inner, total.shape[1]
    for port in range(len(search.live) if search.bounded else 0):
        here = moved(prices.ports, port, units) + total[1 + port, level, tile]
        here /= prices.ports.rate[port]
        if prices.ports.level[port] == last:
            cycles = max(cycles, here)
        else:
            inner = max(inner, here)
    cycles = max(inner + fill, cycles)
    if cycles <= search.cycles:
        return False
    least = energy + total[0, level, tile]
    return bool(score_of(setup, least, cycles, search.leakage_pj) >= search.score)


@helper
def _inputs_end(subproblem: Subproblem, step: Step, opened: int, level: int) -> bool:
    """Whether runs of inputs end at the level, so that it matters which loop is first."""
    if not ends(INPUTS, step.tile.factors):
        return False
    return still_open(subproblem, INPUTS, opened_from(opened, INPUTS), level - 1) < level


@helper
def _keep_order(
    setup: KernelInputs,
    search: LabelSetting,
    level: int,
    new: Label,
    later: float,
    begin: int,
    count: int,
) -> int:
    """Look at one order: at the outermost level it is a mapping, and where ports or routers may
    decide a label of its own. Return how many labels there are, -1 if full.

    ``later`` is the least energy with which runs can end that stay open.
    """
    if level == len(setup.fanout) - 1:
        _finish(setup, search, new.energy, new.parent, new.order, new.fill)
        return count
    if not search.bounded and not search.carried and not search.filled:
        return count
    if _hopeless(setup, search, level, new.tile, new.energy + later, new.fill):
        return count
    traffic = search.step.traffic
    return add_label(search, begin, count, new, traffic.units, traffic.passing)


@helper
def _extend(
    setup: KernelInputs,
    subproblem: Subproblem,
    search: LabelSetting,
    label: int,
    level: int,
    tile: int,
    begin: int,
    count: int,
) -> int:
    """Add labels for one tile of ``level`` that a label is extended to, those of the level begin at
    ``begin``; return how many there are, -1 if full.
    """
    labels, step, factors = search.labels, search.step, search.step.tile.factors
    opened = labels.opened[label]
    for d in range(8):
        factors[d] = step.outside[d] // step.tile.tau[d]
    last = level == subproblem.keep.shape[0] - 1
    after = 0 if last else opened_at(subproblem, opened, factors, level)
    later = 0.0 if last else open_pj(subproblem, after, level)
    mover = INPUTS if _inputs_end(subproblem, step, opened, level) else OUTPUTS
    # where words of inputs that pass are carried, fewer of them may cost more
    every = bool(subproblem.carries[OF_INPUTS]) and setup.ranks.shape[1] == 0
    waiting = waiting_in(opened)
    if waiting and not last:
        after = pack_waiting(after, still_waiting(waiting, factors))
    stayed, least, best = False, np.inf, Label(tile, after, np.inf, label, 0, 0.0)
    for choice in range(4 * max(1, ways_of(setup, level))):
        way, stays = choice // 4, choice % 4
        if stays == 0:
            _forget(step, INPUTS)
        stayed = stays > 0 and stayed
        still = staying(setup, level, way, stays, factors)
        if not may_stay(stays, still, stayed, every and factors[G] > 1):
            continue
        stayed, some = True, False
        # with G innermost no window is first
        moves = OUTPUTS if every and stays == NONE else mover
        for place in range(5):
            first = P + place if place < 4 else NOTHING
            led = may_lead(setup, level, way, stays, first, factors)
            beside = every and still_leads(stays, factors)
            if not led or not tries(moves, stays, first, factors, some, beside):
                continue
            some = True
            ending = Ending(level, step.left[0], stays, first)
            energy = labels.energy[label] + _end(setup, subproblem, search, label, ending, still)
            search.outcome[0].tried += 1
            order = pack_order(way, stays, first)
            fill = fill_after(subproblem, search, label, ending, still, waiting_in(after), last)
            new = Label(tile, after, energy, label, order, fill)
            count = _keep_order(setup, search, level, new, later, begin, count)
            if count < 0:
                return -1
            if energy < least:
                least, best = energy, new
    if last or search.bounded or search.carried or search.filled:
        return count
    prices, total = search.costs.prices.table, search.costs.total
    if not prices[0, 0] * (least + later) + total[0, level, tile] < search.ceilings[0]:
        return count
    return add_label(search, begin, count, best, step.traffic.units, step.traffic.passing)


@helper
def _start(subproblem: Subproblem, search: LabelSetting) -> int:
    """Make a label of every tile of the innermost level; return how many, -1 if full."""
    count, costs, passing = 0, search.costs, search.step.traffic.passing
    opened = pack_open(
        still_open(subproblem, WEIGHTS, 0, 0),
        still_open(subproblem, INPUTS, 0, 0),
        still_open(subproblem, OUTPUTS, 0, 0),
    )
    if search.array.mode:
        opened = pack_waiting(opened, waiting_at(subproblem))
    if not search.bounded:
        copy_units(subproblem.units, search.step.traffic.units)
    for t in range(3):
        passing[t] = 0.0
    for tile in range(costs.lattice.size):
        if search.stop[0]:
            break
        search.heads[tile] = -1
        below = True
        for j in range(len(search.ceilings)):
            cost = priced(costs.prices, j, search.shared_pj, subproblem.units)
            below = below and cost + costs.total[j, 0, tile] < search.ceilings[j]
        fill = search.fills[tile] if search.array.mode else 0.0
        if below and search.filled:
            below = search.scores[tile] < search.score
        if below:
            new = Label(tile, opened, search.shared_pj, -1, 0, fill)
            count = add_label(search, 0, count, new, subproblem.units, passing)
            if count < 0:
                return -1
    return count


@helper
def _begin(subproblem: Subproblem, step: Step) -> None:
    """Find the steps outside the tile that a step begins with, and forget runs of another one."""
    step.left[0] = 1
    for d in range(8):
        step.left[0] *= subproblem.steps[d] // step.tile.tau[d]
    _forget(step, WEIGHTS)
    _forget(step, OUTPUTS)


@helper
def _extend_to_all(
    setup: KernelInputs,
    subproblem: Subproblem,
    search: LabelSetting,
    label: int,
    level: int,
    begin: int,
    count: int,
) -> int:
    """Extend a label to all tiles of ``level`` that contain its own."""
    labels, step, costs = search.labels, search.step, search.costs
    lattice, ceilings = costs.lattice, search.ceilings
    tile, last = labels.tile[label], level == subproblem.keep.shape[0] - 1
    energy = labels.energy[label] + open_pj(subproblem, labels.opened[label], level - 1)
    units = labels.units[label] if search.bounded else subproblem.units
    for j in range(len(ceilings)):
        step.costs[j] = priced(costs.prices, j, energy, units) + costs.own[j, level - 1, tile]
    positions, turns = step.positions, step.turns
    for d in range(8):
        positions[d], turns[d] = tile // lattice.places[d] % lattice.counts[d], 0
    outer = lattice.size - 1 if last else tile
    tile_at(lattice, outer, step.outside)
    _begin(subproblem, step)
    while True:
        j = 0
        while j < len(ceilings):
            cost = step.costs[j] + (0.0 if last else costs.total[j, level, outer])
            if not cost < ceilings[j]:
                break
            j += 1
        if j == len(ceilings):
            count = _extend(setup, subproblem, search, label, level, outer, begin, count)
        if last or count < 0 or search.stop[0]:
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
def set_labels(setup: KernelInputs, subproblem: Subproblem, search: LabelSetting) -> int:
    """Find the least mapping below the ceilings; return how that ended."""
    labels, outcome = search.labels, search.outcome[0]
    count, begin = _start(subproblem, search), 0
    for level in range(1, subproblem.keep.shape[0]):
        if search.stop[0]:
            return STOPPED
        if count < 0:
            return FULL
        end = count
        for label in range(begin, end):
            if not labels.energy[label] < np.inf:
                continue
            tile_at(search.costs.lattice, labels.tile[label], search.step.tile.tau)
            count = _extend_to_all(setup, subproblem, search, label, level, end, count)
            if count < 0:
                return FULL
            if outcome.tried > outcome.left or search.stop[0]:
                return STOPPED
        begin = end
    return DONE
