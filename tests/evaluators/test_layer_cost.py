from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archloom.evaluators.hardware_cost import access_costs
from archloom.evaluators.kernel import evaluate_batch
from archloom.evaluators.layer_cost import mapped_cost, whole_pj
from archloom.evaluators.problem import MappingProblem
from archloom.evaluators.vector_cost import vector_cost
from archloom.space.layer import Layer
from archloom.space.mapping import LevelMapping, Mapping

from . import nest as oracle
from .designs import edge, eyeriss_like, tpu_like
from .mappers import ONES, word_by_word

CONV = Layer("c", "conv", k=4, c=2, p=4, q=4, r=3, s=3, padding=(1, 1), input_size=(4, 4))
POOL = Layer("p", "maxpool", g=6, p=3, q=3, r=2, s=2, stride=(2, 2), input_size=(6, 6))
ADD = Layer("a", "add", n=2, g=4, p=5, q=5, input_size=(5, 5), operands=2)


def spread_out():
    """CONV on the edge design: 4x2 PEs, rows of outputs in the buffer, reduction outside."""
    order = tuple(range(8))
    keeps = (True, True, True)
    return Mapping(
        (
            LevelMapping((1, 1, 1, 1, 1, 1, 3, 3), order, ONES, ONES, keeps),
            LevelMapping((1, 1, 2, 1, 2, 1, 1, 1), order, (1, 1, 2, 1, 1, 2, 1, 1), ONES, keeps),
            LevelMapping((1, 1, 1, 2, 2, 2, 1, 1), order[::-1], ONES, ONES, keeps),
        )
    )


def as_nest(problem, mapping):
    rows = mapping.levels
    return oracle.Nest(
        temporal=[list(v.temporal) for v in rows],
        x=[list(v.spatial_x) for v in rows],
        y=[list(v.spatial_y) for v in rows],
        order=[list(v.order) for v in rows],
        keep=[list(v.keeps) for v in rows],
        top=tuple(int(t) for t in problem.setup.top),
        stride=problem.stride,
        dilation=problem.dilation,
        padding=problem.padding,
        input_size=problem.input_size,
        alone=True,
    )


@pytest.mark.parametrize("hardware", [edge(), edge(channels=4, word_bits=16)], ids=["8", "16"])
@pytest.mark.parametrize("staged", [(False, False, False), (False, True, True), (True, True, True)])
def test_the_breakdown_is_the_walked_nest_over_all_instances(hardware, staged):
    problem = replace(MappingProblem.of_layer(CONV, hardware), staged=staged)
    mapping = spread_out()
    cost = mapped_cost(problem, mapping)
    nest = as_nest(problem, mapping)
    counts, used = oracle.count(nest), np.array(oracle.used(nest))
    assert used.tolist() == [4, 1, 1]
    assert cost.words.tolist() == (counts.sum(axis=2) * used[:, None]).tolist()
    assert cost.dram_reads == counts[-1, :, 0].sum()
    assert cost.dram_writes == counts[-1, :, 2].sum()
    energy, chip, dram = oracle.price(nest, problem.setup)
    assert (cost.chip_cycles, cost.dram_cycles) == (chip, dram)
    assert cost.latency_cycles == max(chip, dram)
    # twelve entries and the arithmetic, each rounded to 2**-8 pJ
    assert cost.dynamic_pj == pytest.approx(energy, abs=13 / 512)
    assert cost.operations == CONV.macs
    assert cost.compute_pj == whole_pj(CONV.macs * access_costs(hardware).mac_pj)


