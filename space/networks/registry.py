"""Catalogue of networks.

Batch normalisation is folded into its convolution: two learned values for each output channel
that no loop touches. Activations cost nothing (they are applied as a value leaves the array)
and are recorded. Maps are (channels, rows, columns).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import getdoc, signature
from sys import modules
from typing import Final

from archloom.space.workload import Network

from ..errors import did_you_mean
from . import neumf as recommendation, toy as tiny
from .cnn import (
    alexnet,
    cifar10 as cifar,
    crnn as recognizer,
    densenet,
    efficientnet,
    googlenet,
    inception,
    mask_rcnn as detection,
    mobilenet,
    resnet,
    squeezenet,
    srgan,
    unet,
    vgg,
)
from .transformers import bert, deepseek, gpt, llama, vit, whisper, xlnet

#: what an option of a network may be
Option = int | str | bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A network of the catalogue.

    Attributes:
        build: makes it; its keyword arguments, which all have defaults, are the options.
        about: what it is, in a line: source, input.
    """

    build: Callable[..., Network]
    about: str

    @property
    def options(self) -> dict[str, Option]:
        """Options with their defaults."""
        named = signature(self.build).parameters.values()
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY}

    @property
    def notes(self) -> tuple[str, ...]:
        """Paragraphs on what it follows and assumes: its builder's, and its family's."""
        build = self.build.func if isinstance(self.build, partial) else self.build
        family = (modules[build.__module__].__doc__ or "").strip().split("\n\n")[1:]
        told = [*(getdoc(build) or "").split("\n\n"), *family]
        plain = (" ".join(part.split()).replace("``", "") for part in told)
        return tuple(part for part in plain if not part.startswith(("Args:", "Raises:")))


NETWORKS: Final[Mapping[str, Entry]] = {
    "alexnet": Entry(alexnet.alexnet, "AlexNet in a single tower (Krizhevsky, 2014), ImageNet"),
    "alexnet_original": Entry(
        alexnet.alexnet_original, "AlexNet in two towers (Krizhevsky et al., 2012), ImageNet"
    ),
    "vgg16": Entry(vgg.vgg16, "VGG-16 (Simonyan and Zisserman, ICLR 2015), ImageNet"),
    "squeezenet1_0": Entry(
        squeezenet.squeezenet1_0, "SqueezeNet 1.0 (Iandola et al., 2016), ImageNet"
    ),
    "squeezenet1_1": Entry(
        squeezenet.squeezenet1_1, "SqueezeNet 1.1 (Iandola et al., 2016), ImageNet"
    ),
    "googlenet": Entry(
        googlenet.googlenet, "GoogLeNet as published (Szegedy et al., CVPR 2015), ImageNet"
    ),
    "googlenet_bn": Entry(
        googlenet.googlenet_bn, "GoogLeNet with batch norm, no 5x5, as in torchvision; ImageNet"
    ),
    "inception_v3": Entry(
        inception.inception_v3, "Inception-v3 (Szegedy et al., CVPR 2016), ImageNet at 299"
    ),
    "mobilenetv1": Entry(mobilenet.mobilenetv1, "MobileNetV1 (Howard et al., 2017), ImageNet"),
    "mobilenetv2": Entry(
        mobilenet.mobilenetv2, "MobileNetV2 (Sandler et al., CVPR 2018), ImageNet"
    ),
    "resnet18": Entry(resnet.resnet18, "ResNet-18 (He et al., CVPR 2016), ImageNet"),
    "resnet50": Entry(resnet.resnet50, "ResNet-50 (He et al., CVPR 2016), ImageNet"),
    "resnet50v2": Entry(
        resnet.resnet50v2, "ResNet-50 with pre-activation (He et al., ECCV 2016), ImageNet"
    ),
    "resnext50": Entry(resnet.resnext50, "ResNeXt-50 32x4d (Xie et al., CVPR 2017), ImageNet"),
    "densenet161": Entry(densenet.densenet161, "DenseNet-161 (Huang et al., CVPR 2017), ImageNet"),
    **{
        f"efficientnet_b{i}": Entry(
            partial(efficientnet.efficientnet, i),
            f"EfficientNet-B{i} (Tan and Le, ICML 2019), ImageNet",
        )
        for i in range(len(efficientnet.SCALES))
    },
    "unet": Entry(unet.unet, "U-Net as published (Ronneberger et al., MICCAI 2015), 572x572"),
    "srgan": Entry(srgan.srgan, "generator of SRGAN (Ledig et al., CVPR 2017), 96x96 to 384x384"),
    "ocr_rpn": Entry(
        detection.ocr_rpn, "first stage of Mask R-CNN (He et al., ICCV 2017), 1024x1024"
    ),
    "resnet18_cifar10": Entry(cifar.resnet18_cifar10, "ResNet-18, CIFAR-10"),
    "mobilenetv1_cifar10": Entry(cifar.mobilenetv1_cifar10, "MobileNetV1, CIFAR-10"),
    "mobilenetv2_cifar10": Entry(cifar.mobilenetv2_cifar10, "MobileNetV2, CIFAR-10"),
    "vgg16_cifar10": Entry(cifar.vgg16_cifar10, "VGG-16, CIFAR-10"),
    "vit_b_16": Entry(
        partial(vit.vit, "vit_b_16", 12, 768, 12),
        "ViT-B/16 (Dosovitskiy et al., ICLR 2021), ImageNet",
    ),
    "vit_l_16": Entry(
        partial(vit.vit, "vit_l_16", 24, 1024, 16),
        "ViT-L/16 (Dosovitskiy et al., ICLR 2021), ImageNet",
    ),
    "bert_base": Entry(
        partial(bert.bert, "bert_base", 12, 768, 12), "BERT base (Devlin et al., NAACL 2019)"
    ),
    "bert_large": Entry(
        partial(bert.bert, "bert_large", 24, 1024, 16), "BERT large (Devlin et al., NAACL 2019)"
    ),
    "xlnet_base": Entry(
        partial(xlnet.xlnet, "xlnet_base", 12, 768, 12), "XLNet base (Yang et al., NeurIPS 2019)"
    ),
    "xlnet_large": Entry(
        partial(xlnet.xlnet, "xlnet_large", 24, 1024, 16),
        "XLNet large (Yang et al., NeurIPS 2019)",
    ),
    **{
        f"{model}_{phase}": Entry(partial(build, model), f"{title}, {what}")
        for model, title in llama.TITLES.items()
        for phase, build, what in (
            ("prefill", llama.llama_prefill, "a prompt"),
            ("decode", llama.llama_decode, "one token with a cache"),
        )
    },
    "mixtral_8x7b_prefill": Entry(
        llama.mixtral_prefill, "Mixtral 8x7B (Jiang et al., 2024), a prompt"
    ),
    "mixtral_8x7b_decode": Entry(
        llama.mixtral_decode, "Mixtral 8x7B (Jiang et al., 2024), one token with a cache"
    ),
    **{
        f"{model}_{phase}": Entry(partial(build, model), f"{title}, {what}")
        for model, title in gpt.TITLES.items()
        for phase, build, what in (
            ("prefill", gpt.gpt_prefill, "a prompt"),
            ("decode", gpt.gpt_decode, "one token with a cache"),
        )
    },
    "deepseek_v2_lite_prefill": Entry(
        deepseek.deepseek_prefill, "DeepSeek-V2-Lite (DeepSeek-AI, 2024), a prompt"
    ),
    "deepseek_v2_lite_decode": Entry(
        deepseek.deepseek_decode, "DeepSeek-V2-Lite (DeepSeek-AI, 2024), one token with a cache"
    ),
    **{
        f"{model}_{part}": Entry(partial(build, model), f"{title}, {what}")
        for model, title in whisper.TITLES.items()
        for part, build, what in (
            ("encoder", whisper.whisper_encoder, "encoder of 30 s"),
            ("decoder", whisper.whisper_decoder, "one token with caches"),
        )
    },
    "ncf": Entry(
        recommendation.ncf, "NeuMF (He et al., WWW 2017), one pair of user and item of ML-20M"
    ),
    "ocr_recognizer": Entry(
        recognizer.ocr_recognizer, "CRNN (Shi et al., TPAMI 2017), grey images of 32 rows"
    ),
    "tiny_cnn": Entry(tiny.tiny_cnn, "a residual block, for trying things"),
    "tiny_mobile": Entry(tiny.tiny_mobile, "two depthwise blocks, for trying things"),
    "tiny_mlp": Entry(tiny.tiny_mlp, "three matrix products, for trying things"),
}
"""Every network of the catalogue by name; batch 1."""


