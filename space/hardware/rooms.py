"""Where weights of several networks wait on a chip, and where their maps lie.

Weights wait in the outermost memory on the chip that keeps weights, maps lie in the outermost that
keeps inputs and outputs. Where that is one memory for both, whoever schedules decides how much of
it weights may take; where it has buffers of its own for each tensor, or where the two are different
levels, the design does. Of several instances that each serve a part of the chip, weights are taken
to be spread over all of them, unless the instances are cores that all need the same ones.
"""

from dataclasses import dataclass

from ..errors import Infeasible
from .cores import fusion_cores
from .hardware import Hardware, StorageLevel


@dataclass(frozen=True)
class Rooms:
    """Memory for weights that wait, and for maps.

    Attributes:
        weight_bytes, map_bytes: of each; where it is one memory, all of it.
        shared: whether it is one memory.
    """

    weight_bytes: int
    map_bytes: int
    shared: bool


def rooms_of(hardware: Hardware) -> Rooms | Infeasible:
    """Return the memories of a chip, or why nothing can wait there."""
    if hardware.levels[-1].timing is not None:
        hint = (
            "schedules of several networks do not know rows and banks of DRAM; leave out timing of "
            "the DRAM level"
        )
        return Infeasible("dram_has_timing", hardware.name, 1, 0, "", hint)
    weights = _outermost(hardware, "weights")
    if weights is None:
        hint = (
            "no on-chip level keeps weights, so weights of the next network cannot be "
            "fetched ahead; "
            "add weights to keeps of an on-chip level"
        )
        return Infeasible("no_weight_buffer", hardware.name, 1, 0, "", hint)
    maps = _outermost(hardware, "inputs", "outputs")
    waiting = _bytes(weights, "weights") * weight_instances(hardware, weights)
    if maps is None:
        return Rooms(max(1, int(waiting)), 0, False)
    if maps is weights and not weights.private:
        return Rooms(int(waiting), int(_bytes(maps, "inputs")), True)
    lying = _bytes(maps, "inputs") + (_bytes(maps, "outputs") if maps.private else 0)
    return Rooms(max(1, int(waiting)), int(lying), False)


def _outermost(hardware: Hardware, *tensors: str) -> StorageLevel | None:
    inside = reversed(hardware.levels[:-1])
    return next((level for level in inside if set(tensors) <= set(level.keeps)), None)


def _bytes(level: StorageLevel, tensor: str) -> float:
    """Bytes of one instance for a tensor."""
    if isinstance(level.capacity_bytes, tuple):
        return dict[str, float](level.capacity_bytes).get(tensor, 0.0)
    return level.total_bytes


def weight_instances(hardware: Hardware, level: StorageLevel) -> int:
    """Return over how many instances of a memory weights are spread that wait there."""
    cores = fusion_cores(hardware)
    each = 1 if isinstance(cores, Infeasible) else cores.count
    return max(1, level.instances // each)
