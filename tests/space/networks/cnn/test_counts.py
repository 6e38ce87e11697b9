"""Parameters and multiply-accumulates of convolutional networks, against published counts."""

from collections import Counter

import pytest

from archloom.space.networks.registry import network

# Counted by hooks on the modules of torchvision 0.28.0 as they ran: parameters, and MACs of
# convolutions and matrix products. Layers were compared one by one, too: channels, kernel, stride,
# padding, groups and maps, in the order in which they run.
TORCHVISION = [
    ("alexnet", 61_100_840, 714_188_480),
    ("vgg16", 138_357_544, 15_470_264_320),
    ("squeezenet1_0", 1_248_424, 818_924_576),
    ("squeezenet1_1", 1_235_496, 349_151_936),
    ("googlenet_bn", 6_624_904, 1_498_376_192),
    ("inception_v3", 23_834_568, 5_713_216_096),
    ("mobilenetv2", 3_504_872, 300_774_272),
    ("resnet18", 11_689_512, 1_814_073_344),
    ("resnet50", 25_557_032, 4_089_184_256),
    ("resnext50", 25_028_904, 4_230_479_872),
    ("densenet161", 28_681_000, 7_727_907_072),
    ("efficientnet_b0", 5_288_548, 385_814_752),
    ("efficientnet_b1", 7_794_184, 686_802_832),
    ("efficientnet_b2", 9_109_994, 993_561_872),
    ("efficientnet_b3", 12_233_232, 1_827_141_392),
    ("efficientnet_b4", 19_341_616, 4_393_771_024),
    ("efficientnet_b5", 30_389_784, 10_266_384_752),
    ("efficientnet_b6", 43_040_704, 19_067_593_536),
    ("efficientnet_b7", 66_347_960, 37_745_884_192),
    # backbone and head of maskrcnn_resnet50_fpn on an image of 1024x1024
    ("ocr_rpn", 26_852_416 + 593_935, 144_804_151_296 + 51_824_492_544),
]

OTHERS = [
    # parameters of Caffe's reference model; Eyeriss counts 666 M MACs of convolutions
    ("alexnet_original", 60_965_224, 724_406_816),
    # Howard et al., Table 8: 4.2 M and 569 M; parameters of TF-slim's model
    ("mobilenetv1", 4_231_976, 568_740_352),
    # parameters of the authors' release in Caffe (bvlc_googlenet) without auxiliary classifiers
    ("googlenet", 6_998_552, 1_582_671_872),
    # trainable parameters that Keras prints for ResNet50V2
    ("resnet50v2", 25_568_360, 3_482_255_360),
    # models after pytorch-cifar, counted like those of torchvision; DLAS (Gibson et al.), Table 2,
    # prints 11.2, 3.2, 2.3 and 14.7 M parameters
    ("resnet18_cifar10", 11_173_962, 555_422_720),
    ("mobilenetv1_cifar10", 3_217_226, 46_354_432),
    ("mobilenetv2_cifar10", 2_296_922, 91_154_944),
    ("vgg16_cifar10", 14_728_266, 313_201_664),
]