def entry(name: str) -> tuple[str, Entry]:
    """Return a network's name in the catalogue, and its entry.

    Case and punctuation do not matter: ``ResNet-18`` is ``resnet18``.

    Raises:
        ValueError: no network has that name; names the nearest that there are.
    """
    if name in NETWORKS:
        return name, NETWORKS[name]
    for known, found in NETWORKS.items():
        if _plain(known) == _plain(name):
            return known, found
    raise ValueError(f"network {name!r} is not known; {did_you_mean(name, NETWORKS)}")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def options(name: str) -> dict[str, Option]:
    """Return the options of a network with their defaults.

    Raises:
        ValueError: no network has that name.
    """
    return entry(name)[1].options


def network(name: str, **chosen: Option) -> Network:
    """Return a network of the catalogue.

    Args:
        name: as in :data:`NETWORKS`; case and punctuation do not matter.
        chosen: options of that network; its batch is 1, ``with_batch`` changes it.

    Raises:
        ValueError: an unknown network or option, or a value that the option does not take;
            names the nearest that there are.
    """
    known, found = entry(name)
    wrong = [option_fault(key, value, found.options) for key, value in chosen.items()]
    message = "; ".join(filter(None, wrong))
    if message:
        raise ValueError(f"network {known}: {message}")
    return found.build(**chosen)


def option_fault(key: str, value: object, options: Mapping[str, Option]) -> str:
    """Say what is wrong with the choice of an option; empty if nothing is.

    ``options`` are those of the network with their defaults.
    """
    if key not in options:
        near = did_you_mean(key, options) if options else "it has none"
        return f"option {key!r} is not known; {near}"
    default = options[key]
    if type(value) is not type(default):
        kind = {int: "a whole number", bool: "true or false", str: "a text"}[type(default)]
        return f"{key} is {value!r}, it must be {kind} such as {default!r}"
    return ""
