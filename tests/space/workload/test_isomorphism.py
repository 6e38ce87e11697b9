"""Which layers and networks are the same, and in what others differ."""

import random
from dataclasses import fields, replace
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost
from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import NETWORKS, network
from archloom.space.workload.graph import identical_layers
from archloom.space.workload.isomorphism import explain_difference, fingerprint, same_structure
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import add, conv2d, linear, matmul, mul
from archloom.space.workload.network import INPUT, Network, is_input
from archloom.space.workload.slice import Mask, Slice

from ...cases.graphs import graph, graphs

EYERISS = preset("eyeriss")


def shuffled(net: Network, seed: int) -> Network:
    """The same network with other names, listed in another order, sums the other way round."""
    draw = random.Random(seed)
    order: list[int] = []
    lenders = [{net.index(la.weights_of)} if la.weights_of else set() for la in net.layers]
    needs = [{*made, *lent} for made, lent in zip(net.producers, lenders, strict=True)]
    while len(order) < len(net.layers):
        done = set(order)
        order.append(draw.choice([i for i, n in enumerate(needs) if i not in done and n <= done]))
    names = {net.layers[i].name: f"layer{at}" for at, i in enumerate(order)}
    inputs = sorted({s for sources in net.reads for s in sources if is_input(s)})
    draw.shuffle(inputs)
    names |= {source: f"{INPUT}:{at}" for at, source in enumerate(inputs)}
    layers, reads = [], []
    for i in order:
        layer = net.layers[i]
        shared = names[layer.weights_of] if layer.weights_of else ""
        layers.append(replace(layer, name=names[layer.name], weights_of=shared))
        sources = [names[s] for s in net.reads[i]]
        if layer.operator in ("add", "mul") and not layer.broadcast and not layer.slices:
            draw.shuffle(sources)
        reads.append(tuple(sources))
    outputs = tuple(names[s] for s in net.outputs)
    return Network("shuffled", tuple(layers), tuple(reads), outputs)


@given(graphs(), st.integers(0, 2**32))
def test_names_and_the_order_of_layers_mean_nothing(net: Network, seed: int) -> None:
    other = shuffled(net, seed)
    assert same_structure(net, other)
    assert explain_difference(net, other) == []


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_catalogue_are_known_again(name: str) -> None:
    net = network(name)
    assert same_structure(net, network(name))
    assert same_structure(net, shuffled(net, seed=1))


@given(graphs(), st.data())
def test_an_edge_that_leads_elsewhere_makes_another_network(
    net: Network, data: st.DataObject
) -> None:
    """By brute force: no renaming of the layers makes one of the other."""
    reads = [list(sources) for sources in net.reads]
    i = data.draw(st.integers(0, len(reads) - 1))
    at = data.draw(st.integers(0, len(reads[i]) - 1))
    reads[i][at] = data.draw(st.sampled_from([INPUT, *(f"l{j}" for j in range(i))]))
    other = replace(net, reads=tuple(map(tuple, reads)))
    same = _isomorphic(net, other)
    assert same_structure(net, other) == same
    assert (explain_difference(net, other) == []) == same


def _isomorphic(one: Network, other: Network) -> bool:
    """Whether layers can be paired so that sums read the same maps, by depth-first search."""
    maps: dict[str, str] = {INPUT: INPUT}

    def place(i: int) -> bool:
        if i == len(one.layers):
            return True
        read = sorted(maps[s] for s in one.reads[i])
        for j, sources in enumerate(other.reads):
            name = other.layers[j].name
            if name not in maps.values() and sorted(sources) == read:
                maps[one.layers[i].name] = name
                if place(i + 1):
                    return True
                del maps[one.layers[i].name]
        return False

    return place(0)


# a value other than the default for each field of a layer that a fingerprint must notice
OTHER = {
    "operator": "gemm",
    "n": 2,
    "g": 2,
    "k": 8,
    "c": 8,
    "p": 5,
    "q": 5,
    "r": 1,
    "s": 1,
    "stride": (2, 1),
    "dilation": (2, 1),
    "padding": (1, 1),
    "input_size": (7, 7),
    "extra_params": 3,
    "activation": "relu",
    "density": (0.5, 1.0),
}


