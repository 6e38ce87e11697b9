"""Layers on a weight-stationary array, and the two NPUs of the Layerweaver paper.

A layer model for pairs of networks without a search of mappings: weights stand in the array, C, R
and S of the convolution along its rows and K along its columns, and every cycle one position of
the output passes. Oh et al. (HPCA 2021, Section IV-A) took cycles from MAESTRO, whose figures are
not printed; this model is our own, and its figures are not theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from archloom.space.workload import Layer, Network, is_input

from .chain import Chain, Npu

#: where weights of a convolution stand: ``taps_in_rows``: C, R and S along the rows, groups side by
#: side; ``groups_in_turn``: the same, one group after another; ``taps_in_turn``: C along the rows
#: alone, taps of the filter and groups one after another
Layout: TypeAlias = Literal["taps_in_rows", "groups_in_turn", "taps_in_turn"]


@dataclass(frozen=True)
class WeightStationary:
    """Arrays that hold weights.

    Attributes:
        rows, columns: of an array; rows add up.
        arrays: that work side by side, on other positions or images with the same weights.
        word_bytes: of a weight or a value of a map.
        layout: of weights in an array.
    """

    rows: int
    columns: int
    arrays: int
    word_bytes: int = 2
    layout: Layout = "taps_in_rows"


#: Table I of Oh et al., HPCA 2021: 1 MXU of TPUv3 with a quarter of a board's bandwidth
MEMORY_CENTRIC: Final = Npu("memory_centric", 225 * 10**9, 700 * 10**6, 48 * 2**20, 60 * 2**20)
#: Table I: 12 inference engines of NNP-I; 4096 MACs each, taken as 64 x 64 (assumption: square)
COMPUTE_CENTRIC: Final = Npu(
    "compute_centric", 68 * 10**9, 927 * 10**6, 48 * 2**20, int(2.3 * 2**20) + 3 * 2**19
)
#: by the names of the presets
NPUS: Final[Mapping[str, tuple[Npu, WeightStationary]]] = {
    "memory_centric": (MEMORY_CENTRIC, WeightStationary(128, 128, 1)),
    "compute_centric": (COMPUTE_CENTRIC, WeightStationary(64, 64, 12)),
}


def weight_stationary_chain(
    network: Network,
    array: WeightStationary,
    batch: int = 1,
    largest_map_bytes: int | None = None,
) -> Chain:
    """Return the chain of a network's MAC layers on weight-stationary arrays.

    Cycles are ceil(C R S / rows) ceil(K / columns) ceil(positions x batch / arrays). Groups stand
    block-diagonally: as many as fit along rows and columns share a pass; heads are groups. Other
    layouts have more passes (:data:`Layout`). A product of two maps has no weights: its second map
    stands in the array, and comes from the chip. Vector operators cost nothing here. Footprints
    count inputs and outputs.

    Args:
        network: the network.
        array: what it runs on.
        batch: inferences of a query.
        largest_map_bytes: maps above it are kept in DRAM, written once and read by each layer that
            needs them; None: all maps stay on chip.

    Raises:
        ValueError: a network without MACs, or a batch below 1.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    live = _live_words(network)
    names, rows = [], []
    for number, layer in enumerate(network.layers):
        if not layer.uses_macs:
            continue
        cycles = _passes(layer, array) * -(-(layer.p * layer.q * layer.n * batch) // array.arrays)
        maps = [words * batch for words in (*layer.map_words, layer.output_words)]
        moved = 0
        if largest_map_bytes is not None:
            moved = sum(words for words in maps if words * array.word_bytes > largest_map_bytes)
        names.append(layer.name)
        rows.append((layer.weight_words, cycles, moved, sum(maps), live[number] * batch))
    if not rows:
        raise ValueError(
            f"network {network.name} has no layer with MACs, so there is nothing to schedule"
        )
    weights, cycle_counts, crossing, footprints, alive = np.array(rows, np.int64).T
    word = array.word_bytes
    # what vector operators make of the last product leaves the chip
    alive = np.append(alive[:-1], 0)
    columns = (weights * word, cycle_counts, crossing * word, footprints * word, alive * word)
    return Chain(network.name, *columns, tuple(names))


def _passes(layer: Layer, array: WeightStationary) -> int:
    """Return how often weights of a layer fill the arrays."""
    _, groups, width, channels, _, _, r, s = layer.bounds
    depth, turns = channels * r * s, 1
    if array.layout == "taps_in_turn":
        depth, turns = channels, r * s
    packed = 1
    if array.layout == "taps_in_rows":
        # groups along the diagonal of the array, then passes over what is left of them
        packed = max(1, min(groups, array.rows // depth, array.columns // width))
    return turns * -(-groups // packed) * -(-depth // array.rows) * -(-width // array.columns)


def _live_words(network: Network) -> Sequence[int]:
    """Return the words of maps that are made after each layer and read by a later one."""
    last: dict[str, int] = {}
    for number, sources in enumerate(network.reads):
        for source in sources:
            last[source] = number
    found, alive = [], {name: 0 for name in last if is_input(name)}
    for number, layer in enumerate(network.layers):
        alive[layer.name] = layer.output_words
        alive = {name: words for name, words in alive.items() if last.get(name, -1) > number}
        found.append(sum(alive.values()))
    return found