@pytest.mark.parametrize("hardware", [edge(), eyeriss_like(), tpu_like()], ids=lambda h: h.name)
def test_reports_and_searches_see_one_model(hardware):
    problem = MappingProblem.of_layer(CONV, hardware)
    mapping = word_by_word(problem)
    cost = mapped_cost(problem, mapping)
    loops = [[v.temporal, v.spatial_x, v.spatial_y, v.order] for v in mapping.levels]
    keep = [v.keeps for v in mapping.levels]
    _, energy, chip, dram = evaluate_batch(
        problem.setup, np.array([loops], np.int64), np.array([keep], np.uint8)
    )
    assert cost.dynamic_pj == pytest.approx(energy[0], abs=0.05)
    assert (cost.chip_cycles, cost.dram_cycles) == (chip[0], dram[0])
    assert not cost.energy_pj[cost.words == 0].any()


def test_a_mapping_that_does_not_fit_is_refused():
    problem = MappingProblem.of_layer(CONV, edge(glb_bytes=64))
    with pytest.raises(ValueError, match="does not fit edge"):
        mapped_cost(problem, word_by_word(problem, -2))


def test_a_mapping_of_another_layer_is_refused():
    other = replace(CONV, k=5)
    mapping = word_by_word(MappingProblem.of_layer(other, edge()))
    with pytest.raises(ValueError, match=r"covers \(1, 1, 5, .* loops are \(1, 1, 4, "):
        mapped_cost(MappingProblem.of_layer(CONV, edge()), mapping)


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=50), st.randoms())
@settings(max_examples=100)
def test_rounded_energies_add_up_in_any_order(energies, rng):
    rounded = [whole_pj(e) for e in energies]
    assert all(abs(a - b) <= 1 / 512 for a, b in zip(rounded, energies, strict=True))
    total = sum(rounded)
    rng.shuffle(rounded)
    assert sum(rounded) == total


def test_a_pool_reads_its_windows_from_the_buffer_and_each_word_of_dram_once():
    hardware = edge()
    cost = vector_cost(POOL, hardware, POOL.p, POOL.q, staged=False)
    taps, fetched, made = 6 * 9 * 4, 6 * 36, 6 * 9
    assert cost.words.tolist() == [[0, 0, 0], [0, taps + fetched, made], [0, fetched, made]]
    assert (cost.dram_reads, cost.dram_writes, cost.operations) == (fetched, made, taps)
    costs = access_costs(hardware)
    assert cost.compute_pj == whole_pj(taps * costs.vector_op_pj)
    # buffer and DRAM words travel eight and one at a time
    buffer_pj = ceil(taps / 8) * costs.read_pj[1, 1] + ceil(fetched / 8) * costs.write_pj[1, 1]
    assert cost.energy_pj[1, 1] == whole_pj(buffer_pj)
    assert cost.energy_pj[2, 1] == whole_pj(fetched * costs.read_pj[2, 1])
    # four lanes; the buffer moves sixteen words a cycle and DRAM eight
    assert cost.chip_cycles == max(ceil(taps / 4), ceil((taps + fetched + made) / 16))
    assert cost.dram_cycles == ceil((fetched + made) / 8)


def test_a_tile_of_an_add_stays_in_the_buffer():
    cost = vector_cost(ADD, edge(), 2, 5, staged=True)
    # one image of the batch at a time, both operands
    assert cost.words.tolist() == [[0, 0, 0], [0, 2 * 40, 40], [0, 0, 0]]
    assert (cost.dram_reads, cost.dram_writes, cost.dram_cycles) == (0, 0, 0)
    assert cost.operations == 2 * 40
    whole = vector_cost(ADD, edge(), 5, 5, staged=False)
    assert whole.operations == ADD.vector_ops
    assert (whole.dram_reads, whole.dram_writes) == (ADD.input_words, ADD.output_words)


def test_without_a_shared_buffer_vector_operators_stream_from_dram():
    hardware = edge()
    bare = replace(hardware, levels=(hardware.levels[0], hardware.levels[2]))
    assert bare.fusion_level is None
    cost = vector_cost(POOL, bare, POOL.p, POOL.q, staged=False)
    assert cost.words.tolist() == [[0, 0, 0], [0, 6 * 36, 6 * 9]]
    assert cost.chip_cycles == ceil(6 * 9 * 4 / 4)