@pytest.mark.parametrize("field", OTHER)
def test_every_field_of_a_layer_counts(field: str) -> None:
    layer = Layer("one", "conv", k=4, c=4, p=4, q=4, r=3, s=3, input_size=(8, 8))
    one = Network("net", (layer,), ((INPUT,),))
    other = Network("net", (replace(layer, **{field: OTHER[field]}),), ((INPUT,),))  # type: ignore[arg-type]
    assert not same_structure(one, other)
    told = explain_difference(one, other)[-1]
    if field == "operator":
        assert "has no counterpart in the first: gemm" in told
    else:
        before = getattr(layer, field)
        assert told == (
            f"one of the first and one of the second: {field} {before!r} against {OTHER[field]!r}"
        )


def test_no_field_of_a_layer_is_forgotten() -> None:
    edges = {"name", "operands", "parts", "broadcast", "interleave", "slices", "whole_parts"}
    # what hardware makes of the weights is no part of the network
    found = {f.name for f in fields(Layer)}
    assert found == {*OTHER, *edges, "weights_of", "packed_words", "mask"}


def test_masks_count() -> None:
    scores = matmul("one", 1, 4, 4, 4)
    masks = (None, Mask("k"), Mask("k", 2), Mask("k", 1, 3))
    nets = [Network("net", (replace(scores, mask=m),), (("input:q", "input:k"),)) for m in masks]
    assert not any(same_structure(a, b) for a, b in combinations(nets, 2))


def two(first: Layer, second: Layer, *reads: tuple[str, ...], outputs: tuple[str, ...] = ()):
    return Network("net", (first, second), reads, outputs)


def test_operands_of_a_product_of_matrices_do_not_commute() -> None:
    layers = (linear("q", 4, 4, 4), linear("k", 4, 4, 4, bias=False), matmul("qk", 1, 4, 4, 4))
    nets = [
        Network("net", layers, ((INPUT,), (INPUT,), sources))
        for sources in (("q", "k"), ("k", "q"))
    ]
    assert not same_structure(*nets)
    assert explain_difference(*nets) == [
        "qk of the first and qk of the second: reads q, k against k, q"
    ]
    sums = [replace(net, layers=(*layers[:2], add("qk", 4, (4, 1)))) for net in nets]
    assert same_structure(*sums)


def test_a_map_and_its_factors_do_not_commute() -> None:
    first = mul("m", 4, 1, broadcast=True)
    nets = [
        Network("net", (conv2d("a", 4, 4, 1, 1), first), ((INPUT,), sources))
        for sources in (("a", INPUT), (INPUT, "a"))
    ]
    assert not same_structure(*nets)


def test_boxes_count_with_their_maps() -> None:
    def halves(*starts: int) -> Network:
        boxes = tuple(Slice((at, 0, 0), (2, 1, 1), (4, 1, 1)) for at in starts)
        return Network("net", (replace(add("sum", 2), slices=boxes),), ((INPUT, INPUT),))

    assert same_structure(halves(0, 2), halves(2, 0))
    assert not same_structure(halves(0, 2), halves(0, 0))
    assert explain_difference(halves(0, 2), halves(0, 0)) == [
        "sum of the first and sum of the second: "
        "reads input[0:2, :, :], input[2:4, :, :] against input[0:2, :, :], input[0:2, :, :]"
    ]
    whole = replace(add("sum", 4), slices=(Slice((0, 0, 0), (4, 1, 1), (4, 1, 1)), None))
    plain = add("sum", 4)
    nets = [Network("net", (layer,), ((INPUT, INPUT),)) for layer in (whole, plain)]
    assert same_structure(*nets)


