"""A hardware's limits, prices and effects as the kernel's arrays."""

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from archloom.evaluators.technology.dram import (
    BURST_BYTES,
    FIGURES,
    channel_energy,
    channel_figures,
    dram_channel,
)
from archloom.space.hardware import BIT_PARTS, Hardware, StorageLevel, weight_parts
from archloom.space.workload import INPUTS, NO_ZEROS, OUTPUTS, TENSORS, WEIGHTS, Sparsity

from ..arrays import Floats
from ..hardware import AccessCosts
from .kernel_inputs import (
    BURST_CYCLES,
    BY_LEVEL,
    CHANNEL_SHARE,
    CHANNELS,
    CHANNELS_LAST,
    DRAM_NUMBERS,
    DRAM_ROWS,
    EXPOSED,
    NO_FILL,
    OPEN_PJ,
    OVERLAPPED,
    READ_BIT_PJ,
    STANDBY_PJ,
    WORD_BITS,
    WRITE_BIT_PJ,
)

#: more units than any mapping that is counted needs
_UNLIMITED = 2.0**62

_FILL_DRAIN = {"none": NO_FILL, "overlapped": OVERLAPPED, "exposed": EXPOSED}


class _StorageRow(NamedTuple):
    """A level's part in the arrays of :class:`KernelInputs` with these names."""

    shared: int
    capacity: tuple[int, ...]
    unit: tuple[int, ...]
    width: tuple[int, ...]
    bandwidth: tuple[float, ...]


# asked for what runs on MACs, and for what does not
@lru_cache(maxsize=16)
def storage_arrays(hardware: Hardware, zeros: Sparsity = NO_ZEROS) -> dict[str, Any]:
    """Capacities, widths and bandwidths in units: the largest share of a bit count that all
    words of a level are multiples of. To be read only.

    ``zeros`` of the layer decide how wide packed weights are.
    """
    word_bits = hardware.word_bits
    rows = [
        _storage_row(level, word_bits, weight_parts(hardware, i, zeros))
        for i, level in enumerate(hardware.levels)
    ]
    if hardware.levels[-1].timing is not None:
        most = _most_units(hardware, unit_parts(hardware, -1, zeros))
        rows[-1] = rows[-1]._replace(bandwidth=tuple(min(most, r) for r in rows[-1].bandwidth))
    shared, capacity, unit, width, bandwidth = zip(*rows, strict=True)
    return {
        "shared": np.array(shared, np.int64),
        "capacity": np.array(capacity, np.int64),
        "unit": np.array(unit, np.int64),
        "width": np.array(width, np.int64),
        "bandwidth": np.array(bandwidth, np.float64),
    }


