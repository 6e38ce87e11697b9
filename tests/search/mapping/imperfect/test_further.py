"""What more evaluations than those of a trial bring, against fewer, bounds and the kernel."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import least_costs
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.descents import Descents, may_descend
from archloom.search.mapping.imperfect.further import FIRST, FURTHER, SHARE
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.constraints import MappingConstraints
from archloom.space.workload.layer import Layer

from ....cases.small_chips import small_problem
from ....cases.small_problems import awkward_problem
from ....cases.sweeps import sweep
from ....oracles.enumerated_imperfect import least_objective

EDGE = {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 128, "input_spad_bytes": 32}
EDGE |= {"output_spad_bytes": 32, "dram_channels": 2, "clock_mhz": 400, "l2_kib": 32}

#: evaluations with which all starts are used up
ALL = 100_000_000

#: energies of reports are rounded to multiples of 2 ** -8 pJ
GRAIN = 1e-5


def found(problem: MappingProblem, evaluations: int, seed: int = 0) -> LayerCost:
    cost = Mapper(auto_mapping(), evaluations, seed, "imperfect")(problem)
    assert isinstance(cost, LayerCost)
    return cost


def edge() -> Hardware:
    hardware = HardwareSpace.load("casco_edge").build(EDGE)
    assert isinstance(hardware, Hardware)
    return hardware


def shortcut() -> MappingProblem:
    """A 1x1 convolution of ResNet-18 with stride 2, of which exact factors are soon proven."""
    layer = Layer("shortcut", "conv", k=128, c=64, p=28, q=28, stride=(2, 2), input_size=(56, 56))
    return MappingProblem.of_layer(layer, edge())


@pytest.mark.parametrize("part", sweep(range(12), 1))
def test_more_evaluations_are_never_worse_and_gaps_are_of_the_same_bounds(part: int) -> None:
    better = 0
    for seed in range(30 * part, 30 * part + 30):
        problem = small_problem(seed, seed % 4)
        if problem is None:
            continue
        for weights in ((1.0, 0.0), (1.0, 1.0)):
            asked = replace(problem, weights=weights)
            usual, more = found(asked, FIRST), found(asked, FURTHER)
            assert objective(asked, more) <= objective(asked, usual)
            bounds = [objective(asked, c) / (1 + c.gap_percent / 100) for c in (usual, more)]
            assert bounds[1] >= bounds[0] * (1 - 1e-6)
            energy_pj, cycles = least_costs(asked)
            assert more.dynamic_pj >= energy_pj * (1 - 1e-9) - 1.0
            assert more.latency_cycles >= cycles * (1 - 1e-9)
            assert more.mapping is not None
            again = mapped_cost(replace(asked, loop_bounds=more.mapping.factors), more.mapping)
            assert again == replace(more, words=again.words, energy_pj=again.energy_pj,
                                    gap_percent=again.gap_percent)  # fmt: skip
            assert np.array_equal(again.words, more.words)
            better += objective(asked, more) < objective(asked, usual) * (1 - 1e-6)
    assert better > 1


def test_descents_alone_find_the_best_of_all_mappings_of_small_problems() -> None:
    """From a mapping that is far from the best, against lists of all mappings."""
    compared, same = 0, 0
    for seed in range(80):
        problem = awkward_problem(seed)
        least = least_objective(problem.setup, 20_000) if may_descend(problem) else None
        if least is None:
            continue
        begin = found(problem, 1).mapping
        assert begin is not None
        mapping = Descents(problem, seed).run(begin, 20_000)
        value = objective(problem, mapped_cost(replace(problem, loop_bounds=mapping.factors),
                                               mapping))  # fmt: skip
        assert value >= least * (1 - GRAIN)
        compared, same = compared + 1, same + (value <= least * (1 + GRAIN))
    assert compared > 5
    assert same >= 0.9 * compared


def test_each_larger_budget_is_no_worse_until_it_brings_nothing() -> None:
    problem, last = shortcut(), np.inf
    usual = Mapper(auto_mapping(), FIRST, 0, "imperfect")
    first = usual(problem)
    assert isinstance(first, LayerCost)
    # exact factors and nests are searched to the end, but there is more
    assert not usual.ended(problem)
    for evaluations in (FIRST, FURTHER - 1, FURTHER, 5 * FURTHER, 16 * FURTHER):
        value = objective(problem, found(problem, evaluations))
        assert value <= last
        last = value
    assert last < 0.98 * objective(problem, first)
    all_of_it, beyond = (Mapper(auto_mapping(), n, 0, "imperfect") for n in (ALL, 4 * ALL))
    one, two = all_of_it(problem), beyond(problem)
    assert isinstance(one, LayerCost)
    assert isinstance(two, LayerCost)
    assert all_of_it.ended(problem)
    assert objective(problem, two) == objective(problem, one) <= last


def test_more_evaluations_of_descents_are_never_worse() -> None:
    problem, last = shortcut(), np.inf
    begin = found(problem, FIRST).mapping
    assert begin is not None
    assert Descents(problem, 3).run(begin, 0) == begin
    for evaluations in range(2000, FURTHER // SHARE, 12_000):
        mapping = Descents(problem, 3).run(begin, evaluations)
        cost = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
        assert objective(problem, cost) <= last
        last = objective(problem, cost)


def test_the_same_again() -> None:
    problem = shortcut()
    one, two = (found(problem, FURTHER) for _ in range(2))
    assert one.mapping == two.mapping
    assert one.gap_percent == two.gap_percent


def test_one_axis_for_a_dimension() -> None:
    """Mappings of 1x1 convolutions that may not unroll channels along both axes."""
    layer, gained = Layer("expand", "conv", k=480, c=80, p=14, q=14, input_size=(14, 14)), 0.0
    for hardware in (edge(), preset("eyeriss")):
        problem = MappingProblem.of_layer(layer, hardware)
        asked = replace(problem, constraints=MappingConstraints(both_axes=False))
        usual, more = found(asked, FIRST), found(asked, 4 * FURTHER)
        assert more.mapping is not None
        loops = more.mapping.arrays()[0]
        assert not ((loops[:, 1] > 1) & (loops[:, 2] > 1)).any()
        gained += 1 - objective(asked, more) / objective(asked, usual)
    assert gained > 0


def test_other_constraints_and_hops_leave_it_to_nests() -> None:
    problem, hardware = shortcut(), edge()
    mesh = replace(hardware, effects=replace(hardware.effects, network="mesh"))
    for asked in (
        replace(problem, constraints=MappingConstraints(dataflow="weight_stationary")),
        replace(problem, hardware=mesh),
    ):
        assert not may_descend(asked)
        assert objective(asked, found(asked, FURTHER)) <= objective(asked, found(asked, FIRST))
