"""All nests around a group with a few loops, over the sizes of tiles that a search looks at.

For given loops and stays of results, what any other operand moves depends on its own stay alone,
so that nests which cannot be better than a known one are passed over many at once.

Independent of: which loops, sizes of tiles and stays a search of nests looks at, and in which order
it lets operands go.
"""

from itertools import permutations, product

import numpy as np

from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import depths, nest_faults
from archloom.evaluators.fusion.nest.walk import NestWalk
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


def nests_below(facts, network, layers, edp, most):
    """Yield (least, nest) for all legal nests of up to ``most`` loops whose energy x latency
    may be below ``edp()``, which may fall meanwhile."""
    for loops in all_loops(facts, most):
        group = nest_group(network, layers, frozenset(loop.rank for loop in loops))
        for made, others in legal_stays(group, loops):
            yield from _below(facts, group, loops, made, others, edp)


def _below(facts, group, loops, made, others, edp):
    count = len(group.operands)

    def walk_of(changes):
        chosen = {**made, **changes}
        depth = tuple(chosen.get(t, others[t][0] if t in others else 0) for t in range(count))
        return NestWalk(group, LoopNest(loops, depth))

    plain = walk_of({})
    energy, cycles, words = layers_least(facts, group, plain)
    for t in group.made:
        streamed = made[t] == STREAMED
        piece = plain.tile_words(t) * plain.times
        out = group.operands[t].words * group.operands[t].exported
        back = 0
        if not streamed:
            out, back = int((piece * plain.leaves(t)).sum()), int((piece * plain.comes(t)).sum())
        energy += out * facts.store_pj + back * facts.fetch_pj
        words += out + back
    # energy and words of each other operand, by depth
    axes = list(others)
    moved_pj, moved = np.zeros([1] * len(axes)), np.zeros([1] * len(axes))
    for axis, t in enumerate(axes):
        operand = group.operands[t]
        price = facts.weight_pj if operand.kind == "weights" else facts.fetch_pj
        figures = []
        for depth in others[t]:
            if depth == STREAMED:
                figures.append(operand.words)
                continue
            walk = walk_of({t: depth})
            figures.append(int((walk.tile_words(t) * walk.times * walk.comes(t)).sum()))
        shape = [-1 if k == axis else 1 for k in range(len(axes))]
        moved = moved + np.array(figures).reshape(shape)
        moved_pj = moved_pj + np.array(figures).reshape(shape) * price
    latency = np.maximum(cycles, (words + moved) / facts.rate)
    least = (energy + moved_pj + facts.leakage_pj * latency) * latency
    for at in np.argwhere(least < edp()).tolist():
        if least[tuple(at)] < edp():
            chosen = {**made, **{t: others[t][k] for t, k in zip(axes, at, strict=True)}}
            depth = tuple(chosen[t] for t in range(count))
            yield float(least[tuple(at)]), LoopNest(loops, depth)


def layers_least(facts, group, walk):
    """Least energy and cycles of all layers, with no words of DRAM."""
    energy = cycles = 0.0
    for m in range(len(group.layers)):
        looped = [(at, x) for at, x in enumerate(walk.nest.loops) if x.rank in group.own[m]]
        table = facts.costs(m, tuple(x.rank for _, x in looped))
        place = tuple(facts.tiles[x.rank].tolist().index(x.tile) for _, x in looped)
        runs = int((walk.runs(m) * walk.times).sum())
        # the last tile of a loop may be smaller: no more than its share
        part = 1.0
        for at, x in looped:
            part *= walk.loops[at].count * x.tile / group.ranks.sizes[x.rank]
        energy += float(table[(0, *place)]) * runs / part
        cycles += float(table[(1, *place)]) * runs / part
    return energy, cycles, 0