# designs by the thousand share levels
@lru_cache(maxsize=1024)
def _storage_row(level: StorageLevel, word_bits: int, a_weight: int) -> _StorageRow:
    """Return a level's row; ``a_weight`` takes so many parts of a bit there."""
    parts = _parts(level, word_bits, a_weight)
    unit = _unit(level, parts, word_bits)
    line = level.width_words * word_bits * BIT_PARTS
    ports = (level.read_bandwidth_words, level.write_bandwidth_words, level.bandwidth_words)
    shared, capacity = -1, (-1,) * len(TENSORS)
    # copies of each tile share the capacity (Timeloop: size over multiple buffering, floored)
    if level.private:
        sizes = [(level.buffer_bytes(tensor) or 0) * 8 * BIT_PARTS for tensor in TENSORS]
        capacity = tuple(_units(s, unit, level) for s in sizes)
    elif level.capacity_bytes is not None:
        shared = _units(level.total_bytes * 8 * BIT_PARTS, unit, level)
    return _StorageRow(
        shared,
        capacity,
        tuple(max(1, p // unit) for p in parts),
        # an access takes whole words, so it is not quite full of packed ones
        tuple(max(1, line // p) for p in parts),
        tuple(words * (word_bits * BIT_PARTS) / unit for words in ports),
    )


def unit_parts(hardware: Hardware, level: int, zeros: Sparsity) -> int:
    """Return the parts of a bit in a unit of a level."""
    of = hardware.levels[level]
    parts = _parts(of, hardware.word_bits, weight_parts(hardware, level, zeros))
    return _unit(of, parts, hardware.word_bits)


def _parts(level: StorageLevel, word_bits: int, a_weight: int) -> list[int]:
    """Parts of a bit in a word of each tensor."""
    own = dict(level.tensor_bits)
    parts = [own.get(tensor, word_bits) * BIT_PARTS for tensor in TENSORS]
    parts[WEIGHTS] = a_weight
    return parts


def _unit(level: StorageLevel, parts: Sequence[int], word_bits: int) -> int:
    """Parts in a unit: of all words that a level keeps, and of a port's where some are packed."""
    held = [parts[TENSORS.index(tensor)] for tensor in level.keeps]
    if any(p % BIT_PARTS for p in held):
        held.append(word_bits * BIT_PARTS)
    return gcd(*held)


def _units(parts: float, unit: int, level: StorageLevel) -> int:
    """Units that one of the copies of all tiles has in a buffer of so many parts of a bit."""
    return int(min(parts // unit // level.multiple_buffering, _UNLIMITED))


def _most_units(hardware: Hardware, unit: int) -> float:
    """Units of so many parts of a bit that DRAM with rows and banks moves in a cycle at the most:
    a burst in every slot, but for refresh.
    """
    figures = dram_numbers(hardware)
    # an ulp of what follows from it must not be more than the kernel counts
    return 8 * figures[BURST_BYTES] * BIT_PARTS / unit / figures[BURST_CYCLES] * (1 + 1e-12)


@lru_cache(maxsize=256)
def dram_numbers(hardware: Hardware) -> Floats:
    """Return ``dram`` of kernel inputs; to be read only."""
    numbers = np.zeros(DRAM_NUMBERS)
    timing = hardware.levels[-1].timing
    if timing is None:
        return numbers
    channel = dram_channel(timing.device, timing.ranks)
    costs, mhz = channel_energy(channel), hardware.frequency_mhz
    numbers[:FIGURES] = channel_figures(channel)
    numbers[CHANNELS] = timing.channels
    numbers[CHANNEL_SHARE] = 1.0 / timing.channels
    for t, tensor in enumerate(TENSORS):
        numbers[WORD_BITS + t] = hardware.bits(-1, tensor)
    slot_ns = channel.slot_cycles * channel.timing["tCK_ns"] / (1.0 - channel.refresh_share)
    # ns times MHz is thousandths of a cycle, mW over MHz nJ of a cycle
    numbers[BURST_CYCLES] = slot_ns * mhz * 1e-3 / timing.channels
    numbers[OPEN_PJ] = costs.activate_pj
    open_mw = timing.channels * (costs.open_mw - costs.closed_mw)
    numbers[STANDBY_PJ] = open_mw / mhz * 1e3 / len(TENSORS)
    numbers[READ_BIT_PJ] = costs.read_pj_per_bit
    numbers[WRITE_BIT_PJ] = costs.write_pj_per_bit
    numbers[CHANNELS_LAST] = timing.layout == "channels_last"
    return numbers


def price_arrays(costs: AccessCosts, hardware: Hardware) -> dict[str, Any]:
    """Energies of everything that a mapping can make happen."""
    levels = (costs.hop_pj, costs.router_pj, costs.address_pj, costs.used_leakage_pj)
    extras = BY_LEVEL if any(any(prices.tolist()) for prices in levels) else 0
    if hardware.levels[-1].timing is not None:
        extras |= DRAM_ROWS
    return {
        # copies, for kernels compile once more for arrays that must not be written to
        "read_pj": costs.read_pj.copy(),
        "fill_pj": costs.fill_pj.copy(),
        "update_pj": costs.update_pj.copy(),
        "hop_pj": costs.hop_pj.copy(),
        "router_pj": costs.router_pj.copy(),
        "address_pj": costs.address_pj.copy(),
        "used_leakage_pj": costs.used_leakage_pj.copy(),
        "mac_pj": float(costs.mac_pj),
        "leakage_pj": float(costs.leakage_pj_per_cycle),
        "extras": extras or None,
        "dram": dram_numbers(hardware).copy(),
    }


def effect_arrays(hardware: Hardware, zeros: Sparsity) -> dict[str, Any]:
    """Switched effects: what zeros spare, and the array that fills and drains.

    A gated or skipped zero spares the MAC and what it would access, but for the reads of a
    gated operand itself, which must be read to be known (Sparseloop, Wu et al., MICRO 2022).
    """
    effects = hardware.effects
    treated = (effects.weight_zeros, effects.input_zeros)
    served, working, busy = _left(treated, (zeros.weights, zeros.inputs))
    array = np.array([hardware.array[1], hardware.array[0], _array_levels(hardware)])
    fill_drain = _FILL_DRAIN[effects.fill_drain]
    return {
        "served": served,
        "working": working,
        "busy": busy,
        "fill_drain": fill_drain,
        "array": array,
    }


@lru_cache(maxsize=256)
def _left(zeros: tuple[str, str], density: tuple[float, float]) -> tuple[Floats, float, float]:
    """Return the share of accesses to each tensor, of MACs and of cycles that zeros leave."""
    dense = [d if z != "computed" else 1.0 for d, z in zip(density, zeros, strict=True)]
    busy = [d if z == "skipped" else 1.0 for d, z in zip(density, zeros, strict=True)]
    working = dense[0] * dense[1]
    served = np.full(3, working)
    for t in (WEIGHTS, INPUTS):
        if zeros[t] == "gated":
            served[t] = dense[1 - t]
    served[OUTPUTS] = working
    return served, working, busy[0] * busy[1]


def _array_levels(hardware: Hardware) -> int:
    """Innermost levels that have children inside one PE.

    The outermost of them may feed several PEs as well; the kernel takes no more rows and columns
    of its children than a PE has.
    """
    children = (hardware.mac_mesh, *(level.mesh for level in hardware.levels))
    return sum(x > hardware.pe_mesh[0] or y > hardware.pe_mesh[1] for x, y in children[:-1])
