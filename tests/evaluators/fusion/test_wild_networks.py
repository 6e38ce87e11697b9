"""Layers that read all that layers can read: who needs what of which map, and no price too low."""

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import demand, edp_bound
from archloom.evaluators.bounds.network.plans import any_plan_bound, layer_by_layer_bound
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.space.fusion.plan import layer_by_layer, plan_violations
from archloom.space.workload.network import is_input

from ...cases.designs import edge, eyeriss_like, tpu_like
from ...cases.mappers import BufferMapper
from ...cases.random_plans import RandomMapper
from ...cases.wild_networks import wild_group, wild_network
from ...oracles.tile_simulator import span, window_span
from .test_plan import priced, random_plan

#: a map that every part of a result needs all of, by its place among those that are read
FIRST_WHOLE = {"copy": 0, "bilinear": 0, "matmul": 1}


def made_and_read(network, source):
    """Return the shape of a map as it is made, and int[3, ...], where each word of it as it is
    read stands in that: channel (of what is read), row and column."""
    if is_input(source):
        shape = network.map_shape(source)
        return shape, np.indices(shape)
    layer = network.layers[network.index(source)]
    shape = (layer.g * layer.k, layer.p, layer.q)
    where, spread = np.indices(shape), layer.interleave
    if spread is not None:
        channels = shape[0] // (spread.rows * spread.columns)
        patches = where.reshape(3, channels, spread.rows, spread.columns, *shape[1:])
        rows, columns = shape[1] * spread.rows, shape[2] * spread.columns
        where = patches.transpose(0, 1, 4, 2, 5, 3).reshape(3, channels, rows, columns)
        where = where[
            :, :, spread.start[0] : rows - spread.end[0], spread.start[1] : columns - spread.end[1]
        ]
    return shape, where


def reads(network, members):
    """Yield what each member reads: (member, operand, map, its shape, int[3, ...] as it is read).

    A map is the number of a member, or the name and the box of what comes from outside.
    """
    for m, i in enumerate(members):
        layer = network.layers[i]
        for operand, source in enumerate(network.reads[i]):
            box = layer.slices[operand] if layer.slices else None
            shape, where = made_and_read(network, source)
            maker = None if is_input(source) else network.index(source)
            if box is not None and maker not in members:
                yield m, operand, (source, box), box.size, np.indices(box.size)
                continue
            if box is not None:
                cut = (slice(a, a + n) for a, n in zip(box.start, box.size, strict=True))
                where = where[:, *cut]
            name = members.index(maker) if maker in members else (source, None)
            yield m, operand, name, shape, where


def windows(layer, axis, along):
    """Return what the window of each output spans, as made; ``along`` says where that stands."""
    first = [o * layer.stride[axis] - layer.padding[axis] for o in range((layer.p, layer.q)[axis])]
    reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    inside = (range(max(0, a), min(len(along), a + reach + 1)) for a in first)
    return [span({int(along[x]) for x in taken}) for taken in inside]


@pytest.mark.parametrize("part", range(4))
def test_who_needs_what_of_which_map_follows_from_the_network_alone(part):
    windowed = 0
    for seed in range(part * 100, part * 100 + 100):
        network, members = wild_group(np.random.default_rng(seed))
        shape, outside = group_shape(network, members), {}
        for m, operand, name, size, where in reads(network, members):
            layer = network.layers[members[m]]
            number = shape.members + len(outside)
            tensor = name if isinstance(name, int) else outside.setdefault(name, number)
            assert (shape.channels[tensor], *shape.sizes[tensor]) == size
            edges = [e for e in shape.edges if (e.source, e.reader) == (tensor, m)]
            whole = operand >= FIRST_WHOLE.get(layer.operator, 1 if layer.broadcast else 99)
            if whole or where.shape[2:] != layer.input_size:
                assert any(e.full for e in edges)
            elif not any(e.full for e in edges):
                wanted = [windows(layer, a, where[1 + a, 0].take(0, 1 - a)) for a in (0, 1)]
                assert any(wanted == spans(layer, size[1:], e) for e in edges)
                windowed += layer.p * layer.q
        assert len(outside) == len(shape.externals)
    assert windowed > 1000


def spans(layer, size, read):
    """Return what an edge says that the window of each output spans, on both axes."""
    return [
        [window_span(layer, axis, {o}, size[axis], read) for o in range(outputs)]
        for axis, outputs in enumerate((layer.p, layer.q))
    ]


HARDWARE = [edge(1 << 20), edge(4096), edge(1 << 20, channels=64), eyeriss_like(), tpu_like()]


@pytest.mark.parametrize("hardware", HARDWARE, ids=lambda h: f"{h.name}-{h.levels[1].total_bytes}")
def test_no_plan_of_any_network_is_below_the_bounds(hardware):
    fused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        network = wild_network(rng).with_batch(int(rng.integers(2, 5)))
        alone, any_plan = (f(network, hardware) for f in (layer_by_layer_bound, any_plan_bound))
        for number in range(3):
            plan = random_plan(network, hardware, rng) if number else layer_by_layer(network)
            assert plan_violations(network, plan) == []
            easy = hardware.levels[1].capacity_bytes == 1 << 20 and rng.random() < 0.5
            cost = priced(network, plan, hardware, BufferMapper() if easy else RandomMapper(seed))
            if not isinstance(cost, NetworkCost):
                continue
            fused += any(len(group.group.layers) > 1 for group in cost.groups)
            assert cost.dram_reads + cost.dram_writes >= demand(network).dram_words
            for bound in (any_plan,) if number else (any_plan, alone):
                assert cost.energy_pj >= bound.energy_pj
                assert cost.latency_cycles >= bound.latency_cycles
                assert cost.dram_bytes >= bound.dram_bytes
            # a geometric mean of one is not exact
            assert cost.edp_js >= edp_bound([network], hardware) * (1 - 1e-12)
    assert fused >= 20
