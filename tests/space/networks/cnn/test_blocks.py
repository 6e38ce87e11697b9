"""One block of each family in words: what reads what, windows, shapes, activations."""

import pytest

from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice


def at(net: Network, name: str) -> tuple[Layer, tuple[str, ...]]:
    """A layer and what it reads."""
    i = net.index(name)
    return net.layers[i], net.reads[i]


def windows(layer: Layer) -> tuple[tuple[int, int], ...]:
    """Kernel, stride and padding, each (rows, columns)."""
    return (layer.r, layer.s), layer.stride, layer.padding


def beside(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names)


def test_a_block_of_resnet() -> None:
    net = network("resnet18")
    add, reads = at(net, "stage2.0.add")
    assert reads == ("stage2.0.conv2", "stage2.0.shortcut")
    assert (add.map_shape, add.activation) == ((128, 28, 28), "relu")
    first, shortcut = at(net, "stage2.0.conv1")[0], at(net, "stage2.0.shortcut")[0]
    assert windows(first) == ((3, 3), (2, 2), (1, 1))
    assert windows(shortcut) == ((1, 1), (2, 2), (0, 0))
    assert (first.c, first.k, shortcut.activation) == (64, 128, "")
    assert at(net, "stage1.0.add")[1] == ("stage1.0.conv2", "maxpool")


def test_the_classifier_reads_the_mean_of_the_maps() -> None:
    pool, fc = network("resnet18").layers[-2:]
    assert (pool.operator, pool.input_size, pool.map_shape) == ("avgpool", (7, 7), (512, 1, 1))
    assert windows(pool)[0] == (7, 7)
    assert (fc.operator, fc.k, fc.c, fc.extra_params) == ("gemm", 1000, 512, 1000)


@pytest.mark.parametrize(
    ("name", "groups", "inner"), [("resnet50", 1, 128), ("resnext50", 32, 256)]
)
def test_a_bottleneck_strides_in_its_3x3(name: str, groups: int, inner: int) -> None:
    net = network(name)
    first, middle, last = (at(net, f"stage2.0.conv{i}")[0] for i in (1, 2, 3))
    assert windows(first) == ((1, 1), (1, 1), (0, 0))
    assert windows(middle) == ((3, 3), (2, 2), (1, 1))
    assert (middle.g, middle.output_channels) == (groups, inner)
    assert (last.map_shape, last.activation) == ((512, 28, 28), "")
    # the first stage projects its shortcut, too: channels change
    assert at(net, "stage1.0.add")[1] == ("stage1.0.conv3", "stage1.0.shortcut")
    assert at(net, "stage2.1.add")[1] == ("stage2.1.conv3", "stage2.0.add")


def test_blocks_of_resnet50v2() -> None:
    net = network("resnet50v2")
    norm, reads = at(net, "stage1.0.norm")
    assert (norm.operator, norm.activation, norm.params) == ("scale_shift", "relu", 128)
    assert reads == ("maxpool",)
    # the first block projects what the norm makes; others add what the norm reads
    assert at(net, "stage1.0.shortcut")[1] == at(net, "stage1.0.conv1")[1] == ("stage1.0.norm",)
    assert at(net, "stage1.1.add")[1] == ("stage1.1.conv3", "stage1.0.add")
    assert at(net, "stage1.1.add")[0].activation == ""
    # the last block of a stage halves the map
    shortcut, reads = at(net, "stage1.2.shortcut")
    assert (shortcut.operator, windows(shortcut)) == ("maxpool", ((1, 1), (2, 2), (0, 0)))
    assert reads == ("stage1.1.add",)
    assert windows(at(net, "stage1.2.conv2")[0]) == ((3, 3), (2, 2), (1, 1))
    assert net.map_shape("stage1.2.add") == (256, 28, 28)
    assert net.map_shape("stage4.2.add") == (2048, 7, 7)
    # a bias where no norm follows, a norm elsewhere
    extra = [
        at(net, name)[0].extra_params for name in ("conv1", "stage1.0.conv1", "stage1.0.conv3")
    ]
    assert extra == [64, 2 * 64, 256]


