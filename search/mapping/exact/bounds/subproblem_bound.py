"""What a subproblem's mappings cost at least: first as far as meshes reach, then level by level."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, copy_row, fill_row, fill_table, helper
from archloom.evaluators.loopnest import NO_FILL, KernelInputs
from archloom.search.mapping.exact.spatial import array_of
from archloom.search.mapping.exact.subproblem import (
    NONE,
    ArrayFill,
    Lattice,
    Ports,
    Prices,
    Scratch,
    Subproblem,
    chosen,
    energy_below,
    fill_cycles,
    lattice_of,
    leakage,
    moved,
    new_scratch,
    open_ports,
    prepare,
    step_cycles,
    wire,
)

from ...objectives import SCORE_ROUNDING, score_of
from .cost_to_go import INNERMOST, CostToGo, Cutoffs, fill, new_costs
from .lattice_min import least_apart, least_inside, least_of, least_outside
from .outer_levels import OuterLevels, numbers_of
from .two_level import couple

#: tiles of a subproblem that are looked at in pairs, at most: of composite bounds each has hundreds
MOST_PAIRED: Final = 2**14


class Floor(NamedTuple):
    """What holds of all mappings of a subproblem: energy that all of them share, the least that
    fills of keepers cost beside it, cycles that all take, and leakage in a cycle; of the cycles
    ``inner`` on chip without those in which the array fills and drains.
    """

    shared_pj: float
    fills_pj: float
    cycles: float
    leakage_pj: float
    inner: float


@allocating
def _most_from(subproblem: Subproblem, most_pj: float) -> Floats:
    """Return what runs of a level and outside it must stay below, most[L - 1], so that all runs
    together cost less than ``most_pj``: those inside cost their least at least.
    """
    most = np.empty(subproblem.keep.shape[0] - 1)
    for level in range(len(most)):
        most[level] = most_pj
        for t in range(3):
            if subproblem.runs[level, t]:
                most_pj -= subproblem.least_pj[level, t]
    return most


@helper
def least_cycles(
    subproblem: Subproblem,
    ports: Ports,
    least: Floats,
    inner: float,
    array: ArrayFill,
    fill: float,
) -> tuple[float, float]:
    """Cycles of a layer that takes ``inner`` on chip, or what ports need for units beyond the
    compulsory, least[1 + K], if more, with ``fill`` in which the array fills and drains; and those
    on chip without these.
    """
    last, dram = subproblem.keep.shape[0] - 1, 0.0
    for port in range(len(ports.rate)):
        needed = (moved(ports, port, subproblem.units) + least[1 + port]) / ports.rate[port]
        needed = np.ceil((1 - ROUNDING) * needed)
        # DRAM goes on while the array fills
        if array.mode != NO_FILL and ports.level[port] == last:
            dram = max(dram, needed)
        else:
            inner = max(inner, needed)
    return max(inner + fill, dram), inner


@helper
def _too_much(setup: KernelInputs, floor: Floor, energy: CostToGo, score: float) -> bool:
    """Whether no mapping of less than a score needs so little energy."""
    least = (1 - ROUNDING) * (floor.shared_pj + energy.least[0])
    return bool(score_of(setup, least, floor.cycles, floor.leakage_pj) >= score)


@helper
def _fill_inside(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    numbers: Ints,
    cutoffs: Cutoffs,
    energy: CostToGo,
    scratch: Scratch,
    stop: Flags,
) -> None:
    """Fill levels inside all meshes, if from there on runs cost no more energy than what is known
    outside them, for ``numbers`` of tiles, or else their least.
    """
    level, outside = outer.level, energy.outside[0]
    if outer.size > 0:
        for number in range(energy.lattice.size):
            outside[number] = outer.outside[subproblem.kind[0], 0, numbers[number]]
    else:
        fill_row(outside, 0.0)
        for at in range(level, subproblem.keep.shape[0]):
            for t in range(3):
                if subproblem.runs[at, t]:
                    outside += subproblem.least_pj[at, t]
    fill(setup, subproblem, energy, cutoffs, level - 1, INNERMOST, scratch, stop)


@helper
def _look_up(
    subproblem: Subproblem,
    outer: OuterLevels,
    row: int,
    numbers: Ints,
    cutoffs: Cutoffs,
    costs: CostToGo,
    j: int,
) -> None:
    """Fill levels outside all meshes from what is known of them, ``row`` of it as the price j."""
    lattice, kind, outside = costs.lattice, subproblem.kind[0], costs.outside[j]
    outermost = costs.own.shape[1] - 1
    fill_row(outside, 0.0)
    for level in range(outermost, outer.level - 1, -1):
        if level < outermost:
            least_outside(lattice, costs.total[j : j + 1, level + 1], costs.outside[j : j + 1])
        for number in range(lattice.size):
            own = np.inf
            if cutoffs.known[level, number] < np.inf:
                own = outer.own[kind, level, row, numbers[number]]
            own = own if own + outside[number] < cutoffs.most[level] else np.inf
            costs.own[j, level, number] = own
            costs.total[j, level, number] = own + outside[number]


@allocating
def _sum_up(
    setup: KernelInputs,
    subproblem: Subproblem,
    most: Floats,
    energy: CostToGo,
    level: int,
    scratch: Scratch,
) -> None:
    """Add what is outside to what levels inside one cost, and leave out what costs too much."""
    lattice, last, outside = energy.lattice, energy.own.shape[1] - 1, energy.outside[0]
    paired = lattice.size <= MOST_PAIRED
    apart = np.empty((4, 1, lattice.size if paired else 0))
    for inner in range(level - 1, -1, -1):
        own, total = energy.own[0, inner], energy.total[0, inner]
        fill_row(outside, 0.0)
        if inner < last and paired:
            least_apart(lattice, energy.total[:, inner + 1], apart)
            copy_row(outside, apart[NONE, 0])
        elif inner < last:
            least_outside(lattice, energy.total[:, inner + 1], energy.outside)
        for number in range(lattice.size):
            if not own[number] + outside[number] < most[inner]:
                own[number] = np.inf
            total[number] = own[number] + outside[number]
        if inner < last and paired:
            couple(setup, subproblem, energy, inner, most[inner], apart, scratch)
    energy.least[0] = least_of(energy.total[0, 0])


@allocating
def _leave_out(energy: CostToGo, most_pj: float) -> None:
    """Leave out tiles that cost ``most_pj`` or more with what is outside and what is inside them
    at least.
    """
    lattice = energy.lattice
    inside = np.zeros(lattice.size)
    for level in range(1, energy.own.shape[1]):
        own, total = energy.own[0], energy.total[0, level]
        for number in range(lattice.size):
            inside[number] += own[level - 1, number]
        least_inside(lattice, inside)
        for number in range(lattice.size):
            if not inside[number] + total[number] < most_pj:
                own[level, number] = total[number] = np.inf


@allocating
def _fill_ports(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    rows: Ints,
    numbers: Ints,
    known: Floats,
    costs: CostToGo,
    stop: Flags,
) -> None:
    """Fill what is least at each port, ``rows`` of what is known outside all meshes, but for tiles
    whose known[L - 1, size] is infinite.
    """
    lattice, levels, many = costs.lattice, subproblem.keep.shape[0], len(rows)
    cutoffs, level = Cutoffs(np.full(levels - 1, np.inf), known), levels - 2
    fill_table(costs.outside, 0.0)
    if outer.size > 0:
        for j in range(many):
            _look_up(subproblem, outer, rows[j], numbers, cutoffs, costs, j)
        level = outer.level - 1
        if level >= 0:
            least_outside(lattice, costs.total[:, level + 1], costs.outside)
    if level >= 0:
        scratch = new_scratch(levels, many)
        fill(setup, subproblem, costs, cutoffs, level, INNERMOST, scratch, stop)
    for j in range(many):
        costs.least[j] = least_of(costs.total[j, 0])


@allocating
def _part(costs: CostToGo, begin: int, end: int) -> CostToGo:
    """Return the costs by some of the prices."""
    return CostToGo(
        costs.lattice,
        Prices(costs.prices.ports, costs.prices.table[begin:end]),
        costs.own[begin:end],
        costs.total[begin:end],
        costs.outside[begin:end],
        costs.least[begin:end],
    )


@allocating
def _nothing(lattice: Lattice, prices: Prices) -> CostToGo:
    """Return costs that say that there is no mapping."""
    none = np.full((len(prices.table), 1, 1), np.inf)
    return CostToGo(lattice, prices, none, none, none[0], none[:, 0, 0].copy())


@allocating
def outline(
    setup: KernelInputs, subproblem: Subproblem, outer: OuterLevels, score: float, stop: Flags
) -> tuple[CostToGo, Floor]:
    """Prepare a subproblem and bound what its mappings with less than a score (ln) cost; nothing
    holds once ``stop`` is set.

    Returns what is least in energy and at each port that can decide cycles of such mappings
    (infinite if there is none), and what holds of all mappings.
    """
    shared, least, total = prepare(setup, subproblem)
    wires, hops = wire(setup, subproblem, total)
    lattice, ports = lattice_of(subproblem.steps, setup.within), outer.ports
    levels = subproblem.keep.shape[0]
    array, nothing = array_of(setup, subproblem, total), np.zeros(1 + len(ports.rate))
    steps, once = step_cycles(setup, total), fill_cycles(array, 1)
    cycles, inner = least_cycles(subproblem, ports, nothing, steps, array, once)
    leaked = leakage(setup, subproblem) + setup.leakage_pj
    floor = Floor(shared + wires, least + hops, cycles, leaked, inner)
    most_pj = energy_below(setup, score, cycles, floor.leakage_pj) * (1 + SCORE_ROUNDING)
    most_pj -= floor.shared_pj
    at = open_ports(setup, subproblem, ports, most_pj - floor.fills_pj, cycles, inner)
    some, many = chosen(ports, at), 1 + len(at)
    cutoffs = Cutoffs(_most_from(subproblem, most_pj), np.zeros((levels - 1, lattice.size)))
    numbers, scratch = np.empty(lattice.size, np.int64), new_scratch(levels, 1)
    if outer.size > 0:
        numbers_of(outer, subproblem, lattice, numbers)
    costs = new_costs(lattice, Prices(some, np.eye(many)), levels)
    energy = _part(costs, 0, 1)
    energy = CostToGo(
        lattice, Prices(some, np.eye(1)), energy.own, energy.total, energy.outside, energy.least
    )
    if outer.level > 0:
        _fill_inside(setup, subproblem, outer, numbers, cutoffs, energy, scratch, stop)
        if _too_much(setup, floor, energy, score):
            return _nothing(lattice, costs.prices), floor
    if outer.size > 0:
        _look_up(subproblem, outer, 0, numbers, cutoffs, energy, 0)
    elif outer.level < levels - 1:
        fill_table(energy.outside, 0.0)
        fill(setup, subproblem, energy, cutoffs, levels - 2, outer.level, scratch, stop)
    _sum_up(setup, subproblem, cutoffs.most, energy, outer.level, scratch)
    if _too_much(setup, floor, energy, score):
        return _nothing(lattice, costs.prices), floor
    _leave_out(energy, cutoffs.most[0])
    if many > 1:
        others, known = _part(costs, 1, many), costs.total[0]
        _fill_ports(setup, subproblem, outer, 1 + at, numbers, known, others, stop)
    return costs, floor
