"""Lower bounds on words, cycles and energy of one layer on one hardware.

Each level serves what is inside it and is filled from outside. Both have a bound of their own
(:mod:`archloom.evaluators.bounds.traffic`), and a sum of bounds is a bound.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, copy_table, helper
from archloom.space.workload import INPUTS, OUTPUTS

from ..arrays import Floats, Ints
from .layer_work import PADDED, REAL, SCATTERED, Work, Works, one_work, work_of, works_of
from .level_capacity import (
    ANY,
    Design,
    Limits,
    Shares,
    limits_in,
    limits_of,
    shares_of,
    tiles_of,
)
from .rounding import ROUNDING
from .traffic import TOGETHER, WAITING, TileCapacity, least_cost, least_shared
from .word_prices import BY_INNER, BY_MACS, FILLED, Prices, prices_of_words

#: columns of :func:`layer_costs`
ENERGY_PJ, CYCLES = range(2)

#: columns of :func:`layer_words`: moved by a level, and across its outer border
MOVED, ACROSS = range(2)

#: where a tensor is kept next inside a level, if only the MACs are there
_MACS: Final = -1


class _Task(NamedTuple):
    """One bound to find: J kinds of cost of a layer on a design.

    Attributes:
        work, design, limits: the layer, the hardware, and what that leaves to the layer.
        prices: float64[J, L, 3, 4].
        per: float64[J, L], factor of each kind at each level; 0 leaves it out.
        fills: float64[L, 8, J], the least cost of filling each level, by set of kept tensors.
        summed: whether costs of levels add up; if not, the largest counts.
    """

    work: Work
    design: Design
    limits: Limits
    prices: Floats
    per: Floats
    fills: Floats
    summed: bool


class _Scratch(NamedTuple):
    """Arrays that are overwritten: ``kept[3]`` says what a level keeps, ``inner[3]`` which level
    keeps each tensor next inside it; prices are float64[4]; of ``ends`` see
    :func:`archloom.evaluators.bounds.traffic.least_cost`; ``least`` and ``after`` have the least
    cost of each state, up to a level and to the one outside it.
    """

    kept: Ints
    inner: Ints
    by_macs: Floats
    by_inner: Floats
    capacity: TileCapacity
    ends: Floats
    least: Floats
    after: Floats


@allocating
def _scratch(levels: int) -> _Scratch:
    """Return arrays to be overwritten for a design of so many levels."""
    return _Scratch(
        np.empty(3, np.int64),
        np.empty(3, np.int64),
        np.empty(4),
        np.empty(4),
        TileCapacity(np.empty(3), np.empty(3), np.empty(4)),
        np.empty((WAITING, 4)),
        np.empty((levels + 1) ** 3),
        np.empty((levels + 1) ** 3),
    )


@helper
def _capacity_inside(
    design: Design, limits: Limits, p: int, inner: Ints, capacity: TileCapacity
) -> int:
    """Fill the capacity for tiles inside one instance of level ``p``; return how inputs come.

    The tile is all that is inside the level. Only where nothing is kept next to the level is it
    that of the outermost level which keeps anything, in all its instances
    (docs/explanation/bounds_proofs.md, lemma 3): their positions may be far apart.
    """
    near, top = max(inner[0], inner[1], inner[2]), design.top
    if min(inner[0], inner[1], inner[2]) == _MACS or p > min(top[0], top[1], top[2]):
        near = p - 1
    capacity.units[TOGETHER] = np.inf
    for t in range(3):
        v = inner[t]
        capacity.stays[t] = capacity.passes[t] = np.inf
        capacity.units[t] = 0.0
        if p > design.top[t] or v == _MACS:
            continue
        capacity.stays[t] = limits.apart[v, p, t] * limits.stays[v, t]
        if v == near:
            # no temporal loop of the tile stands between: it is what is kept
            capacity.passes[t] = limits.apart[v, p, t] * limits.passes[v, t]
            capacity.units[t] = design.unit[v, t]
            capacity.units[TOGETHER] = design.shared[v] * limits.apart[v, p, ANY]
    if near + 1 < p and limits.apart[near + 1, p, ANY] > 1:
        return SCATTERED
    last = len(limits.used) - 1
    return REAL if design.alone and p == last and inner[INPUTS] == last - 1 else PADDED


@helper
def _owned(task: _Task, p: int) -> float:
    """Words of results whose first arrival at level ``p`` elides a read, at the most."""
    if task.design.begun:
        return 0.0
    return float(min(task.work.macs, task.work.words[PADDED, OUTPUTS] * task.limits.copies[p]))


@helper
def _serving(
    task: _Task, scratch: _Scratch, j: int, p: int, enough: float, useless: float
) -> float:
    """Return the least cost of the words that level ``p`` reads and takes from inside."""
    by_macs, by_inner = scratch.by_macs, scratch.by_inner
    some_macs, some_inner = False, False
    for i in range(4):
        t = min(i, OUTPUTS)
        by_macs[i] = by_inner[i] = 0.0
        if scratch.kept[t] and scratch.inner[t] == _MACS:
            by_macs[i] = task.prices[j, p, BY_MACS, i]
            some_macs = some_macs or by_macs[i] > 0
        elif scratch.kept[t]:
            by_inner[i] = task.prices[j, p, BY_INNER, i]
            some_inner = some_inner or by_inner[i] > 0
    owned, cost, limits = _owned(task, p), 0.0, task.limits
    if some_macs:
        cost = least_shared(task.work.macs, by_macs, owned, limits.shares[p], limits.shared[p])
    if some_inner:
        capacity = scratch.capacity
        real = _capacity_inside(task.design, limits, p, scratch.inner, capacity)
        enough, useless, ends = enough - cost, useless - cost, scratch.ends
        cost += least_cost(task.work, real, by_inner, owned, capacity, enough, useless, ends)
    return cost


@helper
def _filling(task: _Task, scratch: _Scratch, j: int, p: int, mask: int) -> float:
    """Return the least cost of the words that all instances of level ``p`` get from outside.

    Bit t of ``mask`` says that the level keeps tensor t.
    """
    design, limits, price, capacity = task.design, task.limits, scratch.by_inner, scratch.capacity
    some = False
    for i in range(4):
        t = min(i, OUTPUTS)
        price[i] = capacity.units[i] = 0.0
        capacity.stays[t] = capacity.passes[t] = np.inf
        if mask >> t & 1 and design.tiled[p, t]:
            price[i] = task.prices[j, p, FILLED, i]
            some = some or price[i] > 0
    if not some:
        return 0.0
    for t in range(3):
        if mask >> t & 1 and design.tiled[p, t]:
            capacity.stays[t], capacity.passes[t] = limits.stays[p, t], limits.passes[p, t]
            capacity.units[t] = design.unit[p, t]
    capacity.units[TOGETHER] = design.shared[p]
    real = REAL if design.alone and p == len(limits.used) - 2 else PADDED
    owned, ends = _owned(task, p), scratch.ends
    return least_cost(task.work, real, price, owned, capacity, 0.0, np.inf, ends)


@helper
def _fill_all(task: _Task, scratch: _Scratch, p: int) -> None:
    """Fill ``task.fills[p]``: the least cost of filling level ``p`` for each set of kept tensors.

    Infinite for a set that no mapping may keep.
    """
    design, per = task.design, task.per
    for mask in range(8):
        allowed = True
        for t in range(3):
            kept = mask >> t & 1
            allowed = allowed and design.must[p, t] <= kept <= design.may[p, t]
        for j in range(len(per)):
            task.fills[p, mask, j] = 0.0 if allowed else np.inf
            if allowed and per[j, p] > 0:
                task.fills[p, mask, j] = _filling(task, scratch, j, p, mask)


@helper
def _following(mask: int, p: int, levels: int, scratch: _Scratch) -> int:
    """Fill what level ``p`` keeps; return the state outside it.

    A state says for each tensor which level (or the MACs) keeps it outermost so far: those inside
    are ``scratch.inner``.
    """
    kept, inner = scratch.kept, scratch.inner
    following, place = 0, 1
    for t in range(3):
        kept[t] = mask >> t & 1
        following += place * ((p if kept[t] else inner[t]) + 1)
        place *= levels + 1
    return following


@helper
def _with_level(
    task: _Task, scratch: _Scratch, mask: int, p: int, cost: float, limit: float
) -> float:
    """Return ``cost`` and that of level ``p``, or about ``limit`` or more if it exceeds that."""
    for j in range(len(task.per)):
        if cost >= limit:
            return np.inf
        factor, filled = task.per[j, p], task.fills[p, mask, j]
        if factor > 0:
            before = cost if task.summed else 0.0
            enough = 0.0 if task.summed else cost / factor - filled
            useless = (limit - before) / factor - filled
            units = filled + _serving(task, scratch, j, p, enough, useless)
            cost = max(cost, before + factor * units)
    return cost


@helper
def _least(task: _Task, scratch: _Scratch, start: float) -> float:
    """Return the least cost over all ways to bypass optional levels, added to ``start``.

    Dynamic programming from the inside: what a level costs depends on where each tensor is kept
    next inside it, and on what the level keeps.
    """
    levels, least, after = len(task.limits.used), scratch.least, scratch.after
    for state in range(len(least)):
        least[state] = np.inf
    least[0] = start
    for p in range(levels):
        for state in range(len(after)):
            after[state] = np.inf
        # tensors that are kept far outside cost least, so their states come first
        for state in range(len(least) - 1, -1, -1):
            if least[state] == np.inf:
                continue
            place = state
            for t in range(3):
                scratch.inner[t] = place % (levels + 1) - 1
                place //= levels + 1
            for mask in range(8):
                if task.fills[p, mask, 0] == np.inf:
                    continue
                following = _following(mask, p, levels, scratch)
                limit = after[following]
                cost = _with_level(task, scratch, mask, p, least[state], limit)
                after[following] = min(limit, cost)
        least, after = after, least
    cost = np.inf
    for state in range(len(least)):
        cost = min(cost, least[state])
    return cost


class LayerBatch(NamedTuple):
    """B layers, what a design leaves to each, and what it costs at the least to fill its levels.

    Attributes:
        works, shares: of the layers.
        port_fills, pj_fills: float64[B, L, 8, 3] and [B, L, 8, 1], units through the ports of a
            level and energy, by set of kept tensors.
        missing: int64[L], 1 where these are not known: then they are filled in.
    """

    works: Works
    shares: Shares
    port_fills: Floats
    pj_fills: Floats
    missing: Ints


@compiled(brief=True)
def batch_costs(design: Design, prices: Prices, batch: LayerBatch) -> Floats:
    """Return float64[B, 2], none lower: :data:`ENERGY_PJ` without leakage of the chip, and
    :data:`CYCLES`.
    """
    count, levels = len(batch.works.macs), len(design.shared)
    costs, scratch, tiles = np.empty((count, 2)), _scratch(levels), tiles_of(design)
    accesses = np.empty((1, levels, 3, 4))
    for level in range(levels):
        copy_table(accesses[0, level], prices.accesses_pj[level])
    every, per = np.ones((1, levels)), np.empty((3, levels))
    for i in range(count):
        work, limits = one_work(batch.works, i), limits_in(batch.shares, i, tiles)
        for p in range(levels):
            for t in range(3):
                per[t, p] = 1.0 / (limits.used[p] * prices.rates[t, p])
        ports = _Task(work, design, limits, prices.ports, per, batch.port_fills[i], False)
        moved = _Task(work, design, limits, accesses, every, batch.pj_fills[i], True)
        for p in range(levels):
            if batch.missing[p]:
                _fill_all(ports, scratch, p)
                _fill_all(moved, scratch, p)
        steps = work.macs / limits.at_once * prices.busy
        cycles = np.ceil(_least(ports, scratch, steps) * (1 - ROUNDING))
        energy = work.macs * prices.macs_pj
        energy += _least(moved, scratch, 0.0)
        for p in range(levels):
            # instances in use: all MACs that ever work stand below them
            running = max(cycles, work.macs * prices.busy / limits.below[p])
            energy += prices.leakage_pj[p] * running
        costs[i, ENERGY_PJ], costs[i, CYCLES] = energy * (1 - ROUNDING), cycles
    return costs


def fill_keys(design: Design, prices: Prices) -> list[bytes]:
    """Return for each level what the cost of filling it depends on, the layer aside."""
    levels = len(design.shared)
    from_outside = (prices.accesses_pj[:, FILLED], *prices.ports[:, :, FILLED])
    flags = (design.must, design.may, design.tiled, np.isinf(prices.rates.T))
    sizes = (design.private, design.shared[:, None], design.unit)
    rows = np.concatenate([*sizes, *from_outside, *flags], axis=1, dtype=np.float64)
    # of instances outside a level with parts of the same sum, and of whether DRAM feeds only one
    meshes = np.concatenate([design.fanout, design.dims], axis=1)
    return [
        b"%d %d " % (p, levels) + rows[p].tobytes() + meshes[p + 1 :].tobytes()
        for p in range(levels)
    ]


def layer_costs(design: Design, prices: Prices, bounds: Ints, windows: Ints) -> Floats:
    """Return :func:`batch_costs` of layers.

    ``bounds[B, 8]`` are the loop bounds of each layer, ``windows[B, 2, 4]`` its window as in
    :class:`archloom.evaluators.loopnest.kernel_inputs.KernelInputs`.
    """
    count, levels = len(bounds), len(design.shared)
    fills = (np.empty((count, levels, 8, 3)), np.empty((count, levels, 8, 1)))
    works, shares = works_of(bounds, windows), shares_of(design, bounds)
    return batch_costs(design, prices, LayerBatch(works, shares, *fills, np.ones(levels, np.int64)))


@allocating
def _least_words(
    work: Work, design: Design, limits: Limits, prices: Floats, per: Floats, scratch: _Scratch
) -> float:
    """Return the least words at levels for which ``per[1, L]`` is 1."""
    levels = len(limits.used)
    task = _Task(work, design, limits, prices, per, np.empty((levels, 8, 1)), True)
    for p in range(levels):
        _fill_all(task, scratch, p)
    return _least(task, scratch, 0.0)


@compiled
def layer_words(design: Design, sizes: Floats, bounds: Ints, window: Ints) -> Floats:
    """Return float64[L, 2] words of all tensors, none lower: :data:`MOVED` and :data:`ACROSS`.

    Each word of level and tensor counts ``sizes[L, 3]``. Moved are words read, filled and updated.
    Those across are words that fill a level and results that leave it, over all its instances; 0
    for DRAM.
    """
    levels = len(design.shared)
    work, limits = work_of(bounds, window), limits_of(design, bounds)
    words, per, scratch = np.empty((levels, 2)), np.empty((1, levels)), _scratch(levels)
    for kind in (MOVED, ACROSS):
        prices = prices_of_words(sizes, kind == ACROSS)
        for p in range(levels):
            per[:] = 0.0
            per[0, p] = 1.0
            words[p, kind] = _least_words(work, design, limits, prices, per, scratch)
    return words * (1 - ROUNDING)


@compiled
def dram_words(design: Design, sizes: Floats, bounds: Ints, windows: Ints) -> Floats:
    """Return float64[B], words that DRAM moves for each layer, none lower.

    Each word of a tensor counts ``sizes[3]``; ``bounds`` and ``windows`` as in
    :func:`layer_costs`.
    """
    words, levels, scratch = np.empty(len(bounds)), len(design.shared), _scratch(len(design.shared))
    per, all_sizes = np.zeros((1, levels)), np.ones((levels, 3))
    per[0, levels - 1], all_sizes[levels - 1] = 1.0, sizes
    prices = prices_of_words(all_sizes, False)
    for i in range(len(bounds)):
        work, limits = work_of(bounds[i], windows[i]), limits_of(design, bounds[i])
        words[i] = _least_words(work, design, limits, prices, per, scratch)
    return words * (1 - ROUNDING)
