"""Costs that follow from the hardware alone: energy per access, area, thermal design power."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from archloom.space.hardware import Hardware, StorageLevel
from archloom.space.workload import OUTPUTS, Tensor

from .technology import (
    ByKind,
    MemoryKind,
    Technology,
    by_kind,
    memory_cost,
    own_pj,
    technology,
)
from .technology.dram import channel_energy, dram_channel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: words that a MAC moves in a cycle: weight, input, partial sum read and written
MAC_WORDS: Final[dict[Tensor, float]] = {"weights": 1.0, "inputs": 1.0, "outputs": 2.0}
_MACS, _VECTOR, _CONTROL, _PHY = "macs", "vector unit", "control", "dram phy"
_DRAM, _LEAKAGE = "dram", "leakage"
_NOTHING: Final = (0.0, 0.0, 0.0, 0.0)
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
        leakage_pj_per_cycle: the whole chip, per clock cycle, besides ``used_leakage_pj``; and
            standby and refresh of DRAM that has ``timing``, as with all rows closed.
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

    accesses_pj: ByKind
    dearest_pj: float
    area_mm2: float
    buffers_mw: float
    groups: int
    own_leakage_mw: float | None


_LevelCosts = tuple[_LevelCost, ...]


def _level(level: StorageLevel, hardware: Hardware) -> _LevelCost:
    """Return what an on-chip level costs, whatever else is on the chip."""
    many, energy = level.cluster_size, level.energy
    sizes = (level.storage, level.keeps, level.capacity_bytes, level.width_words, many)
    others = level.tensor_bits, energy, hardware.technology, hardware.word_bits
    accesses_pj, dearest_pj, buffers_mm2, mw = memory_cost(MemoryKind(*sizes, *others))
    groups = level.instances // many
    # pJ per cycle times MHz is uW
    own_mw = None if energy is None else energy.leakage_pj * hardware.frequency_mhz * 1e-3
    return _LevelCost(accesses_pj, dearest_pj, groups * buffers_mm2, mw, groups, own_mw)


# asked of a design once for its area and power, and once for what accesses cost
@lru_cache(maxsize=16)
def _levels(hardware: Hardware) -> _LevelCosts:
    on_chip = hardware.levels[:-1]
    for level in on_chip:
        if level.name in _RESERVED:
            raise ValueError(
                f"level {level.name!r} of {hardware.name}: the name is reserved for a part of the "
                f"chip; reserved names: {', '.join(sorted(_RESERVED))}"
            )
    return tuple([_level(level, hardware) for level in on_chip])


@lru_cache(maxsize=1024)
def _dram(level: StorageLevel, technology_name: str, dram: str, word_bits: int) -> ByKind:
    """Return read, fill and update of one access to DRAM, by tensor."""
    if level.energy is not None:
        return by_kind(own_pj(level.energy, level.keeps))
    if level.timing is None:
        per_bit = (technology(technology_name).dram(dram).pj_per_bit,) * 3
    else:
        costs = channel_energy(dram_channel(level.timing.device))
        per_bit = (costs.read_pj_per_bit, costs.write_pj_per_bit, costs.write_pj_per_bit)
    line, own_bits = level.width_words * word_bits, dict(level.tensor_bits)
    bits = {t: max(line, own_bits.get(t, word_bits)) for t in level.keeps}
    read, fill, update = per_bit
    return by_kind({t: (wide * read, wide * fill, wide * update) for t, wide in bits.items()})


def _dram_standby_mw(hardware: Hardware, rows_open: bool) -> float:
    """Return what DRAM with rows and banks takes while nothing moves: standby and refresh."""
    timing = hardware.levels[-1].timing
    if timing is None:
        return 0.0
    costs = channel_energy(dram_channel(timing.device, timing.ranks))
    standby_mw = costs.open_mw if rows_open else costs.closed_mw
    return timing.channels * (standby_mw + costs.refresh_mw)


def _dram_pj(hardware: Hardware) -> ByKind:
    return _dram(hardware.levels[-1], hardware.technology, hardware.dram, hardware.word_bits)


def _mac_pj(hardware: Hardware, tech: Technology) -> float:
    return tech.mac_pj(hardware.operand_bits) if hardware.mac_pj is None else hardware.mac_pj


# asked for as :func:`_levels` is
@lru_cache(maxsize=16)
def _static_mw(hardware: Hardware) -> float:
    """Return what the chip takes whether or not it works, levels with their own leakage apart."""
    tech, levels = technology(hardware.technology), _levels(hardware)
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


class EventCosts(NamedTuple):
    """What :class:`AccessCosts` says of accesses and operations, as plain numbers: first bounds of
    designs need few of them.

    Attributes:
        accesses_pj: of each level, read, fill and update by tensor (order of TENSORS).
        mac_pj, vector_op_pj, leakage_pj_per_cycle: as there.
    """

    accesses_pj: tuple[ByKind, ...]
    mac_pj: float
    vector_op_pj: float
    leakage_pj_per_cycle: float


@lru_cache(maxsize=16)
def event_costs(hardware: Hardware) -> EventCosts:
    """Return the energy of accesses and operations; see :func:`access_costs`."""
    tech = technology(hardware.technology)
    on_chip = tuple([level.accesses_pj for level in _levels(hardware)])
    accesses = (*on_chip, _with_drains(_dram_pj(hardware), on_chip, hardware))
    levels = hardware.levels
    own = hardware.mac_pj is not None and all(v.energy or v.timing for v in levels)
    # mW over MHz is nJ
    static_mw = 0.0 if own else _static_mw(hardware)
    leakage_pj = (static_mw + _dram_standby_mw(hardware, False)) / hardware.frequency_mhz * 1e3
    return EventCosts(accesses, _mac_pj(hardware, tech), tech.vector_op_pj, leakage_pj)


def _with_drains(dram: ByKind, on_chip: tuple[ByKind, ...], hardware: Hardware) -> ByKind:
    """Return DRAM's energies with the reads of results that leave for it, if they are counted.

    Each word that is written there was read once where it left (AccelForge 1.0.467 counts a read of
    the child for each word of results that leaves it; Timeloop none: its outputs are read only to
    be added to). An access of DRAM takes as many words as several of that level.
    """
    if hardware.effects.drain_reads == "free":
        return dram
    levels = hardware.levels
    last = max(i for i, level in enumerate(levels[:-1]) if "outputs" in level.keeps)
    accesses = levels[-1].width_words / levels[last].width_words
    read, fill, update = dram
    left_pj = update[OUTPUTS] + accesses * on_chip[last][0][OUTPUTS]
    return read, fill, (*update[:OUTPUTS], left_pj)


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
    accesses, *events = event_costs(hardware)
    others = tuple([_others_pj(hardware, tech, level) for level in hardware.levels])
    return AccessCosts(*_arrays(accesses, others), *events)


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
def _arrays(accesses: tuple[ByKind, ...], others: tuple[tuple[float, ...], ...]) -> _Arrays:
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
    if own is None and not mesh:
        return _NOTHING
    if own is not None:
        network = (own.hop_pj, own.router_pj) if mesh else (0.0, 0.0)
        return *network, own.address_pj, own.leakage_pj
    bits = hardware.word_bits
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
            f"DRAM of {hardware.name} has unlimited bandwidth, so its area and power are "
            f"undefined; give the level {hardware.levels[-1].name} its bandwidth_words"
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
    watts, macs = hardware.frequency_mhz * 1e-6, hardware.macs
    parts = {_MACS: macs * _mac_pj(hardware, tech) * watts}
    # words per cycle that the units below can take, over the whole chip
    demand = {tensor: macs * words for tensor, words in MAC_WORDS.items()}
    for level, costs in zip(hardware.levels, levels, strict=False):
        asked = sum([demand[tensor] for tensor in level.keeps])
        moved = min(level.bandwidth_words * level.instances, asked)
        if moved < asked:
            for tensor in level.keeps:
                demand[tensor] *= moved / asked
        words = level.width_words * level.cluster_size
        parts[level.name] = moved / words * costs.dearest_pj * watts
    parts[_VECTOR] = hardware.vector_lanes * tech.vector_op_pj * watts
    dram = hardware.levels[-1]
    accesses = dram.bandwidth_words / dram.width_words
    parts[_DRAM] = accesses * max(map(max, _dram_pj(hardware))) * watts
    parts[_DRAM] += _dram_standby_mw(hardware, True) * 1e-3
    own = 0.0
    for level, costs in zip(hardware.levels, levels, strict=False):
        own += level.instances * (costs.own_leakage_mw or 0.0)
    parts[_LEAKAGE] = (_static_mw(hardware) + own) * 1e-3
    return parts


@lru_cache(maxsize=1024)
def hardware_cost(hardware: Hardware) -> HardwareCost:
    """Return area and TDP; both depend on the hardware alone.

    Raises:
        ValueError: a technology, DRAM or word width that the table does not have, a level with
            the name of another part of the chip, or DRAM of unlimited bandwidth.
    """
    tech, levels = technology(hardware.technology), _levels(hardware)
    area, power = _area_mm2(hardware, tech, levels), _tdp_w(hardware, tech, levels)
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
