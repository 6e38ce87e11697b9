"""What mappings of a frame cost at least: first as far as meshes reach, then level by level."""

import numpy as np

from ..evaluators.compiled import compiled, inlined
from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .exact_ahead import Ahead, fill, potentials, scratch
from .exact_frame import Flags, Frame, leakage, prepare, step_cycles
from .exact_hops import wire
from .exact_labels import score_of
from .exact_lattice import Lattice, lattice_of
from .exact_outside import Outside, beyond_tiles
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
    setup: Setup, frame: Frame, real: Int, lattice: Lattice, ports: Ports, at: Int,
    outside: Outside, rest: Float, stop: Flags,
) -> Float:  # fmt: skip
    """Return what is least in energy and at each port, if from a level on runs cost no more than
    what is known outside all meshes, or else their least.
    """
    levels, many, level, size = frame.keep.shape[0], 1 + len(at), outside.level, lattice.size
    beyond = np.zeros((many, size))
    if outside.size > 0:
        rows = np.zeros(many, np.int64)
        rows[1:] = 1 + at
        beyond_tiles(outside, frame, lattice, rows, beyond)
    else:
        for outer in range(level, levels):
            for t in range(3):
                if frame.runs[outer, t]:
                    for number in range(size):
                        beyond[0, number] += frame.least_pj[outer, t]
    shape = (many, level, size)
    found = Ahead(np.empty(shape), np.empty(shape), beyond, np.empty(many))
    fill(
        setup, frame, real, lattice, ports, np.eye(many), np.zeros((level, size)), rest, found,
        (level - 1, 0), scratch(levels, many), stop,
    )  # fmt: skip
    return found.least


@compiled
def outline(
    setup: Setup, frame: Frame, real: Int, ports: Ports, outside: Outside, score: float,
    stop: Flags,
) -> tuple[Lattice, Ahead, Float, Ports]:  # fmt: skip
    """Prepare a frame and bound what its mappings with less than a score (ln) cost; nothing holds
    once ``stop`` is set.

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
    if outside.level > 0:
        known = _sketch(setup, frame, real, lattice, some, at, outside, rest, stop)
        late = _least_cycles(frame, some, known, cycles)
        if score_of(setup, (1 - 1e-11) * (facts[0] + known[0]), late, leaked) >= score:
            nothing = np.empty((many, 1, 1))
            return lattice, Ahead(nothing, nothing, nothing[0], np.full(many, np.inf)), facts, some
    found = potentials(
        setup, frame, real, lattice, some, np.eye(many), np.zeros((levels - 1, lattice.size)),
        rest, 0, stop,
    )  # fmt: skip
    return lattice, found, facts, some
