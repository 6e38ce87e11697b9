"""Random plans with pinned maps and steady weights on small networks."""

import numpy as np

from archloom.search.fusion.partition import merge, normalise, singletons
from archloom.space.fusion.irregular_tiles import anchor_layer
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin
from archloom.space.fusion.running_order import group_order

from .groups import POLICIES, random_group
from .partitions import guillotine


def pinned_plan(seed, kind="any"):
    """Return a random network over one or two images, and a valid plan for it."""
    rng = np.random.default_rng(seed)
    network = random_group(rng, kind)[0].with_batch(1 + seed % 2)
    return network, random_plan(network, rng)


def random_plan(network, rng):
    """Return a valid plan: neighbours merged, tiled, cached and pinned at random."""
    groups = list(singletons(network))
    for _ in range(int(rng.integers(len(groups)))):
        merged = list(normalise(merge(network, groups, rng)))
        groups = merged if group_order(network, merged) is not None else groups
    order = group_order(network, groups)
    home = {i: g for g, at in enumerate(order) for i in groups[at]}
    owners = {network.weight_owner(i) for i, la in enumerate(network.layers) if la.weight_words}
    steady = {owner for owner in owners if rng.random() < 0.2}
    return FusionPlan(tuple(_group(network, groups[at], home, steady, rng) for at in order))


def _group(network, layers, home, steady, rng):
    weighty = [i for i in layers if network.layers[i].weight_words]
    always = tuple(i for i in weighty if network.weight_owner(i) in steady)
    pins = []
    for i in layers:
        later = [c for c in network.consumers[i] if home[c] > home[i]]
        if later and rng.random() < 0.6:
            pins.append(Pin(i, int(rng.choice(later))))
    more = {"pins": tuple(pins), "steady": always}
    if len(layers) == 1 and rng.random() < 0.6:
        return FusionGroup(layers, **more)
    more["resident"] = tuple(i for i in weighty if i not in always and rng.random() < 0.5)
    if rng.random() < 0.2:
        anchor = network.layers[anchor_layer(network, layers)]
        return FusionGroup(layers, faces=tuple(guillotine(rng, anchor.p, anchor.q)), **more)
    tile = (int(rng.integers(1, 9)), int(rng.integers(1, 9))) if rng.random() < 0.8 else None
    return FusionGroup(layers, tile, POLICIES[rng.integers(3)], **more)
