"""The first stage of Mask R-CNN (He et al., ICCV 2017), which proposes regions."""

from typing import Final

from archloom.space.workload import Builder, Network

from .resnet import bottleneck_stages, stem

#: channels of the feature pyramid (Lin et al., CVPR 2017, section 3)
_PYRAMID: Final = 256

#: anchors at a position of each level: one scale, three aspect ratios (Lin et al., section 4.1)
_ANCHORS: Final = 3

#: strides of the whole backbone: an image is padded to a multiple
_MULTIPLE: Final = 32


def ocr_rpn(*, rows: int = 1024) -> Network:
    """OCR-RPN, for a padded image of ``rows`` square: ResNet-50, feature pyramid, proposals.

    FAST (Zhang et al., ASPLOS 2022, section 5.1) calls it the first stage of a standard Mask
    R-CNN and publishes no more. Assumptions: the backbone is ResNet-50 with a feature pyramid (the
    baseline of Lin et al.), whose upsampling is to the nearest; the sixth level takes every second
    value of the fifth; one head (3x3, then logits and boxes side by side in two 1x1) serves all
    five levels; the image has 1024 rows and columns, as in Mask R-CNN's reference configuration.
    Torchvision's ``maskrcnn_resnet50_fpn`` has this structure. Choosing among the proposals
    (top-k, overlaps) is no layer here.

    Raises:
        ValueError: ``rows`` is no multiple of 32.
    """
    if rows < 1 or rows % _MULTIPLE:
        near = max(1, round(rows / _MULTIPLE)) * _MULTIPLE
        raise ValueError(
            f"network ocr_rpn: rows is {rows}, must be a multiple of {_MULTIPLE}; nearest: {near}"
        )
    net = Builder((3, rows, rows))
    levels = _pyramid(net, bottleneck_stages(net, stem(net)))
    for level, source in levels.items():
        _head(net, level, source)
    return net.network("ocr_rpn")


def _pyramid(net: Builder, stages: tuple[str, ...]) -> dict[int, str]:
    """Add levels 2 to 6, and return their maps (Lin et al., Figure 3)."""
    levels: dict[int, str] = {}
    above = ""
    for level in (5, 4, 3, 2):
        x = net.conv(f"lateral{level}", stages[level - 2], _PYRAMID, batch_norm=False)
        if above:
            x = net.add(f"sum{level}", x, net.upsample(f"upsample{level}", above, 2))
        levels[level] = net.conv(f"level{level}", x, _PYRAMID, kernel=3, batch_norm=False)
        above = x
    levels[6] = net.maxpool("level6", levels[5], kernel=1, stride=2)
    return dict(sorted(levels.items()))


def _head(net: Builder, level: int, source: str) -> None:
    """Add the head over one level; the others use the weights of the first, level 2."""

    def conv(part: str, source: str, channels: int, *, kernel: int = 1, relu: bool = False) -> str:
        return net.conv(
            f"{part}{level}",
            source,
            channels,
            kernel=kernel,
            batch_norm=False,
            activation="relu" if relu else "",
            weights_of=f"{part}2" if level > 2 else "",
        )

    x = conv("hidden", source, _PYRAMID, kernel=3, relu=True)
    conv("logits", x, _ANCHORS)
    conv("boxes", x, 4 * _ANCHORS)
