"""A frame with what its mappings cost at least, and what a walk through it must stay below."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.bounds import (
    Corner,
    CostToGo,
    Outside,
    ceilings,
    chord_score,
    chords_of,
    convex,
    corner_score,
    least_cycles,
    most_energy,
    outline,
    potentials,
)
from archloom.search.mapping.exact.subproblem import Lattice, Ports, Subproblem, binding, moved

from .labels import Walk


class Bounded(NamedTuple):
    """A frame's tiles, and what its mappings with less than some score cost at least.

    ``ports`` are those that can decide cycles of such mappings, ``facts`` as
    :func:`archloom.search.mapping.exact.bounds.subproblem_bound.outline` returns them, ``prices[J,
    1 + K]`` those by which ``found`` is filled. No such mapping is below the corner, nor below
    ``score`` (ln).
    """

    lattice: Lattice
    ports: Ports
    facts: Floats
    found: CostToGo
    prices: Floats
    corner: Corner
    score: float


@inlined
def _corner(
    setup: KernelInputs, frame: Subproblem, facts: Floats, found: CostToGo, ports: Ports
) -> Corner:
    """Return energy and cycles that no mapping of an outlined frame is below."""
    energy = (1 - 1e-11) * (facts[0] + found.least[0])
    cycles = least_cycles(frame, ports, found.least, facts[2])
    return Corner(energy, cycles, facts[3] + setup.leakage_pj)


@inlined
def _live(
    setup: KernelInputs,
    frame: Subproblem,
    ports: Ports,
    facts: Floats,
    corner: Corner,
    score: float,
) -> Flags:
    """Return which ports can decide cycles of mappings with less than a score."""
    flags = np.ones(len(ports.rate), np.uint8)
    spare = most_energy(setup, corner, score) - facts[0] - facts[1]
    binding(setup, frame, ports, spare, corner.cycles, flags)
    return flags


@compiled
def bounded(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, kind: int,
    score: float, stop: Flags,
) -> Bounded:  # fmt: skip
    """Return a frame with what its mappings with less than a score cost at least, and chords
    (theorem 5(d) of docs/exact_mapping.md) where ports can decide; nothing holds once ``stop`` is
    set. Arguments are those of
    :func:`archloom.search.mapping.exact.bounds.subproblem_bound.outline`.
    """
    lattice, found, facts, some = outline(setup, frame, real, ports, outside, kind, score, stop)
    prices, corner = np.eye(1 + len(some.rate)), _corner(setup, frame, facts, found, some)
    if not found.least[0] < np.inf:
        return Bounded(lattice, some, facts, found, prices, corner, np.inf)
    least = corner_score(setup, corner)
    mixed = least < score and convex(setup, corner)
    if not mixed or not _live(setup, frame, some, facts, corner, score).any():
        return Bounded(lattice, some, facts, found, prices, corner, least)
    chords, levels = chords_of(setup, corner, some.rate), found.here.shape[1]
    more = potentials(
        setup, frame, real, lattice, some, chords, found.ahead[0], np.full(levels, np.inf), 0, stop
    )
    for j in range(len(chords)):
        cost = chords[j, 0] * facts[0] + more.least[j]
        for port in range(len(some.rate)):
            cost += chords[j, 1 + port] * moved(some, port, frame.units)
        least = max(least, chord_score(setup, corner, cost))
    both = CostToGo(
        np.concatenate((found.here, more.here)),
        np.concatenate((found.ahead, more.ahead)),
        found.beyond,
        found.least,
    )
    prices = np.concatenate((prices, chords))
    return Bounded(lattice, some, facts, both, prices, corner, least)


@inlined
def new_walk(
    setup: KernelInputs, frame: Subproblem, bounds: Bounded, score: float, most_cycles: float, best:
        Floats,
    tally: Ints, stop: Flags,
) -> Walk:  # fmt: skip
    """Return a walk over all tiles for mappings with less than a score."""
    ports, corner = bounds.ports, bounds.corner
    live = _live(setup, frame, ports, bounds.facts, corner, score)
    chords = len(bounds.prices) - 1 - len(ports.rate)
    limits = np.array([score, corner.cycles, corner.leakage_pj, most_cycles])
    best[:], tally[0], tally[1], tally[2] = np.inf, -1, 0, 0
    return Walk(
        np.empty(bounds.lattice.size, np.int64),
        ports,
        bounds.prices,
        ceilings(setup, corner, score, most_cycles, ports.rate, chords),
        limits,
        best,
        tally,
        live,
        bool(live.any()),
        bool(frame.carries[0]),
        stop,
    )
