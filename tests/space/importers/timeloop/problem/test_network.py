"""Directories of Timeloop problems become networks."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from archloom.space.importers.timeloop.problem.network import read_network
from archloom.space.importers.timeloop.yaml_dialect import TimeloopError
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

from .....source_tree import ROOT

COEFFICIENTS = [
    {"name": name, "default": 1} for name in ("Wstride", "Hstride", "Wdilation", "Hdilation")
]
WINDOWS = [[["R", "Wdilation"], ["P", "Wstride"]], [["S", "Hdilation"], ["Q", "Hstride"]]]


def conv(channels, filters, rows, kernel=1, stride=1, batch=1, dilation=1):
    """Return a problem of a square convolution, in the shortest form."""
    bounds = {"C": channels, "K": filters, "P": rows, "Q": rows, "R": kernel, "S": kernel}
    steps = {"Wstride": stride, "Hstride": stride, "Wdilation": dilation, "Hdilation": dilation}
    return {"problem": {"shape": "cnn-layer", "instance": {**bounds, "N": batch, **steps}}}


def fc(features, outputs, positions=1):
    """Return a problem of a product of matrices."""
    instance = {"M": outputs, "N": positions, "K": features}
    return {"problem": {"shape": "gemm-ABZ", "instance": instance}}


def space(name, *projection, written=False):
    ranks = [[[rank]] if isinstance(rank, str) else rank for rank in projection]
    return {"name": name, "projection": ranks, **({"read-write": True} if written else {})}


def problem_of(layer: Layer) -> dict:
    """Return the problem of a layer as the tools around Timeloop write it."""
    if layer.operator == "gemm":
        return fc(layer.c, layer.k, layer.p)
    groups, filters = ("C", ()) if layer.depthwise else ("G", ("M",))
    depth = () if layer.depthwise else ("C",)
    shape = {
        "name": "CNN-Layer",
        "dimensions": [*dict.fromkeys((groups, *depth, *filters)), "R", "S", "N", "P", "Q"],
        "coefficients": COEFFICIENTS,
        "data-spaces": [
            space("Weights", groups, *depth, *filters, "R", "S"),
            space("Inputs", "N", groups, *depth, *WINDOWS),
            space("Outputs", "N", groups, *filters, "Q", "P", written=True),
        ],
    }
    bounds = {"C": layer.c, "M": layer.k} if filters else {}
    bounds |= {groups: layer.g, "N": layer.n, "P": layer.p, "Q": layer.q}
    bounds |= {"R": layer.r, "S": layer.s, "Wstride": layer.stride[0], "Hstride": layer.stride[1]}
    return {"problem": {"version": 0.3, "shape": shape, "instance": bounds}}


def write(folder: Path, **documents) -> Path:
    """Write one file for each document; ``conv1`` becomes conv1.yaml."""
    folder.mkdir(exist_ok=True)
    for name, data in documents.items():
        text = data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False)
        (folder / f"{name}.yaml").write_text(text)
    return folder


def write_network(folder: Path, net: Network) -> Path:
    """Write a network as layers and an order."""
    order, edges, residual = [], [], []
    last = "input"
    for layer, reads in zip(net.layers, net.reads, strict=True):
        if layer.operator == "add":
            to, *others = reads
            residual += [{"from": other, "to": to, "name": layer.name} for other in others]
        elif layer.uses_macs:
            write(folder, **{layer.name: problem_of(layer)})
            order.append(layer.name)
        else:
            whole = (layer.r, layer.s) == layer.input_size and layer.stride == (1, 1)
            sizes = {"kernel": [layer.r, layer.s], "stride": [*layer.stride]}
            sizes |= {"padding": [*layer.padding], "ceil": "squeezenet" in net.name}
            kind = "max" if layer.operator == "maxpool" else "average"
            order.append({layer.name: {"pool": kind, **({} if whole else sizes)}})
        if layer.operator != "add" and reads != (last,):
            edges += [{"from": source, "to": layer.name} for source in reads]
        last = layer.name
    stated = {"name": net.name, "input": [*net.map_shape("input")], "order": order}
    return write(folder, order={**stated, "edges": edges, "residual": residual})


def faults(folder: Path) -> tuple[str, ...]:
    """Return what is wrong with a directory, without the path to it."""
    with pytest.raises(TimeloopError) as told:
        read_network(folder)
    assert str(told.value) == "\n".join(told.value.faults)
    assert all(fault.startswith(str(folder)) for fault in told.value.faults)
    return tuple(fault.removeprefix(str(folder)).lstrip("/") for fault in told.value.faults)


def described(net: Network) -> dict[str, tuple]:
    return {
        layer.name: (layer.operator, layer.map_shape, *layer.padding, *reads)
        for layer, reads in zip(net.layers, net.reads, strict=True)
    }


NETWORKS = (
    *("alexnet_original", "vgg16", "mobilenetv2", "resnet18", "resnext50", "tiny_cnn"),
    # concatenations; pools whose sizes are rounded up
    *("inception_v3", "squeezenet1_0"),
)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_come_back(name, tmp_path):
    net = network(name)
    bare = [replace(layer, extra_params=0, activation="") for layer in net.layers]
    found = read_network(write_network(tmp_path, net))
    assert found == Network(net.name, tuple(bare), net.reads)
    assert found.macs == net.macs
    assert found.params == sum(layer.weight_words for layer in net.layers)


# Krizhevsky's network with the sizes that DeepFrack's example of it has: 56, 28, 14
ALEXNET = {
    "layer1": conv(3, 96, 56, 11, 4),
    "layer2": conv(96, 256, 28, 5),
    "layer3": conv(256, 384, 14, 3),
    "layer4": conv(384, 384, 14, 3),
    "layer5": conv(384, 256, 14, 3),
    "layer9": conv(256 * 7 * 7, 4096, 1),
    "layer10": fc(4096, 1000),
}


def test_without_an_order_layers_follow_their_numbers_and_pools_are_assumed(tmp_path):
    assert described(read_network(write(tmp_path / "alexnet", **ALEXNET))) == {
        # nothing says that the input has 227 rows: no padding
        "layer1": ("conv", (96, 56, 56), 0, 0, "input"),
        "layer2.pool": ("maxpool", (96, 28, 28), 0, 0, "layer1"),
        "layer2": ("conv", (256, 28, 28), 2, 2, "layer2.pool"),
        "layer3.pool": ("maxpool", (256, 14, 14), 0, 0, "layer2"),
        "layer3": ("conv", (384, 14, 14), 1, 1, "layer3.pool"),
        "layer4": ("conv", (384, 14, 14), 1, 1, "layer3"),
        "layer5": ("conv", (256, 14, 14), 1, 1, "layer4"),
        "layer9.pool": ("maxpool", (256, 7, 7), 0, 0, "layer5"),
        "layer9": ("gemm", (4096, 1, 1), 0, 0, "layer9.pool"),
        "layer10": ("gemm", (1000, 1, 1), 0, 0, "layer9"),
    }


def test_the_name_is_the_directory_s(tmp_path):
    assert read_network(write(tmp_path / "alexnet", **ALEXNET)).name == "alexnet"
    write(tmp_path / "alexnet", order={"name": "other"})
    assert read_network(tmp_path / "alexnet").name == "other"


def test_a_mean_over_the_whole_map_is_assumed_before_a_classifier(tmp_path):
    net = read_network(write(tmp_path, a=conv(3, 512, 7, 3), b=fc(512, 10)))
    pool = net.layers[1]
    assert (pool.name, pool.operator, pool.r, pool.s) == ("b.pool", "avgpool", 7, 7)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation"),
    [
        (56, 3, 2, 1, 1),
        (55, 3, 2, 1, 1),
        (224, 7, 2, 3, 1),
        (27, 5, 1, 2, 1),
        (56, 1, 2, 0, 1),
        (12, 3, 1, 2, 2),
        (12, 3, 1, 0, 1),
        (12, 3, 1, 2, 1),
    ],
)
def test_padding_comes_from_the_map_that_is_read(size, kernel, stride, padding, dilation, tmp_path):
    rows = (size + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1
    second = conv(8, 4, rows, kernel, stride, dilation=dilation)
    layer = read_network(write(tmp_path, a=conv(3, 8, size), b=second)).layers[1]
    assert layer.input_size == (size, size)
    assert layer.padding == (padding, padding)


def test_what_cannot_match_comes_from_outside(tmp_path):
    files = {"a": conv(3, 8, 16), "b": conv(9, 8, 16), "c": conv(8, 8, 40, 3)}
    assert described(read_network(write(tmp_path, **files))) == {
        "a": ("conv", (8, 16, 16), 0, 0, "input"),
        # other channels; a map that is too small
        "b": ("conv", (8, 16, 16), 0, 0, "input:b"),
        "c": ("conv", (8, 40, 40), 0, 0, "input:c"),
    }


def test_a_map_of_as_many_words_is_read_in_another_shape(tmp_path):
    # patches of a picture as positions, as in a vision transformer
    files = {"a": conv(3, 8, 4, 4, 4), "b": fc(8, 16, positions=16), "c": fc(256, 10)}
    assert read_network(write(tmp_path, **files)).reads == (("input",), ("a",), ("b",))


def test_residual_edges_are_sums(tmp_path):
    files = {f"conv{i}": conv(8, 8, 16, 3) for i in range(1, 5)}
    residual = [{"from": "conv1", "to": "conv3"}, {"from": "input", "to": "conv3"}]
    residual += [{"from": "conv3", "to": "conv4", "name": "out"}]
    order = {"input": [8, 16, 16], "residual": residual}
    found = described(read_network(write(tmp_path, order=order, **files)))
    assert list(found) == ["conv1", "conv2", "conv3", "conv3.add", "conv4", "out"]
    assert found["conv3.add"] == ("add", (8, 16, 16), 0, 0, "conv3", "conv1", "input")
    # whoever reads conv3 reads the sum at it
    assert found["conv4"][4:] == ("conv3.add",)
    assert found["out"][4:] == ("conv4", "conv3.add")


def test_a_problem_may_serve_several_layers(tmp_path):
    order = {"order": ["a", {"again": "a"}, {"third": "a.yaml"}]}
    net = read_network(write(tmp_path, a=conv(8, 8, 16, 3), order=order))
    assert net.reads == (("input",), ("a",), ("again",))
    assert net.params == 3 * 8 * 8 * 9


def test_edges_from_several_layers_are_maps_side_by_side(tmp_path):
    files = {"a": conv(3, 8, 16), "b": conv(8, 4, 16), "c": conv(8, 6, 16), "d": conv(10, 2, 16)}
    edges = [{"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]
    net = read_network(write(tmp_path, order={"edges": edges}, **files))
    assert net.reads == (("input",), ("a",), ("a",), ("b", "c"))
    assert net.layers[3].parts == (4, 6)


def test_pools_read_maps_side_by_side(tmp_path):
    order = [*"abc", {"p": {"pool": "max", "kernel": 2}}, "d"]
    edges = [{"from": "a", "to": "c"}, {"from": "b", "to": "p"}, {"from": "c", "to": "p"}]
    files = {"a": conv(3, 8, 16), "b": conv(8, 4, 16), "c": conv(8, 6, 16), "d": conv(10, 2, 8)}
    net = read_network(write(tmp_path, order={"order": order, "edges": edges}, **files))
    assert net.reads[3:] == (("b", "c"), ("p",))
    assert net.layers[3].parts == (4, 6)


def test_a_product_of_two_maps(tmp_path):
    heads = {"name": "heads", "dimensions": ["H", "M", "N", "D"]}
    heads["data_spaces"] = [
        space("Inputs", "H", "M", "D"),
        space("Weights", "H", "N", "D"),
        space("Outputs", "H", "M", "N", written=True),
    ]
    bounds = {"H": 4, "M": 10, "N": 10, "D": 16}
    scores = {"problem": {"shape": heads, "instance": bounds}}
    edges = [{"from": "q", "to": "scores"}, {"from": "k", "to": "scores", "as": "weights"}]
    edges += [{"from": "input", "to": "k"}]
    order = {"order": ["q", "k", "scores"], "edges": edges}
    files = {"q": fc(64, 64, 10), "k": fc(64, 64, 10), "scores": scores}
    net = read_network(write(tmp_path, order=order, **files))
    layer = net.layers[2]
    assert (layer.operator, layer.g, layer.p, layer.c, layer.k) == ("matmul", 4, 10, 16, 10)
    assert net.reads == (("input",), ("input",), ("q", "k"))
    assert net.params == 2 * 64 * 64
    # without the edge the second factor is weights of four groups
    write(tmp_path, order={"order": ["q", "k", "scores"]})
    layer = read_network(tmp_path).layers[2]
    assert (layer.operator, layer.g, layer.weight_words) == ("conv", 4, 4 * 16 * 10)


def test_images_and_positions_are_told_apart_by_the_batch_of_convolutions(tmp_path):
    files = {"a": conv(3, 8, 16, 3, batch=4), "b": fc(8 * 256, 32, 4), "c": fc(32, 10, 4)}
    net = read_network(write(tmp_path, **files))
    assert {(layer.n, layer.p) for layer in net.layers[1:]} == {(4, 1)}
    write(tmp_path, c=fc(32, 10, 6))
    assert faults(tmp_path) == (
        f"c.yaml: problem: has 6 positions, {tmp_path}/a.yaml has 4 images; all layers of a "
        "network have one batch",
    )
    write(tmp_path, c=conv(32, 10, 1, batch=2))
    assert "has 2 images" in faults(tmp_path)[0]


def test_rows_and_columns_without_a_window(tmp_path):
    pointwise = {"name": "pointwise", "dimensions": ["K", "C", "P", "Q"]}
    pointwise["data_spaces"] = [
        space("Weights", "K", "C"),
        space("Inputs", "C", "P", "Q"),
        space("Outputs", "K", "P", "Q", written=True),
    ]
    second = {"problem": {"shape": pointwise, "instance": {"K": 6, "C": 8, "P": 5, "Q": 7}}}
    layer = read_network(write(tmp_path, a=second)).layers[0]
    assert (layer.n, layer.map_shape, layer.operator) == (1, (6, 5, 7), "conv")


def test_shapes_in_files_of_their_own_are_no_layers(tmp_path):
    shape = problem_of(network("tiny_cnn").layers[0])["problem"]["shape"]
    bounds = {"G": 1, "C": 3, "M": 8, "R": 1, "S": 1, "N": 1, "P": 4, "Q": 4}
    layer = {"problem": {"shape": "grouped.yaml", "instance": bounds}, "variables": {"x": 1}}
    net = read_network(write(tmp_path, a=layer, grouped={"shape": shape}))
    assert [layer.name for layer in net.layers] == ["a"]
    # a shape that nobody names is a stray file
    write(tmp_path, stray={"shape": shape})
    assert faults(tmp_path)[0].startswith("stray.yaml: shape: is not a part of a layer")


def test_the_example_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "reference" / "timeloop.md").read_text()
    order = text.split("```yaml\n")[1].split("```")[0]
    files = {"conv1": conv(64, 64, 56, 3), "wide": conv(64, 128, 28, 3, 2), "fc": fc(128, 10)}
    write(tmp_path, order=order, shortcut=conv(64, 128, 28, 1, 2), **files)
    assert described(read_network(tmp_path)) == {
        "conv1": ("conv", (64, 56, 56), 1, 1, "input"),
        "conv1_again": ("conv", (64, 56, 56), 1, 1, "conv1"),
        "wide": ("conv", (128, 28, 28), 1, 1, "conv1_again"),
        "shortcut": ("conv", (128, 28, 28), 0, 0, "conv1"),
        "wide.add": ("add", (128, 28, 28), 0, 0, "wide", "shortcut"),
        "pool": ("avgpool", (128, 1, 1), 0, 0, "wide.add"),
        "fc": ("gemm", (10, 1, 1), 0, 0, "pool"),
    }


def structure(folder, text):
    (folder / "Problem-structure.txt").write_text(text)
    return folder


def test_deepfrack_s_order_with_copies_side_by_side(tmp_path):
    files = {"proj": fc(64, 64, 8), "attn": fc(16, 8, 8), "out": fc(32, 64, 8), "end": fc(64, 5, 8)}
    write(tmp_path, **files)
    net = read_network(structure(tmp_path, "proj 3\nattn 4\nattn 4\n\nout 1\nend 1\n"))
    assert dict(zip((layer.name for layer in net.layers), net.reads, strict=True)) == {
        **{f"proj.{i}": ("input",) for i in (1, 2, 3)},
        # all three side by side do not match
        **{f"attn.{i}": (f"input:attn.{i}",) for i in (1, 2, 3, 4)},
        # as many copies read one each, but 8 channels are not 16
        **{f"attn.{i}": (f"input:attn.{i}",) for i in (5, 6, 7, 8)},
        "out": ("attn.5", "attn.6", "attn.7", "attn.8"),
        "end": ("out",),
    }


def test_copies_read_one_each(tmp_path):
    write(tmp_path, a=fc(64, 64, 8), b=fc(64, 16, 8))
    net = read_network(structure(tmp_path, "a 2\nb 2\n"))
    assert net.reads == (("input",), ("input",), ("a.1",), ("a.2",))
