"""Plans that keep maps and weights in the buffer, against books kept map by map."""

import pytest

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.words import streams
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.space.fusion.plan import FusionGroup, plan_violations
from archloom.space.workload.dims import WEIGHTS

from ...cases.designs import edge
from ...cases.mappers import BufferMapper
from ...cases.pinned_plans import pinned_plan
from ...cases.sweeps import sweep
from ...oracles.group_account import account
from ...oracles.plan_simulator import map_words, placed_shape, run_plan, with_tile

ROOMY = edge(glb_bytes=1 << 22)
PLANS = 70
"""Of each kind; benchmarks/agreement/plan_price.py runs thousands."""


def priced(network, plan, hardware=ROOMY):
    mapper = BufferMapper()
    return network_cost(
        network,
        plan,
        hardware,
        lambda g, residents: group_cost(network, g, hardware, mapper, residents),
    )


def books_differ(network, plan):
    """Return what the price of a plan says otherwise than books that are kept map by map."""
    cost = priced(network, plan)
    if not isinstance(cost, NetworkCost):
        assert cost.reason == "pinned_in_part"
        return None
    found = []
    for group, price, step in zip(plan.groups, cost.groups, run_plan(network, plan), strict=True):
        pairs = [
            ({network.layers[i].name for i in price.residents.held}, step.held),
            (price.residents.words, step.others),
        ]
        if streams(group):
            mine = tuple(map(int, price.layers[0].words[-1]))
            pairs.append((mine, streamed_words(network, group, step)))
        else:
            shape = placed_shape(network, group, step)
            tiled = with_tile(group, shape)
            slow = account(network, tiled, ROOMY, BufferMapper(), shape, step.others)
            weights = sum(int(share.words[-1, WEIGHTS]) for share in price.layers)
            pairs += [
                (price.dram_reads - weights, step.reads),
                (price.dram_reads, slow.reads),
                (price.dram_writes, sum(map_words(network, name) for name in step.written)),
                (price.peak_words, slow.peak),
                (price.latency_cycles, slow.latency),
                (price.dynamic_pj, pytest.approx(slow.energy_pj, abs=0.1)),
            ]
        found += [(group, mine, other) for mine, other in pairs if mine != other]
    return found


def streamed_words(network, group, step):
    """Words of weights, inputs and outputs in DRAM of a layer by itself, from those without pins
    less those of operands in the buffer."""
    (i,) = group.layers
    layer, sources = network.layers[i], network.reads[i]
    alone = group_cost(network, FusionGroup((i,)), ROOMY, BufferMapper())
    weights, inputs, outputs = map(int, alone.layers[0].words[-1])
    if layer.operator == "matmul":
        weights *= sources[1] not in step.held
    weights *= i not in group.steady
    if layer.uses_macs:
        inputs *= sources[0] not in step.held
    else:
        inside = (
            words
            for words, name in zip(layer.map_read_words, sources, strict=True)
            if name in step.held
        )
        inputs -= sum(inside)
    if layer.name in step.kept:
        outputs = layer.output_words * (layer.name in step.written)
    return weights, inputs, outputs


@pytest.mark.parametrize("kind", ["any", "operators", "wild"])
@pytest.mark.parametrize("seed", sweep(range(PLANS), 25))
def test_words_of_a_plan_are_those_of_the_books(seed, kind):
    network, plan = pinned_plan(seed, kind)
    assert plan_violations(network, plan) == []
    assert books_differ(network, plan) in ([], None)
