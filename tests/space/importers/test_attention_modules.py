"""Attention of PyTorch's own modules: parameters, work by algebra, the catalogue's patterns."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from archloom.space.importers.torch.reader import network_of
from archloom.space.workload.isomorphism import explain_difference
from archloom.space.workload.network import Network

from .models.attention import Cross, Grouped, Masked
from .test_routes import by_graph

ATTENTION = ["matmul", "softmax", "matmul", "gemm"]


def exported(model: nn.Module, *shapes: tuple[int, ...]) -> Network:
    inputs = tuple(torch.zeros(shape) for shape in shapes)
    return network_of(torch.export.export(model.eval(), inputs), "net")


def read(model: nn.Module, path: Path, *shapes: tuple[int, ...]) -> Network:
    return by_graph(model.eval(), tuple(torch.zeros(shape) for shape in shapes), path)


def words(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


CROSS = [
    ({"batch_first": True}, [(1, 10, 48), (1, 20, 48), (1, 20, 48)]),
    ({"batch_first": True, "bias": False}, [(3, 10, 48), (3, 20, 48), (3, 20, 48)]),
    ({}, [(10, 2, 48), (20, 2, 48), (20, 2, 48)]),
    ({}, [(10, 48), (20, 48), (20, 48)]),
    ({"batch_first": True, "kdim": 24, "vdim": 32}, [(1, 10, 48), (1, 20, 24), (1, 20, 32)]),
]


@pytest.mark.parametrize(("options", "shapes"), CROSS)
def test_attention_to_another_sequence(options, shapes):
    model = Cross(**options)
    net = exported(model, *shapes)
    batch = 1 if len(shapes[0]) == 2 else shapes[0][0 if options.get("batch_first") else 1]
    inputs = 2 * 10 * 48 * 48 + sum(20 * shape[-1] * 48 for shape in shapes[1:])
    assert net.params == words(model)
    assert net.macs == batch * (inputs + 2 * 10 * 20 * 48)
    assert [layer.operator for layer in net.layers] == ["gemm"] * 3 + ATTENTION
    scores = net.layers[3]
    assert (net.batch * scores.g, scores.p, scores.c, scores.k) == (4 * batch, 10, 12, 20)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_layer_of_a_decoder(first, batch_first):
    model = nn.TransformerDecoderLayer(48, 4, 96, batch_first=batch_first, norm_first=first)
    x, memory = ((n, 2, 48) if not batch_first else (2, n, 48) for n in (10, 20))
    net = exported(model, x, memory)
    to_itself = 4 * 10 * 48 * 48 + 2 * 10 * 10 * 48
    to_memory = (2 * 10 + 2 * 20) * 48 * 48 + 2 * 10 * 20 * 48
    assert net.params == words(model)
    assert net.macs == 2 * (to_itself + to_memory + 2 * 10 * 48 * 96)
    operators = [layer.operator for layer in net.layers]
    assert operators.count("softmax") == 2
    assert "copy" not in operators


def test_a_causal_mask_changes_nothing_but_the_mask():
    plain = nn.TransformerDecoderLayer(48, 4, 96, batch_first=True)
    shapes = ((1, 20, 48), (1, 10, 48))
    masked = exported(Masked(20), *shapes)
    masks = [str(layer.mask) for layer in masked.layers if layer.mask]
    # attention to itself has one, that to the memory has none
    assert masks == ["causal"] * 3
    without = replace(masked, layers=tuple(replace(each, mask=None) for each in masked.layers))
    assert explain_difference(without, exported(plain, *shapes)) == []


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("how", ["sdpa", "repeat", "expand"])
def test_grouped_queries_share_keys_and_values(how, batch):
    model = Grouped(how)
    net = exported(model, (batch, 10, 48))
    assert net.params == words(model)
    assert net.macs == batch * (10 * 48 * (48 + 24 + 24 + 48) + 2 * 10 * 10 * 48)
    assert [layer.operator for layer in net.layers] == ["gemm"] * 3 + ATTENTION
    scores, context = net.layers[3], net.layers[5]
    assert (scores.g, scores.p, scores.k) == (2, 20, 10)
    assert scores.whole_words == context.whole_words == 2 * 10 * 12


def test_a_file_of_a_decoder_layer_says_the_same(tmp_path):
    """PyTorch's exporter takes matrices of attention to another sequence apart as it runs."""
    model, shapes = Masked(20), ((1, 20, 48), (1, 10, 48))
    found = read(model, tmp_path / "model.onnx", *shapes)
    assert explain_difference(exported(model, *shapes), found) == []
