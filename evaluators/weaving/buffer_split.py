"""Hardware for several networks: a part of its memory holds weights that are fetched ahead."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Final

from archloom.space import Infeasible
from archloom.space.hardware import Hardware, StorageLevel, weight_instances

from .chain import Npu

#: of the outermost memory on the chip, for weights that are fetched ahead. Assumption: half, as of
#: the 48 and 60 MB of Layerweaver's memory-centric NPU (Oh et al., HPCA 2021, Table I)
WEIGHT_SHARE: Final = Fraction(1, 2)


@dataclass(frozen=True)
class SplitHardware:
    """A chip whose outermost memory is split.

    Attributes:
        planned: the hardware with the rest of that memory, on which plans of each network run.
        npu: both engines and the two parts.
    """

    planned: Hardware
    npu: Npu


def split_hardware(
    hardware: Hardware, weight_buffer_bytes: int | None = None
) -> SplitHardware | Infeasible:
    """Set a part of the outermost on-chip memory aside for weights, whatever that memory keeps.

    Weights wait there until their layer has run, spread over its instances, unless these are cores
    that all need the same ones (``space/hardware/rooms.py``); what the running layer itself keeps
    (tiles, copies, resident weights) has the rest. Of several instances each gives the same, and
    the map buffer is the rest of one: footprints are those of one instance.

    Args:
        hardware: the chip.
        weight_buffer_bytes: for weights, each counted once; None for half of that memory.
    """
    if len(hardware.levels) == 1:
        hint = "weights of several networks need an on-chip buffer; add a level inside DRAM"
        return Infeasible("no_on_chip_memory", hardware.name, 1, 0, "", hint)
    if hardware.levels[-1].timing is not None:
        hint = "weaving does not know rows and banks of DRAM; leave out timing of the DRAM level"
        return Infeasible("dram_has_timing", hardware.name, 1, 0, "", hint)
    level = hardware.levels[-2]
    whole = level.total_bytes * weight_instances(hardware, level)
    taken = int(whole * WEIGHT_SHARE) if weight_buffer_bytes is None else weight_buffer_bytes
    if not 1 <= taken < whole:
        # feature maps need at least a part of a byte
        most = ceil(whole) - 1
        hint = (
            f"weights and feature maps share {level.name}; give weights 1 to {most:,} bytes of it"
        )
        where = f"{hardware.name}, {level.name}"
        return Infeasible("weight_buffer_too_large", where, taken, most, "bytes", hint)
    rest = _scaled(level, Fraction(whole - taken) / Fraction(whole))
    planned = replace(hardware, levels=(*hardware.levels[:-2], rest, hardware.levels[-1]))
    return SplitHardware(planned, npu_of(hardware, taken, int(rest.total_bytes)))


def npu_of(hardware: Hardware, weight_buffer_bytes: int, map_buffer_bytes: int) -> Npu:
    """Return both engines of a chip with such buffers.

    A clock that is not whole in Hz counts as the next lower whole one.
    """
    clock_hz = int(Fraction(hardware.frequency_mhz) * 10**6)
    bytes_per_cycle = Fraction(hardware.levels[-1].bandwidth_words) * hardware.word_bits / 8
    return Npu(
        hardware.name, bytes_per_cycle * clock_hz, clock_hz, weight_buffer_bytes, map_buffer_bytes
    )


def _scaled(level: StorageLevel, share: Fraction) -> StorageLevel:
    """The level with that share of each of its buffers, in whole bytes."""
    if isinstance(level.capacity_bytes, tuple):
        parts = tuple((t, _whole(size, share)) for t, size in level.capacity_bytes)
        return replace(level, capacity_bytes=parts)
    assert level.capacity_bytes is not None, "only DRAM has no end"
    return replace(level, capacity_bytes=_whole(level.capacity_bytes, share))


def _whole(size: float, share: Fraction) -> int:
    return max(1, int(Fraction(size) * share))
