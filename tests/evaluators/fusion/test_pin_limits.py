"""Pins that cannot be, by name, and what the words that they take leave to a group."""

from dataclasses import replace
from math import ceil

import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import Residents
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network

from ...cases.designs import edge, eyeriss_like
from ...cases.mappers import BufferMapper, word_by_word
from ...oracles.plan_simulator import map_words

SIDE = {"p": 8, "q": 8, "input_size": (8, 8)}
WINDOW = {"r": 3, "s": 3, "padding": (1, 1), **SIDE}


def conv(name, **more):
    return Layer(name, "conv", **({"k": 4, "c": 4} | WINDOW | more))


CHAIN = Network("chain", (conv("a"), conv("b"), conv("c")), ((INPUT,), ("a",), ("b",)))
MAP = 4 * 64
HELD = Residents(held=(0,), kept=(), unwritten=(), words=MAP)
ROOMY = edge(1 << 16)


def limited(problem):
    """Map with the smallest tiles, or say that not even they fit, as searches do."""
    return problem.impossible() or mapped_cost(problem, word_by_word(problem))


def refused(network, group, hardware, residents):
    found = group_cost(network, group, hardware, limited, residents)
    assert isinstance(found, Infeasible)
    return found


def strict(glb_bytes):
    levels = list(edge(glb_bytes).levels)
    levels[-2] = replace(levels[-2], optional=False)
    return replace(edge(glb_bytes), levels=tuple(levels))


def test_maps_that_exceed_the_buffer_are_named_with_what_is_too_much():
    residents = Residents((0,), (1,), (1,), 2 * MAP + 100)
    found = refused(CHAIN, FusionGroup((1,)), edge(500), residents)
    assert (found.reason, found.needed, found.available) == ("pinned_overflow", 612, 500)
    assert found.where == "glb, group b"
    assert found.hint.startswith(
        "112 bytes over capacity; pin less of a 256, b 256, steady weights 100, or"
    )


def test_a_tiled_group_that_pins_crowd_out_says_which_ones():
    group = FusionGroup((1, 2), (4, 8))
    sizes = range(1, 2000)
    fits = next(
        n for n in sizes if isinstance(group_cost(CHAIN, group, edge(n), limited), GroupCost)
    )
    others = Residents((), (), (), 2 * MAP)
    found = refused(CHAIN, group, edge(fits), others)
    assert (found.reason, found.available) == ("pinned_overflow", fits)
    assert found.needed == fits + 2 * MAP
    assert found.where.startswith("glb, group b..c (2 layers), layer ")
    assert found.hint.startswith("512 bytes over capacity; pin less of steady weights 512, or")
    # a group that fits nowhere is not put down to pins
    assert refused(CHAIN, group, edge(fits - 1), others).reason == "glb_overflow"


def test_a_streamed_layer_without_room_for_a_word_of_each_operand_says_so():
    fits = group_cost(CHAIN, FusionGroup((1,)), strict(MAP + 2), limited, HELD)
    assert isinstance(fits, GroupCost)
    found = refused(CHAIN, FusionGroup((1,)), strict(MAP + 1), HELD)
    # a weight and a result beside the map, of which one is too many
    assert (found.reason, found.needed, found.available) == ("pinned_overflow", MAP + 2, MAP + 1)
    # that the layer has no mapping anyway is not put down to pins
    small = replace(strict(MAP + 2).levels[0], capacity_bytes=2)
    hardware = replace(strict(MAP + 2), levels=(small, *strict(MAP + 2).levels[1:]))
    assert refused(CHAIN, FusionGroup((1,)), hardware, HELD).reason == "no_mapping"


BOTH = Network(
    "both",
    (
        conv("a"),
        conv("b"),
        conv("join", c=8, parts=(4, 4), operands=2),
        Layer("sum", "add", g=4, operands=2, **SIDE),
    ),
    ((INPUT,), (INPUT,), ("a", "b"), ("a", "b")),
)


def test_maps_side_by_side_are_pinned_together_or_the_layer_gets_a_tile():
    found = refused(BOTH, FusionGroup((2,)), ROOMY, HELD)
    assert (found.reason, found.where) == ("pinned_in_part", "join")
    assert (found.needed, found.available) == (2, 1)
    both = Residents((0, 1), (), (), 2 * MAP)
    whole = group_cost(BOTH, FusionGroup((2,)), ROOMY, BufferMapper(), both)
    staged = group_cost(BOTH, FusionGroup((2,), (8, 8)), ROOMY, BufferMapper(), HELD)
    weights = 4 * 8 * 9
    assert (whole.dram_reads, staged.dram_reads) == (weights, weights + MAP)
    # a vector operator takes its maps one by one
    one = group_cost(BOTH, FusionGroup((3,)), ROOMY, BufferMapper(), HELD)
    assert (one.dram_reads, one.dram_writes) == (MAP, MAP)


