"""Dual-side sparse tensor core: a product of two sparse matrices, by shares of what is not zero."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from archloom.evaluators.loopnest import MappingProblem, mapped_cost
from archloom.space.hardware import Effects, Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.workload import C, K, P, Tensor, linear

from .figures import Chapter, Figure
from .fixed_mappings import level
from .random_zeros import counted, in_vectors, mean

SOURCE: Final = (
    "Wang et al., ISCA 2021, figure 21, read off by Sparseloop (Wu et al., MICRO 2022, artefact, "
    "fig13_dstc_setup, ground_truth.yaml)"
)

#: rows, columns and inner size of the product (ibid., prob.yaml)
SIZE: Final = 4096

#: outer products of 32 x 32 in vectors of 8 x 16 (ibid., arch.yaml and Os-mapping.yaml)
TILE: Final = 32
VECTORS: Final = (8, 16)

#: time by shares of A and of B that are not zero
TIMES: Final = {
    (1.0, 1.0): 4600,
    (1.0, 0.4): 2500,
    (0.9, 1.0): 4163,
    (0.9, 0.4): 2300,
    (0.7, 1.0): 3300,
    (0.7, 0.4): 1820,
    (0.5, 1.0): 2690,
    (0.5, 0.4): 1480,
    (0.3, 1.0): 1930,
    (0.3, 0.4): 1100,
}


def core(effects: Effects) -> Hardware:
    """Return 8 x 16 multipliers. Memories never limit them here: time is all that counts."""
    kept: tuple[Tensor, ...] = ("weights", "inputs", "outputs")
    buffer = StorageLevel("buffer", "sram", kept, (1, 1), 2.0**24, 1e6)
    dram = StorageLevel("dram", "dram", kept, (1, 1), None, 1e6)
    return Hardware(
        name="dual_side",
        technology="n16",
        frequency_mhz=1000.0,
        word_bits=16,
        pe_mesh=(1, 1),
        array=(VECTORS[1], VECTORS[0]),
        levels=(buffer, dram),
        dram="lpddr4",
        vector_lanes=1,
        effects=effects,
    )


def cycles(a_share: float, b_share: float) -> float:
    """Cycles of the product in the model: rows of A down the array, columns of B across it."""
    product = linear("product", SIZE, SIZE, SIZE, bias=False)
    layer = replace(product, density=(b_share, a_share))
    effects = Effects(weight_zeros="skipped", input_zeros="skipped")
    rows, columns, tiles = VECTORS[0], VECTORS[1], SIZE // TILE
    inner = level({P: TILE // rows, K: TILE // columns}, x={K: columns}, y={P: rows})
    mapping = Mapping((inner, level({C: SIZE, P: tiles, K: tiles}, order=(C,))))
    return mapped_cost(MappingProblem.of_layer(layer, core(effects)), mapping).latency_cycles


def vectors_share(share: float, width: int) -> float:
    """Return the share of the vectors of a tile's side that hold anything, zeros at random."""
    return mean(in_vectors(counted(TILE, share), width)) / (TILE // width)


def dual_side_tensor_core() -> Chapter:
    """Return times of sparse products over that of the dense one."""
    return Chapter("Dual-side sparse tensor core", TEXT, tuple(_figures()))


def _figures() -> Iterator[Figure]:
    dense = cycles(1.0, 1.0)
    for (a, b), time in TIMES.items():
        if (a, b) == (1.0, 1.0):
            continue
        name, published = f"{a:g} of A and {b:g} of B left, time over dense", time / TIMES[1.0, 1.0]
        in_part = vectors_share(a, VECTORS[0]) * vectors_share(b, VECTORS[1])
        yield Figure(
            name,
            cycles(a, b) / dense,
            published,
            SOURCE,
            None,
            "every vector is full in the model",
            {"vectors in part": in_part},
        )
        yield Figure(
            f"{name}, vectors in part",
            in_part,
            published,
            SOURCE,
            None,
            "zeros at random positions leave vectors of 8 and 16 partly empty",
            effect_of=name,
        )


TEXT: Final = f"""
This tensor core multiplies a column of A and a row of B, both without their zeros, in vectors of
{VECTORS[0]} x {VECTORS[1]}. The figure is the time of a product of {SIZE} x {SIZE} matrices divided
by that of the dense product. In the model 128 multipliers skip the zeros of both matrices
(`skipped`). "Vectors in part" is the time of a tile of {TILE} x {TILE} with zeros at random
positions: the mean number of vectors that contain a nonzero value. The model is up to twice too
fast, because its vectors are always full; with partly filled vectors it is within 12% of the
measured times. Nothing was tuned for this core.
"""
