"""All nests around a group with a few loops, over the sizes of tiles that a search looks at.

For given loops and stays of results, what any other operand moves depends on its own stay alone,
so that nests which cannot be better than a known one are passed over many at once.

Independent of: which loops, sizes of tiles and stays a search of nests looks at, and in which order
it lets operands go.
"""

from copy import copy
from itertools import permutations, product

import numpy as np

from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import depths, nest_faults
from archloom.evaluators.fusion.nest.walk import NestWalk
from archloom.search.fusion.nest.fits import StaysOfCell
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop


def legal_stays(group, loops):
    """Yield depths of what members make, with which some nest obeys the rules, and for each other
    operand the depths that it may have."""
    ranks = tuple(loop.rank for loop in loops)
    count = len(group.operands)
    options = [[*depths(group, ranks, t), STREAMED] for t in range(count)]
    plain = [some[0] for some in options]

    def legal(changes):
        depth = tuple(changes.get(t, plain[t]) for t in range(count))
        return not any(nest_faults(group, LoopNest(loops, depth)))

    others = [t for t in range(count) if t not in group.made]
    for made in product(*(options[t] for t in group.made)):
        chosen = dict(zip(group.made, made, strict=True))
        if legal(chosen):
            yield chosen, {t: [d for d in options[t] if legal({**chosen, t: d})] for t in others}


def all_loops(facts, most):
    for count in range(1, most + 1):
        for ranks in permutations(facts.ranks, count):
            for tiles in product(*(facts.tiles[rank].tolist() for rank in ranks)):
                yield tuple(NestLoop(*pair) for pair in zip(ranks, tiles, strict=True))


def nests_below(facts, network, layers, may, most):
    """Yield all legal nests of up to ``most`` loops of whose energy with leakage and latency
    ``may(energy, latency)`` says that they may be good enough, as arrays."""
    legal = {}
    for loops in all_loops(facts, most):
        ranks = tuple(loop.rank for loop in loops)
        group = nest_group(network, layers, frozenset(ranks))
        if ranks not in legal:
            # no rule looks at sizes of tiles
            legal[ranks] = list(legal_stays(group, loops))
        for made, others in legal[ranks]:
            yield from _below(facts, group, loops, made, others, may)


def _below(facts, group, loops, made, others, may):
    count = len(group.operands)

    def walk_of(changes):
        chosen = {**made, **changes}
        depth = tuple(chosen.get(t, others[t][0] if t in others else 0) for t in range(count))
        return NestWalk(group, LoopNest(loops, depth))

    plain = walk_of({})
    stays = plain.nest.depth
    energy, cycles = (part.sum() for part in layers_least(facts, group, plain))
    made_pj, words = _results_moved(facts, plain)
    energy += made_pj
    latency = max(cycles, words / facts.rate)
    if not may(energy + facts.leakage_pj * latency, latency):
        return
    # energy, words and place of each other operand, by depth
    axes = list(others)
    ones = [1] * len(axes)
    moved_pj, moved = np.zeros(ones), np.zeros(ones)
    runs = np.stack([plain.runs(m).ravel() for m in range(len(group.layers))])
    taken = np.zeros([*ones, *runs.shape]) + sum((_taken(plain, t, runs) for t in group.made), 0)
    for axis, t in enumerate(axes):
        operand = group.operands[t]
        price = facts.weight_pj if operand.kind == "weights" else facts.fetch_pj
        figures, places = [], []
        for depth in others[t]:
            # who runs when is the same
            walk = copy(plain)
            walk.nest = LoopNest(loops, (*stays[:t], depth, *stays[t + 1 :]))
            streamed = int((walk.tile_words(t) * walk.times * walk.runs(operand.readers[0])).sum())
            comes = int((walk.tile_words(t) * walk.times * walk.comes(t)).sum())
            figures.append(streamed if depth == STREAMED else comes)
            places.append(_taken(walk, t, runs))
        shape = [-1 if k == axis else 1 for k in range(len(axes))]
        moved = moved + np.array(figures).reshape(shape)
        moved_pj = moved_pj + np.array(figures).reshape(shape) * price
        taken = taken + np.array(places).reshape([*shape, *runs.shape])
    latency = np.maximum(cycles, (words + moved) / facts.rate)
    least = energy + moved_pj + facts.leakage_pj * latency
    fits = np.where(runs, taken, 0).max(axis=(-1, -2), initial=0) <= facts.capacity
    chosen = np.argwhere(fits & may(least, latency))
    if not len(chosen):
        return
    depths = [[made[t]] if t in made else others[t] for t in range(count)]
    numbers = np.zeros((len(chosen), count), np.int64)
    numbers[:, axes] = chosen
    yield from _waiting(facts, plain, depths, numbers, (energy + moved_pj)[tuple(chosen.T)], may)


def _results_moved(facts, walk):
    """Energy and words of what members make, as far as it leaves or comes back."""
    energy = words = 0
    for t in walk.group.made:
        operand, piece = walk.group.operands[t], walk.tile_words(t) * walk.times
        out, back = operand.words * operand.exported, 0
        if walk.nest.depth[t] != STREAMED:
            out, back = int((piece * walk.leaves(t)).sum()), int((piece * walk.comes(t)).sum())
        energy += out * facts.store_pj + back * facts.fetch_pj
        words += out + back
    return energy, words


def _waiting(facts, walk, depths, numbers, energies, may):
    """Yield the nests that may be good enough with waits, as fits.py has these, which is held
    against nests one by one."""
    group, loops = walk.group, walk.nest.loops
    users = [o.maker if o.kind == "made" else o.readers[0] for o in group.operands]
    at_once = StaysOfCell(facts, group, loops, depths, users.__getitem__)
    waits = at_once.cycles(numbers, layers_least(facts, group, walk)[1])
    for some, energy, cycles in zip(numbers.tolist(), energies, waits, strict=True):
        if may(energy + facts.leakage_pj * cycles, cycles):
            yield LoopNest(loops, tuple(depths[t][k] for t, k in enumerate(some)))


def _taken(walk, t, runs):
    """Words of the buffer that an operand takes while each member runs, in each iteration."""
    found = np.zeros(runs.shape)
    for m, words in walk.taken(t):
        found[m] += words.ravel()
    return found


def layers_least(facts, group, walk):
    """Least energy and cycles of each layer."""
    energy, cycles = np.zeros((2, len(group.layers)))
    for m in range(len(group.layers)):
        looped = [(at, x) for at, x in enumerate(walk.nest.loops) if x.rank in group.own[m]]
        table = facts.costs(m, tuple(x.rank for _, x in looped))
        place = tuple(facts.tiles[x.rank].tolist().index(x.tile) for _, x in looped)
        runs = int((walk.runs(m) * walk.times).sum())
        # the last tile of a loop may be smaller: no more than its share
        part = 1.0
        for at, x in looped:
            part *= walk.loops[at].count * x.tile / group.ranks.sizes[x.rank]
        energy[m] = float(table[(0, *place)]) * runs / part
        cycles[m] = float(table[(1, *place)]) * runs / part
    return energy, cycles
