import pytest

from archloom.space.network import INPUT
from archloom.space.networks import NETWORKS, network


@pytest.mark.parametrize(
    ("name", "params", "macs", "operators"),
    [
        # He et al.; parameters of the reference implementation, MACs of conv and matmul
        (
            "resnet18",
            11_689_512,
            1_814_073_344,
            {"conv": 20, "maxpool": 1, "add": 8, "avgpool": 1, "gemm": 1},
        ),
        # Sandler et al., Table 4: 3.4 M parameters, 300 M multiply-adds
        ("mobilenetv2", 3_504_872, 300_774_272, {"conv": 52, "add": 10, "avgpool": 1, "gemm": 1}),
        # Krizhevsky et al.: 60 M parameters; those of the reference implementation in Caffe
        ("alexnet_original", 60_965_224, 724_406_816, {"conv": 5, "maxpool": 3, "gemm": 3}),
        # Tan and Le, Table 2: 5.3 M parameters, 0.39 G multiply-adds; sixteen blocks
        (
            "efficientnet_b0",
            5_288_548,
            385_814_752,
            {"conv": 81, "avgpool": 17, "mul": 16, "add": 9, "gemm": 1},
        ),
    ],
)
def test_published_counts(name: str, params: int, macs: int, operators: dict[str, int]) -> None:
    net = network(name)
    assert net.params == params
    assert net.macs == macs
    kinds = [layer.operator for layer in net.layers]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == operators


@pytest.mark.parametrize("name", NETWORKS)
def test_each_network_is_whole(name: str) -> None:
    """One input, one result, and a name that is its own."""
    net = network(name)
    assert net.name == name
    assert net.batch == 1
    assert [i for i, sources in enumerate(net.reads) if INPUT in sources] == [0]
    assert [i for i, readers in enumerate(net.consumers) if not readers] == [len(net.layers) - 1]


def test_a_block_of_resnet() -> None:
    net = network("resnet18")
    add = net.layers[net.index("stage2.0.add")]
    assert net.reads[net.index("stage2.0.add")] == ("stage2.0.conv2", "stage2.0.shortcut")
    assert (add.g, add.p, add.q, add.activation) == (128, 28, 28, "relu")
    first, shortcut = (net.layers[net.index(f"stage2.0.{n}")] for n in ("conv1", "shortcut"))
    assert (first.stride, first.padding, first.r, first.c, first.k) == ((2, 2), (1, 1), 3, 64, 128)
    assert (shortcut.stride, shortcut.padding, shortcut.r) == ((2, 2), (0, 0), 1)
    assert net.reads[net.index("stage1.0.add")] == ("stage1.0.conv2", "maxpool")


def test_a_block_of_mobilenet() -> None:
    net = network("mobilenetv2")
    depthwise = net.layers[net.index("stage2.0.depthwise")]
    assert depthwise.depthwise
    assert (depthwise.g, depthwise.p, depthwise.stride, depthwise.activation) == (
        96,
        56,
        (2, 2),
        "relu6",
    )
    assert net.layers[net.index("stage2.0.project")].activation == ""
    assert net.reads[net.index("stage2.1.add")] == ("stage2.1.project", "stage2.0.project")


def test_the_classifier_reads_the_mean_of_the_maps() -> None:
    net = network("resnet18")
    pool, fc = net.layers[-2:]
    assert (pool.operator, pool.r, pool.s, pool.p, pool.q, pool.input_size) == (
        "avgpool",
        7,
        7,
        1,
        1,
        (7, 7),
    )
    assert (fc.operator, fc.k, fc.c, fc.p, fc.q, fc.extra_params) == ("gemm", 1000, 512, 1, 1, 1000)


def test_an_unknown_network_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="network 'resnet-18' is not known; did you mean resnet18"):
        network("resnet-18")
    with pytest.raises(ValueError, match=r"'zzz' is not known; known: resnet18, mobilenetv2"):
        network("zzz")


def test_the_convolutions_of_alexnet_by_name() -> None:
    """Krizhevsky et al., section 3.5; Eyeriss counts 2.3 M weights and 666 M MACs."""
    net = network("alexnet_original")
    convs = [net.layers[net.index(f"conv{i}")] for i in range(1, 6)]
    assert [(la.g, la.k, la.c, la.r, la.p) for la in convs] == [
        (1, 96, 3, 11, 55),
        (2, 128, 48, 5, 27),
        (1, 384, 256, 3, 13),
        (2, 192, 192, 3, 13),
        (2, 128, 192, 3, 13),
    ]
    assert sum(la.weight_words for la in convs) == 2_332_704
    assert sum(la.params for la in convs) == 2_334_080
    assert sum(la.macs for la in convs) == 665_784_864
    assert [net.layers[net.index(f"pool{i}")].p for i in (1, 2, 5)] == [27, 13, 6]
    assert net.reads[net.index("fc6")] == ("pool5",)


@pytest.mark.parametrize(
    ("model", "millions", "giga_macs"),
    # reference implementation, at the resolution of each model; Tan and Le, Table 2, rounded
    [
        (0, 5.289, 0.386),
        (1, 7.794, 0.687),
        (2, 9.110, None),
        (3, 12.233, None),
        (4, 19.342, None),
        (5, 30.390, None),
        (6, 43.041, None),
        (7, 66.348, 37.746),
    ],
)
def test_efficientnets_have_their_published_counts(
    model: int, millions: float, giga_macs: float | None
) -> None:
    net = network(f"efficientnet_b{model}")
    assert round(net.params / 1e6, 3) == millions
    if giga_macs is not None:
        assert round(net.macs / 1e9, 3) == giga_macs


@pytest.mark.parametrize(
    ("model", "mib"), [(0, 2.87), (1, 3.3), (2, 3.9), (4, 12.4), (5, 17.8), (6, 31.9), (7, 41.2)]
)
def test_the_largest_working_set_is_that_of_fast(model: int, mib: float) -> None:
    """Zhang et al., ASPLOS 2022, Table 1: input and output of a depthwise layer in bfloat16.

    Their 5.1 MiB of B3 is not among them: it is what an input of 244 rows gives, not 300.
    """
    layers = network(f"efficientnet_b{model}").layers
    words = max(la.input_words + la.output_words for la in layers if la.depthwise)
    assert round(words * 2 / 2**20, 2 if model == 0 else 1) == mib


def test_a_block_of_efficientnet() -> None:
    net = network("efficientnet_b0")
    names = ("expand", "depthwise", "squeeze", "reduce", "excite", "scale", "project")
    layers = {name: net.layers[net.index(f"stage3.1.{name}")] for name in names}
    assert [layers[n].activation for n in ("depthwise", "reduce", "excite", "project")] == [
        "silu",
        "silu",
        "sigmoid",
        "",
    ]
    depthwise, reduce = layers["depthwise"], layers["reduce"]
    assert (depthwise.g, depthwise.r, depthwise.p) == (240, 5, 28)
    # a quarter of the block's input, not of the expanded map; with a bias
    assert (reduce.c, reduce.k, reduce.extra_params) == (240, 10, 10)
    scale = layers["scale"]
    assert net.reads[net.index("stage3.1.scale")] == ("stage3.1.depthwise", "stage3.1.excite")
    assert scale.map_words == (240 * 28 * 28, 240)
    assert net.reads[net.index("stage3.1.add")] == ("stage3.1.project", "stage3.0.project")
