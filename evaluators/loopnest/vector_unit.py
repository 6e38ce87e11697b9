"""Cost of one operator on the vector unit, or of one tile of it."""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.technology.dram import (
    BURST_BYTES,
    BURSTS_A_BYTE,
    ROW_BYTES,
    slots_per_burst,
)
from archloom.space.hardware import BIT_PARTS, Hardware
from archloom.space.workload import (
    INPUTS,
    NO_ZEROS,
    OUTPUTS,
    TENSORS,
    WEIGHTS,
    Layer,
    VectorOperator,
)

from ..hardware import access_costs
from .hardware_arrays import dram_numbers, storage_arrays, unit_parts
from .kernel_inputs import BURST_CYCLES, OPEN_PJ, STANDBY_PJ
from .layer_cost import Counts, LayerCost, whole_grains, whole_pj

_READ, _WRITE = 0, 1


def vector_cost(
    layer: Layer,
    hardware: Hardware,
    rows: int,
    columns: int,
    staged: bool,
    resident: bool = False,
) -> LayerCost:
    """Return the cost of making ``rows`` x ``columns`` of a vector operator's output.

    The vector unit reads every tap of its window from the shared buffer, on every pass of the
    operator, and writes its results to it; what is the same for a whole channel (a learned
    value, a broadcast one) is read once. Unless ``staged``, the maps come from DRAM and the
    result goes there, each word once, through that buffer; so do learned words unless they are
    ``resident``. Hardware without a shared buffer streams between DRAM and the unit, whose own
    registers then hold the window; there, and where one vector of an operator that needs all of
    it exceeds the buffer, every pass goes to DRAM.
    """
    vector = layer.vector
    if vector is None:
        raise ValueError(f"layer {layer.name}: {layer.operator} runs on the MAC array")
    images = 1 if staged else layer.n
    made = images * layer.output_channels * rows * columns
    moved = np.zeros((len(hardware.levels), 3, 2), np.int64)
    _move(moved, layer, vector, hardware, (images, made), staged, resident)
    return _cost_of(moved, hardware, made * layer.vector_ops_per_word)


class VectorTile(NamedTuple):
    """An operator on the vector unit, or a tile of it, as :func:`vector_cost` has it."""

    layer: Layer
    rows: int
    columns: int
    staged: bool
    resident: bool = False


