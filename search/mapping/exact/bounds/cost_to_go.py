"""What all that is outside a tile costs at least, for energy, ports, and prices that mix them.

A *price* is what a picojoule counts, and then what a unit through each port does. Whatever the
prices, costs are local (theorem 3 of docs/explanation/mapping_proofs.md), so the same bounds hold.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats
from archloom.evaluators.jit import allocating, compiled, fill_row, helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    LEAST,
    Lattice,
    Prices,
    Scratch,
    Subproblem,
    as_guessed,
    first_tile,
    forget,
    has_room,
    last_along,
    lattice_of,
    least_end,
    new_scratch,
    next_tile,
    prepare,
    steps_left,
    wire,
)

from .lattice_min import least_outside

#: not a literal, for which kernels would compile apart
INNERMOST: Final[Any] = np.int64(0)


class CostToGo(NamedTuple):
    """Least costs by price, level and tile of a lattice.

    ``own[J, L - 1, size]`` is what ends the runs of the level's keepers at least, inf where the
    tile does not fit; ``total`` adds the same of levels outside with tiles that contain it.
    ``outside[J, size]`` is the least of that over tiles which contain each, outside the innermost
    level that was filled, and ``least[J]`` that of the best path from there. Units count beyond
    what must move anyway.
    """

    lattice: Lattice
    prices: Prices
    own: Floats
    total: Floats
    outside: Floats
    least: Floats


class Cutoffs(NamedTuple):
    """Which tiles are left out of a level, as if they did not fit: those whose cost by the first
    price, with what is outside, is not below ``most[L - 1]``, and those for which
    ``known[L - 1, size]`` is not.
    """

    most: Floats
    known: Floats


@allocating
def new_costs(lattice: Lattice, prices: Prices, levels: int) -> CostToGo:
    """Return room for costs by all prices; nothing is outside."""
    many, size = len(prices.table), lattice.size
    own, total = np.empty((many, levels - 1, size)), np.empty((many, levels - 1, size))
    return CostToGo(lattice, prices, own, total, np.zeros((many, size)), np.empty(many))


@helper
def _fill_level(
    setup: KernelInputs,
    subproblem: Subproblem,
    costs: CostToGo,
    cutoffs: Cutoffs,
    level: int,
    scratch: Scratch,
    stop: Flags,
) -> None:
    """Fill what runs of a level's keepers cost at least, and with what is outside it."""
    lattice, outside, number = costs.lattice, costs.outside, 0
    tile, least, most = scratch.tile, scratch.sums[LEAST], cutoffs.most[level]
    for j in range(len(costs.own)):
        fill_row(costs.own[j, level], np.inf)
        fill_row(costs.total[j, level], np.inf)
    forget(lattice, scratch.memo)
    line = first_tile(lattice, scratch.at, tile.tau)
    while number < lattice.size:
        if stop[0]:
            return
        if max(cutoffs.known[level, number], outside[0, number]) < most:
            extents = scratch.extents
            for d in range(8):
                extents[0, d] = tile.tau[d] * subproblem.inside[level, d]
            if not has_room(setup, subproblem, level, extents):
                number = last_along(lattice, line, number, scratch.at)
            elif as_guessed(setup, subproblem, level + 1, extents[0]):
                left = steps_left(lattice, level, number, scratch)
                least_end(setup, subproblem, costs.prices, left, scratch)
                if least[0] + outside[0, number] < most:
                    for j in range(len(least)):
                        costs.own[j, level, number] = least[j]
                        costs.total[j, level, number] = least[j] + outside[j, number]
        next_tile(lattice, scratch.at, tile.tau)
        number += 1


@helper
def fill(
    setup: KernelInputs,
    subproblem: Subproblem,
    costs: CostToGo,
    cutoffs: Cutoffs,
    outermost: int,
    innermost: int,
    scratch: Scratch,
    stop: Flags,
) -> None:
    """Fill what is least, from the outermost of some levels to the innermost one.

    ``costs.outside`` is given for the former. Once ``stop`` is set nothing holds.
    """
    for level in range(outermost, innermost - 1, -1):
        if level < outermost:
            least_outside(costs.lattice, costs.total[:, level + 1], costs.outside)
        _fill_level(setup, subproblem, costs, cutoffs, level, scratch, stop)
    for j in range(len(costs.least)):
        costs.least[j] = np.inf
        for number in range(costs.lattice.size):
            costs.least[j] = min(costs.least[j], costs.total[j, innermost, number])


@allocating
def least_costs(
    setup: KernelInputs,
    subproblem: Subproblem,
    lattice: Lattice,
    prices: Prices,
    known: Floats,
    stop: Flags,
) -> CostToGo:
    """Return what is least at all levels, but for tiles whose known[L - 1, size] is infinite;
    nothing holds once ``stop`` is set.
    """
    levels = subproblem.keep.shape[0]
    costs = new_costs(lattice, prices, levels)
    cutoffs = Cutoffs(np.full(levels - 1, np.inf), known)
    scratch = new_scratch(levels, len(prices.table))
    fill(setup, subproblem, costs, cutoffs, levels - 2, INNERMOST, scratch, stop)
    return costs


@compiled(brief=True)
def bare_lattice(setup: KernelInputs, subproblem: Subproblem) -> Lattice:
    """Prepare a subproblem and return its tiles."""
    _, _, total = prepare(setup, subproblem)
    wire(setup, subproblem, total)
    return lattice_of(subproblem.steps, setup.within)