@pytest.mark.parametrize(("name", "params", "macs"), TORCHVISION + OTHERS)
def test_published_counts(name: str, params: int, macs: int) -> None:
    net = network(name)
    assert (net.params, net.macs) == (params, macs)


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("alexnet", {"conv": 5, "maxpool": 3, "gemm": 3}),
        ("vgg16", {"conv": 13, "maxpool": 5, "gemm": 3}),
        ("squeezenet1_0", {"conv": 26, "maxpool": 3, "avgpool": 1}),
        # nine modules of six convolutions and a pool
        ("googlenet", {"conv": 3 + 54, "maxpool": 4 + 9, "avgpool": 1, "gemm": 1}),
        # pools: 2 in the stem, 2 that halve, 9 in modules
        ("inception_v3", {"conv": 94, "maxpool": 4, "avgpool": 9 + 1, "gemm": 1}),
        ("mobilenetv1", {"conv": 27, "avgpool": 1, "gemm": 1}),
        ("mobilenetv2", {"conv": 52, "add": 10, "avgpool": 1, "gemm": 1}),
        ("resnet18", {"conv": 20, "maxpool": 1, "add": 8, "avgpool": 1, "gemm": 1}),
        ("resnet50", {"conv": 53, "maxpool": 1, "add": 16, "avgpool": 1, "gemm": 1}),
        # a norm before each block and at the end; three shortcuts that are pools
        (
            "resnet50v2",
            {"conv": 53, "maxpool": 1 + 3, "scale_shift": 17, "add": 16, "avgpool": 1, "gemm": 1},
        ),
        ("resnext50", {"conv": 53, "maxpool": 1, "add": 16, "avgpool": 1, "gemm": 1}),
        # 78 layers of two convolutions behind a norm, three transitions, a norm at the end
        (
            "densenet161",
            {"conv": 160, "maxpool": 1, "scale_shift": 78 + 3 + 1, "avgpool": 3 + 1, "gemm": 1},
        ),
        ("efficientnet_b0", {"conv": 81, "avgpool": 17, "mul": 16, "add": 9, "gemm": 1}),
        ("unet", {"conv": 23, "maxpool": 4}),
        ("srgan", {"conv": 37, "add": 17}),
        # 53 of the backbone less none, 8 of the pyramid, 15 of the head
        ("ocr_rpn", {"conv": 53 + 8 + 15, "maxpool": 2, "add": 16 + 3, "copy": 3}),
    ],
)
def test_operators(name: str, operators: dict[str, int]) -> None:
    assert Counter(layer.operator for layer in network(name).layers) == operators


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
    ("module", "millions"),
    # Szegedy et al., Table 1, operations of each module (some cut off, some rounded); not those of
    # 5a, whose 54 M do not follow from the channels in the same row (51.1 M do)
    [
        ("3a", 128),
        ("3b", 304),
        ("4a", 73),
        ("4b", 88),
        ("4c", 100),
        ("4d", 119),
        ("4e", 170),
        ("5b", 71),
    ],
)
def test_modules_of_googlenet_have_the_published_operations(module: str, millions: int) -> None:
    layers = network("googlenet").layers
    macs = sum(la.macs for la in layers if la.name.startswith(f"inception{module}"))
    assert abs(macs / 1e6 - millions) < 1


def test_resnet50v2_by_hand() -> None:
    """Sums over the blocks; the last block of all stages but the last halves the map."""
    macs = 112**2 * 64 * 3 * 7**2 + 2048 * 1000
    params = 64 * (3 * 7**2 + 1) + 2 * 2048 + (2048 + 1) * 1000
    before, side = 64, 56
    for stage, (inner, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            reads = before if block == 0 else 4 * inner
            after = side // 2 if stage < 3 and block == blocks - 1 else side
            macs += side**2 * reads * inner + after**2 * (9 * inner**2 + 4 * inner**2)
            # norms of what is read and of both inner maps; a bias where no norm follows
            params += 2 * reads + inner * (reads + 2) + inner * (9 * inner + 2)
            params += 4 * inner * (inner + 1)
            if block == 0:
                macs += side**2 * reads * 4 * inner
                params += 4 * inner * (reads + 1)
            side = after
        before = 4 * inner
    net = network("resnet50v2")
    assert (net.params, net.macs) == (params, macs)


def test_unet_by_hand() -> None:
    """The sizes that Figure 1 of Ronneberger et al. prints beside the maps."""
    down = ((1, 64, 570, 568), (64, 128, 282, 280), (128, 256, 138, 136), (256, 512, 66, 64))
    bottom = (512, 1024, 30, 28)
    up = ((1024, 512, 54, 52), (512, 256, 102, 100), (256, 128, 198, 196), (128, 64, 390, 388))
    macs, params = 388**2 * 64 * 2, (64 + 1) * 2
    for before, after, first, second in (*down, bottom, *up):
        macs += 9 * after * (before * first**2 + after * second**2)
        params += after * (9 * before + 1) + after * (9 * after + 1)
    for before, after, side in ((1024, 512, 28), (512, 256, 52), (256, 128, 100), (128, 64, 196)):
        # each value becomes a patch of 2x2
        macs += side**2 * 4 * before * after
        params += after * (4 * before + 1)
    net = network("unet")
    assert (net.params, net.macs) == (params, macs)
    assert net.map_shape("classes") == (2, 388, 388)


def test_srgan_by_hand() -> None:
    """Ledig et al., Figure 4: k9n64, 16 times two k3n64, k3n64, twice k3n256, k9n3."""
    narrow = 9 * 64 * 64
    macs = 96**2 * (81 * 3 * 64 + 33 * narrow + 4 * narrow)
    macs += (2 * 96) ** 2 * 4 * narrow + (4 * 96) ** 2 * 81 * 64 * 3
    weights = 81 * 3 * 64 + 33 * narrow + 2 * 4 * narrow + 81 * 64 * 3
    biases = 64 * (1 + 33) + 2 * 256 + 3
    norms, slopes = 33 * 2 * 64, (1 + 16 + 2) * 64
    net = network("srgan")
    assert (net.params, net.macs) == (weights + biases + norms + slopes, macs)
    assert net.map_shape("conv3") == (3, 384, 384)
