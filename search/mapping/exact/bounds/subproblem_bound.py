"""What mappings of a frame cost at least: first as far as meshes reach, then level by level."""

from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    NONE,
    Lattice,
    Ports,
    Scratch,
    Subproblem,
    lattice_of,
    leakage,
    moved,
    open_ports,
    prepare,
    room_of,
    scratch,
    step_cycles,
    wire,
)

from ...objectives import score_of
from .cost_to_go import CostToGo, fill
from .lattice_min import least_apart, least_inside, least_outside
from .outer_levels import Outside, numbers_of
from .two_level import couple

#: tiles of a frame that are looked at in pairs, at most: of composite bounds each has hundreds
MOST_PAIRED: Final = 2**14


@inlined
def _rests(frame: Subproblem, most_pj: float) -> Floats:
    """Return what runs of a level and outside it must stay below, rest[L - 1], so that all runs
    together cost less than ``most_pj``: those inside cost their least at least.
    """
    rest = np.empty(frame.keep.shape[0] - 1)
    for level in range(len(rest)):
        rest[level] = most_pj
        for t in range(3):
            if frame.runs[level, t]:
                most_pj -= frame.least_pj[level, t]
    return rest


@inlined
def least_cycles(frame: Subproblem, ports: Ports, least: Floats, cycles: float) -> float:
    """Cycles, or what ports need for units beyond the compulsory, least[1 + K], if more."""
    for port in range(len(ports.rate)):
        needed = (moved(ports, port, frame.units) + least[1 + port]) / ports.rate[port]
        cycles = max(cycles, np.ceil((1 - 1e-11) * needed))
    return cycles


@inlined
def _too_much(
    setup: KernelInputs, facts: Floats, energy: CostToGo, leaked: float, score: float
) -> bool:
    """Whether no mapping of less than a score needs so little energy."""
    least = (1 - 1e-11) * (facts[0] + energy.least[0])
    return bool(score_of(setup, least, facts[2], leaked) >= score)


@inlined
def _sketch(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, outside:
        Outside,
    kind: int, numbers: Ints, rest: Floats, energy: CostToGo, room: Scratch, stop: Flags,
) -> None:  # fmt: skip
    """Fill levels inside all meshes, if from there on runs cost no more energy than what is known
    outside them, for ``numbers`` of tiles, or else their least.
    """
    level, beyond = outside.level, energy.beyond[0]
    if outside.size > 0:
        for number in range(lattice.size):
            beyond[number] = outside.beyond[kind, 0, numbers[number]]
    else:
        beyond[:] = 0.0
        for outer in range(level, frame.keep.shape[0]):
            for t in range(3):
                if frame.runs[outer, t]:
                    beyond += frame.least_pj[outer, t]
    fill(
        setup, frame, real, lattice, ports, np.eye(1), np.zeros((level, lattice.size)), rest,
        energy, (level - 1, 0), room, stop,
    )  # fmt: skip


@inlined
def _look_up(
    lattice: Lattice, outside: Outside, kind: int, row: int, numbers: Ints, rest: Floats,
    known: Floats, found: CostToGo, j: int,
) -> None:  # fmt: skip
    """Fill levels outside all meshes from what is known of them, ``row`` of it as the price j, but
    for tiles whose known[L - 1, size] is infinite.
    """
    beyond = found.beyond[j]
    beyond[:] = 0.0
    for level in range(found.here.shape[1] - 1, outside.level - 1, -1):
        if level < found.here.shape[1] - 1:
            least_outside(lattice, found.ahead[j : j + 1, level + 1], found.beyond[j : j + 1])
        for number in range(lattice.size):
            here = np.inf
            if known[level, number] < np.inf:
                here = outside.here[kind, level, row, numbers[number]]
            here = here if here + beyond[number] < rest[level] else np.inf
            found.here[j, level, number] = here
            found.ahead[j, level, number] = here + beyond[number]


@inlined
def _sum_up(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, rest:
        Floats,
    energy: CostToGo, level: int, room: Scratch,
) -> None:  # fmt: skip
    """Add what is outside to what levels inside one cost, and leave out what costs too much."""
    last, paired = energy.here.shape[1] - 1, lattice.size <= MOST_PAIRED
    apart, beyond = np.empty((4, 1, lattice.size if paired else 0)), energy.beyond[0]
    for inner in range(level - 1, -1, -1):
        here, ahead = energy.here[0, inner], energy.ahead[0, inner]
        beyond[:] = 0.0
        if inner < last and paired:
            least_apart(lattice, energy.ahead[:, inner + 1], apart)
            beyond[:] = apart[NONE, 0]
        elif inner < last:
            least_outside(lattice, energy.ahead[:, inner + 1], energy.beyond)
        for number in range(lattice.size):
            if not here[number] + beyond[number] < rest[inner]:
                here[number] = np.inf
            ahead[number] = here[number] + beyond[number]
        if inner < last and paired:
            couple(
                setup, frame, real, lattice, ports, np.eye(1), inner, rest[inner],
                energy.here[:, inner], energy.ahead[:, inner], energy.ahead[:, inner + 1], apart,
                room,
            )  # fmt: skip
    energy.least[0] = energy.ahead[0, 0].min()


