"""The best hardware that a box of designs could be, and what every design in it has at least.

The *relaxed* hardware has, of each quantity, the value over the box that suits mappings best: the
most children, bytes, words per cycle and lanes, the least energy of a word. It need not be a
design of the space. Whatever runs on a design of the box runs there as well, with no more energy
(leakage aside) and in no more cycles, so lower bounds for the relaxed hardware hold for the whole
box (docs/explanation/large_spaces.md). Area, power and leakage are bounded part by part.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.technology import technology
from archloom.space.design_space import (
    Box,
    BoxStructure,
    Formula,
    Interval,
    LevelFormulas,
    make_room,
    runs,
)
from archloom.space.hardware import Effects, Hardware, Storage, StorageLevel
from archloom.space.workload import Tensor

from ...arrays import Floats
from ..rounding import ROUNDING
from .parts import ChipFloor, LevelFloor, OpenLevel, WordEnergy

#: Slices of a space by the number of MACs.
MOST_SLICES: Final = 40


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Bounds of the designs of a box, in slices by their number of MACs.

    Attributes:
        hardware: the relaxed hardware; it has no static power.
        slices: int64[k], the slices that the box has designs in.
        macs: float64[k, 2], least and most MACs of the designs of each.
        area_mm2, tdp_w: float64[k], no design has less.
        leakage_pj: float64[k], per cycle, besides that of instances in use; no design has less.
    """

    hardware: Hardware
    slices: NDArray[np.int64]
    macs: Floats
    area_mm2: Floats
    tdp_w: Floats
    leakage_pj: Floats

    def only(self, wanted: NDArray[np.bool_]) -> "Relaxed":
        """Return some of the slices."""
        return Relaxed(
            hardware=self.hardware,
            slices=self.slices[wanted],
            macs=self.macs[wanted],
            area_mm2=self.area_mm2[wanted],
            tdp_w=self.tdp_w[wanted],
            leakage_pj=self.leakage_pj[wanted],
        )