def test_shared_weights_and_outputs_count() -> None:
    a, b = linear("a", 4, 4), linear("b", 4, 4, bias=False)
    c = linear("c", 4, 4, bias=False)
    reads = ((INPUT,), ("a",), ("b",))
    own = Network("net", (a, b, c), reads)
    of_b = Network("net", (a, b, replace(c, weights_of="b")), reads)
    of_a = Network("net", (a, b, replace(c, weights_of="a")), reads)
    assert len({fingerprint(net) for net in (own, of_a, of_b)}) == 3
    assert explain_difference(own, of_b) == [
        "parameters: 52 in the first, 36 in the second",
        "c of the first and c of the second: only the second has the weights of another",
    ]
    assert explain_difference(of_a, of_b) == [
        "c of the first and c of the second: "
        "reads b and the weights of a against b and the weights of b"
    ]
    out = replace(own, outputs=("a",))
    assert explain_difference(own, out) == [
        "a of the first and a of the second: only one of them is an output that layers read, too"
    ]
    assert same_structure(own, replace(own, outputs=("c",)))  # it leaves anyway


def test_inputs_are_told_apart_by_their_readers() -> None:
    shared = graph([["input:a"], ["input:a"], [0, 1]])
    apart = graph([["input:a"], ["input:b"], [0, 1]])
    assert not same_structure(shared, apart)
    assert explain_difference(shared, apart) == [
        "input:a of the first and input:a of the second: read by l0, l1 against l0",
        "input:b of the second has no counterpart in the first: read by l1",
    ]
    swapped = graph([["input:b"], ["input:a"], [0, 1]])
    assert same_structure(apart, swapped)


def test_only_the_cause_of_a_difference_is_named() -> None:
    chain = graph([[-1], [0], [0, 1], [2], [3]])
    other = graph([[-1], [0], [1, 1], [2], [3]])
    assert explain_difference(chain, other) == [
        "l2 of the first and l2 of the second: reads l0, l1 against l1, l1"
    ]
    longer = Network("longer", (*other.layers, add("end", 1)), (*other.reads, ("l4", "l4")))
    assert explain_difference(other, longer) == [
        "layers: 5 in graph, 6 in longer",
        "end of longer has no counterpart in graph: add 1 x 1 x 1",
    ]
    many = graph([[-1]] * 9)
    assert (
        explain_difference(many, graph([[-1, -1]] * 9))[-1]
        == "and 1 more of the first, 1 more of the second"
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_identical_layers_are_one_mapping_problem(name: str) -> None:
    net = network(name)
    classes = identical_layers(net)
    assert sorted(i for members in classes for i in members) == list(range(len(net.layers)))
    assert [members[0] for members in classes] == sorted(members[0] for members in classes)
    keys = []
    for members in classes:
        layers = [net.layers[i] for i in members]
        if layers[0].uses_macs:
            found = {MappingProblem.of_layer(layer, EYERISS).key for layer in layers}
            assert len(found) == 1
            keys += found
        else:
            costs = [vector_cost(la, EYERISS, la.p, la.q, staged=False) for la in layers]
            assert {cost.latency_cycles for cost in costs} == {costs[0].latency_cycles}
            assert {cost.dynamic_pj for cost in costs} == {costs[0].dynamic_pj}
    assert len(set(keys)) == len(keys)


def test_identical_layers_differ_in_what_costs_nothing() -> None:
    one = conv2d("a", 4, 4, 8, 3, 1, 1, activation="relu")
    other = conv2d("b", 4, 4, 8, 3, 1, 1, bias=False)
    strided = conv2d("c", 4, 4, 8, 3, 2, 1)
    net = Network("net", (one, other, strided), ((INPUT,), ("a",), ("b",)))
    assert identical_layers(net) == ((0, 1), (2,))
    assert identical_layers(net.with_density(0.5, 1.0)) == ((0, 1), (2,))
    thin = replace(net, layers=(one, replace(other, density=(0.5, 1.0)), strided))
    assert identical_layers(thin) == ((0,), (1,), (2,))
    sums = (add("x", 4, 8), add("y", 4, 8), add("z", 4, 8, 3), mul("w", 4, 8))
    reads = (("a", "b"), ("x", "x"), ("x", "y", "y"), ("x", "z"))
    both = Network("net", (one, other, *sums), ((INPUT,), ("a",), *reads))
    assert identical_layers(both) == ((0, 1), (2, 3), (4,), (5,))
