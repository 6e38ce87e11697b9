"""Costs that follow from the hardware alone: energy per access, area, thermal design power."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from archloom.space.hardware import AccessEnergy, Hardware, Storage, StorageLevel
from archloom.space.workload import OUTPUTS, TENSORS, Tensor

from .technology import BufferCost, Technology, technology

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: words that a MAC moves in a cycle: weight, input, partial sum read and written
MAC_WORDS: Final[dict[Tensor, float]] = {"weights": 1.0, "inputs": 1.0, "outputs": 2.0}
_MACS, _VECTOR, _CONTROL, _PHY = "macs", "vector unit", "control", "dram phy"
_DRAM, _LEAKAGE = "dram", "leakage"
#: read, fill and update energies, each by tensor
_ByKind = tuple[tuple[float, ...], ...]
_RESERVED: Final = frozenset({_MACS, _VECTOR, _CONTROL, _PHY, _DRAM, _LEAKAGE})


@dataclass(frozen=True, eq=False)
class AccessCosts:
    """Energy of everything that a mapping can make happen.

    Arrays have a row for each level, innermost first, and are read-only.

    Attributes:
        read_pj, fill_pj, update_pj: float64[L, 3], energy of one access of ``width_words`` words
            to one instance (read; written from the level outside; written from inside), by
            tensor (order of TENSORS); 0 where the level does not keep the tensor.
        write_pj: float64[L, 3], the write that a tensor arrives by: operands are filled from
            outside, results updated from inside.
        hop_pj, router_pj: float64[L], a word over one hop, or through one router, of the network
            to the children.
        address_pj: float64[L], making one address.
        used_leakage_pj: float64[L], one instance in use, per cycle: leakage that the design
            gives by level.
        mac_pj: one multiply-accumulate.
        vector_op_pj: one operation of the vector unit.
        leakage_pj_per_cycle: the whole chip, per clock cycle, besides ``used_leakage_pj``.
    """

    read_pj: "NDArray[np.float64]"
    fill_pj: "NDArray[np.float64]"
    update_pj: "NDArray[np.float64]"
    write_pj: "NDArray[np.float64]"
    hop_pj: "NDArray[np.float64]"
    router_pj: "NDArray[np.float64]"
    address_pj: "NDArray[np.float64]"
    used_leakage_pj: "NDArray[np.float64]"
    mac_pj: float
    vector_op_pj: float
    leakage_pj_per_cycle: float


@dataclass(frozen=True)
class HardwareCost:
    """Area and thermal design power of one design, with the parts that add up to them."""

    area_mm2: float
    tdp_w: float
    area_breakdown_mm2: Mapping[str, float]
    tdp_breakdown_w: Mapping[str, float]


class _LevelCost(NamedTuple):
    """What an on-chip level costs, all its instances together.

    Attributes:
        accesses_pj: read, fill and update of a group of instances that are accessed together, by
            tensor (order of TENSORS); 0 where the level does not keep the tensor.
        dearest_pj: of the access that takes most.
        area_mm2: silicon.
        buffers_mw: leakage of the buffers of each group.
        groups: how many such groups the chip has.
        own_leakage_mw: leakage of one instance that the design gives; None for its buffers'.
    """

    accesses_pj: _ByKind
    dearest_pj: float
    area_mm2: float
    buffers_mw: float
    groups: int
    own_leakage_mw: float | None


_LevelCosts = tuple[_LevelCost, ...]


@lru_cache(maxsize=4096)
def buffer_cost(name: str, storage: Storage, size_bytes: float, width_bytes: float) -> BufferCost:
    """Return the cost of one buffer of a technology; see :meth:`Technology.buffer`."""
    return technology(name).buffer(storage, size_bytes, width_bytes)


@lru_cache(maxsize=2048)
def _level(
    level: StorageLevel, technology_name: str, word_bits: int, frequency_mhz: float
) -> _LevelCost:
    """Return what an on-chip level costs, whatever else is on the chip: designs share levels."""
    # a cluster is one memory as wide and large as its instances together
    many = level.cluster_size
    widths = {t: many * _access_bits(level, t, word_bits) / 8 for t in level.keeps}
    widest = max(widths.values())
    name, storage = technology_name, level.storage
    if isinstance(level.capacity_bytes, tuple):
        made = {t: buffer_cost(name, storage, many * b, widths[t]) for t, b in level.capacity_bytes}
        buffers = tuple(made.values())
    else:
        # one buffer, as wide as its widest access
        size = many * level.total_bytes
        built = buffer_cost(name, storage, size, widest)
        made = {
            t: built if width == widest else buffer_cost(name, storage, size, width)
            for t, width in widths.items()
        }
        buffers = (built,)
    groups = level.instances // many
    energies = {t: (cost.read_pj, cost.write_pj, cost.write_pj) for t, cost in made.items()}
    leakage_mw = None
    if level.energy is not None:
        energies = dict.fromkeys(made, _own_pj(level.energy))
        # pJ per cycle times MHz is uW
        leakage_mw = level.energy.leakage_pj * frequency_mhz * 1e-3
    return _LevelCost(
        _by_kind(energies),
        max(max(pj) for pj in energies.values()),
        groups * sum(buffer.area_mm2 for buffer in buffers),
        sum(buffer.leakage_mw for buffer in buffers),
        groups,
        leakage_mw,
    )


def _own_pj(energy: AccessEnergy) -> tuple[float, float, float]:
    return energy.read_pj, energy.fill_pj, energy.update_pj


def _by_kind(energies: Mapping[Tensor, tuple[float, float, float]]) -> _ByKind:
    nothing = (0.0, 0.0, 0.0)
    return tuple(zip(*(energies.get(tensor, nothing) for tensor in TENSORS), strict=True))


def _access_bits(level: StorageLevel, tensor: Tensor, word_bits: int) -> int:
    """Return the bits of one access: a line, or one word that is wider than that."""
    line = level.width_words * word_bits
    if not level.tensor_bits:
        return line
    return max(line, dict(level.tensor_bits).get(tensor, word_bits))


# asked of a design once for its area and power, and once for what accesses cost
@lru_cache(maxsize=16)
def _levels(hardware: Hardware) -> _LevelCosts:
    shared = hardware.technology, hardware.word_bits, hardware.frequency_mhz
    on_chip = hardware.levels[:-1]
    for level in on_chip:
        if level.name in _RESERVED:
            raise ValueError(
                f"level {level.name!r} of {hardware.name}: the name stands for a part of the chip; "
                f"names to avoid are {', '.join(sorted(_RESERVED))}"
            )
    return tuple([_level(level, *shared) for level in on_chip])


@lru_cache(maxsize=1024)
def _dram(level: StorageLevel, technology_name: str, dram: str, word_bits: int) -> _ByKind:
    """Return read, fill and update of one access to DRAM, by tensor."""
    if level.energy is not None:
        return _by_kind(dict.fromkeys(level.keeps, _own_pj(level.energy)))
    per_bit = technology(technology_name).dram(dram).pj_per_bit
    return _by_kind({t: (_access_bits(level, t, word_bits) * per_bit,) * 3 for t in level.keeps})


def _dram_pj(hardware: Hardware) -> _ByKind:
    return _dram(hardware.levels[-1], hardware.technology, hardware.dram, hardware.word_bits)


def _mac_pj(hardware: Hardware, tech: Technology) -> float:
    return tech.mac_pj(hardware.operand_bits) if hardware.mac_pj is None else hardware.mac_pj


def _static_mw(hardware: Hardware, tech: Technology, levels: _LevelCosts) -> float:
    """Return what the chip takes whether or not it works, levels with their own leakage apart."""
    if tech.idle_mw_per_mm2 is not None:
        area = _area_mm2(hardware, tech, levels)
        core = sum(mm2 for part, mm2 in area.items() if part not in (_PHY, _CONTROL))
        power = tech.idle_mw_per_mm2 * core
    else:
        logic_mm2 = hardware.macs * tech.mac_mm2(hardware.operand_bits)
        logic_mm2 += hardware.vector_lanes * tech.vector_lane_mm2
        power = tech.logic_mw(logic_mm2) + sum(
            level.groups * level.buffers_mw for level in levels if level.own_leakage_mw is None
        )
    # control and test logic leak like the rest of the chip, in proportion to their area
    return power * tech.control_factor * tech.test_factor


@lru_cache(maxsize=1024)
def access_costs(hardware: Hardware) -> AccessCosts:
    """Return the energy of every event on ``hardware``.

    A level with energies of its own takes those, and leaks only what they say. If every level has
    its own, the technology gives the energy of nothing that a mapping does but the vector unit. The
    network costs what the technology says where it is a mesh and its level gives no energies.

    Raises:
        ValueError: a technology, DRAM or word width that the table does not have.
    """
    tech = technology(hardware.technology)
    levels = _levels(hardware)
    accesses = (*(level.accesses_pj for level in levels), _dram_pj(hardware))
    others = tuple([_others_pj(hardware, tech, level) for level in hardware.levels])
    own = hardware.mac_pj is not None and all(level.energy for level in hardware.levels)
    # mW over MHz is nJ
    leakage_pj = 0.0 if own else _static_mw(hardware, tech, levels) / hardware.frequency_mhz * 1e3
    arrays = _arrays(accesses, others)
    return AccessCosts(*arrays, _mac_pj(hardware, tech), tech.vector_op_pj, leakage_pj)


class _Arrays(NamedTuple):
    """The arrays of :class:`AccessCosts`."""

    read_pj: "NDArray[np.float64]"
    fill_pj: "NDArray[np.float64]"
    update_pj: "NDArray[np.float64]"
    write_pj: "NDArray[np.float64]"
    hop_pj: "NDArray[np.float64]"
    router_pj: "NDArray[np.float64]"
    address_pj: "NDArray[np.float64]"
    used_leakage_pj: "NDArray[np.float64]"


# designs that differ in meshes have the same
@lru_cache(maxsize=4096)
def _arrays(accesses: tuple[_ByKind, ...], others: tuple[tuple[float, ...], ...]) -> _Arrays:
    """Return arrays from energies by level: of accesses, and those of :func:`_others_pj`."""
    # area and power need none, and who shows a trial should not wait for its import
    import numpy as np

    read, fill, update = np.ascontiguousarray(np.array(accesses, np.float64).transpose(1, 0, 2))
    write = fill.copy()
    write[:, OUTPUTS] = update[:, OUTPUTS]
    hop, router, address, used_leakage = np.array(others, np.float64).T.copy()
    arrays = _Arrays(read, fill, update, write, hop, router, address, used_leakage)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _others_pj(
    hardware: Hardware, tech: Technology, level: StorageLevel
) -> tuple[float, float, float, float]:
    """Return the energy of a word over a hop and through a router below a level, of making an
    address, and of one instance in use, per cycle.
    """
    own, mesh = level.energy, hardware.effects.network == "mesh"
    if own is not None:
        network = (own.hop_pj, own.router_pj) if mesh else (0.0, 0.0)
        return *network, own.address_pj, own.leakage_pj
    bits = hardware.word_bits if mesh else 0
    return bits * tech.hop_pj_per_bit, bits * tech.router_pj_per_bit, 0.0, 0.0


def area_mm2(hardware: Hardware) -> dict[str, float]:
    """Return the silicon area of each part of the chip, in mm2.

    Keys: ``macs``, each on-chip level by name, ``vector unit``, ``dram phy`` (with the memory
    controller) and ``control`` (with design for test). Arithmetic and SRAM macros are multiplied
    by the post-layout factor, and control and test are a share of everything, as in Gemini
    (HPCA 2024). The on-chip network has no area of its own.
    """
    return _area_mm2(hardware, technology(hardware.technology), _levels(hardware))


def _area_mm2(hardware: Hardware, tech: Technology, levels: _LevelCosts) -> dict[str, float]:
    layout = tech.layout_factor
    parts = {_MACS: hardware.macs * tech.mac_mm2(hardware.operand_bits) * layout}
    for level, costs in zip(hardware.levels, levels, strict=False):
        parts[level.name] = costs.area_mm2
    parts[_VECTOR] = hardware.vector_lanes * tech.vector_lane_mm2 * layout
    if hardware.dram_gbytes_per_s == inf:
        raise ValueError(
            f"DRAM of {hardware.name} has no limit, so it has no area and no power; give the level "
            f"{hardware.levels[-1].name} its bandwidth_words"
        )
    phy = tech.dram(hardware.dram).phy_mm2_per_gbytes_per_s
    parts[_PHY] = phy * hardware.dram_gbytes_per_s
    parts[_CONTROL] = sum(parts.values()) * (tech.control_factor * tech.test_factor - 1)
    return parts


def tdp_w(hardware: Hardware) -> dict[str, float]:
    """Return the power of each part with every unit busy at its peak rate, in W.

    Keys: ``macs``, each on-chip level by name, ``vector unit``, ``dram`` (reading or writing at
    full bandwidth; the DRAM's own chips are in it) and ``leakage`` of the chip (idle power, where
    the technology knows it). A level moves at most ``bandwidth_words`` and never more than the
    units below can take: four words per MAC and cycle, and what the levels in between move. Its
    accesses cost the dearest of its tensors' reads and writes.
    """
    return _tdp_w(hardware, technology(hardware.technology), _levels(hardware))


def _tdp_w(hardware: Hardware, tech: Technology, levels: _LevelCosts) -> dict[str, float]:
    # pJ per cycle times MHz is uW
    watts = hardware.frequency_mhz * 1e-6
    parts = {_MACS: hardware.macs * _mac_pj(hardware, tech) * watts}
    # words per cycle that the units below can take, over the whole chip
    demand = {tensor: hardware.macs * words for tensor, words in MAC_WORDS.items()}
    for level, costs in zip(hardware.levels, levels, strict=False):
        asked = sum(demand[tensor] for tensor in level.keeps)
        moved = min(level.bandwidth_words * level.instances, asked)
        for tensor in level.keeps:
            demand[tensor] *= moved / asked
        words = level.width_words * level.cluster_size
        parts[level.name] = moved / words * costs.dearest_pj * watts
    parts[_VECTOR] = hardware.vector_lanes * tech.vector_op_pj * watts
    dram = hardware.levels[-1]
    accesses = dram.bandwidth_words / dram.width_words
    parts[_DRAM] = accesses * max(map(max, _dram_pj(hardware))) * watts
    own = sum(
        level.instances * (costs.own_leakage_mw or 0.0)
        for level, costs in zip(hardware.levels, levels, strict=False)
    )
    parts[_LEAKAGE] = (_static_mw(hardware, tech, levels) + own) * 1e-3
    return parts


@lru_cache(maxsize=1024)
def hardware_cost(hardware: Hardware) -> HardwareCost:
    """Return area and TDP; both depend on the hardware alone.

    Raises:
        ValueError: a technology, DRAM or word width that the table does not have, a level with
            the name of another part of the chip, or DRAM of unlimited bandwidth.
    """
    tech = technology(hardware.technology)
    levels = _levels(hardware)
    area = _area_mm2(hardware, tech, levels)
    power = _tdp_w(hardware, tech, levels)
    return HardwareCost(sum(area.values()), sum(power.values()), area, power)


def edp_js(energy_pj: float, latency_cycles: float, hardware: Hardware, batch: int) -> float:
    """Return the energy-delay product of one pass, in J*s: lower is better.

    Energy is per inference (a pass works on ``batch`` of them), latency is that of the whole
    pass: an inference is not done before its batch is. So a larger batch pays only where it
    saves more energy than it adds waiting. Seconds, not cycles: designs with different clocks
    compare.

    Args:
        energy_pj: energy of the whole pass.
        latency_cycles: clock cycles of the whole pass.
        hardware: gives the clock.
        batch: inferences in the pass.
    """
    return energy_pj * 1e-12 / batch * latency_cycles / (hardware.frequency_mhz * 1e6)
