"""Exported programs: what cannot be taken is told by name, and decomposed ones read alike."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.torch.reader import graph_of, network_of
from archloom.space.workload.isomorphism import explain_difference

from ..models import convolutional, sequences, upsampling


def exported(model, *shapes, **options):
    inputs = tuple(torch.zeros(shape) for shape in shapes)
    return torch.export.export(model, inputs, **options)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def layers_of(function, *shapes):
    """Operators and results of the network that a function makes."""
    net = network_of(exported(Function(function), *shapes), "function")
    return [(layer.operator, layer.map_shape) for layer in net.layers]


def test_sizes_that_are_open_are_told() -> None:
    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(
        convolutional.squeezenet1_1().eval(),
        (torch.zeros(2, 3, 64, 64),),
        dynamic_shapes=({0: batch},),
    )
    open_batch = r"input: dimension 0 \(\w+\) has no fixed size; export without dynamic_shapes"
    with pytest.raises(ImportProblem, match=open_batch) as caught:
        network_of(program, "squeezenet")
    assert len(caught.value.problems) == 1  # what follows from it is not repeated


def test_a_model_in_training_is_told() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    with pytest.raises(ImportProblem, match=r"1.*: aten\.batch_norm: .* after model\.eval\(\)"):
        network_of(exported(model, (1, 3, 8, 8)), "training")


def test_unknown_operators_are_told_together() -> None:
    def odd(x):
        return torch.sort(x)[0] + torch.cumsum(x, 1)

    with pytest.raises(ImportProblem) as caught:
        network_of(exported(Function(odd), (1, 8)), "odd")
    text = str(caught.value)
    assert text.startswith("odd:\n")
    assert "aten.cumsum is not supported, at cumsum" in text
    assert "aten.sort is not supported, at sort" in text


def test_what_depends_on_an_unknown_operator_is_looked_at_too() -> None:
    def odd(x):
        return torch.sort(torch.cumsum(x, 1))[0].relu() + 1

    with pytest.raises(ImportProblem) as caught:
        network_of(exported(Function(odd), (1, 8)), "odd")
    assert sorted(caught.value.problems) == [
        "aten.cumsum is not supported, at cumsum",
        "aten.sort is not supported, at sort",
    ]


def test_a_size_that_depends_on_the_data_is_told() -> None:
    with pytest.raises(ImportProblem, match=r"dimension 0 \(u0\) .*; it depends on the data"):
        network_of(exported(Function(lambda x, y: x[y > 0]), (5, 4), (5,)), "masked")


def test_a_model_that_is_not_exported_is_told() -> None:
    message = (
        r"mine: a Linear is not an exported program; take torch\.export\.export\(model\.eval\(\)"
    )
    with pytest.raises(ImportProblem, match=message):
        network_of(nn.Linear(2, 3), "mine")


def test_layers_have_the_names_of_their_modules() -> None:
    net = network_of(exported(sequences.Decoder().eval(), (1, 12, 64)), "decoder")
    names = [layer.name for layer in net.layers]
    assert {"norm1", "attention.query", "attention.out", "gate", "down"} <= set(names)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (convolutional.mobilenetv2, (1, 3, 64, 64)),
        (upsampling.Upsampler, (1, 3, 16, 16)),
        (lambda: sequences.VisionTransformer(2, 64, 4, 128, 32, 8), (1, 3, 32, 32)),
    ],
    ids=["mobilenetv2", "upsampler", "transformer"],
)
def test_a_decomposed_program_reads_alike(model, shape) -> None:
    program = exported(model().eval(), shape)
    whole = network_of(program, "whole")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*treespec")
        parts = program.run_decompositions()
    assert explain_difference(whole, network_of(parts, "parts")) == []


@pytest.mark.parametrize(
    ("function", "shapes", "layers"),
    [
        (lambda x: x.sum((2, 3)), [(1, 8, 4, 4)], [("avgpool", (8, 1, 1))]),
        (lambda x: x.amin((2, 3)), [(1, 8, 4, 4)], [("maxpool", (8, 1, 1))]),
        (lambda x: x.chunk(2, 1)[1].relu(), [(1, 8, 4, 4)], [("relu", (4, 4, 4))]),
        (lambda x: functional.hardtanh(x, 0, 6), [(1, 2, 4, 4)], [("relu6", (2, 4, 4))]),
        (lambda x: x.clamp(min=0), [(1, 2, 4, 4)], [("relu", (2, 4, 4))]),
        (lambda x: functional.max_pool2d(x, 3, 2, 1), [(1, 2, 9, 9)], [("maxpool", (2, 5, 5))]),
        (lambda x: functional.avg_pool1d(x, 2), [(1, 2, 8)], [("avgpool", (2, 4, 1))]),
        (lambda x: functional.adaptive_avg_pool2d(x, 2), [(1, 3, 8, 8)], [("avgpool", (3, 2, 2))]),
        # windows of 3 that overlap by 1
        (lambda x: functional.adaptive_avg_pool2d(x, 3), [(1, 2, 7, 7)], [("avgpool", (2, 3, 3))]),
        (
            lambda x: functional.adaptive_avg_pool2d(x, 8).exp(),
            [(1, 3, 8, 8)],
            [("exp", (3, 8, 8))],
        ),
        (lambda x, y: x * 2 + y / 4 - 1, [(1, 3, 4, 4)] * 2, [("add", (3, 4, 4))]),
        (lambda x, y: 1 - x * y, [(1, 3, 4, 4)] * 2, [("mul", (3, 4, 4))]),
        (
            lambda x, y: torch.einsum("bik,bjk->bij", x, y),
            [(1, 5, 4), (1, 6, 4)],
            [("matmul", (6, 5, 1))],
        ),
        (lambda x: functional.pixel_shuffle(x, 2), [(1, 8, 3, 3)], [("copy", (2, 6, 6))]),
        (lambda x: functional.pixel_unshuffle(x, 2).tanh(), [(2, 3, 6, 4)], [("tanh", (3, 6, 4))]),
        (lambda x: x.flip(2).tanh(), [(1, 2, 3, 3)], [("copy", (2, 3, 3))]),
        # without learned values it is a norm of groups of its length
        (lambda x: functional.layer_norm(x, (6,)), [(1, 4, 6)], [("group_norm", (6, 4, 1))]),
        (lambda x: functional.group_norm(x, 2), [(1, 4, 3, 3)], [("group_norm", (36, 1, 1))]),
    ],
)
def test_functions_become_layers(function, shapes, layers) -> None:
    assert layers_of(function, *shapes) == layers


def test_buffers_are_no_parameters() -> None:
    model = sequences.Decoder().eval()
    graph = graph_of(exported(model, (1, 12, 64)), "decoder")
    assert sum(graph.learned.values()) == sum(p.numel() for p in model.parameters())
    assert not any(name.endswith((".cos", ".sin")) for name in graph.learned)


class Mixed(nn.Module):
    """Channels of a feature map times learned weights, as an einsum."""

    def __init__(self, equation, weight, between=None):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.equation, self.weight = equation, nn.Parameter(torch.ones(weight))
        self.between = between

    def forward(self, x):
        x = self.conv(x)
        others = [x[:, :, 0, 0]] if self.between else []
        return torch.einsum(self.equation, x, *others, self.weight)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(
    ("equation", "weight"), [("bchw,oc->bohw", (4, 8)), ("bchw,co->bhwo", (8, 4))]
)
def test_weights_of_an_einsum_are_the_same_for_a_whole_batch(batch, equation, weight) -> None:
    made = network_of(exported(Mixed(equation, weight), (batch, 3, 6, 6)), "mixed")
    product = made.layers[-1]
    assert (product.operator, product.n, product.k, product.c) == ("gemm", batch, 4, 8)
    assert product.macs == batch * 36 * 8 * 4
    assert product.params == 8 * 4


def test_einsums_of_another_form_are_taken_apart() -> None:
    of_any_rank = network_of(exported(Mixed("bc...,oc->bo...", (4, 8)), (1, 3, 6, 6)), "any")
    assert of_any_rank.layers[-1].macs == 36 * 8 * 4
    three = Mixed("bchw,bc,oc->bohw", (4, 8), between=True)
    made = network_of(exported(three, (1, 3, 6, 6)), "three")
    assert "mul" in [layer.operator for layer in made.layers]
    assert made.layers[-1].macs == 36 * 8 * 4
    scaled = layers_of(lambda x, y: torch.einsum("bchw,bc->bchw", x, y), (1, 8, 3, 3), (1, 8))
    assert scaled == [("mul", (8, 3, 3))]


ADAPTIVE = [(7, 3), (9, 4), (13, 6), (11, 2), (12, 5), (10, 4), (14, 4), (8, 3), (11, 8), (16, 12)]


@pytest.mark.parametrize(("before", "after"), ADAPTIVE)
def test_adaptive_pools_are_pools(before, after) -> None:
    """Exact where a window and a stride give PyTorch's averages; else windows of the largest."""
    x = torch.arange(float(before)).square().reshape(1, 1, before, 1)

    def pool(y):
        return functional.adaptive_avg_pool2d(y, (after, 1))

    *copies, layer = network_of(exported(Function(pool), x.shape), "pool").layers
    assert (layer.operator, layer.s, layer.p, layer.q) == ("avgpool", 1, after, 1)
    wanted = pool(x)
    sizes = [(k, s) for k in range(1, before + 1) for s in range(1, before + 1)]
    pools = [(pair, functional.avg_pool2d(x, (pair[0], 1), (pair[1], 1))) for pair in sizes]
    alike = [p for p, y in pools if y.shape == wanted.shape and torch.allclose(y, wanted)]
    if alike:
        assert (layer.r, layer.stride[0], layer.padding[0]) in [(k, s, 0) for k, s in alike]
    # windows by what each value of the result depends on
    x.requires_grad_()
    grown = [torch.autograd.grad(y, x, retain_graph=True)[0] for y in pool(x).flatten()]
    assert layer.r == max(int(g.count_nonzero()) for g in grown)
    if copies:
        (copy,) = copies
        assert (copy.operator, copy.input_words) == ("copy", before)
        assert layer.input_words == layer.read_words == after * layer.r
    else:
        assert layer.read_words == before


@pytest.mark.parametrize(("before", "after"), [((1, 1), (7, 7)), ((4, 6), (8, 6))])
def test_adaptive_pools_that_enlarge_a_map_repeat_its_values(before, after) -> None:
    made = layers_of(lambda x: functional.adaptive_avg_pool2d(x, after).relu(), (1, 2, *before))
    assert made == [("copy", (2, *after))] or made == [("copy", (2, *after)), ("relu", (2, *after))]
    with pytest.raises(ImportProblem, match="enlarges 4x4 positions to 6x4"):
        layers_of(lambda x: functional.adaptive_avg_pool2d(x, (6, 4)), (1, 2, 4, 4))
