"""Hardware for several networks: a part of its memory holds weights that are fetched ahead."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from archloom.space import Infeasible
from archloom.space.hardware import Hardware, StorageLevel

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

    Weights wait there once, spread over its instances, until their layer has run; what the running
    layer itself keeps (tiles, copies, resident weights) has the rest. Of several instances each
    gives the same, and the map buffer is the rest of one: footprints are those of one instance.

    Args:
        hardware: the chip.
        weight_buffer_bytes: of all instances; None for half of that memory.
    """
    if len(hardware.levels) == 1:
        hint = "weights of several networks need a memory to wait in"
        return Infeasible("no_on_chip_memory", hardware.name, 1, 0, "memory", hint)
    level = hardware.levels[-2]
    whole = level.total_bytes * level.instances
    taken = int(whole * WEIGHT_SHARE) if weight_buffer_bytes is None else weight_buffer_bytes
    if not 1 <= taken < whole:
        hint = f"{level.name} holds weights and maps: leave some of it to maps"
        return Infeasible(
            "weight_buffer_too_large", f"{hardware.name}, {level.name}", taken, whole, "bytes", hint
        )
    rest = _scaled(level, Fraction(whole - taken) / Fraction(whole))
    planned = replace(hardware, levels=(*hardware.levels[:-2], rest, hardware.levels[-1]))
    dram = hardware.levels[-1].bandwidth_words * hardware.word_bits / 8
    npu = Npu(
        hardware.name,
        round(dram * hardware.frequency_mhz * 1e6),
        round(hardware.frequency_mhz * 1e6),
        taken,
        int(rest.total_bytes),
    )
    return SplitHardware(planned, npu)


def _scaled(level: StorageLevel, share: Fraction) -> StorageLevel:
    """The level with that share of each of its buffers, in whole bytes."""
    if isinstance(level.capacity_bytes, tuple):
        parts = tuple((t, _whole(size, share)) for t, size in level.capacity_bytes)
        return replace(level, capacity_bytes=parts)
    assert level.capacity_bytes is not None, "only DRAM has no end"
    return replace(level, capacity_bytes=_whole(level.capacity_bytes, share))


def _whole(size: float, share: Fraction) -> int:
    return max(1, int(Fraction(size) * share))
