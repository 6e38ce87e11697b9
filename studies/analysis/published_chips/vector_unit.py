"""Depthwise layers on the vector unit of TPU v3, and what that changes of its figures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from archloom.space.hardware import Hardware
from archloom.space.workload import Layer

from .figures import Chapter, Figure

#: lanes and sublanes of a core's vector unit. Two ALUs in each multiply and add in a cycle (Norrie
#: et al., Hot Chips 2020, from a transcription: 2,048 ALUs).
LANES: Final = 128
SUBLANES: Final = 8

#: cores of the chip (Zhang et al., ASPLOS 2022, table 4)
CORES: Final = 2

ON_VECTOR_UNIT: Final = "depthwise layers on the vector unit"
IN_TURN: Final = f"{ON_VECTOR_UNIT}, DRAM in turn"

UTILISATION: Final = "utilisation, %"
OF_DEPTHWISE: Final = "utilisation of depthwise layers, %"
SHARE_OF_TIME: Final = "depthwise share of time, %"


@dataclass(frozen=True)
class Layout:
    """How the compiler pads the tensors of a convolution in each core.

    Attributes:
        images, channels: of whose multiples a tensor is.
    """

    images: int
    channels: int


#: the two that XLA has (Cloud TPU performance guide: a dimension is padded to 8, another to 128).
#: A user's profile of convolutions shows the second one (Stack Overflow, "How to understand the
#: padding rules on cloud TPU?").
CHANNELS_IN_LANES: Final = Layout(SUBLANES, LANES)
IMAGES_IN_LANES: Final = Layout(LANES, SUBLANES)


@dataclass(frozen=True)
class VectorTime:
    """Cycles of layers on the vector unit.

    Attributes:
        overlapped: if transfers and lanes never wait for each other within a layer.
        in_turn: if either works only while the other does not.
    """

    overlapped: float
    in_turn: float


def vector_time(layers: Iterable[Layer], hardware: Hardware, layout: Layout) -> VectorTime:
    """Return the cycles of depthwise layers, whose feature maps come from DRAM and go there.

    Args:
        layers: with the images of all cores.
        hardware: whose DRAM moves them.
        layout: of all their tensors.
    """
    overlapped, in_turn = 0.0, 0.0
    for layer in layers:
        images = CORES * _padded(ceil(layer.n / CORES), layout.images)
        channels = _padded(layer.g, layout.channels)
        height, width = layer.input_size
        macs = images * channels * layer.p * layer.q * layer.r * layer.s
        words = images * channels * (height * width + layer.p * layer.q)
        lanes = macs / (CORES * LANES * SUBLANES)
        dram = words / hardware.levels[-1].bandwidth_words
        overlapped += max(lanes, dram)
        in_turn += lanes + dram
    return VectorTime(overlapped, in_turn)


def _padded(size: int, multiple: int) -> int:
    return ceil(size / multiple) * multiple


def with_vector_unit(chapter: Chapter, layers: Iterable[Layer], hardware: Hardware) -> Chapter:
    """Return the chapter of TPU v3 with two switches more: its vector unit runs depthwise layers.

    Args:
        chapter: has utilisations of all layers and of depthwise ones, and their share of time.
        layers: the depthwise ones.
        hardware: the chip.
    """
    depthwise = list(layers)
    time = vector_time(depthwise, hardware, IMAGES_IN_LANES)
    ours = {figure.name: figure.ours / 100 for figure in chapter.figures}
    macs = sum(layer.macs for layer in depthwise)
    own = macs / (ours[OF_DEPTHWISE] * hardware.macs)
    everything = own / ours[SHARE_OF_TIME]
    all_macs = ours[UTILISATION] * everything * hardware.macs

    values: dict[str, Callable[[float], float]] = {
        OF_DEPTHWISE: lambda cycles: 100 * macs / (cycles * hardware.macs),
        SHARE_OF_TIME: lambda cycles: 100 * cycles / (everything - own + cycles),
        UTILISATION: lambda cycles: 100 * all_macs / ((everything - own + cycles) * hardware.macs),
    }
    cycles = {ON_VECTOR_UNIT: time.overlapped, IN_TURN: time.in_turn}
    figures = (
        _switched(figure, {name: values[figure.name](c) for name, c in cycles.items()})
        if figure.name in values
        else figure
        for figure in chapter.figures
    )
    return replace(chapter, figures=tuple(figures))


def _switched(figure: Figure, found: dict[str, float]) -> Figure:
    said = (f"{value / figure.theirs:.2f} with {name}" for name, value in found.items())
    return replace(
        figure,
        switched={**figure.switched, **found},
        reason="; ".join((figure.reason, *said)),
    )
