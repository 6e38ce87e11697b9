"""Cores: parts of a chip that run tiles of a fused group side by side.

Where the outermost on-chip level has several instances, no buffer is shared by all PEs. Each
instance, with all that is below it, is then a core that runs tiles of its own: the chip is so many
equal cores around one DRAM.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from ..errors import Infeasible
from .hardware import Hardware, Pair, StorageLevel

_NEEDED: Final = (
    "fusion needs an outermost on-chip SRAM with one instance that keeps inputs and "
    "outputs in words "
    "as wide as those of DRAM"
)

_ROWS: Final = (
    "fused groups do not know rows and banks of DRAM; leave out timing of the DRAM level to fuse "
    "layers, or map them one by one"
)


@dataclass(frozen=True, slots=True)
class Cores:
    """Equal parts of a chip, each with a buffer for the feature maps of fused groups.

    Attributes:
        count: how many.
        one: hardware of one of them, with the DRAM to itself; the chip itself if there is but one.
    """

    count: int
    one: Hardware

    @property
    def shared_weights(self) -> bool:
        """Whether DRAM sends weights to all cores that want them at once, in one read."""
        return "weights" in self.one.levels[-1].multicast


@lru_cache(maxsize=1024)
def fusion_cores(hardware: Hardware) -> Cores | Infeasible:
    """Return the cores that hold the feature maps of fused groups, or why there are none."""
    if hardware.fusion_level is not None:
        return Cores(1, hardware)
    if hardware.levels[-1].timing is not None:
        return _refused(hardware, _ROWS)
    if len(hardware.levels) == 1:
        return _refused(hardware, f"{_NEEDED}, but the chip has no level besides DRAM")
    outer = hardware.levels[-2]
    if outer.instances == 1:
        return _refused(hardware, f"{_NEEDED}, but {outer.name} is not one")
    why = _undivided(hardware, outer)
    if why:
        return _refused(
            hardware,
            f"{outer.name} has {outer.instances} instances, which fusion uses as cores, but {why}",
        )
    one = _core(hardware, outer.mesh)
    if one.fusion_level is None:
        return _refused(hardware, f"{_NEEDED}, but {outer.name} is not one")
    return Cores(outer.instances, one)


def _refused(hardware: Hardware, hint: str) -> Infeasible:
    return Infeasible("no_shared_buffer", hardware.name, 1, 0, "", hint)


def _undivided(hardware: Hardware, outer: StorageLevel) -> str:
    """Return what of a chip does not fall to one instance of its outermost level; empty if all
    does."""
    mesh, dram = outer.mesh, hardware.levels[-1]
    if any(side % parts for side, parts in zip(hardware.pe_mesh, mesh, strict=True)):
        return f"they do not divide the {hardware.pe_mesh[0]} x {hardware.pe_mesh[1]} PEs"
    for level in hardware.levels[:-1]:
        if level.instances // outer.instances % level.cluster_size:
            return (
                f"a cluster of {level.cluster_size} instances of {level.name} spans several of them"
            )
    if hardware.vector_lanes < outer.instances:
        return f"{hardware.vector_lanes} vector lanes are fewer than one for each"
    own = dram.energy
    if hardware.effects.network != "free" or (own is not None and own.hop_pj + own.router_pj > 0):
        return "the energy of the network between them and DRAM is not modelled"
    if own is not None and own.leakage_pj > 0:
        return f"the leakage of {dram.name} cannot be divided among them"
    return ""


def _core(hardware: Hardware, mesh: Pair) -> Hardware:
    """Return the hardware of one of ``mesh`` cores; lanes that do not go round stay idle."""

    def part(whole: Pair) -> Pair:
        return whole[0] // mesh[0], whole[1] // mesh[1]

    levels = (
        *(replace(level, mesh=part(level.mesh)) for level in hardware.levels[:-1]),
        hardware.levels[-1],
    )
    return replace(
        hardware,
        pe_mesh=part(hardware.pe_mesh),
        levels=levels,
        vector_lanes=hardware.vector_lanes // (mesh[0] * mesh[1]),
    )
