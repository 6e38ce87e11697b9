"""The layer and the two architectures that mapping throughput is quoted for."""

from math import inf
from typing import Final

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS, Tensor
from archloom.space.workload.layer import Layer

#: the 3x3 convolution of ResNet-18's first stage, on a map that was padded before
LAYER: Final = Layer(
    "resnet18_conv3x3", "conv", k=64, c=64, p=56, q=56, r=3, s=3, input_size=(58, 58)
)

#: name, tensors, mesh, words (None for DRAM), pJ of a read, a fill and an update
Row = tuple[str, tuple[Tensor, ...], tuple[int, int], int | None, tuple[float, float, float]]

_GENERIC: Final[tuple[Row, ...]] = (
    ("RegFile", TENSORS, (16, 16), 512, (0.9, 1.1, 1.2)),
    ("GlobalBuffer", TENSORS, (1, 1), 65536, (6.0, 7.0, 7.5)),
    ("DRAM", TENSORS, (1, 1), None, (200.0, 190.0, 210.0)),
)
_LIKE_EYERISS: Final[tuple[Row, ...]] = (
    ("PsumSpad", ("outputs",), (14, 12), 24, (0.4, 0.5, 0.6)),
    ("WeightSpad", ("weights",), (14, 12), 224, (0.8, 0.9, 1.0)),
    ("IfmapSpad", ("inputs",), (14, 12), 12, (0.3, 0.35, 0.4)),
    ("GlobalBuffer", ("inputs", "outputs"), (1, 1), 55296, (6.0, 6.5, 7.0)),
    ("DRAM", TENSORS, (1, 1), None, (200.0, 190.0, 210.0)),
)
ARCHITECTURES: Final = {"A1_rf256": _GENERIC, "A2_eyeriss": _LIKE_EYERISS}


def problem_of(name: str) -> MappingProblem:
    """Return the layer on one of the architectures, with words of 16 bits."""
    levels = tuple(
        StorageLevel(
            name=level,
            storage="sram" if words else "dram",
            keeps=keeps,
            mesh=mesh,
            capacity_bytes=words * 2 if words else None,
            bandwidth_words=inf,
            energy=AccessEnergy(*energy),
        )
        for level, keeps, mesh, words, energy in ARCHITECTURES[name]
    )
    hardware = Hardware(
        name=name,
        technology="cacti_45nm",
        frequency_mhz=1000,
        word_bits=16,
        pe_mesh=levels[0].mesh,
        array=(1, 1),
        levels=levels,
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=0.56,
    )
    return MappingProblem.of_layer(LAYER, hardware)
