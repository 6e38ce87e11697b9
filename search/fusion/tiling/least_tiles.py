"""Least energy and cycles of tiles of a network's layers on one design after another.

Tiles have their maps in the buffer, so DRAM brings them nothing but weights. What else they take is
remembered: designs often differ in nothing but the clock and the rate of DRAM.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import (
    ROUNDING,
    bounds_key,
    design_and_prices,
    layer_costs,
    without_dram_cycles,
)
from archloom.evaluators.loopnest import ManyVectors, Residency, VectorTile, packed_row_words
from archloom.space.hardware import Hardware
from archloom.space.workload import NO_ZEROS, WEIGHTS, Network, Sparsity

from .estimates import LayerTile, tile_nest

#: designs, clock and rate of DRAM aside, on which costs are remembered (ours)
_MOST: Final = 4


class _Nests(NamedTuple):
    """Tiles on MACs that see the same zeros, and whose weights are in the buffer or not.

    Attributes:
        zeros, staged: of all of them.
        rows: int64[n], which tiles they are.
        bounds, windows: of their loops.
        streamed: int64[n], words of weights that are not in the buffer.
    """

    zeros: Sparsity
    staged: Residency
    rows: Ints
    bounds: Ints
    windows: Ints
    streamed: Ints


class LeastTiles:
    """Some tiles, all maps in the buffer, on any design with buffers that keep the same operands.

    Args:
        network: whose tiles they are.
        hardware: such a design.
        tiles: B of them.
    """

    def __init__(self, network: Network, hardware: Hardware, tiles: Sequence[LayerTile]) -> None:
        level, layers = hardware.fusion_level, network.layers
        keeps = level is not None and "weights" in hardware.levels[level].keeps
        self._count = len(tiles)
        flavours: dict[tuple[Sparsity, Residency], list[int]] = {}
        vectors = list[int]()
        for n, (i, _, _, resident) in enumerate(tiles):
            layer = layers[i]
            if layer.uses_macs:
                whole = keeps and (resident or layer.multiplies_maps)
                zeros = Sparsity(*layer.density, packed_row_words(layer, hardware))
                flavours.setdefault((zeros, (whole, True, True)), []).append(n)
            else:
                vectors.append(n)
        self._nests = [_nests(network, tiles, *key, rows) for key, rows in flavours.items()]
        self._known: list[dict[bytes, Floats]] = [{} for _ in self._nests]
        self._vectors = np.array(vectors, np.int64)
        some = [tiles[n] for n in vectors]
        self._operators = ManyVectors(
            [VectorTile(layers[i], rows, columns, True, stays) for i, rows, columns, stays in some]
        )

    def costs(self, hardware: Hardware) -> Floats:
        """Return float64[2, B], energy on the chip (pJ, without leakage) and cycles of each tile on
        a design, as :meth:`.estimates.TileEstimates.of` has them for what is cut further.
        """
        found = np.zeros((2, self._count))
        if len(self._vectors):
            found[:, self._vectors] = self._operators.costs(hardware, on_chip=True)
        dram = hardware.levels[-1]
        weight_pj = float(access_costs(hardware).read_pj[-1, WEIGHTS]) / dram.width_words
        for nests, known in zip(self._nests, self._known, strict=True):
            energy, cycles = _nest_costs(hardware, nests, known)
            found[0, nests.rows] = energy - nests.streamed * weight_pj
            found[1, nests.rows] = cycles
        return found


def _nest_costs(hardware: Hardware, nests: _Nests, known: dict[bytes, Floats]) -> Floats:
    """Return float64[2, n], energy and cycles of nests; what does not depend on the rate of DRAM is
    put into what is ``known`` by all that it depends on."""
    design, prices = design_and_prices(hardware, nests.zeros, nests.staged)
    buffer, dram = hardware.levels[-2:]
    plain = nests.zeros == NO_ZEROS and hardware.bits(-1, "weights") == hardware.word_bits
    if not (plain and "weights" in buffer.keeps):
        # packed words, or weights that come as often as MACs ask for them
        packed: Floats = layer_costs(design, prices, nests.bounds, nests.windows).T
        return packed
    free = without_dram_cycles(prices)
    key = bounds_key(design, free)
    if key not in known:
        if len(known) >= _MOST:
            del known[next(iter(known))]
        known[key] = layer_costs(design, free, nests.bounds, nests.windows).T
    energy, cycles = known[key]
    rate = min(dram.bandwidth_words, dram.read_bandwidth_words)
    brought = np.ceil(nests.streamed / rate * (1 - ROUNDING))
    costs: Floats = np.stack([energy, np.maximum(cycles, brought)])
    return costs


def _nests(
    network: Network,
    tiles: Sequence[LayerTile],
    zeros: Sparsity,
    staged: Residency,
    rows: list[int],
) -> _Nests:
    layers = [network.layers[tiles[n][0]] for n in rows]
    sizes = (tiles[n][1:3] for n in rows)
    loops = [tile_nest(layer, *size) for layer, size in zip(layers, sizes, strict=True)]
    bounds, windows = (np.array(part, np.int64) for part in zip(*loops, strict=True))
    streamed = np.array([0 if staged[0] else layer.weight_words for layer in layers], np.int64)
    return _Nests(zeros, staged, np.array(rows, np.int64), bounds, windows, streamed)
