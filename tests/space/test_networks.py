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
