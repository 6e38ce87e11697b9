"""Pictures of networks: what is drawn, what encloses fused layers, what files hold."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.networks.registry import network
from archloom.space.workload.graph import ranks
from archloom.space.workload.layer import OPERATORS
from archloom.space.workload.layer_builders import conv2d
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.network_builder import Builder
from archloom.studies.analysis.details import trial_details
from archloom.studies.analysis.study_view import load_view
from archloom.studies.errors import UserError
from archloom.studies.rendering.pictures.network import (
    KINDS,
    network_figure,
    network_scene,
    picture_card,
    save_picture,
)
from archloom.studies.rendering.pictures.network_graph import (
    DOT_KIND,
    INPUT_KIND,
    OPERATOR_KINDS,
    Fused,
    Graph,
    fused_groups,
    graph_of,
    pinned_reads,
)
from archloom.studies.rendering.pictures.scene import Areas, Lines, Scene, Texts
from archloom.studies.rendering.report.design_data import design_data
from archloom.studies.rendering.report.network_data import network_data, places_of

from ....cases.graphs import dense

Polygon = tuple[tuple[float, float], ...]


def graph(net: Network) -> Graph:
    return graph_of(net, ranks(net), {})


def by_name(found: Graph) -> dict[str, int]:
    return {node.name: i for i, node in enumerate(found.nodes) if node.name}


def of_kind(scene: Scene, kind: str) -> list[Polygon]:
    (areas,) = [p for p in scene.parts if isinstance(p, Areas) and p.name == kind]
    return [tuple(polygon) for polygon in areas.polygons]


def texts(scene: Scene) -> list[str]:
    return [text for part in scene.parts if isinstance(part, Texts) for text in part.texts]


def inside(point: tuple[float, float], polygon: Polygon) -> bool:
    """Whether a convex polygon holds a point."""
    turns = [
        (x2 - x) * (point[1] - y) - (y2 - y) * (point[0] - x)
        for (x, y), (x2, y2) in zip(polygon, (*polygon[1:], polygon[0]), strict=True)
    ]
    return min(turns) >= 0 or max(turns) <= 0


def test_layers_inputs_and_edges_are_those_of_the_network() -> None:
    net = network("resnet18")
    found = graph(net)
    places = by_name(found)
    assert set(places) == {INPUT, *(layer.name for layer in net.layers)}
    expected = {
        (places[source], places[layer.name])
        for layer, sources in zip(net.layers, net.reads, strict=True)
        for source in sources
    }
    assert set(found.edges) == expected
    assert all(found.nodes[a].rank < found.nodes[b].rank for a, b in found.edges)


def test_a_concatenation_goes_on_from_the_dot_of_the_one_before() -> None:
    found = graph(dense(6))
    places = by_name(found)
    dots = [i for i, node in enumerate(found.nodes) if node.kind == DOT_KIND]
    # conv2 to conv5 read 2, 3, 4 and 5 maps: one new map and one line from the last dot each
    assert len(dots) == 4
    assert [(a, b) for a, b in found.edges if b == dots[0]] == [
        (places["conv0"], dots[0]),
        (places["conv1"], dots[0]),
    ]
    for before, dot, added in zip(dots, dots[1:], ("conv2", "conv3", "conv4"), strict=False):
        assert {a for a, b in found.edges if b == dot} == {before, places[added]}
    assert all(found.nodes[a].rank < found.nodes[b].rank for a, b in found.edges)


def test_readers_of_the_same_concatenation_share_its_dot() -> None:
    net = Builder((4, 8, 8))
    branches = [net.conv(f"branch{i}", INPUT, 4) for i in range(3)]
    for i in range(2):
        layer = replace(conv2d(f"reader{i}", 12, 4, 8, 1), parts=(4, 4, 4), operands=3)
        net.append(layer, *branches)
    found = graph(net.network("inception"))
    (dot,) = [i for i, node in enumerate(found.nodes) if node.kind == DOT_KIND]
    assert sum(b == dot for _, b in found.edges) == 3
    assert sum(a == dot for a, _ in found.edges) == 2
    assert len(found.edges) == 3 + 3 + 2


def test_every_operator_has_a_kind_and_every_kind_a_colour() -> None:
    assert set(OPERATOR_KINDS) == set(OPERATORS)
    special = {INPUT_KIND, DOT_KIND, "depthwise convolution"}
    assert {*OPERATOR_KINDS.values(), *special} == set(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)


def test_nodes_are_drawn_in_the_colour_of_their_kind_with_name_and_shape() -> None:
    scene = network_scene(network("tiny_cnn"))
    assert {
        part.name: (part.fill, len(part.polygons))
        for part in scene.parts
        if isinstance(part, Areas)
    } == {
        INPUT_KIND: (KINDS[INPUT_KIND], 1),
        "convolution": (KINDS["convolution"], 3),
        "pooling": (KINDS["pooling"], 2),
        "elementwise": (KINDS["elementwise"], 1),
        "matrix product": (KINDS["matrix product"], 1),
    }
    shown = texts(scene)
    for text in (INPUT, "3x16x16", "conv1", "3x3 8x16x16", "block.add", "fc", "10x1x1"):
        assert text in shown


def test_long_names_show_their_ends_and_large_pictures_names_alone() -> None:
    net = network("tiny_mlp")
    name = "encoder.layers.0.attention.self.query"
    layers = (replace(net.layers[0], name=name), *net.layers[1:])
    shown = texts(network_scene(Network("long", layers, (("input",), (name,), ("fc2",)))))
    (text,) = [text for text in shown if text.endswith("self.query")]
    assert text.startswith("…")
    assert len(text) == 26
    large = texts(network_scene(network("efficientnet_b0")))
    assert "stage1.0.depthwise" in large
    assert not any("x112x112" in text for text in large)


def test_tips_tell_what_a_layer_is() -> None:
    net = network("resnet18")
    tips = {lines[0]: lines for _, lines in network_scene(net).tips}
    assert tips["stage2.0.conv1"] == (
        "stage2.0.conv1",
        "conv + relu 3x3 /2",
        "64x56x56 -> 128x28x28",
        "57,802,752 MACs",
        "73,984 parameters",
        "reads stage1.1.add",
    )
    assert "output of the network" in tips["fc"]
    assert tips[INPUT] == (INPUT, "input of the network: 3x224x224")


def test_a_colour_encloses_the_layers_of_a_group_and_no_other() -> None:
    net = network("resnet18")
    names = [layer.name for layer in net.layers]
    group = Fused("group 3: 7 tiles", tuple(names[1:8]), "7 tiles of 8x56")
    plain, scene = network_scene(net), network_scene(net, [group, Fused("alone", (names[20],))])
    back = [p for p in scene.parts if isinstance(p, Areas) and not p.name]
    # a border, a fill and what hides lines behind the label; a group of one layer has none
    assert len(back) == 3
    assert scene.parts.index(back[1]) < min(
        i for i, part in enumerate(scene.parts) if isinstance(part, Lines)
    )
    middles = {lines[0]: place for place, lines in scene.tips[1::3]}
    for name in names:
        held = any(inside(middles[name], tuple(polygon)) for polygon in back[1].polygons)
        assert held == (name in group.layers)
    assert set(texts(scene)) - set(texts(plain)) == {"group 3: 7 tiles"}
    (label,) = [p for p in scene.parts if isinstance(p, Texts) and "group 3: 7 tiles" in p.texts]
    assert inside(label.points[0], tuple(back[2].polygons[0]))
    tips = {lines[0]: lines for _, lines in scene.tips}
    assert tips[names[1]][-1] == "7 tiles of 8x56"
    assert "7 tiles of 8x56" not in tips[names[0]]


def test_lines_inside_a_group_are_enclosed_too() -> None:
    net = network("tiny_cnn")  # block: conv1 -> block.conv1 -> block.conv2 -> block.add
    members = ("conv1", "block.conv1", "block.conv2", "block.add")
    scene = network_scene(net, [Fused("group 0", members)])
    back = [p for p in scene.parts if isinstance(p, Areas) and not p.name][1]
    (lines,) = [part for part in scene.parts if isinstance(part, Lines)]
    held = [
        all(any(inside(point, tuple(poly)) for poly in back.polygons) for point in line)
        for line in lines.lines
    ]
    # three links of the chain, and the three pieces of the way around; not those outside
    assert sum(held) == 6
    assert len(held) == 6 + 4


def test_lines_that_are_left_out_have_ends_that_tell_where_they_lead() -> None:
    # results of thirteen layers are read by a sum each, in the order of the layers, far below
    net = Builder((4, 8, 8))
    base = net.conv("base", INPUT, 4)
    wide = [net.conv(f"early{i}", base, 4) for i in range(13)]
    x = net.conv("chain0", wide[0], 4)
    for i in range(1, 30):
        x = net.conv(f"chain{i}", x, 4)
    for i in range(1, 13):
        x = net.add(f"sum{i}", x, wide[i])
    scene = network_scene(net.network("far"))
    marks = of_kind(scene, "read by a distant layer")
    tips = [lines for _, lines in scene.tips if lines[0].endswith("distant layers:")]
    assert len(marks) == len(tips) > 0
    assert len(tips) % 2 == 0
    assert ("read by distant layers:", "sum12") in tips
    assert ("reads from distant layers:", "early12") in tips
    assert ("read by distant layers:", "sum1") not in tips


@pytest.mark.parametrize(
    "name",
    [
        "densenet161",
        "inception_v3",
        "unet",
        "bert_base",
        "xlnet_base",
        "llama32_1b_decode",
        "ocr_rpn",
        "ocr_recognizer",
    ],
)
def test_networks_of_every_kind_are_drawn_whole(name: str) -> None:
    net = network(name)
    scene = network_scene(net)
    assert {layer.name for layer in net.layers} <= {lines[0] for _, lines in scene.tips}
    boxes = [
        (min(x), min(y), max(x), max(y))
        for part in scene.parts
        if isinstance(part, Areas) and part.name in KINDS
        for x, y in (zip(*polygon, strict=True) for polygon in part.polygons)
    ]
    assert len(boxes) >= len(net.layers)
    ordered = sorted(boxes)
    for i, (_, top, right, bottom) in enumerate(ordered):
        for left, top2, _, bottom2 in ordered[i + 1 :]:
            if left >= right:
                break
            assert top >= bottom2 or top2 >= bottom
    # columns keep pictures as high as a screen
    assert scene.height < 1200


def test_layers_that_wait_for_nothing_stand_above_their_readers() -> None:
    net = Builder((4, 8, 8))
    x = INPUT
    for i in range(3):
        x = net.conv(f"conv{i}", x, 4)
    net.add("add", x, net.conv("side", INPUT, 4))
    found = graph(net.network("side"))
    ranked = {node.name: node.rank for node in found.nodes}
    assert ranked["side"] == ranked["conv2"] == ranked["add"] - 2


def test_texts_are_never_markup() -> None:
    net = network("tiny_mlp")
    evil = "<script>x</script>"
    layers = (replace(net.layers[0], name=evil), *net.layers[1:])
    hostile = Network(evil, layers, (("input",), (evil,), ("fc2",)))
    html = picture_card(hostile, [Fused(evil, (evil, "fc2"), evil)], "graph")
    assert evil not in html
    assert json.dumps(evil)[1:-1] not in html
    figure = network_figure(hostile, [Fused(evil, (evil, "fc2"), evil)])
    assert evil not in figure.to_json()


def test_pictures_are_as_large_as_they_need_to_be() -> None:
    small, large = network_figure(network("tiny_mlp")), network_figure(network("efficientnet_b7"))
    assert small.layout.width == 900
    assert large.layout.width > 2000
    assert large.layout.height < 1200
    low, high = large.layout.xaxis.range
    assert high - low == pytest.approx(large.layout.width)  # a unit is a pixel


@pytest.mark.parametrize("ending", [".html", ".png", ".svg"])
def test_equal_networks_give_equal_files(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_picture(network("tiny_cnn"), tmp_path / f"{name}{ending}", [])
    first, second = ((tmp_path / f"{name}{ending}").read_bytes() for name in ("a", "b"))
    assert first == second
    text = first.decode(errors="replace")
    assert {".html": "plotly", ".png": "PNG", ".svg": "block.conv2"}[ending] in text


def test_files_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "x.pdf", r"must end in \.html, \.png or \.svg"),
        (tmp_path / "none" / "x.svg", "No such file or directory"),
    ):
        with pytest.raises(UserError, match=message):
            save_picture(network("tiny_mlp"), path)


def test_the_report_draws_every_network_with_what_is_fused_in_it(finished_study: Path) -> None:
    view = load_view(finished_study)
    assert view.picked is not None
    trial = view.designs[view.picked].label
    details = trial_details(finished_study, int(trial))
    (plan,) = details["networks"]
    groups = fused_groups(plan["groups"])
    assert [list(group.layers) for group in groups] == [
        group["layers"] for group in plan["groups"] if len(group["layers"]) > 1
    ]
    names = [layer["name"] for layer in plan["layers"]]
    one = {**plan["groups"][0], "pins": []}
    plan["groups"] = [
        {**one, "layers": names[:3], "tile": [4, 16], "tiles": 4},
        {**one, "layers": names[3:4]},
    ]
    places = places_of([network("tiny_cnn")])
    place = places["tiny_cnn"]
    graph = network_data(place)["graph"]
    nodes = [node[0] for node in graph["nodes"]]
    (group,) = design_data(details, places)["networks"][0]["fused"]
    label, about, members, lines = group
    assert label == "group 0: 4 tiles"
    assert about.startswith("group 0: 3 layers, 4x16 (4 tiles); DRAM ")
    assert [nodes[at] for at in members] == names[:3]
    assert lines
    assert all(len(graph["lines"][line]) >= 4 for line in lines)
    assert any("reads block.conv2, conv1" in node[-1] for node in graph["nodes"])
    plan["groups"] = plan["groups"][1:]
    assert design_data(details, places)["networks"][0]["fused"] == []


def thick(scene: Scene) -> list[Polygon]:
    """Return the thick lines for maps that stay in the buffer."""
    name = "pinned in the buffer between groups"
    found = [p for p in scene.parts if isinstance(p, Areas) and p.name == name]
    return [tuple(polygon) for part in found for polygon in part.polygons]


def test_maps_that_stay_in_the_buffer_have_thick_lines_to_those_readers_alone() -> None:
    net = network("tiny_cnn")  # block.add reads conv1 and block.conv2
    assert thick(network_scene(net)) == []
    (lines,) = [p for p in network_scene(net).parts if isinstance(p, Lines)]
    one = thick(network_scene(net, (), [("block.conv1", "block.conv2")]))
    both = thick(network_scene(net, (), [("conv1", "block.conv1"), ("conv1", "block.add")]))
    assert len(one) == 1
    assert len(both) > 1

    def held(points: Sequence[tuple[float, float]], bands: Sequence[Polygon]) -> bool:
        a, b = points[0], points[1]
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        return any(inside(middle, band) for band in bands)

    assert sum(held(line, one) for line in lines.lines) == 1
    assert sum(held(line, both) for line in lines.lines) > 1


def test_thick_lines_pass_through_what_is_laid_side_by_side() -> None:
    net = network("googlenet")
    scene = network_scene(net, (), [("inception3a.5x5", "inception3b.1x1")])
    (lines,) = [p for p in scene.parts if isinstance(p, Lines)]
    bands = thick(scene)
    # to the dot where four maps meet, and on to one of those that read them
    assert 2 <= len(bands) < sum(len(line) - 1 for line in lines.lines) / 10


def test_readers_up_to_that_of_the_pin_find_a_map_in_the_buffer() -> None:
    net = network("tiny_cnn")
    pins = [{"layer": "conv1", "reader": "block.add"}]
    names = [layer.name for layer in net.layers]
    groups = [{"layers": [name], "pins": pins if name == "conv1" else []} for name in names]
    assert pinned_reads(net, groups) == [("conv1", "block.conv1"), ("conv1", "block.add")]
    pins[0]["reader"] = "block.conv1"
    assert pinned_reads(net, groups) == [("conv1", "block.conv1")]
    # its own group reads it anyway
    groups[1]["pins"], groups[1]["layers"] = pins, ["conv1", "block.conv1"]
    pins[0]["reader"] = "block.add"
    assert pinned_reads(net, groups[1:]) == [("conv1", "block.add")]