PRODUCT = Network(
    "product",
    (
        Layer("q", "gemm", k=8, c=8, p=4, input_size=(4, 1)),
        Layer("k", "gemm", k=8, c=8, p=8, input_size=(8, 1)),
        Layer("qk", "matmul", k=8, c=8, p=4, input_size=(4, 1), operands=2),
    ),
    (("input:q",), ("input:k",), ("q", "k")),
)


@pytest.mark.parametrize(("held", "reads"), [((), 32 + 64), ((0,), 64), ((1,), 32), ((0, 1), 0)])
def test_the_maps_of_a_product_are_operands_of_their_own(held, reads):
    words = sum(map_words(PRODUCT, "qk"[i]) for i in held)
    residents = Residents(held, (), (), words)
    cost = group_cost(PRODUCT, FusionGroup((2,)), ROOMY, BufferMapper(), residents)
    assert cost.dram_reads == reads


def test_a_buffer_that_keeps_no_weights_holds_no_second_map_and_no_steady_weights():
    small = eyeriss_like()
    found = refused(PRODUCT, FusionGroup((2,)), small, Residents((1,), (), (), 64))
    assert found.reason == "second_map_not_kept"
    first = Residents((0,), (), (), 32)
    mapper = BufferMapper()
    assert isinstance(group_cost(PRODUCT, FusionGroup((2,)), small, mapper, first), GroupCost)
    always = FusionGroup((1,), steady=(1,))
    assert refused(CHAIN, always, small, Residents((), (), (), 144)).reason == "weights_not_kept"


def test_without_a_shared_buffer_nothing_is_pinned():
    levels = list(ROOMY.levels)
    levels[-2] = replace(levels[-2], keeps=("weights", "inputs"))
    found = refused(CHAIN, FusionGroup((1,)), replace(ROOMY, levels=tuple(levels)), HELD)
    assert found.reason == "no_shared_buffer"


def test_a_result_that_stays_and_is_written_by_hand():
    """DRAM 8 words a cycle, the buffer 16; drains read nothing from the buffer."""
    mapper, words = BufferMapper(), 144 + MAP
    alone = group_cost(CHAIN, FusionGroup((0,)), ROOMY, mapper)
    written = Residents((), (0,), (), MAP)
    both = group_cost(CHAIN, FusionGroup((0,)), ROOMY, mapper, written)
    assert (both.dram_reads, both.dram_writes) == (words, MAP)
    assert both.dynamic_pj == alone.dynamic_pj
    ((_, run),) = both.layers[0].evaluations
    ports = (int(run.words[-2].sum()) + MAP) / 16
    assert run.dram_cycles == words / 8
    assert both.latency_cycles == max(run.chip_cycles, (words + MAP) / 8, ceil(ports))
    slow = replace(ROOMY.levels[-1], bandwidth_words=0.01)
    slow = replace(ROOMY, levels=(*ROOMY.levels[:-1], slow))
    last = group_cost(CHAIN, FusionGroup((0,)), slow, BufferMapper(), written)
    assert last.latency_cycles == (words + MAP) / 0.01
    # left in the buffer alone, it is not written: 64 pJ a word
    held = group_cost(CHAIN, FusionGroup((0,)), ROOMY, mapper, replace(written, unwritten=(0,)))
    assert (held.dram_reads, held.dram_writes) == (words, 0)
    assert both.dynamic_pj - held.dynamic_pj == MAP * 64


@pytest.mark.parametrize(
    ("free", "left"), [(3, 3), (8, 8), (9, 8), (255, 224), (399, 384), (400, None), (5000, None)]
)
def test_a_streamed_layer_gets_what_pins_leave_rounded_down(free, left):
    """Weights and results of b are 144 + 256 words."""
    asked = []

    def mapper(problem):
        asked.append(problem)
        return limited(problem)

    residents = replace(HELD, words=buffer_words(ROOMY) - free)
    cost = group_cost(CHAIN, FusionGroup((1,)), ROOMY, mapper, residents)
    assert isinstance(cost, GroupCost)
    assert [(p.staged, p.free_words) for p in asked] == [((False, True, False), left)]


def test_a_long_vector_is_read_again_where_pins_leave_it_no_room():
    """A softmax over 64 channels reads each vector three times and writes it twice."""
    soft = Layer("soft", "softmax", k=64, c=64, p=4, input_size=(4, 1))
    net = Network("soft", (soft,), ((INPUT,),))
    reads = []
    for free in (128, 127):
        residents = Residents((), (), (), buffer_words(ROOMY) - free)
        cost = group_cost(net, FusionGroup((0,)), ROOMY, limited, residents)
        reads.append((cost.dram_reads, cost.dram_writes))
    assert reads == [(256, 256), (3 * 256, 2 * 256)]
