"""A subproblem with what its mappings cost at least, and a search for those below a score."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import OF_LATENCY, KernelInputs
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
    least_fills,
    least_of,
    most_energy,
    outline,
    tile_scores,
)
from archloom.search.mapping.exact.spatial import array_of
from archloom.search.mapping.exact.subproblem import (
    ANY_TENSOR,
    ArrayFill,
    Ports,
    Prices,
    Subproblem,
    binding,
    moved,
    steps_of,
)

from .labels import LabelSetting, Workspace


class Limits(NamedTuple):
    """The score (ln) that a mapping must be below to be better, and the most cycles that count."""

    score: float
    most_cycles: float


class Bounded(NamedTuple):
    """What a subproblem's mappings with less than some score cost at least.

    The prices of ``costs`` are of energy, of each port that can decide cycles of such mappings, and
    of chords. No such mapping is below the corner, nor below ``score`` (ln). ``fills`` and
    ``scores`` are those of :mod:`archloom.search.mapping.exact.bounds.filled`, by tile of the
    innermost level, where the array fills.
    """

    costs: CostToGo
    floor: Floor
    corner: Corner
    score: float
    array: ArrayFill
    fills: Floats
    scores: Floats


@allocating
def _corner(
    subproblem: Subproblem, costs: CostToGo, floor: Floor, array: ArrayFill, fills: Floats
) -> Corner:
    """Return energy and cycles that no mapping of an outlined subproblem is below."""
    energy = (1 - ROUNDING) * (floor.shared_pj + costs.least[0])
    fill = np.inf if array.mode else 0.0
    for number in range(len(fills) if array.mode else 0):
        if costs.total[0, 0, number] < np.inf:
            fill = min(fill, fills[number])
    ports, inner = costs.prices.ports, floor.inner
    cycles, inner = least_cycles(subproblem, ports, costs.least, inner, array, fill)
    return Corner(energy, max(cycles, floor.cycles), floor.leakage_pj, inner)


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
    binding(setup, subproblem, ports, spare, corner.cycles, corner.inner, flags)
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
    ports, array = costs.prices.ports, array_of(setup, subproblem, steps_of(subproblem))
    if not costs.least[0] < np.inf:
        corner = Corner(np.inf, floor.cycles, floor.leakage_pj, floor.inner)
        return Bounded(costs, floor, corner, np.inf, array, np.zeros(1), np.zeros(1))
    fills = least_fills(subproblem, array, costs.lattice)
    corner = _corner(subproblem, costs, floor, array, fills)
    least, scores = corner_score(setup, corner), np.zeros(1)
    if array.mode:
        shared = Corner(floor.shared_pj, corner.cycles, corner.leakage_pj, corner.inner)
        scores = tile_scores(setup, subproblem, array, shared, costs)
        least = max(least, least_of(scores))
    mixed = least < score and convex(setup, corner)
    if not mixed or not _live(setup, subproblem, ports, floor, corner, score).any():
        return Bounded(costs, floor, corner, least, array, fills, scores)
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
    return Bounded(both, floor, corner, least, array, fills, scores)


@helper
def _minds(setup: KernelInputs, corner: Corner, array: ArrayFill, limits: Limits) -> bool:
    """Whether it matters how long the array takes to fill and drain."""
    late = setup.weights[OF_LATENCY] > 0 or corner.leakage_pj > 0
    return bool(array.mode and (late or limits.most_cycles < np.inf))


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
        corner.inner,
        corner.leakage_pj,
        bounds.array,
        bounds.fills,
        bounds.scores,
        live,
        bool(live.any()),
        _minds(setup, corner, bounds.array, limits),
        bool(subproblem.carries[ANY_TENSOR]),
        space.stop,
    )
