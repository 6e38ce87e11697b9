"""SCNN on pruned networks: speed-up over its dense twin, and what vectors and waiting take."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.loopnest import MappingProblem, mapped_cost
from archloom.space.hardware import Effects, Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.networks import network
from archloom.space.workload import C, G, K, Layer, P, Q, R, S, Tensor

from .eyeriss_v2_networks import ALEXNET_WEIGHTS, Density
from .figures import Chapter, Figure
from .fixed_mappings import level

SUMMARY: Final = "Parashar et al., ISCA 2017, from a public summary"

#: 8 x 8 PEs, each with products of four weights and four inputs (ISCA 2017)
GRID: Final = 8
VECTOR: Final = 4

#: output channels that PEs work on before they wait for each other (ISCA 2017: K_c = 8 in
#: late layers of GoogLeNet). Assumption: everywhere
CHANNELS: Final = 8

IntArray = NDArray[np.int64]

#: seed of the random zeros
SEED: Final = 2017

#: values that are not zero at the inputs of AlexNet's convolutions: Act% of the layer before (Han
#: et al., NeurIPS 2015, table 4); all of the image
ALEXNET_INPUTS: Final = (1.0, 0.88, 0.52, 0.37, 0.40)

#: weights that are left in VGG-16, and values that are not zero at the inputs (ibid., table 5)
VGG_WEIGHTS: Final = (
    *(0.58, 0.22, 0.34, 0.36, 0.53, 0.24, 0.42, 0.32, 0.27, 0.34, 0.35, 0.29, 0.36),
)
VGG_INPUTS: Final = (1.0, 0.53, 0.89, 0.80, 0.81, 0.68, 0.70, 0.64, 0.51, 0.45, 0.34, 0.32, 0.29)


def chip(effects: Effects) -> Hardware:
    """Return 64 PEs of 16 multipliers. Memories never limit them here: time is all that counts."""
    grid = (GRID, GRID)
    kept: tuple[Tensor, ...] = ("weights", "inputs", "outputs")
    pe = StorageLevel("pe", "sram", kept, grid, 2.0**24, 1e3)
    dram = StorageLevel("dram", "dram", kept, (1, 1), None, 1e6)
    return Hardware(
        name="scnn",
        technology="n16",
        frequency_mhz=1000.0,
        word_bits=16,
        pe_mesh=grid,
        array=(VECTOR, VECTOR),
        levels=(pe, dram),
        dram="lpddr4",
        vector_lanes=GRID,
        effects=effects,
    )


def planar(layer: Layer) -> Mapping:
    """Return the twin's mapping: a part of the map for each PE, dot products of 4 x 4 in it."""
    tile = {P: -(-layer.p // GRID), Q: -(-layer.q // GRID), R: layer.r, S: layer.s}
    x, y = {K: min(VECTOR, layer.k)}, {C: min(VECTOR, layer.c)}
    tile |= {K: -(-layer.k // x[K]), C: -(-layer.c // y[C])}
    parts = ({P: -(-layer.p // tile[P])}, {Q: -(-layer.q // tile[Q])})
    return Mapping((level(tile, x=x, y=y), level({G: layer.g}, x=parts[0], y=parts[1])))


def cycles(layer: Layer, density: Density, effects: Effects) -> float:
    """Cycles of a layer in the model, for an image."""
    problem = MappingProblem.of_layer(replace(layer, density=density), chip(effects))
    mapping = planar(layer)
    return mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping).latency_cycles


def vector_cycles(layer: Layer, density: Density) -> float:
    """Cycles of a layer with zeros at random places: vectors in part, and PEs that wait.

    For each input channel a PE multiplies every vector of four values of its part of the map by
    every vector of four weights of a group of output channels (ISCA 2017). All PEs
    have the same weights, and wait for each other after each group. A window of stride s falls into
    s x s that are dense (assumption).
    """
    rng = np.random.default_rng(SEED)
    phases, groups = layer.stride[0] * layer.stride[1], layer.g * -(-layer.k // CHANNELS)
    rows, columns = _parts(layer.p), _parts(layer.q)
    pixels = np.outer(rows, columns).ravel()
    of_map = rng.binomial(pixels[:, None], density[1], (len(pixels), layer.c * phases))
    words = round(min(CHANNELS, layer.k) * layer.r * layer.s / phases)
    of_weights = rng.binomial(words, density[0], (layer.c * phases, groups))
    products = -(-of_map // VECTOR) @ -(-of_weights // VECTOR)
    return float(products.max(axis=0).sum())


def _parts(size: int) -> IntArray:
    """Rows of each of the 8 PEs."""
    tile = -(-size // GRID)
    return np.clip(size - tile * np.arange(GRID), 0, tile)


def scnn() -> Chapter:
    """Return speed-ups of SCNN over its dense twin."""
    figures: list[Figure] = []
    pruned = (
        ("AlexNet", "alexnet_original", ALEXNET_WEIGHTS, ALEXNET_INPUTS, 2.37),
        ("VGG-16", "vgg16", VGG_WEIGHTS, VGG_INPUTS, 3.52),
    )
    for title, name, weights, inputs, published in pruned:
        layers = convolutions(name)
        shares = list(zip(weights, inputs, strict=False))[: len(layers)]
        figures += _speedups(title, layers, shares, published, SUMMARY)
    google = convolutions("googlenet")
    for share, published in ((1.0, 0.79), (0.1, 24.0)):
        title = f"GoogLeNet, {share:g} of weights and inputs left"
        shares = [(share, share)] * len(google)
        figures += _speedups(title, google, shares, published, SUMMARY)
    return Chapter("SCNN on AlexNet, VGG-16 and GoogLeNet", TEXT, tuple(figures))


def convolutions(name: str) -> list[Layer]:
    """Return the convolutions of a network; SCNN's figures are without classifiers."""
    layers = [layer for layer in network(name).layers if layer.uses_macs]
    return [layer for layer in layers if layer.p > 1]


def _speedups(
    title: str, layers: list[Layer], shares: list[Density], published: float, source: str
) -> Iterator[Figure]:
    skipped = Effects(weight_zeros="skipped", input_zeros="skipped")
    runs = list(zip(layers, shares, strict=True))
    dense = sum(cycles(layer, (1.0, 1.0), Effects()) for layer in layers)
    even = sum(cycles(layer, share, skipped) for layer, share in runs)
    random = sum(vector_cycles(layer, share) for layer, share in runs)
    yield Figure(
        f"{title}: speed-up",
        dense / even,
        published,
        source,
        None,
        "in the model vectors are always full, and no PE waits",
        {"vectors in part": dense / random},
    )
    yield Figure(
        f"{title}: speed-up, vectors in part",
        dense / random,
        published,
        source,
        None,
        "zeros at random positions: vectors of four are partly empty, and PEs wait for the slowest",
        effect_of=f"{title}: speed-up",
    )


TEXT: Final = """
SCNN has 64 PEs. Each PE holds a part of the feature map and computes the products of four weights
and four inputs in a cycle. The dense counterpart has the same number of multipliers, arranged as
dot products of 4 x 4 channels in each PE. In the model both have the same mapping; `weight_zeros`
and `input_zeros` are `skipped` for SCNN, so the model's speed-up is the work that zeros save. The
fractions of nonzero weights and inputs are those of the pruned AlexNet and VGG-16 (Han et al.,
NeurIPS 2015, tables 4 and 5); for GoogLeNet the paper sets one fraction for all layers. Nothing was
tuned for this chip. The published figures are from a summary of the paper, not from its plots.

"Vectors in part" adds an effect that the model does not have, computed for zeros at random
positions: each vector of up to four inputs meets each vector of up to four weights of eight output
channels, and after those the PEs wait for the slowest one. The difference arises because the
model's nonzero values always fill the vectors: with a tenth of the weights and of the inputs left,
the model is four times too fast.
"""