def test_a_block_of_mobilenet() -> None:
    net = network("mobilenetv2")
    depthwise, _ = at(net, "stage2.0.depthwise")
    assert depthwise.depthwise
    assert (depthwise.map_shape, depthwise.stride) == ((96, 56, 56), (2, 2))
    assert depthwise.activation == "relu6"
    assert at(net, "stage2.0.project")[0].activation == ""
    assert at(net, "stage2.1.add")[1] == ("stage2.1.project", "stage2.0.project")
    assert "stage1.0.expand" not in {layer.name for layer in net.layers}


def test_blocks_of_mobilenetv1() -> None:
    net = network("mobilenetv1")
    depthwise, reads = at(net, "block2.depthwise")
    assert (depthwise.depthwise, depthwise.stride, reads) == (True, (2, 2), ("block1.pointwise",))
    assert net.map_shape("block2.pointwise") == (128, 56, 56)
    # the last block keeps its map
    assert at(net, "block13.depthwise")[0].stride == (1, 1)
    assert net.map_shape("block13.pointwise") == (1024, 7, 7)


def test_a_fire_module_is_read_in_two_parts() -> None:
    net = network("squeezenet1_0")
    pool, reads = at(net, "pool4")
    assert reads == ("fire4.expand1x1", "fire4.expand3x3")
    assert (pool.parts, pool.map_shape) == ((128, 128), (256, 27, 27))
    for kernel, padding in ((1, 0), (3, 1)):
        expand, reads = at(net, f"fire2.expand{kernel}x{kernel}")
        assert windows(expand) == ((kernel,) * 2, (1, 1), (padding,) * 2)
        assert reads == ("fire2.squeeze",)
    assert at(net, "fire3.squeeze")[1] == ("fire2.expand1x1", "fire2.expand3x3")


def test_a_pool_of_squeezenet_reaches_beyond_the_map() -> None:
    """Rows 0 to 53 become 27; the last window begins at row 52 and would end at row 54."""
    net = network("squeezenet1_0")
    pool, _ = at(net, "pool4")
    assert (pool.input_size, windows(pool)) == ((54, 54), ((3, 3), (2, 2), (0, 0)))
    assert [net.map_shape(f"pool{i}")[1] for i in (1, 4, 8)] == [54, 27, 13]
    assert [network("squeezenet1_1").map_shape(f"pool{i}")[1] for i in (1, 3, 5)] == [55, 27, 13]


