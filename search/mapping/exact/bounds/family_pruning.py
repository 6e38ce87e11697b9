"""Rules out listed choices by what their mappings cost as far as meshes reach, all siblings of a
choice at once.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    Lattice,
    Ports,
    Subproblem,
    binding,
    lattice_of,
    leakage,
    meets,
    moved,
    prepare,
    room_of,
    scratch,
    step_cycles,
)
from archloom.space.workload import INPUTS

from ...objectives import score_of
from .lattice_min import least_outside
from .outer_levels import Outside, numbers_of
from .siblings import fill_siblings, new_siblings, new_tile_scratch, note

#: ways to keep tensors that are looked at together
MANY: Final = 8

#: tiles of a frame that is bounded together with its siblings, at most
MOST_TOGETHER: Final = 2**16


class FamilyPruner(NamedTuple):
    """Listed choices, and what is known of them.

    ``chosen[N, 3]`` and ``bounds[N]`` as listed, ``families[N]``: those of one number unroll the
    same, and keep tensors in ways of one :data:`MANY`. ``sizes[F]`` are tiles of a family, 0 if it
    was not looked at, and ``scores[F, MANY]`` what no mapping of each sibling is below.
    """

    chosen: Ints
    bounds: Floats
    families: Ints
    sizes: Ints
    scores: Floats


@helper
def needs_guess(setup: KernelInputs, frame: Subproblem) -> bool:
    """Whether costs depend on how many stretches of inputs children start."""
    for level in range(1, setup.top[INPUTS] + 1):
        if not frame.keep[level - 1, INPUTS] and meets(setup, frame.spread, level):
            return True
    return False


@inlined
def _rests(
    setup: KernelInputs,
    frame: Subproblem,
    ports: Ports,
    score: float,
    facts: Floats,
    rest: Floats,
    live: Flags,
) -> None:
    """Set rest[L - 1] for a prepared frame, as
    :mod:`archloom.search.mapping.exact.bounds.subproblem_bound` has it, and which ports can decide
    cycles of mappings with less than a score.

    ``facts[4]`` are energy that all mappings share, the least beside it, cycles, and leakage.
    """
    most = room_of(setup, score, facts[2], facts[3]) * (1 + 1e-9) - facts[0]
    here = np.ones(len(live), np.uint8)
    binding(setup, frame, ports, most - facts[1], facts[2], here)
    for port in range(len(live)):
        live[port] = max(live[port], here[port])
    for level in range(len(rest)):
        rest[level] = most
        for t in range(3):
            if frame.parent[level, t] >= 0:
                most -= frame.least_pj[level, t]


@inlined
def _outside(
    outside: Outside, kinds: Ints, frame: Subproblem, lattice: Lattice, rows: Ints, least: Floats,
    beyond: Floats,
) -> None:  # fmt: skip
    """Set beyond[C, J, size] to what is known outside all meshes, or in energy to least[C]."""
    numbers = np.empty(lattice.size, np.int64)
    if outside.size > 0:
        numbers_of(outside, frame, lattice, numbers)
    for c in range(len(kinds)):
        if outside.size == 0:
            beyond[c, 0] = least[c]
            continue
        for j in range(len(rows)):
            for number in range(lattice.size):
                beyond[c, j, number] = outside.beyond[kinds[c], rows[j], numbers[number]]


@inlined
def _bound_family(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, keeps:
        Flags,
    kinds: Ints, score: float, stop: Flags, scores: Floats,
) -> int:  # fmt: skip
    """Set scores[C] that no mapping of each sibling is below, where that is below a score; return
    how many tiles they have.
    """
    many, levels, siblings = len(keeps), keeps.shape[1], new_siblings(keeps)
    facts, least = np.zeros((many, 4)), np.zeros(many)
    base, rest = np.zeros((many, len(ports.rate))), np.full((many, levels - 1), -np.inf)
    live, open_at = np.zeros(len(ports.rate), np.uint8), np.zeros(many, np.uint8)
    frame.guess[:] = 0
    for c in range(many):
        frame.keep[:] = keeps[c]
        fixed, more, total = prepare(setup, frame, real)
        note(siblings, frame, c)
        cycles = step_cycles(setup, total)
        for port in range(len(ports.rate)):
            base[c, port] = moved(ports, port, frame.units)
            cycles = max(cycles, np.ceil((1 - 1e-11) * base[c, port] / ports.rate[port]))
        facts[c, 0], facts[c, 1], facts[c, 2] = fixed, more, cycles
        facts[c, 3] = leakage(setup, frame) + setup.leakage_pj
        for level in range(outside.level, levels):
            for t in range(3):
                if frame.parent[level, t] >= 0:
                    least[c] += frame.least_pj[level, t]
        if not needs_guess(setup, frame):
            open_at[c] = 1
            _rests(setup, frame, ports, score, facts[c], rest[c], live)
    lattice = lattice_of(frame.steps, setup.within)
    (at,) = np.nonzero(live)
    some = Ports(ports.level[at], ports.kind[at], ports.rate[at])
    rows, shape = np.zeros(1 + len(at), np.int64), (many, 1 + len(at), lattice.size)
    rows[1:] = 1 + at
    here, beyond = np.empty(shape), np.zeros(shape)
    _outside(outside, kinds, frame, lattice, rows, least, beyond)
    room, desk = scratch(levels, len(rows)), new_tile_scratch(many, levels, len(rows))
    for level in range(outside.level - 1, -1, -1):
        fill_siblings(
            setup, frame, real, lattice, some, siblings, level, rest, here, beyond, room, desk,
            stop,
        )  # fmt: skip
        for c in range(many):
            if level > 0:
                least_outside(lattice, beyond[c], beyond[c])
    for c in range(many):
        late = facts[c, 2]
        for port in range(len(at)):
            needed = (base[c, at[port]] + beyond[c, 1 + port].min()) / some.rate[port]
            late = max(late, np.ceil((1 - 1e-11) * needed))
        energy = (1 - 1e-11) * (facts[c, 0] + beyond[c, 0].min())
        scores[c] = score_of(setup, energy, late, facts[c, 3]) if open_at[c] else -np.inf
    return int(lattice.size)


@helper
def unroll(frame: Subproblem, one: Ints, two: Ints, sieve: FamilyPruner, at: int) -> None:
    """Set what a frame unrolls to the factors of a listed choice."""
    for level in range(frame.spread.shape[0]):
        for d in range(8):
            factor = one[sieve.chosen[at, 1], level, d] * two[sieve.chosen[at, 2], level, d]
            frame.spread[level, d] = factor


@helper
def tiles_of(setup: KernelInputs, frame: Subproblem) -> int:
    """Number of tiles of a frame."""
    size = 1
    for d in range(8):
        steps = setup.bounds[d]
        for level in range(frame.spread.shape[0]):
            steps //= frame.spread[level, d]
        count, i = int(setup.within[d]), 1
        while not setup.within[d] and i * i <= steps:
            if steps % i == 0:
                count += 1 if i * i == steps else 2
            i += 1
        size *= count
    return size


@compiled
def ruled_out(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, keeps:
        Flags,
    kinds: Ints, one: Ints, two: Ints, sieve: FamilyPruner, begin: int, score: float, left: Ints,
        stop: Flags,
) -> int:  # fmt: skip
    """Return the first choice from ``begin`` on that may hold a mapping with less than a score.

    So is one with more tiles than are bounded together, or than what is left[0] of evaluations
    buys; those of choices that are ruled out are taken from it.
    """
    levels = keeps.shape[1]
    for i in range(begin, len(sieve.bounds)):
        keep, family = sieve.chosen[i, 0], sieve.families[i]
        if stop[0] or not sieve.bounds[i] < score:
            return i
        if sieve.sizes[family] == 0:
            unroll(frame, one, two, sieve, i)
            size = tiles_of(setup, frame)
            if size > MOST_TOGETHER or size * (levels - 1) > left[0]:
                return i
            low = keep // MANY * MANY
            high = min(low + MANY, len(keeps))
            sieve.sizes[family] = _bound_family(
                setup, frame, real, ports, outside, keeps[low:high], kinds[low:high], score, stop,
                sieve.scores[family],
            )  # fmt: skip
            if stop[0]:
                return i
        cost = sieve.sizes[family] * (levels - 1)
        if cost > left[0] or sieve.scores[family, keep % MANY] < score:
            return i
        left[0] -= cost
    return len(sieve.bounds)
