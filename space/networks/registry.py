"""Catalogue of networks.

Batch normalisation is folded into its convolution: two learned values for each output channel
that no loop touches. Activations cost nothing (they are applied as a value leaves the array)
and are recorded. Maps are (channels, rows, columns).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from inspect import getdoc, signature
from sys import modules
from typing import TYPE_CHECKING, Final

from ..errors import did_you_mean

if TYPE_CHECKING:
    from archloom.space.workload import Network

#: what an option of a network may be
Option = int | str | bool | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A network of the catalogue.

    Attributes:
        source: what makes it, or ``module:function`` of this package, imported when it is asked
            for: a study of two networks need not import thirty.
        about: what it is, in a line: source, input.
        given: what ``source`` gets first.
    """

    source: "Callable[..., Network] | str"
    about: str
    given: tuple[int | str, ...] = ()

    @property
    def build(self) -> "Callable[..., Network]":
        """Makes it; its keyword arguments, which all have defaults, are the options."""
        source = self.source
        if isinstance(source, str):
            module, function = source.split(":")
            source = getattr(import_module(f".{module}", __package__), function)
        return partial(source, *self.given) if self.given else source

    @property
    def options(self) -> dict[str, Option]:
        """Options with their defaults."""
        named = signature(self.build).parameters.values()
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY}

    @property
    def notes(self) -> tuple[str, ...]:
        """Paragraphs on what it follows and assumes: its builder's, and its family's."""
        build = self.build
        build = build.func if isinstance(build, partial) else build
        family = (modules[build.__module__].__doc__ or "").strip().split("\n\n")[1:]
        told = [*(getdoc(build) or "").split("\n\n"), *family]
        plain = (" ".join(part.split()).replace("``", "") for part in told)
        return tuple(part for part in plain if not part.startswith(("Args:", "Raises:")))


#: models of a family, and what people call them
_LLAMA: Final[Mapping[str, str]] = {
    "llama3_8b": "Llama 3 8B (Grattafiori et al., 2024)",
    "llama3_70b": "Llama 3 70B (Grattafiori et al., 2024)",
    "llama32_1b": "Llama 3.2 1B (Meta, 2024)",
    "mistral_7b": "Mistral 7B (Jiang et al., 2023)",
}
_GPT: Final[Mapping[str, str]] = {
    "gpt3_6_7b": "GPT-3 6.7B (Brown et al., NeurIPS 2020)",
    "gpt3_175b": "GPT-3 175B (Brown et al., NeurIPS 2020)",
}
_WHISPER: Final[Mapping[str, str]] = {
    "whisper_base": "Whisper base (Radford et al., ICML 2023)",
    "whisper_large": "Whisper large (Radford et al., ICML 2023)",
}

