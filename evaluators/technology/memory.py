"""Memories: what it costs to access a group of buffers that work as one, and to have it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from archloom.space.hardware import AccessEnergy, Storage, TensorEnergy
from archloom.space.workload import TENSORS, Tensor

from .registry import technology
from .sram import BufferCost

#: read, fill and update energies, each by tensor
ByKind = tuple[tuple[float, ...], ...]


@lru_cache(maxsize=4096)
def buffer_cost(name: str, storage: Storage, size_bytes: float, width_bytes: float) -> BufferCost:
    """Return the cost of one buffer of a technology; see :meth:`Technology.buffer`."""
    return technology(name).buffer(storage, size_bytes, width_bytes)


class MemoryKind(NamedTuple):
    """What decides the cost of instances of a level that are accessed together: fields of a
    :class:`archloom.space.hardware.StorageLevel` and of its hardware.
    """

    storage: Storage
    keeps: tuple[Tensor, ...]
    capacity_bytes: float | tuple[tuple[Tensor, float], ...] | None
    width_words: int
    cluster_size: int
    tensor_bits: tuple[tuple[Tensor, int], ...]
    energy: AccessEnergy | None
    technology: str
    word_bits: int


class MemoryCost(NamedTuple):
    """What such a group costs.

    Attributes:
        accesses_pj: read, fill and update of the group, by tensor (order of TENSORS); 0 where the
            level does not keep the tensor.
        dearest_pj: of the access that takes most.
        buffers_mm2, buffers_mw: silicon and leakage.
    """

    accesses_pj: ByKind
    dearest_pj: float
    buffers_mm2: float
    buffers_mw: float


# designs by the thousand have groups in common, and differ in how many they have
@lru_cache(maxsize=2048)
def memory_cost(kind: MemoryKind) -> MemoryCost:
    """Return what a group costs, however many there are."""
    # a cluster is one memory as wide and large as its instances together
    many, size = kind.cluster_size, kind.capacity_bytes
    line, own_bits = kind.width_words * kind.word_bits, dict(kind.tensor_bits)
    # an access is a line, or one word that is wider than that
    widths = {t: many * max(line, own_bits.get(t, kind.word_bits)) / 8 for t in kind.keeps}
    widest = max(widths.values())
    name, storage = kind.technology, kind.storage
    if isinstance(size, tuple):
        made = {t: buffer_cost(name, storage, many * b, widths[t]) for t, b in size}
        buffers = tuple(made.values())
    else:
        # one buffer, as wide as its widest access
        whole = many * (size or 0)
        built = buffer_cost(name, storage, whole, widest)
        made = {
            t: built if width == widest else buffer_cost(name, storage, whole, width)
            for t, width in widths.items()
        }
        buffers = (built,)
    energies = {t: (cost.read_pj, cost.write_pj, cost.write_pj) for t, cost in made.items()}
    if kind.energy is not None:
        energies = own_pj(kind.energy, kind.keeps)
    return MemoryCost(
        by_kind(energies),
        max(max(pj) for pj in energies.values()),
        sum(buffer.area_mm2 for buffer in buffers),
        sum(buffer.leakage_mw for buffer in buffers),
    )


def own_pj(
    energy: AccessEnergy, keeps: tuple[Tensor, ...]
) -> dict[Tensor, tuple[float, float, float]]:
    """Return read, fill and update energy that a level gives itself, by tensor."""
    if isinstance(energy, TensorEnergy):
        return dict(energy.by_tensor)
    return dict.fromkeys(keeps, (energy.read_pj, energy.fill_pj, energy.update_pj))


def by_kind(energies: Mapping[Tensor, tuple[float, float, float]]) -> ByKind:
    """Return energies by tensor, each read, fill and update, the other way round."""
    nothing = (0.0, 0.0, 0.0)
    return tuple(zip(*(energies.get(tensor, nothing) for tensor in TENSORS), strict=True))
