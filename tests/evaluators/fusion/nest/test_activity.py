"""What an evaluated nest does over time: contents of the buffer and rounds, against its cost and a
simulator that walks all iterations."""

from itertools import pairwise

import numpy as np
import pytest

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.nest import NestWalk
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.fusion.timeline import buffer_timeline
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.space.fusion import FusionGroup, FusionPlan, group_order

from ....cases.designs import edge
from ....cases.mappers import BufferMapper, word_by_word
from ....cases.random_nests import masked_case, random_case
from ....cases.sweeps import sweep
from ....oracles.nest_simulator import simulate
from ..test_decoupled import agrees
from ..test_timeline import planned_words


class TightMapper(BufferMapper):
    """From DRAM, word by word, where the buffer has no space for all that streams."""

    def __call__(self, problem):
        try:
            return super().__call__(problem)
        except ValueError:
            self._memo[problem.key] = mapped_cost(problem, word_by_word(problem, -1))
            return self._memo[problem.key]


MAPPER = TightMapper()


def nested(seed: int, cases) -> tuple[NetworkCost, int, object]:
    """Return a plan with a random nest in a buffer that is large or just fits, and its place."""
    case = cases(np.random.default_rng(seed))
    net, mine = case.network, FusionGroup(case.members, nest=case.nest)
    rest = [FusionGroup((i,)) for i in range(len(net.layers)) if i not in case.members]
    groups = [mine, *rest]
    order = group_order(net, [group.layers for group in groups])
    assert order is not None
    plan = FusionPlan(tuple(groups[i] for i in order))
    found = None
    # a buffer with room for all, or the smallest of these in which the plan runs
    for size in (1 << 20, 2048, 1024, 512, 256) if seed % 2 else (1 << 20,):
        hardware = edge(glb_bytes=size)
        cost = network_cost(
            net, plan, hardware, lambda g, r, hw=hardware: group_cost(net, g, hw, MAPPER, r)
        )
        if not isinstance(cost, NetworkCost):
            break
        found = cost
    assert found is not None
    return found, order.index(0), case


@pytest.mark.parametrize(
    ("cases", "seed"),
    [
        *sweep([(random_case, seed) for seed in range(400)], sample=12),
        *sweep([(masked_case, seed) for seed in range(200)], sample=6),
    ],
)
def test_the_buffer_over_time_and_rounds_agree_with_cost_and_simulation(cases, seed):
    cost, g, case = nested(seed, cases)
    group = cost.groups[g]
    exact = [s for s in buffer_timeline(cost, 10**9) if s.group == g]
    skips = NestWalk(case.group, case.nest).masked is not None
    check_steps(exact, group, simulate(case.group, case.nest, set(), skips), cost)
    for most in (1, 7, 60):
        few = [s for s in buffer_timeline(cost, most) if s.group == g]
        assert max(map(planned_words, few)) == group.peak_words
        assert min(s.least_words for s in few) == min(s.least_words for s in exact)
        assert sum(s.steps for s in few) == len(exact)
        assert all(a.end_cycle == b.start_cycle for a, b in pairwise(few))
        assert few[-1].end_cycle == exact[-1].end_cycle
    agrees(cost.network, group, cost.hardware, MAPPER)


def check_steps(exact, group, run, cost):
    steps = [(now, m) for now in run.iterations for m in (now.runs or [0])]
    assert len(exact) == len(steps)
    assert exact[0].start_cycle + group.latency_cycles == exact[-1].end_cycle
    assert all(a.end_cycle == b.start_cycle for a, b in pairwise(exact))
    assert max(map(planned_words, exact)) == group.peak_words
    bits = cost.hardware.bits(len(cost.hardware.levels) - 2, "outputs")
    for segment, (now, m) in zip(exact, steps, strict=True):
        lying = sum(h.words for h in segment.held if h.kind in ("map", "weights"))
        if bits == cost.hardware.word_bits:
            assert lying == now.held[m]
        assert segment.least_words == planned_words(segment)