@inlined
def _leave_out(lattice: Lattice, energy: CostToGo, most_pj: float) -> None:
    """Leave out tiles that cost ``most_pj`` or more with what is outside and what is inside them
    at least.
    """
    inside = np.zeros(lattice.size)
    for level in range(1, energy.here.shape[1]):
        here, ahead = energy.here[0], energy.ahead[0, level]
        for number in range(lattice.size):
            inside[number] += here[level - 1, number]
        least_inside(lattice, inside)
        for number in range(lattice.size):
            if not inside[number] + ahead[number] < most_pj:
                here[level, number] = ahead[number] = np.inf


@inlined
def _fill_ports(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, outside:
        Outside,
    kind: int, rows: Ints, numbers: Ints, known: Floats, found: CostToGo, stop: Flags,
) -> None:  # fmt: skip
    """Fill what is least at each port, ``rows`` of what is known outside all meshes, but for tiles
    whose known[L - 1, size] is infinite.
    """
    levels, many = frame.keep.shape[0], len(rows)
    rest, level = np.full(levels - 1, np.inf), levels - 2
    found.beyond[:] = 0.0
    if outside.size > 0:
        for j in range(many):
            _look_up(lattice, outside, kind, rows[j], numbers, rest, known, found, j)
        level = outside.level - 1
        if level >= 0:
            least_outside(lattice, found.ahead[:, level + 1], found.beyond)
    if level >= 0:
        fill(
            setup, frame, real, lattice, ports, np.eye(1 + many)[1:], known, rest, found,
            (level, 0), scratch(levels, many), stop,
        )  # fmt: skip
    for j in range(many):
        found.least[j] = found.ahead[j, 0].min()


@compiled
def outline(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, kind: int,
    score: float, stop: Flags,
) -> tuple[Lattice, CostToGo, Floats, Ports]:  # fmt: skip
    """Prepare a frame and bound what its mappings with less than a score (ln) cost; nothing holds
    once ``stop`` is set. ``kind`` is that of the frame, of what is known outside all meshes.

    Returns the tiles, what is least in energy and at each port that can decide cycles of such
    mappings (infinite if there is none), and: energy that all mappings share, what fills of
    keepers cost at least beside it, cycles that all take, and leakage in a cycle; then those ports.
    """
    fixed, least, total = prepare(setup, frame, real)
    shared, hops = wire(setup, frame, real, total)
    lattice = lattice_of(frame.steps, setup.within)
    cycles, leaked = step_cycles(setup, total), leakage(setup, frame)
    cycles = least_cycles(frame, ports, np.zeros(1 + len(ports.rate)), cycles)
    facts = np.array([fixed + shared, least + hops, cycles, leaked])
    leaked += setup.leakage_pj
    most = room_of(setup, score, cycles, leaked) * (1 + 1e-9) - facts[0]
    at = open_ports(setup, frame, ports, most - facts[1], cycles)
    some = Ports(ports.level[at], ports.kind[at], ports.rate[at])
    levels, many, rest = frame.keep.shape[0], 1 + len(at), _rests(frame, most)
    numbers = np.empty(lattice.size, np.int64)
    if outside.size > 0:
        numbers_of(outside, frame, lattice, numbers)
    shape, room = (many, levels - 1, lattice.size), scratch(levels, 1)
    found = CostToGo(
        np.empty(shape), np.empty(shape), np.empty((many, lattice.size)), np.empty(many)
    )
    energy = CostToGo(found.here[:1], found.ahead[:1], found.beyond[:1], found.least[:1])
    nothing = np.full((many, 1, 1), np.inf)
    none = CostToGo(nothing, nothing, nothing[0], nothing[:, 0, 0].copy())
    if outside.level > 0:
        _sketch(setup, frame, real, lattice, some, outside, kind, numbers, rest, energy, room, stop)
        if _too_much(setup, facts, energy, leaked, score):
            return lattice, none, facts, some
    if outside.size > 0:
        known = np.zeros((levels - 1, lattice.size))
        _look_up(lattice, outside, kind, 0, numbers, rest, known, energy, 0)
    elif outside.level < levels - 1:
        energy.beyond[:] = 0.0
        fill(
            setup, frame, real, lattice, some, np.eye(1), np.zeros((levels - 1, lattice.size)),
            rest, energy, (levels - 2, outside.level), room, stop,
        )  # fmt: skip
    _sum_up(setup, frame, real, lattice, some, rest, energy, outside.level, room)
    if _too_much(setup, facts, energy, leaked, score):
        return lattice, none, facts, some
    _leave_out(lattice, energy, rest[0])
    if many > 1:
        others = CostToGo(found.here[1:], found.ahead[1:], found.beyond[1:], found.least[1:])
        _fill_ports(
            setup, frame, real, lattice, some, outside, kind, 1 + at, numbers, found.ahead[0],
            others, stop,
        )  # fmt: skip
    return lattice, found, facts, some
