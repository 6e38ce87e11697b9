"""A subproblem with what its mappings cost at least, and a search for those below a score."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.bounds import (
    Corner,
    CostToGo,
    Floor,
    OuterLevels,
    ceilings,
    chord_score,
    chords_of,
    convex,
    corner_score,
    least_costs,
    least_cycles,
    most_energy,
    outline,
)
from archloom.search.mapping.exact.subproblem import (
    ANY_TENSOR,
    Ports,
    Prices,
    Subproblem,
    binding,
    moved,
)

from .labels import LabelSetting, Workspace


class Limits(NamedTuple):
    """The score (ln) that a mapping must be below to be better, and the most cycles that count."""

    score: float
    most_cycles: float


class Bounded(NamedTuple):
    """What a subproblem's mappings with less than some score cost at least.

    The prices of ``costs`` are of energy, of each port that can decide cycles of such mappings, and
    of chords. No such mapping is below the corner, nor below ``score`` (ln).
    """

    costs: CostToGo
    floor: Floor
    corner: Corner
    score: float


@allocating
def _corner(subproblem: Subproblem, costs: CostToGo, floor: Floor) -> Corner:
    """Return energy and cycles that no mapping of an outlined subproblem is below."""
    energy = (1 - ROUNDING) * (floor.shared_pj + costs.least[0])
    cycles = least_cycles(subproblem, costs.prices.ports, costs.least, floor.cycles)
    return Corner(energy, cycles, floor.leakage_pj)


@allocating
def _live(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    floor: Floor,
    corner: Corner,
    score: float,
) -> Flags:
    """Return which ports can decide cycles of mappings with less than a score."""
    flags = np.ones(len(ports.rate), np.uint8)
    spare = most_energy(setup, corner, score) - floor.shared_pj - floor.fills_pj
    binding(setup, subproblem, ports, spare, corner.cycles, flags)
    return flags


@allocating
def bounded(
    setup: KernelInputs, subproblem: Subproblem, outer: OuterLevels, score: float, stop: Flags
) -> Bounded:
    """Return what a subproblem's mappings with less than a score cost at least, and chords
    (theorem 5(d) of docs/explanation/mapping_proofs.md) where ports can decide; nothing holds once
    ``stop`` is set. Arguments are those of
    :func:`archloom.search.mapping.exact.bounds.subproblem_bound.outline`.
    """
    costs, floor = outline(setup, subproblem, outer, score, stop)
    corner, ports = _corner(subproblem, costs, floor), costs.prices.ports
    if not costs.least[0] < np.inf:
        return Bounded(costs, floor, corner, np.inf)
    least = corner_score(setup, corner)
    mixed = least < score and convex(setup, corner)
    if not mixed or not _live(setup, subproblem, ports, floor, corner, score).any():
        return Bounded(costs, floor, corner, least)
    chords = chords_of(setup, corner, ports.rate)
    lattice, known = costs.lattice, costs.total[0]
    more = least_costs(setup, subproblem, lattice, Prices(ports, chords), known, stop)
    for j in range(len(chords)):
        cost = chords[j, 0] * floor.shared_pj + more.least[j]
        for port in range(len(ports.rate)):
            cost += chords[j, 1 + port] * moved(ports, port, subproblem.units)
        least = max(least, chord_score(setup, corner, cost))
    both = CostToGo(
        lattice,
        Prices(ports, np.concatenate((costs.prices.table, chords))),
        np.concatenate((costs.own, more.own)),
        np.concatenate((costs.total, more.total)),
        costs.outside,
        costs.least,
    )
    return Bounded(both, floor, corner, least)


@allocating
def new_search(
    setup: KernelInputs, subproblem: Subproblem, bounds: Bounded, limits: Limits, space: Workspace
) -> LabelSetting:
    """Return a search through all tiles for mappings below limits; the outcome is reset."""
    costs, corner, outcome = bounds.costs, bounds.corner, space.outcome[0]
    ports = costs.prices.ports
    live = _live(setup, subproblem, ports, bounds.floor, corner, limits.score)
    chords = len(costs.prices.table) - 1 - len(ports.rate)
    most = limits.most_cycles
    outcome.score = outcome.energy_pj = outcome.cycles = np.inf
    outcome.label, outcome.order, outcome.tried = -1, 0, 0
    return LabelSetting(
        space.labels,
        space.step,
        space.outcome,
        costs,
        np.empty(costs.lattice.size, np.int64),
        ceilings(setup, corner, limits.score, most, ports.rate, chords),
        limits.score,
        most,
        bounds.floor.shared_pj,
        corner.cycles,
        corner.leakage_pj,
        live,
        bool(live.any()),
        bool(subproblem.carries[ANY_TENSOR]),
        space.stop,
    )
