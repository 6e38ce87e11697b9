"""What does not depend on tiles and orders, once it is fixed what is kept and what is unrolled.

Terms of docs/explanation/mapping_proofs.md: ``spread[L, 8]`` are the factors unrolled below each
level; the steps left over time are ``steps[8]``. A *tile* of a level is given by the steps inside
it, ``tau[8]``, which divide ``steps``: its extents are ``tau`` times ``inside[level]``, all that is
unrolled in it. A *keeper* is a level that holds a tensor and that another level outside feeds.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    BOTH_PORTS,
    COLUMNS,
    DILATION,
    FILLS,
    READ_PORT,
    READS,
    ROWS,
    STRIDE,
    UPDATES,
    WRITE_PORT,
    KernelInputs,
    diagonals,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

#: places of ``Subproblem.touched`` after :data:`ROWS` and :data:`COLUMNS`, and of ``carries``
UNPADDED: Final = 2
ANY_TENSOR, OF_INPUTS = range(2)


class Subproblem(NamedTuple):
    """Arrays of one choice of kept tensors and unrolled factors.

    ``keep[L, 3]``, ``spread[L, 8]``, ``kind[1]``, ``guess[L]`` and ``touched[3]`` are given:
    ``kind`` is that of ``keep`` among the ways to keep tensors outside all meshes, ``touched`` are
    rows and columns of the real map that the layer touches, and whether padding is never fetched
    into the level below DRAM (:data:`UNPADDED`). ``guess`` is how many different
    stretches of input rows and columns the children of a level start, where that depends on a
    tile which no keeper of inputs stands at; 0 takes the least there can be. ``parent[L, 3]`` is
    the level that feeds a keeper, -1 where there is no keeper. ``chain[L, 3]`` says how many
    words the parent sends for a word that enters the keeper, but for ``varies[L]`` levels, whose
    children start stretches of inputs that the tile inside decides. ``active[L]`` and ``used[L]``
    are instances that are paid for, and that work. ``owned[L]`` are outputs that an instance ever
    holds; ``least_pj[L, 3]`` and ``least_units[L, 3, 3]`` what must enter a keeper at least
    costs, and its units: :data:`FILLS` of the keeper, :data:`READS` and :data:`UPDATES` of its
    parent. ``units[L, 2]`` pass the read and the write port of each level in any mapping.

    With hops, ``codes[L, 2]`` say how children share input rows and columns where that depends on
    the tile (see :func:`archloom.search.mapping.exact.subproblem.noc_hops.ratio_code`; -1 for any
    way), ``near[L, n]`` are distances on the mesh, ascending, ``sizes[L, 3]`` how many sizes of
    multicast groups a level has, and ``groups[L, 3, Z]`` and ``hops[L, 3, Z]`` how many groups of
    each size and the hops that serve them; a size of 0 means bounds below both, -1 that ``near``
    bounds them. ``runs[L, 3]`` are keepers, and levels that let a tensor pass to children over
    hops. ``stream_pj[L, 3]`` is what a word costs that enters a child, ``routed_pj[L, 3]`` the
    price of a word at a router, where the children let it pass: then ``passing[L, 3]`` such words
    come over the run, times what enters the nearest keeper inside where ``coupled[L, 3]``.
    ``unsure[L, 3]``: what is known are bounds. ``needed[L, 3]``: whether a level or one outside
    it, up to the next keeper, is so coupled. ``carries[2]``: whether that is so of
    :data:`ANY_TENSOR`, and :data:`OF_INPUTS`.
    """

    keep: Flags
    spread: Ints
    kind: Ints
    guess: Ints
    touched: Ints
    steps: Ints
    inside: Ints
    parent: Ints
    chain: Ints
    varies: Flags
    active: Ints
    used: Ints
    owned: Ints
    least_pj: Floats
    least_units: Floats
    units: Floats
    codes: Ints
    near: Floats
    sizes: Ints
    groups: Floats
    hops: Floats
    runs: Flags
    stream_pj: Floats
    routed_pj: Floats
    passing: Floats
    coupled: Flags
    unsure: Flags
    needed: Flags
    carries: Flags


def new_subproblem(near: Floats, touched: Ints) -> Subproblem:
    """Return a subproblem to be filled by :func:`prepare`, given two of its arrays."""
    levels = len(near)
    return Subproblem(
        keep=np.zeros((levels, 3), np.uint8),
        spread=np.ones((levels, 8), np.int64),
        kind=np.zeros(1, np.int64),
        guess=np.zeros(levels, np.int64),
        touched=touched,
        steps=np.ones(8, np.int64),
        inside=np.ones((levels, 8), np.int64),
        parent=np.zeros((levels, 3), np.int64),
        chain=np.ones((levels, 3), np.int64),
        varies=np.zeros(levels, np.uint8),
        active=np.ones(levels, np.int64),
        used=np.ones(levels, np.int64),
        owned=np.ones(levels, np.int64),
        least_pj=np.zeros((levels, 3)),
        least_units=np.zeros((levels, 3, 3)),
        units=np.zeros((levels, 2)),
        codes=np.full((levels, 2), -1),
        near=near,
        sizes=np.full((levels, 3), -1),
        groups=np.zeros((levels, 3, 1)),
        hops=np.zeros((levels, 3, 1)),
        runs=np.zeros((levels, 3), np.uint8),
        stream_pj=np.zeros((levels, 3)),
        routed_pj=np.zeros((levels, 3)),
        passing=np.zeros((levels, 3)),
        coupled=np.zeros((levels, 3), np.uint8),
        unsure=np.zeros((levels, 3), np.uint8),
        needed=np.zeros((levels, 3), np.uint8),
        carries=np.zeros(2, np.uint8),
    )


@helper
def meets(setup: KernelInputs, spread: Ints, level: int) -> bool:
    """Whether rows or columns of results and of the kernel are unrolled at once."""
    if not setup.multicast[level, INPUTS]:
        return False
    rows = spread[level, P] > 1 and spread[level, R] > 1
    return bool(rows or (spread[level, Q] > 1 and spread[level, S] > 1))


@helper
def starts(setup: KernelInputs, spread: Ints, level: int, p: int, q: int, r: int, s: int) -> int:
    """Stretches of input rows and columns that children start, whose tiles are (p, q, r, s)."""
    window = setup.window
    step, shift = window[ROWS, STRIDE] * p, window[ROWS, DILATION] * r
    rows = diagonals(spread[level, P], step, spread[level, R], shift)
    step, shift = window[COLUMNS, STRIDE] * q, window[COLUMNS, DILATION] * s
    return rows * diagonals(spread[level, Q], step, spread[level, S], shift)


@helper
def _planes(tensor: int, spread: Ints, level: int) -> int:
    """Children with different data, but for input rows and columns."""
    if tensor == WEIGHTS:
        planes = spread[level, G] * spread[level, K] * spread[level, C]
        return planes * spread[level, R] * spread[level, S]
    if tensor == OUTPUTS:
        planes = spread[level, N] * spread[level, G] * spread[level, K]
        return planes * spread[level, P] * spread[level, Q]
    return spread[level, N] * spread[level, G] * spread[level, C]


@helper
def served(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, level: int, known: bool
) -> int:
    """Words that a level sends for one that each child takes; ``known`` leaves out stretches
    that depend on the tile.
    """
    spread = subproblem.spread
    if not setup.multicast[level, tensor]:
        children = 1
        for d in range(8):
            children *= spread[level, d]
        return children
    planes = _planes(tensor, spread, level)
    if tensor != INPUTS or known:
        return planes
    if level == 0:
        return planes * starts(setup, spread, level, 1, 1, 1, 1)
    if not meets(setup, spread, level):
        rows = spread[level, P] * spread[level, R]
        return planes * rows * spread[level, Q] * spread[level, S]
    if subproblem.guess[level] > 0:
        return planes * subproblem.guess[level]
    # as many as sums of two sets of numbers at least have
    rows = spread[level, P] + spread[level, R] - 1
    return planes * rows * (spread[level, Q] + spread[level, S] - 1)


@helper
def _extents(setup: KernelInputs, subproblem: Subproblem) -> int:
    """Fill steps, what is unrolled inside each level and instances; return steps in all."""
    levels, total = subproblem.keep.shape[0], 1
    for d in range(8):
        inside = 1
        for level in range(levels):
            inside *= subproblem.spread[level, d]
            subproblem.inside[level, d] = inside
        subproblem.steps[d] = setup.bounds[d] // inside
        total *= subproblem.steps[d]
    instances = 1
    for level in range(levels - 1, -1, -1):
        subproblem.used[level] = instances
        subproblem.active[level] = min(instances, setup.instances[level] // setup.cluster[level])
        owned = 1
        for d in range(8):
            instances *= subproblem.spread[level, d]
            if d in (N, G, K, P, Q):
                owned *= subproblem.steps[d] * subproblem.inside[level, d]
        subproblem.owned[level] = owned
    return total


@helper
def charge(
    setup: KernelInputs,
    subproblem: Subproblem,
    tensor: int,
    level: int,
    parent: int,
    words: int,
    sent: int,
) -> tuple[float, float, float, float]:
    """Cost of ``words`` that enter each instance of a keeper over the run, for which each instance
    of its parent sends ``sent``.

    Returns the energy of the keeper's fills and of what its parent reads and updates for them,
    and units filled into one keeper, read from and updated in one parent.
    """
    fills, reads, updates = words, sent, 0
    if tensor == OUTPUTS:
        # the first touch of a partial sum is neither fetched nor read
        fills = max(0, words - subproblem.owned[level])
        reads, updates = sent - subproblem.owned[parent], sent
    active = subproblem.active[level]
    energy = active * accesses(fills, setup.width[level, tensor])
    energy = energy * setup.fill_pj[level, tensor]
    energy += active * (fills * setup.address_pj[level])
    energy += serve(setup, subproblem, tensor, parent, reads, updates, 1.0)
    unit = setup.unit[parent, tensor]
    return (
        energy,
        float(fills * setup.unit[level, tensor]),
        float(reads * unit),
        float(updates * unit),
    )


@helper
def accesses(words: int, width: int) -> int:
    """Whole vector accesses."""
    return words if width == 1 else (words + width - 1) // width


@helper
def serve(
    setup: KernelInputs,
    subproblem: Subproblem,
    tensor: int,
    level: int,
    reads: int,
    updates: int,
    share: float,
) -> float:
    """Energy of what one level is asked for; ``share`` of it is paid."""
    width = setup.width[level, tensor]
    energy = accesses(reads, width) * setup.read_pj[level, tensor]
    made = reads
    if tensor == OUTPUTS:
        energy += accesses(updates, width) * setup.update_pj[level, tensor]
        made = updates
    return float(subproblem.active[level] * (share * energy + made * setup.address_pj[level]))


@helper
def least_words(subproblem: Subproblem, tensor: int, level: int) -> int:
    """Words that an instance must get at least once: all that differ."""
    steps, inside = subproblem.steps, subproblem.inside
    if tensor == OUTPUTS:
        return int(subproblem.owned[level])
    words = steps[G] * inside[level, G] * steps[C] * inside[level, C]
    if tensor == WEIGHTS:
        words *= steps[K] * inside[level, K]
        return int(words * steps[R] * inside[level, R] * steps[S] * inside[level, S])
    words *= steps[N] * inside[level, N]
    touched = subproblem.touched
    if touched[UNPADDED] and level == subproblem.keep.shape[0] - 2:
        return int(words * touched[ROWS] * touched[COLUMNS])
    # a sum of two sets of numbers has at least as many as both together, less one
    rows = steps[P] * inside[level, P] + steps[R] * inside[level, R] - 1
    return int(words * rows * (steps[Q] * inside[level, Q] + steps[S] * inside[level, S] - 1))


@helper
def _link(setup: KernelInputs, subproblem: Subproblem, tensor: int) -> int:
    """Set parents and chains of a tensor; return its innermost level."""
    first, top = -1, setup.top[tensor]
    for level in range(subproblem.keep.shape[0]):
        subproblem.parent[level, tensor] = -1
        if first < 0 and subproblem.keep[level, tensor]:
            first = level
    for level in range(first, top):
        if not subproblem.keep[level, tensor]:
            continue
        outer, chain = level, 1
        while outer == level or not subproblem.keep[outer, tensor]:
            outer += 1
            known = tensor == INPUTS and bool(subproblem.varies[outer])
            chain *= served(setup, subproblem, tensor, outer, known)
        subproblem.parent[level, tensor] = outer
        subproblem.chain[level, tensor] = chain
    return first


@helper
def _least(setup: KernelInputs, subproblem: Subproblem, tensor: int, level: int) -> float:
    """Set and count what must enter a keeper; return its energy."""
    words = least_words(subproblem, tensor, level)
    stretches = 1
    if tensor == INPUTS and subproblem.varies[level + 1]:
        spread = subproblem.spread
        stretches = spread[level + 1, P] + spread[level + 1, R] - 1
        stretches *= spread[level + 1, Q] + spread[level + 1, S] - 1
    parent, sent = subproblem.parent[level, tensor], words * subproblem.chain[level, tensor]
    sent *= stretches
    energy, fills, reads, updates = charge(setup, subproblem, tensor, level, parent, words, sent)
    subproblem.least_pj[level, tensor] = energy
    subproblem.least_units[level, tensor, FILLS] = fills
    subproblem.least_units[level, tensor, READS] = reads
    subproblem.least_units[level, tensor, UPDATES] = updates
    subproblem.units[level, WRITE_PORT] += fills
    subproblem.units[parent, READ_PORT] += reads
    subproblem.units[parent, WRITE_PORT] += updates
    return energy


@helper
def prepare(setup: KernelInputs, subproblem: Subproblem) -> tuple[float, float, int]:
    """Fill a subproblem from what is kept and unrolled.

    Returns the energy that all mappings share, the least that
    fills of keepers cost beside it, and steps over time.
    """
    levels = subproblem.keep.shape[0]
    total = _extents(setup, subproblem)
    macs = 1.0
    for d in range(8):
        macs *= setup.bounds[d]
    for level in range(levels):
        subproblem.units[level, READ_PORT] = subproblem.units[level, WRITE_PORT] = 0.0
        kept = level > 0 and level <= setup.top[INPUTS] and subproblem.keep[level - 1, INPUTS]
        varies = kept and subproblem.guess[level] == 0
        subproblem.varies[level] = 1 if varies and meets(setup, subproblem.spread, level) else 0
    fixed, least = macs * setup.working * setup.mac_pj, 0.0
    for t in range(3):
        first = _link(setup, subproblem, t)
        sent, share = total, setup.served[t]
        for level in range(first + 1):
            sent *= served(setup, subproblem, t, level, False)
        reads, updates = sent, 0
        if t == OUTPUTS:
            reads, updates = sent - subproblem.owned[first], sent
        fixed += serve(setup, subproblem, t, first, reads, updates, share)
        subproblem.units[first, READ_PORT] += share * reads * setup.unit[first, t]
        subproblem.units[first, WRITE_PORT] += share * updates * setup.unit[first, t]
        for level in range(first, setup.top[t]):
            if subproblem.keep[level, t]:
                least += _least(setup, subproblem, t, level)
    return fixed, least, total


@helper
def port_cycles(setup: KernelInputs, units: Floats) -> tuple[float, float]:
    """Cycles that ports on chip and of DRAM need for units[L, 2] that pass them."""
    chip, here = 0.0, 0.0
    for level in range(units.shape[0]):
        read, written = units[level, READ_PORT], units[level, WRITE_PORT]
        rate = setup.bandwidth[level]
        here = max(read / rate[READ_PORT], written / rate[WRITE_PORT])
        here = np.ceil(max(here, (read + written) / rate[BOTH_PORTS]))
        chip = max(chip, here) if level < units.shape[0] - 1 else chip
    return chip, here


@helper
def step_cycles(setup: KernelInputs, total: int) -> float:
    """Cycles of so many steps."""
    return float(np.ceil(total * setup.busy))


@helper
def leakage(setup: KernelInputs, subproblem: Subproblem) -> float:
    """Leakage of instances in use, pJ in a cycle."""
    leaked = 0.0
    for level in range(subproblem.keep.shape[0]):
        leaked += setup.used_leakage_pj[level] * subproblem.used[level]
    return leaked
