"""Mappings of tiles that add to partial sums which other tiles began."""

from dataclasses import replace

import pytest

from archloom.evaluators.loopnest.layer_cost import LayerCost, added_cost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.on_mesh.settle import settled
from archloom.search.mapping.mapper import Mapper, RecordedMapper, short_key
from archloom.space.errors import Infeasible
from archloom.space.mapping.constraints import LevelConstraints, MappingConstraints

from ...cases.mesh_cases import mesh_problem
from ...cases.small_designs import casco_edge
from ...cases.sweeps import sweep


def mapper(factors: str = "imperfect", evaluations: int = 20_000) -> Mapper:
    return Mapper(auto_mapping(), evaluations, 0, factors)


def adding(problem: MappingProblem) -> MappingProblem:
    return replace(problem, begun=True)


def tile(channels: int, inputs: int, side: int) -> MappingProblem:
    """Return a part of a projection in a nest of MobileNetV2, whose maps lie in the buffer."""
    bounds, chip = (1, 1, channels, inputs, side, side, 1, 1), casco_edge(32, pe_x=16, pe_y=8)
    ones = ((1, 1), (1, 1), (0, 0), (side, side))
    return MappingProblem(bounds, *ones, chip, staged=(False, True, True))


@pytest.mark.parametrize(
    ("problem", "cycles", "energy"), [(tile(96, 64, 14), 0.9, 0.95), (tile(160, 120, 7), 0.9, 0.97)]
)
def test_a_tile_that_adds_wants_another_mapping(
    problem: MappingProblem, cycles: float, energy: float
) -> None:
    """With the mapping of a tile that begins its sums it waits for the ports of its buffers."""
    search = mapper()
    begins, adds = search(problem), search(adding(problem))
    assert isinstance(begins, LayerCost)
    assert isinstance(adds, LayerCost)
    same = added_cost(problem, begins)
    assert adds.latency_cycles < cycles * same.latency_cycles
    assert adds.dynamic_pj < energy * same.dynamic_pj
    # reading sums takes something all the same
    assert adds.dynamic_pj > begins.dynamic_pj
    assert adds.gap_percent < 20


@pytest.mark.parametrize("seed", sweep(range(300), 30))
def test_what_adds_is_found_no_worse_than_what_begins_and_not_below_its_gap(seed: int) -> None:
    problem = mesh_problem(seed)
    search = mapper(evaluations=4000)
    begins, adds = search(problem), search(adding(problem))
    if isinstance(begins, Infeasible):
        assert adds == begins
        return
    assert isinstance(adds, LayerCost)
    assert adds.mapping is not None
    aim = adding(problem)
    # priced anew it costs the same
    nest = replace(aim, loop_bounds=adds.mapping.factors)
    assert objective(aim, mapped_cost(nest, adds.mapping)) == objective(aim, adds)
    assert objective(aim, adds) <= objective(aim, added_cost(problem, begins))
    assert objective(aim, adds) >= objective(problem, begins) / (1 + begins.gap_percent / 100)
    # what looks at many more mappings finds none below the bound
    best = settled(aim, adds, 100_000)
    slack = 1e-6
    assert objective(aim, best) >= objective(aim, adds) / (1 + adds.gap_percent / 100) * (1 - slack)


@pytest.mark.parametrize("factors", ["exact", "padded"])
def test_other_factors_keep_the_mapping_of_what_begins(factors: str) -> None:
    problem, search = tile(64, 24, 14), mapper(factors)
    begins, adds = search(problem), search(adding(problem))
    assert isinstance(begins, LayerCost)
    assert isinstance(adds, LayerCost)
    same = added_cost(problem, begins)
    assert (adds.mapping, adds.energy_pj.tolist()) == (same.mapping, same.energy_pj.tolist())
    # the two problems are told apart by their mappings
    assert adds.mapping is not begins.mapping
    # both are searched to the end
    assert search.ended(problem)
    assert search.ended(adding(problem))


def test_constraints_hold_for_what_adds() -> None:
    problem = tile(96, 64, 14)
    rules = MappingConstraints(levels=(LevelConstraints("l2", unroll_x=(("K", None),)),))
    search = Mapper(auto_mapping(), 4000, 0, "imperfect", rules)
    begins, adds = search(problem), search(adding(problem))
    assert isinstance(begins, LayerCost)
    assert isinstance(adds, LayerCost)
    assert adds.mapping == begins.mapping
    free = mapper(evaluations=4000)(adding(problem))
    assert isinstance(free, LayerCost)
    assert free.mapping != adds.mapping


def test_records_have_both_and_old_ones_have_one() -> None:
    """Up to version 0.1.0 tiles that add had the mapping of those that begin sums."""
    problem, search = tile(96, 64, 14), mapper()
    begins, adds = search(problem), search(adding(problem))
    assert isinstance(begins, LayerCost)
    assert isinstance(adds, LayerCost)
    texts = {
        short_key(of.key): cost.mapping.to_text()
        for of, cost in ((problem, begins), (adding(problem), adds))
        if cost.mapping is not None
    }
    again = RecordedMapper(texts)(adding(problem))
    assert (again.dynamic_pj, again.latency_cycles) == (adds.dynamic_pj, adds.latency_cycles)
    old = RecordedMapper({short_key(problem.key): texts[short_key(problem.key)]})
    same = added_cost(problem, begins)
    found = old(adding(problem))
    assert (found.dynamic_pj, found.latency_cycles) == (same.dynamic_pj, same.latency_cycles)
    with pytest.raises(ValueError, match="no mapping was recorded"):
        RecordedMapper({})(adding(problem))
