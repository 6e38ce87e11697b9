"""A slow oracle of whole plans: it keeps books of which maps are in DRAM and in the buffer.

Groups run one after another. A map that a group reads is taken from the buffer if it is there, or
else from DRAM, where it must be: one that was left in the buffer alone is found missing there when
a later group looks for it, and is charged as written then. What a group fetches, and what it holds
besides, is counted over coordinates by :mod:`.group_account`.

Independent of: the cost of whole plans and its rules of residency between groups.
"""

from dataclasses import dataclass, replace

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.space.workload.network import is_input

from .group_account import run_of


@dataclass
class Step:
    """One group as it runs.

    Attributes:
        held: names of maps of earlier groups that are in the buffer.
        kept: names of its own results that stay there.
        others: words of all of these, and of all steady weights.
        reads: words of maps that come from DRAM.
        written: names of its results that go there, for later groups or out of the network.
    """

    held: set
    kept: set
    others: int
    reads: int
    written: set


def map_words(network, name):
    layer = network.layers[network.index(name)]
    return network.batch * layer.g * layer.k * layer.p * layer.q


def steady_words(network, plan):
    """Words of the weights that never leave, those that several layers share once."""
    found = {}
    for group in plan.groups:
        for i in group.steady:
            layer = network.layers[i]
            while layer.weights_of:
                layer = network.layers[network.index(layer.weights_of)]
            found[layer.name] = layer.weight_words
    return sum(found.values())


def outside(network, group):
    """Names and boxes of the maps from outside, in the order in which members read them."""
    members = {network.layers[i].name for i in group.layers}
    found = []
    for i in group.layers:
        for operand, name in enumerate(network.reads[i]):
            box = network.layers[i].slice_of(operand)
            if name not in members and (name, box) not in found:
                found.append((name, box))
    return found


def with_tile(group, shape):
    """Return a group without faces with its tile spelled out."""
    return group if group.faces else replace(group, tile=group.tile or shape.sizes[shape.anchor])


def run_plan(network, plan):
    """Return a step for each group."""
    always = steady_words(network, plan)
    names = [layer.name for layer in network.layers]
    group_of = {names[i]: g for g, group in enumerate(plan.groups) for i in group.layers}
    buffer, in_dram, makers = {}, set(), {}
    steps = []
    for g, group in enumerate(plan.groups):
        buffer = {name: last for name, last in buffer.items() if last >= g}
        held = set(buffer)
        shape = group_shape(network, group.layers)
        layers = tuple(network.layers[i] for i in group.layers)
        made = run_of(with_tile(group, shape), shape, layers).made
        reads = 0
        for u, (name, _) in zip(shape.externals, outside(network, group), strict=True):
            if name in held:
                continue
            reads += made[u] * network.batch
            if not is_input(name) and name not in in_dram:
                # it should have gone to DRAM when it was made
                steps[makers[name]].written.add(name)
                in_dram.add(name)
        pins = {names[pin.layer]: group_of[names[pin.reader]] for pin in group.pins}
        exported = {names[group.layers[m]] for m in shape.exported}
        makers |= dict.fromkeys(exported, g)
        written = {name for name in exported if name not in pins or name in network.leaving}
        in_dram |= written
        buffer |= pins
        others = always + sum(map_words(network, name) for name in buffer)
        steps.append(Step(held, set(pins), others, reads, written))
    return steps


def placed_shape(network, group, step):
    """Return the shape of a group with what its step says of the buffer."""
    shape = group_shape(network, group.layers)
    sources = zip(shape.externals, outside(network, group), strict=True)
    names = {m: network.layers[i].name for m, i in enumerate(group.layers)}
    return replace(
        shape,
        held=tuple(u for u, (name, _) in sources if name in step.held),
        kept=tuple(m for m, name in names.items() if name in step.kept),
        unwritten=tuple(m for m in shape.exported if names[m] not in step.written),
    )