class ManyVectors:
    """Vector operators and tiles of them, many at once.

    What moves is the same on most designs, so it is counted once for each kind of them.

    Args:
        tiles: n of them.

    Raises:
        ValueError: a layer that runs on the MAC array.
    """

    def __init__(self, tiles: Sequence[VectorTile]) -> None:
        for layer in (tile.layer for tile in tiles):
            if layer.vector is None:
                raise ValueError(f"layer {layer.name}: {layer.operator} runs on the MAC array")
        self._tiles = tiles
        self._whole = [t.layer for t in tiles if t.layer.vector and t.layer.vector.whole_vectors]
        self._operations = np.array(
            [float(_made(tile)[1] * tile.layer.vector_ops_per_word) for tile in tiles]
        )
        self._moved: dict[tuple[object, ...], Counts] = {}
        self._asked: dict[tuple[object, ...], _Asked] = {}

    def costs(
        self, hardware: Hardware, on_chip: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return dynamic energy (pJ) and cycles of each: [n], as :func:`vector_cost` has them.

        Args:
            hardware: where they run.
            on_chip: whether to leave out the energy of DRAM.
        """
        moved = self._kind(hardware)
        width, unit, bandwidth = _ports(hardware)
        # designs differ in sizes and rates more often than in the widths of words
        key = (*moved, width.tobytes(), unit.tobytes())
        if key not in self._asked:
            self._asked[key] = _asked(self._words(moved, hardware), width, unit)
        energy, cycles = _costs_of(self._asked[key], bandwidth, hardware)
        compute = whole_grains(self._operations * access_costs(hardware).vector_op_pj)
        busy = np.ceil(self._operations / hardware.vector_lanes).astype(np.int64)
        levels = energy[:, :-1] if on_chip else energy
        return levels.sum(axis=(1, 2)) + compute, np.maximum(busy, cycles.max(axis=1))

    def _kind(self, hardware: Hardware) -> tuple[object, ...]:
        """What of a hardware decides which words move."""
        buffer = hardware.fusion_level
        kept = buffer is not None and "weights" in hardware.levels[buffer].keeps
        fits = tuple([vector_fits(layer, hardware) for layer in self._whole])
        return len(hardware.levels), buffer, kept, fits

    def _words(self, key: tuple[object, ...], hardware: Hardware) -> Counts:
        """Words that move on hardware of a kind: int64[n, L, 3, 2]."""
        if key not in self._moved:
            moved = np.zeros((len(self._tiles), len(hardware.levels), 3, 2), np.int64)
            for words, tile in zip(moved, self._tiles, strict=True):
                assert tile.layer.vector is not None, "checked at birth"
                move = tile.layer, tile.layer.vector, hardware, _made(tile)
                _move(words, *move, tile.staged, tile.resident)
            self._moved[key] = moved
        return self._moved[key]


def _made(tile: VectorTile) -> tuple[int, int]:
    """Images of a tile, and words of its results."""
    images = 1 if tile.staged else tile.layer.n
    return images, images * tile.layer.output_channels * tile.rows * tile.columns


def _move(
    moved: Counts,
    layer: Layer,
    vector: VectorOperator,
    hardware: Hardware,
    size: tuple[int, int],
    staged: bool,
    resident: bool,
) -> None:
    """Count the words of an operator, or of a tile of it; ``size`` is its images and results."""
    images, made = size
    _move_maps(moved, layer, vector, hardware, images, made)
    if not staged:
        _move_far(moved, vector, hardware, layer.read_words, made, vector_fits(layer, hardware))
    if layer.weight_words:
        _move_learned(moved, layer.weight_words, hardware, images, resident)


def pinned_vector_cost(
    layer: Layer,
    hardware: Hardware,
    held: tuple[bool, ...],
    kept: bool,
    steady: bool,
    free_words: int,
) -> LayerCost:
    """Return what a whole vector operator costs, some of its maps in the shared buffer.

    As :func:`vector_cost` without stages, but that these maps have no words in DRAM.

    Args:
        layer, hardware: what runs where; the hardware has a fusion level.
        held: for each map that it reads, whether the buffer holds it.
        kept: whether its result stays there.
        steady: whether its learned words are there.
        free_words: words of the buffer for what passes through it.
    """
    vector = layer.vector
    if vector is None:
        raise ValueError(f"layer {layer.name}: {layer.operator} runs on the MAC array")
    made = layer.output_words
    moved = np.zeros((len(hardware.levels), 3, 2), np.int64)
    _move_maps(moved, layer, vector, hardware, layer.n, made)
    far = sum(w for w, near in zip(layer.map_read_words, held, strict=True) if not near)
    fits = vector_fits(layer, hardware, free_words)
    _move_far(moved, vector, hardware, far, 0 if kept else made, fits)
    if layer.weight_words:
        _move_learned(moved, layer.weight_words, hardware, layer.n, steady)
    return _cost_of(moved, hardware, made * layer.vector_ops_per_word)


def _move_maps(
    moved: Counts,
    layer: Layer,
    vector: VectorOperator,
    hardware: Hardware,
    images: int,
    made: int,
) -> None:
    """Count words of maps that the unit reads from the buffer and writes there."""
    buffer = hardware.fusion_level
    # a broadcast value is read once for its channel, not for every word
    windowed = layer.taps - (1 if layer.broadcast else 0)
    # what is gathered is read once for each word that it makes
    whole = 0 if vector.gathers else layer.whole_words
    taken = made * windowed + images * whole
    if buffer is not None:
        moved[buffer, INPUTS, _READ] = taken * vector.passes
        moved[buffer, OUTPUTS, _WRITE] = made * vector.writes


def _move_far(
    moved: Counts, vector: VectorOperator, hardware: Hardware, read: int, made: int, fits: bool
) -> None:
    """Count words of maps that come from DRAM, ``read`` on each pass, and of results that go."""
    buffer = hardware.fusion_level
    fetched = read * (1 if fits else vector.passes)
    moved[-1, INPUTS, _READ] = fetched
    moved[-1, OUTPUTS, _WRITE] = made * (1 if fits else vector.writes)
    if buffer is not None:
        moved[buffer, INPUTS, _WRITE] = fetched


def vector_least(layer: Layer, hardware: Hardware) -> tuple[float, float]:
    """Return energy (pJ) and cycles that the shared buffer takes for a vector operator at least.

    Of all images, however they are cut in tiles and wherever maps come from and go to: the unit
    reads every tap in that buffer and writes results there. Operations are not counted, nor are
    accesses rounded up.
    """
    vector, buffer = layer.vector, hardware.fusion_level
    if vector is None or buffer is None:
        return 0.0, 0.0
    moved = np.zeros((len(hardware.levels), 3, 2), np.int64)
    _move_maps(moved, layer, vector, hardware, layer.n, layer.output_words)
    if "weights" in hardware.levels[buffer].keeps:
        moved[buffer, WEIGHTS, _READ] = layer.weight_words * layer.n
    costs, (width, unit, bandwidth) = access_costs(hardware), _ports(hardware)
    read, written = moved[buffer].T / width[buffer]
    energy = read @ costs.read_pj[buffer] + written @ costs.write_pj[buffer]
    units = moved[buffer].T @ unit[buffer]
    needs = np.array([units[_READ], units[_WRITE], units.sum()])
    return float(energy), float((needs / bandwidth[buffer]).max())


def vector_fits(layer: Layer, hardware: Hardware, free_words: int | None = None) -> bool:
    """Whether the buffer holds one vector, and its results, from the first pass to the last.

    ``free_words`` of it are free; None for all.
    """
    buffer, vector = hardware.fusion_level, layer.vector
    if buffer is None or vector is None:
        return False
    if not vector.whole_vectors:
        return True
    bits = hardware.levels[buffer].total_bytes * 8
    if free_words is not None:
        bits = min(bits, free_words * hardware.word_bits)
    return 2 * layer.c * hardware.word_bits <= bits


def _move_learned(
    moved: Counts, words: int, hardware: Hardware, images: int, resident: bool
) -> None:
    buffer = hardware.fusion_level
    kept = buffer is not None and "weights" in hardware.levels[buffer].keeps
    if not resident:
        moved[-1, WEIGHTS, _READ] = words * (1 if kept else images)
    if kept:
        moved[buffer, WEIGHTS, _READ] = words * images
        moved[buffer, WEIGHTS, _WRITE] = 0 if resident else words


@lru_cache(maxsize=256)
def _ports(hardware: Hardware) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Words in an access and units in a word [L, 3], units in a cycle [L, 3] by port."""
    arrays = storage_arrays(hardware)
    return arrays["width"], arrays["unit"], arrays["bandwidth"]


def _priced(moved: Counts, hardware: Hardware) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return energy (pJ) [..., L, 3] and cycles of the ports [..., L] of words [..., L, 3, 2]."""
    width, unit, bandwidth = _ports(hardware)
    return _costs_of(_asked(moved, width, unit), bandwidth, hardware)


class _Asked(NamedTuple):
    """What words ask for.

    Attributes:
        reads, writes: int64[..., L, 3], accesses.
        needs: int64[..., L, 3], units that pass ports that only read, that only write, and that
            are shared.
    """

    reads: Counts
    writes: Counts
    needs: Counts


def _asked(moved: Counts, width: Counts, unit: Counts) -> _Asked:
    accesses = -(-moved // width[:, :, None])
    units = (moved * unit[:, :, None]).sum(axis=-2)
    needs = np.stack([units[..., _READ], units[..., _WRITE], units.sum(axis=-1)], axis=-1)
    return _Asked(accesses[..., _READ], accesses[..., _WRITE], needs)


def _costs_of(
    asked: _Asked, bandwidth: NDArray[np.float64], hardware: Hardware
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    costs = access_costs(hardware)
    energy = asked.reads * costs.read_pj + asked.writes * costs.write_pj
    cycles = np.ceil(asked.needs / bandwidth).max(axis=-1).astype(np.int64)
    if hardware.levels[-1].timing is not None:
        _add_rows(energy, cycles, asked, hardware)
    return whole_grains(energy), cycles


def _add_rows(
    energy: NDArray[np.float64], cycles: NDArray[np.int64], asked: _Asked, hardware: Hardware
) -> None:
    """Add to energy [..., L, 3] and cycles [..., L] what rows and banks of DRAM add to maps that
    are moved whole, one word after another.
    """
    figures = dram_numbers(hardware)
    unit_bits = unit_parts(hardware, -1, NO_ZEROS) / BIT_PARTS
    bursts = asked.needs[..., -1, :] * unit_bits / 8.0 * figures[BURSTS_A_BYTE]
    total = np.maximum(bursts[..., 2], 1e-30)
    # a row is opened for as much as it holds
    opened = figures[BURST_BYTES] / figures[ROW_BYTES]
    run, written = figures[ROW_BYTES], bursts[..., _WRITE] / total
    slots = slots_per_burst(figures, opened, written, run, 1.0)
    busy = bursts[..., 2] * slots * figures[BURST_CYCLES]
    cycles[..., -1] = np.maximum(cycles[..., -1], np.ceil(busy).astype(np.int64))
    spent = bursts[..., 2] * opened * figures[OPEN_PJ] + len(TENSORS) * busy * figures[STANDBY_PJ]
    accesses = asked.reads[..., -1, :] + asked.writes[..., -1, :]
    share = accesses / np.maximum(1, accesses.sum(axis=-1, keepdims=True))
    energy[..., -1, :] += share * spent[..., None]


def _cost_of(moved: Counts, hardware: Hardware, operations: int) -> LayerCost:
    """Return the cost of words [L, 3, 2] and operations."""
    costs = access_costs(hardware)
    energy, by_level = _priced(moved, hardware)
    cycles = by_level.tolist()
    return LayerCost(
        mapping=None,
        words=moved.sum(axis=2),
        energy_pj=energy,
        compute_pj=whole_pj(operations * costs.vector_op_pj),
        chip_cycles=max(ceil(operations / hardware.vector_lanes), *cycles[:-1]),
        dram_cycles=cycles[-1],
        dram_reads=int(moved[-1, :, _READ].sum()),
        dram_writes=int(moved[-1, :, _WRITE].sum()),
        operations=operations,
    )
