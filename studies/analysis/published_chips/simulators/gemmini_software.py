"""Convolutions as Gemmini's software and control run them: what they load, when the array takes a
product.

The loops of a convolution are those of the software that measured them (ucb-bar/gemmini-rocc-tests
at commit 570dff3, include/gemmini.h, tiled_conv, and at 928aba8, gemmini-data-collection/layers/
extract_data_csv.py). Its commands, and the array, are those of the generator (ucb-bar/gemmini,
src/main/scala/gemmini). Assumption: the simulated chip has the generator's default latencies.
"""

from collections.abc import Mapping as Table, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, Final

from archloom.space.mapping import Mapping
from archloom.space.workload import C, K, P, Q, R, S

#: rows and columns of the array (GemminiConfigs.scala)
SIDE: Final = 16

#: bytes that its DMA moves in a cycle (GemminiConfigs.scala, dma_buswidth = 128 bits)
DMA_BYTES: Final = 16

#: cycles between two products with the same weights, at least: two writes of a sum lie so far apart
#: (ExecuteController.scala, total_rows)
LEAST_ROWS: Final = 4

#: products that the array works on, at most; a sixth is named for its results
#: (MeshWithDelays.scala, max_simultaneous_matmuls and tagqlen with tile_latency 0)
IN_FLIGHT: Final = 5

#: cycles from a product's last pixel until its place is free: the skew of the columns, the rows of
#: the array and a register behind them (MeshWithDelays.scala; Mesh.scala with tile_latency 0 and
#: mesh_output_delay 1), and one more for the queue of names
IN_ARRAY: Final = (SIDE - 1) + SIDE + 1 + 1

#: weights that are followed, and of which the first half is left out, to find what one takes
_FOLLOWED: Final = 24


@dataclass(frozen=True)
class Driven:
    """Cycles of a convolution.

    Attributes:
        array: of the array, if all data is there.
        transfers: of all that the DMA moves, at full width.
    """

    array: int
    transfers: int

    @property
    def overlapped(self) -> int:
        """Cycles if transfers and the array never wait for each other."""
        return max(self.array, self.transfers)

    @property
    def in_turn(self) -> int:
        """Cycles if either works only while the other does not."""
        return self.array + self.transfers


@dataclass(frozen=True)
class _Part:
    """A range of outputs along an axis with a range of the kernel, in one call.

    Attributes:
        outputs, kernel: how many of each.
        inputs: input rows or columns that the call loads; none for padding.
    """

    outputs: int
    kernel: int
    inputs: int


def is_product(row: Table[str, Any]) -> bool:
    """Whether the software ran a layer as a matrix product, and no convolution.

    These have one column and a kernel of one pixel (extract_data_csv.py).
    """
    return bool(row["columns"] == 1 and row["kernel"] == [1, 1])


def driven(row: Table[str, Any], mapping: Mapping) -> Driven:
    """Return the cycles of a convolution of which each call does a tile of the mapping.

    Args:
        row: the layer, as it is recorded.
        mapping: levels from the array to DRAM. A call does all loops inside DRAM's, in an order of
            its own; it loads its inputs and weights anew. With a stride it loads all pixels,
            because tiled_conv sets downsample to false.
    """
    outer = mapping.levels[-1].temporal
    tile = [total // steps for total, steps in zip(mapping.factors, outer, strict=True)]
    (r, s), stride = row["kernel"], row["stride"]
    # P are columns, Q rows of the feature map (extract_data_csv.py)
    columns = _parts(row["rows"], tile[P], r, tile[R], stride)
    rows = _parts(row["columns"], tile[Q], s, tile[S], stride)
    calls = outer[K] * outer[C]
    pixels = sum(part.inputs for part in columns) * sum(part.inputs for part in rows)
    taps = sum(part.kernel for part in columns) * sum(part.kernel for part in rows)
    words = calls * tile[C] * (pixels + taps * tile[K])
    words += row["rows"] * row["columns"] * row["kernels"]
    blocks = calls * ceil(tile[K] / SIDE) * ceil(tile[C] / SIDE)
    array = sum(
        blocks * along.kernel * down.kernel * cycles_of_weights(along.outputs, down.outputs)
        for along in columns
        for down in rows
    )
    return Driven(ceil(array), ceil(words / DMA_BYTES))


def _parts(outputs: int, tile: int, kernel: int, taps: int, stride: int) -> list[_Part]:
    """Return the ranges of an axis: one for each tile of outputs and of the kernel."""
    padding, size = kernel // 2, outputs * stride
    found = list[_Part]()
    for first in range(0, outputs, tile):
        for tap in range(0, kernel, taps):
            count, of_kernel = min(tile, outputs - first), min(taps, kernel - tap)
            # gemmini.h, tiled_conv: icols_, lpad and rpad
            start = first * stride + tap - padding
            end = start + count * stride + of_kernel - 1
            found.append(_Part(count, of_kernel, min(end, size) - max(start, 0)))
    return found


@cache
def cycles_of_weights(columns: int, rows: int) -> float:
    """Return the cycles of the products that share weights of 16 x 16.

    Each product is of up to 16 pixels of a row (LoopConv.scala, LoopConvExecute). The first of them
    takes 16 cycles, in which the array loads the next weights.
    """
    pixels = [min(SIDE, columns - first) for first in range(0, columns, SIDE)] * rows
    starts = product_starts([SIDE, *(max(LEAST_ROWS, p) for p in pixels[1:])] * _FOLLOWED)
    half = _FOLLOWED // 2
    return (starts[-1] - starts[half * len(pixels)]) / half


def product_starts(cycles: Sequence[int]) -> list[int]:
    """Return when each product can start, and when one after the last could, if each takes so many
    cycles.

    The results of a product are named until those of the next one leave the array; only so many
    names are free.
    """
    starts = [0]
    for n, each in enumerate(cycles):
        ready = starts[-1] + each
        if (freed := n + 1 - IN_FLIGHT) >= 0:
            ready = max(ready, starts[freed] + cycles[freed] + IN_ARRAY)
        starts.append(ready)
    return starts
