"""All plans of two layers: alone, or in one group with every tile, policy, residency and nest.

Independent of: bounds, and of which plans planners look at.
"""

from itertools import permutations, product
from typing import get_args

from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.ranks import group_ranks
from archloom.evaluators.fusion.nest.rules import depths, nest_faults
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup, FusionPlan, HaloPolicy


def every_plan(network, most=2):
    """Yield the plans of a network of two or three layers that has them in one group or alone, or
    the last two in a group; of nests those of up to ``most`` loops."""
    count = len(network.layers)
    yield FusionPlan(tuple(FusionGroup((i,)) for i in range(count)))
    for start in range(count - 1):
        before = tuple(FusionGroup((i,)) for i in range(start))
        for group in every_group(network, tuple(range(start, count)), most):
            yield FusionPlan((*before, group))
    for i in range(count):
        for group in tiled(network, (i,)):
            alone = [FusionGroup((j,)) for j in range(count)]
            alone[i] = group
            yield FusionPlan(tuple(alone))


def every_group(network, members, most):
    """Yield the groups of some layers."""
    yield from tiled(network, members)
    yield from nested(network, members, most)


def tiled(network, members):
    """Yield the groups that run in tiles."""
    last = network.layers[members[-1]]
    weights = [i for i in members if network.layers[i].weight_words]
    sizes = product(range(1, last.p + 1), range(1, last.q + 1))
    for tile, halo in product(sizes, get_args(HaloPolicy)):
        for kept in product([False, True], repeat=len(weights)):
            resident = tuple(i for i, stays in zip(weights, kept, strict=True) if stays)
            yield FusionGroup(members, tile, halo, resident=resident)


def nested(network, members, most):
    """Yield the groups in nests of up to so many loops that obey the rules."""
    ranks = group_ranks(network, members)
    if ranks is None:
        return
    free = [rank for rank, may in enumerate(ranks.loopable) if may]
    for count in range(1, most + 1):
        for chosen in permutations(free, count):
            group = nest_group(network, members, frozenset(chosen))
            if group is None:
                continue
            stays = [[*depths(group, chosen, t), STREAMED] for t in range(len(group.operands))]
            tiles = [range(1, ranks.sizes[rank]) for rank in chosen]
            for depth in product(*stays):
                ones = tuple(NestLoop(rank, 1) for rank in chosen)
                # no rule looks at sizes of tiles
                if any(nest_faults(group, LoopNest(ones, depth))):
                    continue
                for sizes in product(*tiles):
                    loops = tuple(NestLoop(*pair) for pair in zip(chosen, sizes, strict=True))
                    yield FusionGroup(members, nest=LoopNest(loops, depth))