@pytest.mark.parametrize(("name", "widest", "last"), [("googlenet", 5, 3), ("googlenet_bn", 3, 2)])
def test_an_inception_module(name: str, widest: int, last: int) -> None:
    net = network(name)
    before = beside("inception3a", "1x1", "3x3", "5x5", "pool_proj")
    for branch in ("1x1", "3x3_reduce", "5x5_reduce", "pool"):
        layer, reads = at(net, f"inception3b.{branch}")
        assert (reads, layer.parts) == (before, (64, 128, 32, 32))
    wide, reads = at(net, "inception3b.5x5")
    assert windows(wide) == ((widest,) * 2, (1, 1), (widest // 2,) * 2)
    assert (reads, wide.activation) == (("inception3b.5x5_reduce",), "relu")
    pool, _ = at(net, "inception3b.pool")
    assert (pool.operator, windows(pool)) == ("maxpool", ((3, 3), (1, 1), (1, 1)))
    assert at(net, "inception3b.pool_proj")[1] == ("inception3b.pool",)
    assert at(net, "pool4")[0].r == last


def test_pools_of_googlenet_reach_beyond_the_map() -> None:
    """Szegedy et al., Table 1: output sizes 56, 28, 14 and 7."""
    net = network("googlenet")
    pools = [at(net, f"pool{i}")[0] for i in (1, 2, 3, 4)]
    assert [pool.p for pool in pools] == [56, 28, 14, 7]
    # the last window begins at row 110 of 112 and would need a row 112
    assert (pools[0].input_size, windows(pools[0])) == ((112, 112), ((3, 3), (2, 2), (0, 0)))


def test_inception_v3_factors_its_kernels() -> None:
    net = network("inception_v3")
    chain = [at(net, f"mixed6b.3_{i}")[0] for i in range(1, 6)]
    assert [(la.r, la.s) for la in chain] == [(1, 1), (7, 1), (1, 7), (7, 1), (1, 7)]
    assert [la.padding for la in chain[1:3]] == [(3, 0), (0, 3)]
    assert [la.k for la in chain] == [128, 128, 128, 128, 192]
    # pools inside of modules are means that count the padding
    pool, reads = at(net, "mixed6b.pool")
    assert (pool.operator, windows(pool)) == ("avgpool", ((3, 3), (1, 1), (1, 1)))
    assert reads == ("mixed6a.1_1", "mixed6a.2_3", "mixed6a.pool")
    assert pool.parts == (384, 96, 288)


def test_inception_v3_halves_maps_side_by_side() -> None:
    net = network("inception_v3")
    for name in ("mixed6a.1_1", "mixed6a.2_3", "mixed6a.pool"):
        layer, _ = at(net, name)
        assert (windows(layer), layer.p) == (((3, 3), (2, 2), (0, 0)), 17)
    assert windows(at(net, "mixed6a.2_2")[0]) == ((3, 3), (1, 1), (1, 1))


def test_inception_v3_spreads_its_last_modules() -> None:
    net = network("inception_v3")
    pool, reads = at(net, "avgpool")
    spread = ("1_1", "2_1x3", "2_3x1", "3_1x3", "3_3x1", "pool_proj")
    assert reads == beside("mixed7c", *spread)
    assert pool.parts == (320, 384, 384, 384, 384, 192)
    one_by_three, reads = at(net, "mixed7c.3_1x3")
    assert (windows(one_by_three), reads) == (((1, 3), (1, 1), (0, 1)), ("mixed7c.3_2",))


def test_a_layer_of_densenet_reads_all_before_it() -> None:
    net = network("densenet161")
    norm, reads = at(net, "block1.3.norm")
    assert reads == ("pool0", "block1.1.conv2", "block1.2.conv2")
    assert (norm.operator, norm.parts, norm.activation) == ("scale_shift", (96, 48, 48), "relu")
    assert at(net, "block1.1.norm")[0].parts == ()
    conv1, conv2 = at(net, "block1.3.conv1")[0], at(net, "block1.3.conv2")[0]
    assert (conv1.k, conv1.r, conv1.activation, conv1.extra_params) == (192, 1, "relu", 2 * 192)
    assert (conv2.k, conv2.r, conv2.activation, conv2.extra_params) == (48, 3, "", 0)
    pool, reads = at(net, "transition1.pool")
    assert (pool.operator, pool.map_shape) == ("avgpool", (192, 28, 28))
    assert at(net, "block2.2.norm")[1] == ("transition1.pool", "block2.1.conv2")
    assert (len(at(net, "norm5")[1]), net.map_shape("norm5")) == (25, (2208, 7, 7))


def test_unet_reads_the_middle_of_what_the_way_down_left() -> None:
    net = network("unet")
    conv, reads = at(net, "up0.conv1")
    assert reads == ("down0.conv2", "up0.up")
    assert conv.parts == (64, 64)
    # 392 of 568 rows, as the figure of the paper shows
    assert conv.slices == (Slice((0, 88, 88), (64, 392, 392), (64, 568, 568)), None)
    assert (conv.padding, net.map_shape("up0.conv1")) == ((0, 0), (64, 390, 390))
    up, reads = at(net, "up3.up")
    assert (reads, up.map_shape, up.activation) == (("bottom.conv2",), (512, 56, 56), "")
    # the pool reads all of the map that the way up reads the middle of
    assert at(net, "down0.pool")[1] == ("down0.conv2",)
    assert net.map_shape("down0.pool") == (64, 284, 284)


def test_srgan_adds_and_shuffles() -> None:
    net = network("srgan")
    assert at(net, "block1.add")[1] == ("block1.conv2", "conv1")
    assert at(net, "block2.add")[1] == ("block2.conv2", "block1.add")
    assert at(net, "add")[1] == ("conv2", "conv1")
    assert at(net, "block1.conv2")[0].activation == at(net, "add")[0].activation == ""
    up, _ = at(net, "up1")
    # slopes are learned after the shuffle, for 64 channels
    assert (up.map_shape, up.activation, up.extra_params) == ((64, 192, 192), "prelu", 256 + 64)
    assert (net.map_shape("up2"), net.map_shape("conv3")) == ((64, 384, 384), (3, 384, 384))


def test_the_pyramid_adds_what_is_above() -> None:
    net = network("ocr_rpn")
    assert at(net, "sum4")[1] == ("lateral4", "upsample4")
    upsample, reads = at(net, "upsample4")
    assert (upsample.operator, reads, upsample.map_shape) == ("copy", ("lateral5",), (256, 64, 64))
    assert at(net, "upsample3")[1] == ("sum4",)
    assert at(net, "level3")[1] == ("sum3",)
    assert at(net, "lateral2")[1] == ("stage1.2.add",)
    assert at(net, "level6")[1] == ("level5",)


def test_the_head_is_learned_once() -> None:
    net = network("ocr_rpn")
    for level, side in ((2, 256), (3, 128), (4, 64), (5, 32), (6, 16)):
        assert at(net, f"hidden{level}")[1] == (f"level{level}",)
        for part, channels in (("hidden", 256), ("logits", 3), ("boxes", 12)):
            layer, _ = at(net, f"{part}{level}")
            assert layer.map_shape == (channels, side, side)
            assert layer.weights_of == ("" if level == 2 else f"{part}2")
    # ten results, of two 1x1 convolutions on each level
    ends = [net.layers[i].name for i, readers in enumerate(net.consumers) if not readers]
    assert ends == [f"{part}{level}" for level in range(2, 7) for part in ("logits", "boxes")]


@pytest.mark.parametrize(
    ("name", "last", "shape"),
    [
        ("resnet18_cifar10", "stage4.1.add", (512, 4, 4)),
        ("mobilenetv1_cifar10", "block13.pointwise", (1024, 2, 2)),
        ("mobilenetv2_cifar10", "conv_last", (1280, 4, 4)),
        ("vgg16_cifar10", "pool5", (512, 1, 1)),
    ],
)
def test_variants_for_cifar(name: str, last: str, shape: tuple[int, int, int]) -> None:
    """The stem keeps the 32x32 of the image, and one layer classifies."""
    net = network(name)
    assert net.layers[0].map_shape[1:] == (32, 32)
    assert net.map_shape(last) == shape
    fc = net.layers[-1]
    assert (fc.operator, fc.c, fc.k) == ("gemm", shape[0], 10)


def test_blocks_of_mobilenetv2_for_cifar() -> None:
    net = network("mobilenetv2_cifar10")
    assert net.map_shape("stage1.0.expand") == (32, 32, 32)
    assert at(net, "stage2.0.add")[1] == ("stage2.0.project", "stage2.0.shortcut")
    assert at(net, "stage2.1.add")[1] == ("stage2.1.project", "stage2.0.add")
    assert at(net, "stage3.0.expand")[1] == ("stage2.1.add",)
    # no sum where the map is halved
    assert at(net, "stage3.1.expand")[1] == ("stage3.0.project",)