NETWORKS: Final[Mapping[str, Entry]] = {
    "alexnet": Entry(
        "cnn.alexnet:alexnet", "AlexNet in a single tower (Krizhevsky, 2014), ImageNet"
    ),
    "alexnet_original": Entry(
        "cnn.alexnet:alexnet_original", "AlexNet in two towers (Krizhevsky et al., 2012), ImageNet"
    ),
    "vgg16": Entry("cnn.vgg:vgg16", "VGG-16 (Simonyan and Zisserman, ICLR 2015), ImageNet"),
    "squeezenet1_0": Entry(
        "cnn.squeezenet:squeezenet1_0", "SqueezeNet 1.0 (Iandola et al., 2016), ImageNet"
    ),
    "squeezenet1_1": Entry(
        "cnn.squeezenet:squeezenet1_1", "SqueezeNet 1.1 (Iandola et al., 2016), ImageNet"
    ),
    "googlenet": Entry(
        "cnn.googlenet:googlenet", "GoogLeNet as published (Szegedy et al., CVPR 2015), ImageNet"
    ),
    "googlenet_bn": Entry(
        "cnn.googlenet:googlenet_bn",
        "GoogLeNet with batch norm, no 5x5, as in torchvision; ImageNet",
    ),
    "inception_v3": Entry(
        "cnn.inception:inception_v3", "Inception-v3 (Szegedy et al., CVPR 2016), ImageNet at 299"
    ),
    "mobilenetv1": Entry(
        "cnn.mobilenet:mobilenetv1", "MobileNetV1 (Howard et al., 2017), ImageNet"
    ),
    "mobilenetv2": Entry(
        "cnn.mobilenet:mobilenetv2", "MobileNetV2 (Sandler et al., CVPR 2018), ImageNet"
    ),
    "resnet18": Entry("cnn.resnet:resnet18", "ResNet-18 (He et al., CVPR 2016), ImageNet"),
    "resnet50": Entry("cnn.resnet:resnet50", "ResNet-50 (He et al., CVPR 2016), ImageNet"),
    "resnet50v2": Entry(
        "cnn.resnet:resnet50v2", "ResNet-50 with pre-activation (He et al., ECCV 2016), ImageNet"
    ),
    "resnext50": Entry(
        "cnn.resnet:resnext50", "ResNeXt-50 32x4d (Xie et al., CVPR 2017), ImageNet"
    ),
    "densenet161": Entry(
        "cnn.densenet:densenet161", "DenseNet-161 (Huang et al., CVPR 2017), ImageNet"
    ),
    **{
        f"efficientnet_b{i}": Entry(
            "cnn.efficientnet:efficientnet",
            f"EfficientNet-B{i} (Tan and Le, ICML 2019), ImageNet",
            (i,),
        )
        for i in range(8)
    },
    "unet": Entry("cnn.unet:unet", "U-Net as published (Ronneberger et al., MICCAI 2015), 572x572"),
    "srgan": Entry(
        "cnn.srgan:srgan", "generator of SRGAN (Ledig et al., CVPR 2017), 96x96 to 384x384"
    ),
    "ocr_rpn": Entry(
        "cnn.mask_rcnn:ocr_rpn", "first stage of Mask R-CNN (He et al., ICCV 2017), 1024x1024"
    ),
    "resnet18_cifar10": Entry("cnn.cifar10:resnet18_cifar10", "ResNet-18, CIFAR-10"),
    "mobilenetv1_cifar10": Entry("cnn.cifar10:mobilenetv1_cifar10", "MobileNetV1, CIFAR-10"),
    "mobilenetv2_cifar10": Entry("cnn.cifar10:mobilenetv2_cifar10", "MobileNetV2, CIFAR-10"),
    "vgg16_cifar10": Entry("cnn.cifar10:vgg16_cifar10", "VGG-16, CIFAR-10"),
    "vit_b_16": Entry(
        "transformers.vit:vit",
        "ViT-B/16 (Dosovitskiy et al., ICLR 2021), ImageNet",
        ("vit_b_16", 12, 768, 12),
    ),
    "vit_l_16": Entry(
        "transformers.vit:vit",
        "ViT-L/16 (Dosovitskiy et al., ICLR 2021), ImageNet",
        ("vit_l_16", 24, 1024, 16),
    ),
    "bert_base": Entry(
        "transformers.bert:bert",
        "BERT base (Devlin et al., NAACL 2019)",
        ("bert_base", 12, 768, 12),
    ),
    "bert_large": Entry(
        "transformers.bert:bert",
        "BERT large (Devlin et al., NAACL 2019)",
        ("bert_large", 24, 1024, 16),
    ),
    "xlnet_base": Entry(
        "transformers.xlnet:xlnet",
        "XLNet base (Yang et al., NeurIPS 2019)",
        ("xlnet_base", 12, 768, 12),
    ),
    "xlnet_large": Entry(
        "transformers.xlnet:xlnet",
        "XLNet large (Yang et al., NeurIPS 2019)",
        ("xlnet_large", 24, 1024, 16),
    ),
    **{
        f"{model}_{phase}": Entry(build, f"{title}, {what}", (model,))
        for model, title in _LLAMA.items()
        for phase, build, what in (
            ("prefill", "transformers.llama:llama_prefill", "a prompt"),
            ("decode", "transformers.llama:llama_decode", "one token with a cache"),
        )
    },
    "mixtral_8x7b_prefill": Entry(
        "transformers.llama:mixtral_prefill", "Mixtral 8x7B (Jiang et al., 2024), a prompt"
    ),
    "mixtral_8x7b_decode": Entry(
        "transformers.llama:mixtral_decode",
        "Mixtral 8x7B (Jiang et al., 2024), one token with a cache",
    ),
    **{
        f"{model}_{phase}": Entry(build, f"{title}, {what}", (model,))
        for model, title in _GPT.items()
        for phase, build, what in (
            ("prefill", "transformers.gpt:gpt_prefill", "a prompt"),
            ("decode", "transformers.gpt:gpt_decode", "one token with a cache"),
        )
    },
    "deepseek_v2_lite_prefill": Entry(
        "transformers.deepseek:deepseek_prefill", "DeepSeek-V2-Lite (DeepSeek-AI, 2024), a prompt"
    ),
    "deepseek_v2_lite_decode": Entry(
        "transformers.deepseek:deepseek_decode",
        "DeepSeek-V2-Lite (DeepSeek-AI, 2024), one token with a cache",
    ),
    **{
        f"{model}_{part}": Entry(build, f"{title}, {what}", (model,))
        for model, title in _WHISPER.items()
        for part, build, what in (
            ("encoder", "transformers.whisper:whisper_encoder", "encoder of 30 s"),
            ("decoder", "transformers.whisper:whisper_decoder", "one token with caches"),
        )
    },
    "ncf": Entry("neumf:ncf", "NeuMF (He et al., WWW 2017), one pair of user and item of ML-20M"),
    "ocr_recognizer": Entry(
        "cnn.crnn:ocr_recognizer", "CRNN (Shi et al., TPAMI 2017), grey images of 32 rows"
    ),
    "tiny_cnn": Entry("toy:tiny_cnn", "a residual block, for experiments"),
    "tiny_mobile": Entry("toy:tiny_mobile", "two depthwise blocks, for experiments"),
    "tiny_mlp": Entry("toy:tiny_mlp", "three matrix products, for experiments"),
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


def network(name: str, **chosen: Option | list[int]) -> "Network":
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
    message = "; ".join(filter(None, (*wrong, option_clash(chosen))))
    if message:
        raise ValueError(f"network {known}: {message}")
    settled = {key: tuple(x) if isinstance(x, list) else x for key, x in chosen.items()}
    return _built(known, tuple(sorted(settled.items())))


# a network cannot be changed, and a table of studies asks for the same ones hundreds of times
@lru_cache(maxsize=64)
def _built(known: str, chosen: tuple[tuple[str, Option], ...]) -> "Network":
    return entry(known)[1].build(**dict(chosen))


def option_fault(key: str, value: object, options: Mapping[str, Option]) -> str:
    """Say what is wrong with the choice of an option; empty if nothing is.

    ``options`` are those of the network with their defaults.
    """
    if key not in options:
        near = did_you_mean(key, options) if options else "it has none"
        return f"option {key!r} is not known; {near}"
    default = options[key]
    if isinstance(default, tuple):
        return _list_fault(key, value)
    if type(value) is not type(default):
        kind = {int: "a whole number", bool: "true or false", str: "a text"}[type(default)]
        return f"{key} is {value!r}, must be {kind} such as {default!r}"
    return ""


def _list_fault(key: str, value: object) -> str:
    if isinstance(value, list | tuple) and all(type(one) is int for one in value):
        return ""
    return f"{key} is {value!r}, must be a list of whole numbers such as [2048, 512]"


def option_clash(chosen: Mapping[str, object]) -> str:
    """Say which of the chosen options cannot be chosen together; empty if all can."""
    if chosen.get("lengths") and "sequence_length" in chosen:
        return "sequence_length and lengths say the same; leave one of them out"
    return ""
