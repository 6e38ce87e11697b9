"""Models by name, and the network of the catalogue that each one is at full width."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from . import cifar10, imagenet
from .builder import ModelBuilder, Shape

if TYPE_CHECKING:
    from torch.fx import GraphModule


@dataclass(frozen=True)
class ModelEntry:
    """A model that can be built for any size of images.

    Attributes:
        build: makes it with a builder and a number of classes.
        network: the same in the catalogue of :mod:`archloom.space.networks`, at full width.
        image: shape of an image there.
        classes: number of classes there.
        about: what it is, in a line.
    """

    build: "Callable[[ModelBuilder, int], GraphModule]"
    network: str
    image: Shape
    classes: int
    about: str


_SMALL: Final = ((3, 32, 32), 10)
_LARGE: Final = ((3, 224, 224), 1000)

#: Every model by the name that users write.
MODELS: Final[Mapping[str, ModelEntry]] = {
    "resnet18": ModelEntry(
        cifar10.resnet18, "resnet18_cifar10", *_SMALL, "ResNet-18 for small images"
    ),
    "mobilenetv1": ModelEntry(
        cifar10.mobilenetv1, "mobilenetv1_cifar10", *_SMALL, "MobileNetV1 for small images"
    ),
    "mobilenetv2": ModelEntry(
        cifar10.mobilenetv2, "mobilenetv2_cifar10", *_SMALL, "MobileNetV2 for small images"
    ),
    "vgg16": ModelEntry(cifar10.vgg16, "vgg16_cifar10", *_SMALL, "VGG-16 for small images"),
    "resnet50": ModelEntry(imagenet.resnet50, "resnet50", *_LARGE, "ResNet-50, ImageNet's form"),
    "mobilenetv2_imagenet": ModelEntry(
        imagenet.mobilenetv2, "mobilenetv2", *_LARGE, "MobileNetV2, ImageNet's form"
    ),
    "densenet161": ModelEntry(
        imagenet.densenet161, "densenet161", *_LARGE, "DenseNet-161, ImageNet's form"
    ),
    "efficientnet_b0": ModelEntry(
        imagenet.efficientnet_b0, "efficientnet_b0", *_LARGE, "EfficientNet-B0, ImageNet's form"
    ),
}


def build_model(
    name: str, image: Shape, classes: int, width: float = 1.0, seed: int = 0
) -> "GraphModule":
    """Return a model of :data:`MODELS` with its first weights, in training mode.

    Args:
        name: one of them.
        image: channels, rows and columns of an image.
        classes: number of them.
        width: factor of all channels between image and classes, in steps of 8.
        seed: of the first weights.

    Raises:
        ValueError: a width that is not above 0 and up to 4, or an image below 4x4.
    """
    if not 0.0 < width <= 4.0:
        raise ValueError(f"width must be above 0 and up to 4, got {width:g}")
    if min(image[1:]) < 4:
        raise ValueError(f"an image must have at least 4x4 pixels, got {image[1]}x{image[2]}")
    return MODELS[name].build(ModelBuilder(image, width, seed), classes)
