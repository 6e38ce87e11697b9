"""Least area, power and energies of a storage level and of a chip, each part for itself.

The formulas are those of :mod:`archloom.evaluators.hardware`, of the least of each quantity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from archloom.evaluators.technology import BufferCost, Technology, buffer_cost
from archloom.evaluators.technology.dram import channel_energy, dram_channel, dram_names
from archloom.space.design_space import LevelTemplate
from archloom.space.hardware import Storage, TensorEnergy
from archloom.space.workload import Tensor

from ...arrays import Floats
from ...hardware import MAC_WORDS


class LevelFloor(NamedTuple):
    """Least figures of a storage level over the designs of a box.

    Attributes:
        level: what the template says of it.
        instances: how many.
        most_below: MACs below one instance, at the most.
        rate: words per cycle of one.
        area_mm2, leakage_mw: of one; leakage that the level gives itself is apart.
        own_leakage_pj: of one, per cycle, if the level gives it.
        energy: of a word, for mappings.
        dearest_pj: of a word, for the power with every unit busy.
    """

    level: LevelTemplate
    instances: float
    most_below: float
    rate: float
    area_mm2: float
    leakage_mw: float
    own_leakage_pj: float
    energy: TensorEnergy
    dearest_pj: float

    def number(self, macs: Floats) -> Floats:
        """Return the least instances of designs with at least so many MACs."""
        return np.maximum(self.instances, np.ceil(macs / self.most_below))


class WordEnergy(NamedTuple):
    """Energies of a word.

    Attributes:
        by_tensor: read, written from outside, and from inside, of each tensor.
        dearest_pj: of all.
    """

    by_tensor: dict[Tensor, tuple[float, float, float]]
    dearest_pj: float

    def of_level(self, leakage_pj: float, address_pj: float) -> TensorEnergy:
        """Return them as those of a level which leaks, and makes addresses, for so much."""
        reads, fills, updates = zip(*self.by_tensor.values(), strict=True)
        return TensorEnergy(
            min(reads),
            min(fills),
            min(updates),
            leakage_pj=leakage_pj,
            address_pj=address_pj,
            by_tensor=tuple(self.by_tensor.items()),
        )


def _least(found: Sequence[WordEnergy]) -> WordEnergy:
    """Return the least of each energy."""
    by_tensor = {
        tensor: cast(
            tuple[float, float, float],
            tuple(map(min, zip(*(one.by_tensor[tensor] for one in found), strict=True))),
        )
        for tensor in found[0].by_tensor
    }
    return WordEnergy(by_tensor, min(one.dearest_pj for one in found))


class OpenLevel(NamedTuple):
    """A storage level whose sizes and widths are still open.

    Attributes:
        tech, dram: prices.
        level: what the template says of it.
        kind: what it is built of.
        together: instances that are accessed together.
        bits: of a word of the hardware.
        own_bits: of words of tensors that have their own.
    """

    tech: Technology
    dram: str
    level: LevelTemplate
    kind: Storage
    together: int
    bits: int
    own_bits: dict[Tensor, int]

    def least(self, sizes: tuple[float, ...], widths: list[int]) -> tuple[float, float, WordEnergy]:
        """Return the least area (mm2) and leakage (mW) of a cluster, and the least energies.

        Area, leakage and energy of a buffer rise with its size, whatever the width
        (:class:`archloom.evaluators.technology.sram.SramTable`); over widths the least of each
        counts.

        Args:
            sizes: least bytes of each buffer of one instance.
            widths: words that an access may have.
        """
        found = [self._at(sizes, width) for width in widths]
        areas, leakages, energies = zip(*found, strict=True)
        return min(areas), min(leakages), _least(energies)

    def _at(self, sizes: tuple[float, ...], width: int) -> tuple[float, float, WordEnergy]:
        line = width * self.bits
        lines = {t: max(line, self.own_bits.get(t, 0)) for t in self.level.keeps}
        if self.kind == "dram":
            read, written = self._dram_bit()
            pj = {t: (access * read, access * written) for t, access in lines.items()}
            return 0.0, 0.0, self._energies(pj, width)
        made = {t: self._buffer(size, lines[t]) for t, size in self._sizes(sizes)}
        pj = {t: (cost.read_pj, cost.write_pj) for t, cost in made.items()}
        if isinstance(self.level.capacity_bytes, tuple):
            buffers = list(made.values())
        else:
            buffers = [self._buffer(sizes[0], max(lines.values()))]
        area, leakage = (sum(b.area_mm2 for b in buffers), sum(b.leakage_mw for b in buffers))
        return area, leakage, self._energies(pj, width)

    def _dram_bit(self) -> tuple[float, float]:
        """Energy of a bit that DRAM reads, and of one that it writes, in any device."""
        timing = self.level.switches.timing
        if timing is None:
            return (self.tech.dram(self.dram).pj_per_bit,) * 2
        device = dict(timing)["device"]
        names = [device] if isinstance(device, str) else dram_names()
        costs = [channel_energy(dram_channel(name)) for name in names]
        return min(c.read_pj_per_bit for c in costs), min(c.write_pj_per_bit for c in costs)

    def _sizes(self, sizes: tuple[float, ...]) -> list[tuple[Tensor, float]]:
        if isinstance(self.level.capacity_bytes, tuple):
            tensors = [tensor for tensor, _ in self.level.capacity_bytes]
            return list(zip(tensors, sizes, strict=True))
        return [(tensor, sizes[0]) for tensor in self.level.keeps]

    def _buffer(self, size: float, bits: int) -> BufferCost:
        many = self.together
        return buffer_cost(self.tech.name, self.kind, many * size, many * bits / 8)

    def _energies(self, pj: dict[Tensor, tuple[float, float]], width: int) -> WordEnergy:
        """Return energies of words, from (read, written) of accesses by tensor."""
        word: dict[Tensor, tuple[float, float, float]] = {}
        for tensor, (read, write) in pj.items():
            bits = self.own_bits.get(tensor, self.bits)
            words = max(1, width * self.bits // bits) * self.together
            # the relaxed hardware counts accesses of one word of the hardware
            share = max(1, self.bits // bits) / words
            word[tensor] = read * share, write * share, write * share
        dearest = max(max(both) for both in pj.values()) / (width * self.together)
        return WordEnergy(word, dearest)


@dataclass(frozen=True, eq=False)
class ChipFloor:
    """Everything that has area and power, each at its least, for designs with so many MACs.

    Formulas are those of :mod:`archloom.evaluators.hardware`.

    Attributes:
        tech: prices.
        clock_mhz: of everything.
        macs: float64[k], least MACs of the designs.
        mac_mm2, mac_pj: cell area and energy of one.
        lanes: of the vector unit.
        floors: on-chip levels from the innermost.
        dram: the DRAM.
        dram_mm2: area of its PHY and controller.
    """

    tech: Technology
    clock_mhz: float
    macs: Floats
    mac_mm2: float
    mac_pj: float
    lanes: float
    floors: Sequence[LevelFloor]
    dram: LevelFloor
    dram_mm2: float

    @cached_property
    def area_mm2(self) -> Floats:
        """float64[k], area of the chip."""
        return (self._core_mm2 + self.dram_mm2) * self.tech.control_factor * self.tech.test_factor

    @cached_property
    def static_mw(self) -> Floats:
        """float64[k], power whether or not anything works, without what levels give themselves."""
        if self.tech.idle_mw_per_mm2 is not None:
            power = self.tech.idle_mw_per_mm2 * self._core_mm2
        else:
            power = self.tech.logic_mw(1.0) * self._cells_mm2
            levels = zip(self._numbers, self.floors, strict=True)
            power += sum(number * floor.leakage_mw for number, floor in levels)
        return power * self.tech.control_factor * self.tech.test_factor

    @cached_property
    def _numbers(self) -> list[Floats]:
        """Instances of each level, at the least."""
        return [floor.number(self.macs) for floor in self.floors]

    @property
    def tdp_w(self) -> Floats:
        """float64[k], power with every unit busy."""
        pj = self.macs * self.mac_pj + self.lanes * self.tech.vector_op_pj
        for floor, number, words in zip(self.floors, self._numbers, self._moved(), strict=True):
            pj += words * floor.dearest_pj + number * floor.own_leakage_pj
        pj += self.dram.rate * self.dram.dearest_pj
        # pJ per cycle times MHz is uW
        return pj * self.clock_mhz * 1e-6 + self.static_mw * 1e-3

    @cached_property
    def _cells_mm2(self) -> Floats:
        return self.macs * self.mac_mm2 + self.lanes * self.tech.vector_lane_mm2

    @cached_property
    def _core_mm2(self) -> Floats:
        levels = zip(self._numbers, self.floors, strict=True)
        buffers = [number * floor.area_mm2 for number, floor in levels]
        return self._cells_mm2 * self.tech.layout_factor + sum(buffers)

    def _moved(self) -> list[Floats]:
        """Return the words that each level moves in a cycle at peak, at the least.

        A level takes no more than the units below it ask for. If it passes on less than that, how
        much less for which tensor depends on the design, but not what it is for all that the level
        keeps: so words are counted for sets of tensors.
        """
        asked = {frozenset([tensor]): self.macs * words for tensor, words in MAC_WORDS.items()}
        moved = []
        for floor, number in zip(self.floors, self._numbers, strict=True):
            keeps = frozenset(floor.level.keeps)
            inside = [words for tensors, words in asked.items() if tensors <= keeps]
            most = np.sum(inside, axis=0) if inside else np.zeros_like(self.macs)
            moved.append(np.minimum(floor.rate * number, most))
            asked = {tensors: words for tensors, words in asked.items() if not tensors & keeps}
            asked[keeps] = moved[-1]
        return moved
