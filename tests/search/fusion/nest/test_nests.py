"""Nests that the search proposes: they run, cost at least what is estimated, and are near the best
of all."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest.iterations.when_used import masked_ranks
from archloom.evaluators.fusion.nest.members import splittable
from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.evaluators.fusion.nest.rules import dealable, nest_faults
from archloom.search.fusion.nest.facts import NestFacts, shared_out
from archloom.search.fusion.nest.nests import NestChoice, best_nests
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import STREAMED, LoopNest
from archloom.space.fusion.plan import FusionGroup
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder

from ....cases.cut_products import cut_network
from ....cases.random_windows import small_windows
from ....cases.small_designs import three_levels
from ....cases.small_nests import SmallCase, cores_case, masked_network, small_case
from ....cases.sweeps import sweep
from ....oracles.enumerated_nests import nests_below


def exact_cost(case: SmallCase, nest: LoopNest, mapper: Mapper) -> GroupCost | Infeasible:
    return group_cost(case.network, FusionGroup(case.layers, nest=nest), case.hardware, mapper)


def check(case: SmallCase, choice: NestChoice, mapper: Mapper) -> None:
    nest = choice.nest
    group = nest_group(case.network, case.layers, frozenset(x.rank for x in nest.loops))
    assert group is not None
    assert list(nest_faults(group, nest)) == []
    cost = exact_cost(case, nest, mapper)
    assert not isinstance(cost, Infeasible), cost
    words = cost.dram_reads + cost.dram_writes
    moved = choice.moved_cycles * case.hardware.levels[-1].bandwidth_words
    if STREAMED not in nest.depth:
        assert moved == pytest.approx(words)
        assert cost.prefetch == (choice.late_cycles == 0)
    for share, cycles in zip(cost.layers, choice.layer_cycles, strict=True):
        assert cycles <= share.latency_cycles * (1 + 1e-6)
    energy = choice.layer_pj.sum() + choice.moved_pj
    # how often comes what streams through a few words is no bound; costs are rounded to 2**-8 pJ
    more = 0.1 if STREAMED in nest.depth else 1e-4
    assert energy <= cost.dynamic_pj * (1 + more)


def mapper() -> Mapper:
    return Mapper(MAPPING_SEARCHES["auto"](), 4000, seed=1)


@pytest.mark.parametrize("seed", sweep(range(300), sample=8))
def test_what_is_proposed_runs_and_costs_no_less_than_is_estimated(seed: int) -> None:
    case, mappings = small_case(np.random.default_rng(seed)), mapper()
    for choice in best_nests(NestFacts(case.network, case.layers, case.hardware)):
        check(case, choice, mappings)


@pytest.mark.parametrize("seed", sweep(range(150), sample=6))
def test_what_is_proposed_around_windows_costs_no_less_than_is_estimated(seed: int) -> None:
    case, mappings = small_case(np.random.default_rng(seed), small_windows), mapper()
    for choice in best_nests(NestFacts(case.network, case.layers, case.hardware)):
        check(case, choice, mappings)


@pytest.mark.parametrize("seed", sweep(range(100), sample=4))
def test_what_masks_drop_is_in_no_estimate(seed: int) -> None:
    case, mappings = small_case(np.random.default_rng(seed), masked_network), mapper()
    for choice in best_nests(NestFacts(case.network, case.layers, case.hardware)):
        check(case, choice, mappings)


def test_loops_over_queries_and_keys_stand_inside_of_two_others() -> None:
    """With all images and heads at once no tiles of queries and keys pay, and neither loop pays
    without the other one."""
    spad, buffer, dram = three_levels(2500, (8, 8, 8)).levels
    chip = replace(three_levels(), levels=(spad, buffer, replace(dram, bandwidth_words=16.0)))
    found = []
    for sees in (Causal(), None):
        builder, heads = SequenceBuilder(), Heads(4, 8)
        query, key, value = (builder.input(name, 32, 32) for name in "qkv")
        scores = builder.scores("scores", heads, query, key, sees=sees)
        builder.weigh("weigh", heads, scores, value, sees=sees)
        network = builder.network("attention").with_batch(4)
        best = best_nests(NestFacts(network, (0, 1, 2), chip))[0]
        cost = exact_cost(SmallCase(network, chip), best.nest, mapper())
        assert not isinstance(cost, Infeasible)
        found.append((len(best.nest.loops), cost.dynamic_pj * cost.latency_cycles))
    (loops, causal), (_, dense) = found
    assert loops == 4
    # tiles of 4 x 4 cost 36 of 64 in time, and words of DRAM as many as all; without a mask larger
    # tiles are better, since their sums are not read again
    assert causal < 0.75 * dense


@pytest.mark.parametrize("seed", sweep(range(60), sample=4))
def test_what_is_proposed_for_cores_runs_and_costs_no_less_than_is_estimated(seed: int) -> None:
    case, mappings = cores_case(seed), mapper()
    for facts in shared_out(NestFacts(case.network, case.layers, case.hardware)):
        for choice in best_nests(facts):
            assert choice.nest.dealt
            # estimates are those of shares that come out even in tiles
            if facts.share % choice.nest.loops[0].tile == 0:
                check(case, choice, mappings)
            else:
                assert isinstance(exact_cost(case, choice.nest, mappings), GroupCost)


@pytest.mark.parametrize("seed", sweep(range(100), sample=6))
def test_cores_take_turns_where_a_mask_drops_tiles(seed: int) -> None:
    case, mappings = cores_case(seed, masked_network), mapper()
    facts = NestFacts(case.network, case.layers, case.hardware)
    for rank in facts.ranks:
        if not dealable(facts.group, rank):
            continue
        dealt = facts.dealing(rank)
        for choice in best_nests(dealt):
            over = frozenset(loop.rank for loop in choice.nest.loops)
            assert choice.nest.in_turn == (masked_ranks(facts.group, over) is not None)
            if dealt.share % choice.nest.loops[0].tile == 0:
                check(case, choice, mappings)
            else:
                assert isinstance(exact_cost(case, choice.nest, mappings), GroupCost)


def gap(seed: int) -> float:
    """Return how many times the least energy x latency of all nests of up to two loops the best of
    those that are proposed has."""
    case, mappings = small_case(np.random.default_rng(seed)), mapper()
    facts = NestFacts(case.network, case.layers, case.hardware)

    def edp(nest: LoopNest) -> float:
        cost = exact_cost(case, nest, mappings)
        if isinstance(cost, Infeasible):
            return inf
        energy = cost.dynamic_pj + facts.leakage_pj * cost.latency_cycles
        return energy * cost.latency_cycles

    best = min((edp(choice.nest) for choice in best_nests(facts)), default=inf)
    least = [best]
    better = nests_below(facts, case.network, case.layers, lambda e, t: e * t < least[-1], 2)
    for nest in better:
        least.append(min(least[-1], edp(nest)))
    return best / least[-1] if least[-1] < inf else 1.0


# of 45 cases 25 have the very best, 34 one within 1%, 42 one within 5%, all one within 8.0%:
# partial use of the array by small tiles is priced by mappings, not by estimates
@pytest.mark.parametrize("seed", sweep([8, 12, *range(8), *range(9, 12), *range(13, 45)], sample=2))
def test_the_best_that_is_proposed_is_near_the_best_of_all(seed: int) -> None:
    assert gap(seed) <= 1.09


@pytest.mark.parametrize("seed", sweep(range(60), sample=3))
def test_products_that_others_cut_get_the_nests_of_a_product_for_each_part(seed: int) -> None:
    case, chip = cut_network(seed), three_levels(400, (4, 4, 4))
    layers = tuple(i for i, x in enumerate(case.cut.layers) if x.name != "kept")
    apart = tuple(i for i, x in enumerate(case.apart.layers) if x.name != "kept")
    split = splittable(case.cut, layers)
    assert split
    found = best_nests(NestFacts(case.cut, layers, chip, split))
    other = best_nests(NestFacts(case.apart, apart, chip))
    assert found
    assert [(c.edp(0.1), c.nest) for c in found] == [
        (c.edp(0.1), replace(c.nest, split=split)) for c in other
    ]