class Relaxation:
    """Relaxes the boxes of one space in which the structure is decided.

    Args:
        structure: of the space.
    """

    def __init__(self, structure: BoxStructure) -> None:
        self._structure = structure
        self._boxed = structure.boxed
        self._template = structure.boxed.space.template
        self._tech = technology(self._template.technology)
        self._buffers: dict[tuple[object, ...], tuple[float, float, WordEnergy]] = {}
        self._slices: dict[Box, tuple[NDArray[np.int64], Floats]] = {}
        # boxes that were cut from one another have most of their levels in common
        self._floors: dict[tuple[object, ...], LevelFloor] = {}
        self._levels: dict[tuple[object, ...], StorageLevel] = {}
        self._macs_read = sorted({i for side in structure.macs for i in side.reads})
        self._edges = self._slice_edges()

    def broken(self, box: Box) -> bool:
        """Whether every point of a box breaks some rule of the template."""
        return any(
            self._of(needed, box).low > self._of(available, box).high
            for needed, available in self._structure.rules
        )

    def of(self, box: Box) -> Relaxed:
        """Return the bounds of the designs of a box.

        Raises:
            ValueError: no hardware is that large.
        """
        structure, tech = self._structure, self._tech
        present = structure.present(box)
        bits = int(self._of(structure.word_bits, box).low)
        operand_bits = bits
        if structure.mac_bits is not None:
            operand_bits = int(self._of(structure.mac_bits, box).low)
        mac_pj = tech.mac_pj(operand_bits)
        if structure.mac_pj is not None:
            mac_pj = self._of(structure.mac_pj, box).low
        fans = self._fanouts(present, box)
        floors = [
            self._known_floor(structure.levels[i], fans[: place + 1], bits, box)
            for place, i in enumerate(present)
        ]
        hardware = self._hardware(box, present, fans, floors, bits, mac_pj)
        slices, macs = self.slices(box)
        gbytes_per_s = floors[-1].rate * bits / 8 * hardware.frequency_mhz / 1e3
        chip = ChipFloor(
            tech=tech,
            clock_mhz=hardware.frequency_mhz,
            macs=macs[:, 0],
            mac_mm2=tech.mac_mm2(operand_bits),
            mac_pj=mac_pj,
            lanes=self._of(structure.lanes, box).low,
            floors=floors[:-1],
            dram=floors[-1],
            dram_mm2=tech.dram(self._template.dram).phy_mm2_per_gbytes_per_s * gbytes_per_s,
        )
        given = [f.level.switches for f in floors]
        priced = structure.mac_pj is not None and all(s.energy or s.timing for s in given)
        # mW over MHz is nJ
        leakage_pj = chip.static_mw / chip.clock_mhz * (0.0 if priced else 1e3)
        # designs add up the same parts in another order
        area_mm2, tdp_w, leakage_pj = (
            least * (1 - ROUNDING) for least in (chip.area_mm2, chip.tdp_w, leakage_pj)
        )
        return Relaxed(hardware, slices, macs, area_mm2, tdp_w, leakage_pj)

    def tiling_parameters(self, box: Box) -> list[int]:
        """Return the parameters on which depends which tilings a planner looks at: the size of the
        buffer before DRAM, and the meshes that tiles may fill; ascending.

        Args:
            box: in which the structure is decided.
        """
        structure, present = self._structure, self._structure.present(box)
        formulas = [*structure.macs, *(side for i in present for side in structure.levels[i].mesh)]
        for i in present[-2:-1]:
            formulas += [*structure.levels[i].capacity, structure.levels[i].copies]
        return sorted({i for formula in formulas for i in formula.reads})

    def rate_parameters(self, box: Box) -> list[int]:
        """Return the parameters on which depend the clock and the rate of DRAM, but nothing else
        that mappings meet; ascending.

        Args:
            box: in which the structure is decided.
        """
        structure = self._structure
        *inside, dram = [structure.levels[i] for i in structure.present(box)]
        rates = (structure.frequency, dram.bandwidth)
        others = [
            *(structure.word_bits, structure.native_batch, structure.lanes, dram.width),
            *(*structure.macs, *structure.effects.values(), *structure.beside, *dram.values),
        ]
        others += [f for f in (structure.mac_bits, structure.mac_pj) if f is not None]
        others += (dram.energy or {}).values()
        fixed = {i for formula in others for i in formula.reads}
        fixed |= {i for level in inside for i in level.reads}
        return sorted({i for formula in rates for i in formula.reads} - fixed)

    def _mac_counts(self, box: Box) -> Floats | None:
        """Return all numbers of MACs of designs of a box; None if they are too many."""
        sides = [self._boxed.values(side, box) for side in self._structure.macs]
        if any(side is None for side in sides):
            return None
        return np.unique(np.multiply.outer(*(np.array(side, np.float64) for side in sides)))

    def _slice_edges(self) -> Floats:
        """Return the least MACs of each slice of the space."""
        counts = self._mac_counts(self._boxed.whole)
        if counts is None:
            return np.zeros(1)
        return counts[:: -(-len(counts) // MOST_SLICES)]

    def slices(self, box: Box) -> tuple[NDArray[np.int64], Floats]:
        """Return the slices of a box, and least and most MACs in each; to be read only."""
        key = runs(box, self._macs_read)
        if key not in self._slices:
            make_room(self._slices)
            self._slices[key] = self._sliced(box)
        return self._slices[key]

    def _sliced(self, box: Box) -> tuple[NDArray[np.int64], Floats]:
        counts = self._mac_counts(box)
        if counts is None:
            low, high = zip(*(self._of(side, box) for side in self._structure.macs), strict=True)
            return np.zeros(1, np.int64), np.array([[prod(low), prod(high)]])
        places = np.searchsorted(self._edges, counts, "right") - 1
        slices, first = np.unique(places, return_index=True)
        last = np.append(first[1:], len(counts)) - 1
        return slices, np.column_stack([counts[first], counts[last]])

    def _fanouts(self, present: tuple[int, ...], box: Box) -> list[tuple[int, int]]:
        """Return the most children along x and y of each level."""
        below = (-1, *present)
        found = []
        for inner, level in zip(below, present, strict=False):
            x, y = (self._of(self._structure.fanout(inner, level, axis), box) for axis in (0, 1))
            found.append((int(x.high), int(y.high)))
        return found

    def _of(self, formula: Formula, box: Box) -> Interval:
        return self._boxed.interval(formula, box)

    def _known_floor(
        self, level: LevelFormulas, fans: list[tuple[int, int]], bits: int, box: Box
    ) -> LevelFloor:
        most_below = prod(x * y for x, y in fans)
        key = (level, runs(box, level.reads), most_below, bits)
        if key not in self._floors:
            make_room(self._floors)
            self._floors[key] = self._floor(level, most_below, bits, box)
        return self._floors[key]

    def _floor(self, level: LevelFormulas, most_below: int, bits: int, box: Box) -> LevelFloor:
        sizes = tuple(self._of(size, box).low for size in level.capacity)
        widths = self._boxed.values(level.width, box)
        if widths is None:
            low, high = self._of(level.width, box)
            widths = tuple(map(float, range(int(low), int(high) + 1)))
        (kind,) = cast(frozenset[Storage], self._boxed.range(level.storage, box))
        together = int(self._of(level.cluster, box).low)
        own_bits = {
            cast(Tensor, tensor): int(self._of(formula, box).low)
            for (tensor, _), formula in zip(
                level.level.switches.tensor_bits, level.bits, strict=True
            )
        }
        key = (level, sizes, widths, kind, together, bits, *own_bits.values())
        if key not in self._buffers:
            part = OpenLevel(
                self._tech, self._template.dram, level.level, kind, together, bits, own_bits
            )
            make_room(self._buffers)
            self._buffers[key] = part.least(sizes, [int(w) for w in widths])
        area_mm2, leakage_mw, access = self._buffers[key]
        own_leakage_pj = address_pj = 0.0
        if level.energy is not None:
            low_pj = {name: self._of(f, box).low for name, f in level.energy.items()}
            words = max(widths) * together
            read, fill, update = (
                low_pj[name] / words for name in ("read_pj", "fill_pj", "update_pj")
            )
            by_tensor = dict.fromkeys(level.level.keeps, (read, fill, update))
            access = WordEnergy(by_tensor, max(read, fill, update))
            own_leakage_pj = low_pj.get("leakage_pj", 0.0)
            address_pj = low_pj.get("address_pj", 0.0) / together
            leakage_mw = 0.0
        return LevelFloor(
            level=level.level,
            instances=prod(self._of(side, box).low for side in level.mesh),
            most_below=most_below,
            rate=self._of(level.bandwidth, box).low,
            area_mm2=area_mm2 / together,
            leakage_mw=leakage_mw / together,
            own_leakage_pj=own_leakage_pj,
            energy=access.of_level(own_leakage_pj, address_pj),
            dearest_pj=access.dearest_pj,
        )

    def _hardware(
        self,
        box: Box,
        present: tuple[int, ...],
        fans: list[tuple[int, int]],
        floors: list[LevelFloor],
        bits: int,
        mac_pj: float,
    ) -> Hardware:
        """Return the relaxed hardware.

        Meshes are made of the most children that each level can have, so that they divide. PEs have
        one MAC each, unless all designs have a single PE and a single buffer before DRAM: what
        bounds count depends on an array only there.
        """
        structure, template = self._structure, self._template
        mesh = (1, 1)
        levels: list[StorageLevel] = []
        for place in reversed(range(len(present))):
            formulas = structure.levels[present[place]]
            key = (formulas, runs(box, formulas.reads), mesh, bits)
            if key not in self._levels:
                make_room(self._levels)
                self._levels[key] = self._level(formulas, mesh, floors[place], box)
            levels.append(self._levels[key])
            mesh = (mesh[0] * fans[place][0], mesh[1] * fans[place][1])
        levels.reverse()
        lanes = self._of(structure.lanes, box).high
        outer = levels[-2:][0].instances
        if lanes >= floors[-2:][0].instances:
            # with fewer lanes than buffers it would count as a chip that cannot fuse
            lanes = max(lanes, outer)
        effects = [
            (key, next(iter(cast(frozenset[str], self._boxed.range(formula, box)))))
            for key, formula in structure.effects.items()
        ]
        mac_bits = structure.mac_bits
        one_array = template.pe_mesh == (1, 1) and outer == 1
        return Hardware(
            name="relaxed",
            technology=template.technology,
            frequency_mhz=self._of(structure.frequency, box).low,
            word_bits=bits,
            pe_mesh=(1, 1) if one_array else mesh,
            array=mesh if one_array else (1, 1),
            levels=tuple(levels),
            dram=template.dram,
            vector_lanes=int(lanes),
            native_batch=int(self._of(structure.native_batch, box).low),
            mac_pj=mac_pj,
            effects=_plainer(tuple(effects), one_array),
            mac_bits=None if mac_bits is None else int(self._of(mac_bits, box).low),
        )

    def _level(
        self, formulas: LevelFormulas, mesh: tuple[int, int], floor: LevelFloor, box: Box
    ) -> StorageLevel:
        level = formulas.level
        sizes = [self._of(size, box).high for size in formulas.capacity]
        capacity: float | tuple[tuple[Tensor, float], ...] | None = None
        if isinstance(level.capacity_bytes, tuple):
            tensors = [tensor for tensor, _ in level.capacity_bytes]
            capacity = tuple(zip(tensors, sizes, strict=True))
        elif sizes:
            capacity = sizes[0]
        (kind,) = cast(frozenset[Storage], self._boxed.range(formulas.storage, box))
        ports = [
            inf if port is None else self._of(port, box).high
            for port in (formulas.read, formulas.write)
        ]
        bits = zip(level.switches.tensor_bits, formulas.bits, strict=True)
        return StorageLevel(
            name=level.name,
            storage=kind,
            keeps=level.keeps,
            mesh=mesh,
            capacity_bytes=capacity,
            bandwidth_words=self._of(formulas.bandwidth, box).high,
            # energies are of words: a line that is not full costs a part of one
            width_words=1,
            spatial_x=level.spatial_x,
            spatial_y=level.spatial_y,
            optional=level.optional,
            read_bandwidth_words=ports[0],
            write_bandwidth_words=ports[1],
            multiple_buffering=self._of(formulas.copies, box).low,
            multicast=level.switches.multicast,
            tensor_bits=tuple(
                (cast(Tensor, tensor), int(self._of(f, box).low)) for (tensor, _), f in bits
            ),
            energy=floor.energy,
        )


#: effects that only add to costs and that bounds do not know, switched off
_PLAIN_EFFECTS: Final = {"network": "free", "drain_reads": "free"}


@lru_cache(maxsize=256)
def _plainer(effects: tuple[tuple[str, str], ...], one_array: bool) -> Effects:
    """Return effects, those left out that only add to costs and that bounds do not know: bounds
    know how the array of a single PE fills.
    """
    filled = {} if one_array else {"fill_drain": "none"}
    return Effects(**cast(Any, dict(effects) | _PLAIN_EFFECTS | filled))
