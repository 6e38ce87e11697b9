"""Rules out listed choices by what their mappings cost as far as meshes reach, all siblings of a
choice at once.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, copy_table, fill_row, helper
from archloom.evaluators.loopnest import NO_FILL, KernelInputs
from archloom.evaluators.loopnest.simd import Records
from archloom.search.mapping.exact.spatial import array_of
from archloom.search.mapping.exact.subproblem import (
    Lattice,
    Ports,
    Subproblem,
    binding,
    chosen,
    energy_below,
    lattice_of,
    leakage,
    meets,
    moved,
    prepare,
    step_cycles,
    steps_of,
)
from archloom.space.workload import INPUTS

from ...objectives import SCORE_ROUNDING, score_of
from .filled import filled_score, least_fills
from .lattice_min import least_of, least_outside
from .outer_levels import OuterLevels, numbers_of
from .siblings import SiblingCosts, copy_keepers, fill_siblings, new_siblings, new_tile_scratch
from .subproblem_bound import Floor
from .thresholds import Corner

#: ways to keep tensors that are looked at together
MANY: Final = 8

#: tiles of a subproblem that is bounded together with its siblings, at most
MOST_TOGETHER: Final = 2**16

#: columns of ``Families.choices``: a way to keep tensors, and the two parts of unrolled factors
KEEP, PREFIX, REST = range(3)


class Families(NamedTuple):
    """Listed choices, and what is known of them.

    ``keeps[B, L, 3]`` are ways to keep tensors, ``kinds[B]`` what each is outside all meshes, and
    ``prefixes[A, L, 8]`` and ``rests[R, L, 8]`` factors whose products are unrolled.
    ``choices[N, 3]`` and ``bounds[N]`` as listed, ``families[N]``: those of one number unroll the
    same, and keep tensors in ways of one :data:`MANY`. ``sizes[F]`` are tiles of a family, 0 if it
    was not looked at, and ``scores[F, MANY]`` what no mapping of each sibling is below.
    """

    keeps: Flags
    kinds: Ints
    prefixes: Ints
    rests: Ints
    choices: Ints
    bounds: Floats
    families: Ints
    sizes: Ints
    scores: Floats


#: what stands for listed choices where there are none
NO_FAMILIES: Final = Families(
    np.empty((0, 0, 3), np.uint8),
    np.empty(0, np.int64),
    np.empty((0, 0, 8), np.int64),
    np.empty((0, 0, 8), np.int64),
    np.empty((0, 3), np.int64),
    np.empty(0),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty((0, MANY)),
)


@helper
def needs_guess(setup: KernelInputs, subproblem: Subproblem) -> bool:
    """Whether costs depend on how many stretches of inputs children start."""
    for level in range(1, setup.top[INPUTS] + 1):
        if not subproblem.keep[level - 1, INPUTS] and meets(setup, subproblem.spread, level):
            return True
    return False


@allocating
def _cut_off(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    score: float,
    floor: Floor,
    most: Floats,
    live: Flags,
) -> None:
    """Set most[L - 1] for a prepared subproblem, as
    :mod:`archloom.search.mapping.exact.bounds.subproblem_bound` has it, and which ports can decide
    cycles of mappings with less than a score.
    """
    most_pj = energy_below(setup, score, floor.cycles, floor.leakage_pj) * (1 + SCORE_ROUNDING)
    most_pj -= floor.shared_pj
    own = np.ones(len(live), np.uint8)
    spare = most_pj - floor.fills_pj
    binding(setup, subproblem, ports, spare, floor.cycles, floor.inner, own)
    for port in range(len(live)):
        live[port] = max(live[port], own[port])
    for level in range(len(most)):
        most[level] = most_pj
        for t in range(3):
            if subproblem.parent[level, t] >= 0:
                most_pj -= subproblem.least_pj[level, t]


@allocating
def _set_outside(
    outer: OuterLevels,
    kinds: Ints,
    subproblem: Subproblem,
    rows: Ints,
    least: Floats,
    costs: SiblingCosts,
) -> None:
    """Set costs outside to what is known outside all meshes, or in energy to least[C]."""
    lattice = costs.lattice
    numbers = np.empty(lattice.size, np.int64)
    if outer.size > 0:
        numbers_of(outer, subproblem, lattice, numbers)
    for c in range(len(kinds)):
        if outer.size == 0:
            fill_row(costs.outside[c, 0], least[c])
            continue
        for j in range(len(rows)):
            for number in range(lattice.size):
                costs.outside[c, j, number] = outer.outside[kinds[c], rows[j], numbers[number]]


@allocating
def _rows_of(ports: Ints) -> Ints:
    """Return the rows of energy and of some ports among those of all costs."""
    rows = np.zeros(1 + len(ports), np.int64)
    for n in range(len(ports)):
        rows[1 + n] = 1 + ports[n]
    return rows


@allocating
def _raise_by_fills(
    setup: KernelInputs,
    subproblem: Subproblem,
    keeps: Flags,
    floors: tuple[Floats, Floats, Floats],
    lattice: Lattice,
    outside: Floats,
    scores: Floats,
) -> None:
    """Raise scores[C] to what no mapping is below since the array fills and drains; ``floors`` are
    shared energy, cycles and leakage of each sibling.
    """
    if setup.fill_drain == NO_FILL:
        return
    steps = steps_of(subproblem)
    array = array_of(setup, subproblem, steps)
    for c in range(len(keeps)):
        if scores[c] > -np.inf:
            copy_table(subproblem.keep, keeps[c])
            shared_pj, cycles, leaked = floors[0][c], floors[1][c], floors[2][c]
            corner = Corner(shared_pj, cycles, leaked, step_cycles(setup, steps))
            fills = least_fills(subproblem, array, lattice)
            scores[c] = max(scores[c], filled_score(setup, corner, outside[c, 0], fills))


@allocating
def _bound_family(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    keeps: Flags,
    kinds: Ints,
    score: float,
    scores: Floats,
    stop: Flags,
) -> int:
    """Set scores[C] that no mapping of each sibling is below, where that is below a score; return
    how many tiles they have.
    """
    many, levels, siblings, ports = len(keeps), keeps.shape[1], new_siblings(keeps), outer.ports
    shared_pj, cycles, leaked = np.zeros(many), np.zeros(many), np.zeros(many)
    least, base = np.zeros(many), np.zeros((many, len(ports.rate)))
    most, live = np.full((many, levels - 1), -np.inf), np.zeros(len(ports.rate), np.uint8)
    bounded = np.zeros(many, np.uint8)
    fill_row(subproblem.guess, 0)
    for c in range(many):
        copy_table(subproblem.keep, keeps[c])
        shared_pj[c], fills_pj, total = prepare(setup, subproblem)
        copy_keepers(siblings, subproblem, c)
        cycles[c] = step_cycles(setup, total)
        for port in range(len(ports.rate)):
            base[c, port] = moved(ports, port, subproblem.units)
            needed = (1 - ROUNDING) * base[c, port] / ports.rate[port]
            cycles[c] = max(cycles[c], np.ceil(needed))
        leaked[c] = leakage(setup, subproblem) + setup.leakage_pj
        for level in range(outer.level, levels):
            for t in range(3):
                if subproblem.parent[level, t] >= 0:
                    least[c] += subproblem.least_pj[level, t]
        if not needs_guess(setup, subproblem):
            bounded[c] = 1
            floor = Floor(shared_pj[c], fills_pj, cycles[c], leaked[c], cycles[c])
            _cut_off(setup, subproblem, ports, score, floor, most[c], live)
    lattice = lattice_of(subproblem.steps, setup.within)
    (at,) = np.nonzero(live)
    some = chosen(ports, at)
    rows, shape = _rows_of(at), (many, 1 + len(at), lattice.size)
    costs = SiblingCosts(lattice, some, most, np.empty(shape), np.zeros(shape))
    _set_outside(outer, kinds, subproblem, rows, least, costs)
    outside, scratch = costs.outside, new_tile_scratch(many, levels, len(rows))
    for level in range(outer.level - 1, -1, -1):
        fill_siblings(setup, subproblem, siblings, costs, level, scratch, stop)
        for c in range(many):
            if level > 0:
                least_outside(lattice, outside[c], outside[c])
    for c in range(many):
        late = cycles[c]
        for port in range(len(at)):
            units = (base[c, at[port]] + least_of(outside[c, 1 + port])) / some.rate[port]
            late = max(late, np.ceil((1 - ROUNDING) * units))
        energy = (1 - ROUNDING) * (shared_pj[c] + least_of(outside[c, 0]))
        scores[c] = score_of(setup, energy, late, leaked[c]) if bounded[c] else -np.inf
    floors = shared_pj, cycles, leaked
    _raise_by_fills(setup, subproblem, keeps, floors, lattice, outside, scores)
    return int(lattice.size)


@helper
def choose(subproblem: Subproblem, families: Families, at: int) -> None:
    """Set what a subproblem keeps and unrolls to a listed choice, with no guess."""
    keep, prefix = families.choices[at, KEEP], families.choices[at, PREFIX]
    rest = families.choices[at, REST]
    subproblem.kind[0] = families.kinds[keep]
    for level in range(subproblem.spread.shape[0]):
        subproblem.guess[level] = 0
        for t in range(3):
            subproblem.keep[level, t] = families.keeps[keep, level, t]
        for d in range(8):
            factor = families.prefixes[prefix, level, d] * families.rests[rest, level, d]
            subproblem.spread[level, d] = factor


@helper
def tiles_of(setup: KernelInputs, subproblem: Subproblem) -> int:
    """Number of tiles of a subproblem."""
    size = 1
    for d in range(8):
        steps = setup.bounds[d]
        for level in range(subproblem.spread.shape[0]):
            steps //= subproblem.spread[level, d]
        count, i = int(setup.within[d]), 1
        while not setup.within[d] and i * i <= steps:
            if steps % i == 0:
                count += 1 if i * i == steps else 2
            i += 1
        size *= count
    return size


@helper
def first_open(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    families: Families,
    begin: int,
    score: float,
    outcome: Records,
    stop: Flags,
) -> int:
    """Return the first choice from ``begin`` on that may hold a mapping with less than a score.

    So is one with more tiles than are bounded together, or than what is left of evaluations buys;
    those of choices that are ruled out are taken from ``outcome[1]`` (see
    :data:`archloom.search.mapping.exact.dp.labels.OUTCOME`).
    """
    levels, spent = families.keeps.shape[1], outcome[0]
    for i in range(begin, len(families.bounds)):
        keep, family = families.choices[i, KEEP], families.families[i]
        if stop[0] or not families.bounds[i] < score:
            return i
        if families.sizes[family] == 0:
            choose(subproblem, families, i)
            size = tiles_of(setup, subproblem)
            if size > MOST_TOGETHER or size * (levels - 1) > spent.left:
                return i
            low = keep // MANY * MANY
            high = min(low + MANY, len(families.keeps))
            keeps, kinds = families.keeps[low:high], families.kinds[low:high]
            scores = families.scores[family]
            families.sizes[family] = _bound_family(
                setup, subproblem, outer, keeps, kinds, score, scores, stop
            )
            if stop[0]:
                return i
        cost = families.sizes[family] * (levels - 1)
        if cost > spent.left or families.scores[family, keep % MANY] < score:
            return i
        spent.left -= cost
    return len(families.bounds)
