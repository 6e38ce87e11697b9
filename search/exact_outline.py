"""What mappings of a frame cost at least: first as far as meshes reach, then level by level."""

import numpy as np

from ..evaluators.compiled import compiled, inlined
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .exact_ahead import Ahead, Scratch, fill, least_inside, least_outside, scratch
from .exact_frame import Flags, Frame, leakage, prepare, step_cycles
from .exact_hops import wire
from .exact_labels import score_of
from .exact_lattice import Lattice, lattice_of
from .exact_outside import Outside, numbers_of
from .exact_ports import Ports, moved, open_ports, room_of


@inlined
def _rests(frame: Frame, most_pj: float) -> Float:
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
def _least_cycles(frame: Frame, ports: Ports, least: Float, cycles: float) -> float:
    """Cycles, or what ports need for units beyond the compulsory, ``least[1 + K]``, if more."""
    for port in range(len(ports.rate)):
        needed = (moved(ports, port, frame.units) + least[1 + port]) / ports.rate[port]
        cycles = max(cycles, np.ceil((1 - 1e-11) * needed))
    return cycles


@inlined
def _sketch(
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, outside: Outside,
    kind: int, rows: Int, numbers: Int, rest: Float, found: Ahead, room: Scratch, stop: Flags,
) -> None:  # fmt: skip
    """Fill levels inside all meshes, if from there on runs cost no more than what is known outside
    them, ``rows`` of it for ``numbers`` of tiles, or else their least.
    """
    level, beyond = outside.level, found.beyond
    beyond[:] = 0.0
    if outside.size > 0:
        for j in range(len(rows)):
            for number in range(lattice.size):
                beyond[j, number] = outside.beyond[kind, rows[j], numbers[number]]
    else:
        for outer in range(level, frame.keep.shape[0]):
            for t in range(3):
                if frame.runs[outer, t]:
                    beyond[0] += frame.least_pj[outer, t]
    fill(
        setup, frame, real, lattice, ports, np.eye(len(rows)), np.zeros((level, lattice.size)),
        rest, found, (level - 1, 0), room, stop,
    )  # fmt: skip


@inlined
def _look_up(
    lattice: Lattice, outside: Outside, kind: int, rows: Int, numbers: Int, rest: Float,
    found: Ahead,
) -> None:  # fmt: skip
    """Fill levels outside all meshes from what is known of them."""
    for level in range(found.here.shape[1] - 1, outside.level - 1, -1):
        if level < found.here.shape[1] - 1:
            least_outside(lattice, found.ahead[:, level + 1], found.beyond)
        for number in range(lattice.size):
            there = numbers[number]
            first = outside.here[kind, level, 0, there] + found.beyond[0, number]
            for j in range(len(rows)):
                here = np.inf
                if first < rest[level]:
                    here = outside.here[kind, level, rows[j], there]
                found.here[j, level, number] = here
                found.ahead[j, level, number] = here + found.beyond[j, number]


@inlined
def _sum_up(lattice: Lattice, rest: Float, found: Ahead, level: int) -> None:
    """Add what is outside to what levels inside one cost, and leave out what costs too much."""
    for inner in range(level - 1, -1, -1):
        if inner + 1 < found.here.shape[1]:
            least_outside(lattice, found.ahead[:, inner + 1], found.beyond)
        for number in range(lattice.size):
            fits = found.here[0, inner, number] + found.beyond[0, number] < rest[inner]
            for j in range(len(found.here)):
                if not fits:
                    found.here[j, inner, number] = np.inf
                found.ahead[j, inner, number] = (
                    found.here[j, inner, number] + found.beyond[j, number]
                )
    for j in range(len(found.here)):
        found.least[j] = found.ahead[j, 0].min()


@inlined
def _leave_out(lattice: Lattice, found: Ahead, most_pj: float) -> None:
    """Leave out tiles that cost ``most_pj`` or more with what is outside and what is inside them
    at least.
    """
    inside = np.zeros(lattice.size)
    for level in range(1, found.here.shape[1]):
        for number in range(lattice.size):
            inside[number] += found.here[0, level - 1, number]
        least_inside(lattice, inside)
        for number in range(lattice.size):
            if not inside[number] + found.ahead[0, level, number] < most_pj:
                for j in range(len(found.here)):
                    found.here[j, level, number] = found.ahead[j, level, number] = np.inf


@compiled
def outline(
    setup: Setup, frame: Frame, real: Int, ports: Ports, outside: Outside, kind: int,
    score: float, stop: Flags,
) -> tuple[Lattice, Ahead, Float, Ports]:  # fmt: skip
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
    cycles = _least_cycles(frame, ports, np.zeros(1 + len(ports.rate)), cycles)
    facts = np.array([fixed + shared, least + hops, cycles, leaked])
    leaked += setup.leakage_pj
    most = room_of(setup, score, cycles, leaked) * (1 + 1e-9) - facts[0]
    at = open_ports(setup, frame, ports, most - facts[1], cycles)
    some = Ports(ports.level[at], ports.kind[at], ports.rate[at])
    levels, many, rest = frame.keep.shape[0], 1 + len(at), _rests(frame, most)
    rows, numbers = np.zeros(many, np.int64), np.empty(lattice.size, np.int64)
    rows[1:] = 1 + at
    if outside.size > 0:
        numbers_of(outside, frame, lattice, numbers)
    shape, room = (many, levels - 1, lattice.size), scratch(levels, many)
    beyond = np.zeros((many, lattice.size))
    found = Ahead(np.empty(shape), np.empty(shape), beyond, np.empty(many))
    if outside.level > 0:
        _sketch(
            setup, frame, real, lattice, some, outside, kind, rows, numbers, rest, found, room,
            stop,
        )  # fmt: skip
        late = _least_cycles(frame, some, found.least, cycles)
        if score_of(setup, (1 - 1e-11) * (facts[0] + found.least[0]), late, leaked) >= score:
            nothing = np.empty((many, 1, 1))
            return lattice, Ahead(nothing, nothing, nothing[0], np.full(many, np.inf)), facts, some
    found.beyond[:] = 0.0
    if outside.size > 0:
        _look_up(lattice, outside, kind, rows, numbers, rest, found)
    elif outside.level < levels - 1:
        fill(
            setup, frame, real, lattice, some, np.eye(many), np.zeros((levels - 1, lattice.size)),
            rest, found, (levels - 2, outside.level), room, stop,
        )  # fmt: skip
    _sum_up(lattice, rest, found, outside.level)
    _leave_out(lattice, found, rest[0])
    return lattice, found, facts, some
