"""Technology table: the cost of one operation, bit or square millimetre, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import exp2, log, log2
from typing import Final

from archloom.space import did_you_mean
from archloom.space.hardware import Storage

from .sram import BufferCost, SramTable

_UM2: Final = 1e-6  # mm2 in a um2

ByBits = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dram:
    """One kind of DRAM.

    Attributes:
        pj_per_bit: energy of reading or writing a bit, with its way across the board.
        phy_mm2_per_gbytes_per_s: area on the chip of PHY and controller, per peak bandwidth.
        unit: what is bought one by one: ``channel``, ``device`` or ``stack``.
        gbytes_per_s: peak bandwidth of one such unit.
    """

    pj_per_bit: float
    phy_mm2_per_gbytes_per_s: float
    unit: str
    gbytes_per_s: float


@dataclass(frozen=True)
class Technology:
    """One consistent set of energies, areas and leakages.

    Attributes:
        name: name of the table.
        node_nm: feature size of logic and SRAM.
        sram: CACTI runs, scaled to that node.
        multiply_pj, add_pj: energy of an integer operation by bits, ascending.
        multiply_um2, add_um2: cell area of an integer unit by bits, ascending.
        accumulator_bits: bits in which products are added up and vector operations run.
        register_pj_per_bit, register_um2_per_bit: one flip-flop.
        logic_leakage_mw_per_mm2: leakage of logic per cell area.
        layout_factor: silicon area of SRAM macros and arithmetic over their own.
        control_factor, test_factor: chip with control, and with design for test, over without.
        hop_pj_per_bit, router_pj_per_bit: moving a bit to the next PE, and through a router.
        drams: kinds of DRAM by name.
        register_access_pj_per_bit: energy of an access to a register file that a source gives
            per bit, whatever the size; None where it follows from flip-flops and CACTI.
        idle_mw_per_mm2: power of a clocked chip that does nothing, leakage included, over its
            area; None where leakage alone is known.
        sources: where each entry comes from, by its name in the YAML file.
    """

    name: str
    node_nm: int
    sram: SramTable
    multiply_pj: ByBits
    add_pj: ByBits
    multiply_um2: ByBits
    add_um2: ByBits
    accumulator_bits: int
    register_pj_per_bit: float
    register_um2_per_bit: float
    logic_leakage_mw_per_mm2: float
    layout_factor: float
    control_factor: float
    test_factor: float
    hop_pj_per_bit: float
    router_pj_per_bit: float
    drams: Mapping[str, Dram]
    sources: Mapping[str, str]
    register_access_pj_per_bit: float | None = None
    idle_mw_per_mm2: float | None = None

    def mac_pj(self, word_bits: int) -> float:
        """Energy of one multiply-accumulate of ``word_bits`` words.

        Raises:
            ValueError: words narrower or wider than the table's multipliers.
        """
        add = by_bits(self.add_pj, self.accumulator_bits, "add_pj")
        return by_bits(self.multiply_pj, word_bits, "multiply_pj") + add

    def mac_mm2(self, word_bits: int) -> float:
        """Cell area of one multiply-accumulate unit; raises ValueError as :meth:`mac_pj`."""
        add = by_bits(self.add_um2, self.accumulator_bits, "add_um2")
        return (by_bits(self.multiply_um2, word_bits, "multiply_um2") + add) * _UM2

    @cached_property
    def vector_op_pj(self) -> float:
        """Energy of one vector operation: an add (a compare of max pooling is one too)."""
        return by_bits(self.add_pj, self.accumulator_bits, "add_pj")

    @cached_property
    def vector_lane_mm2(self) -> float:
        """Cell area of one vector lane: an adder."""
        return by_bits(self.add_um2, self.accumulator_bits, "add_um2") * _UM2

    def dram(self, name: str) -> Dram:
        """Return the DRAM called ``name``; raises ValueError that names the nearest."""
        if name not in self.drams:
            raise ValueError(
                f"technology {self.name} has no DRAM {name!r}; {did_you_mean(name, self.drams)}"
            )
        return self.drams[name]

    def logic_mw(self, cell_mm2: float) -> float:
        """Leakage of logic of a cell area."""
        return self.logic_leakage_mw_per_mm2 * cell_mm2

    def buffer(self, storage: Storage, size_bytes: float, width_bytes: float) -> BufferCost:
        """Price of one buffer; its area is silicon.

        ``sram`` is CACTI's macro (:meth:`SramTable.cost`), with the layout factor on its area
        as Gemini has it. ``register`` is a file of flip-flops:

        - area and leakage: its bits, without the layout factor. Assumption: rows of equal cells
          lie as densely as the cells allow.
        - energy of an access: one access alone is its bits' flip-flops. A file of many words
          pays for decoders and multiplexers too. No source tabulates those, but both ends are
          known: at one word the flip-flops, at CACTI's smallest size a macro of the same access
          width. Between them the energy follows a straight line in log-log; beyond, the macro.
          It never falls below the flip-flops of the word itself.

        Where the table gives the energy of a register access per bit, that is the energy; area
        and leakage are the same as without.

        Raises:
            ValueError: a size or width that is not positive, or DRAM.
        """
        if storage == "dram":
            raise ValueError("DRAM is not an on-chip buffer; its energies are in drams")
        if storage == "sram":
            macro = self.sram.cost(size_bytes, width_bytes)
            return macro._replace(area_mm2=macro.area_mm2 * self.layout_factor)
        smallest = self.sram.sizes_bytes[0]
        macro = self.sram.cost(max(size_bytes, smallest), width_bytes)
        word = self.register_pj_per_bit * 8 * width_bytes
        inside = 1.0
        if width_bytes < smallest:
            inside = min(1.0, max(0.0, log(size_bytes / width_bytes) / log(smallest / width_bytes)))
        read, write = (
            max(word, word ** (1 - inside) * pj**inside) for pj in (macro.read_pj, macro.write_pj)
        )
        area = self.register_um2_per_bit * 8 * size_bytes * _UM2
        if self.register_access_pj_per_bit is not None:
            read = write = self.register_access_pj_per_bit * 8 * width_bytes
        return BufferCost(read, write, self.logic_mw(area), area)


# asked of every design, of the same few widths
@lru_cache(maxsize=1024)
def by_bits(points: ByBits, bits: int, entry: str) -> float:
    """Interpolate a quantity between the word widths of a table, in log-log.

    Raises:
        ValueError: a width outside the table.
    """
    low, high = points[0][0], points[-1][0]
    if not low <= bits <= high:
        raise ValueError(
            f"{entry}: words of {bits} bits are outside the table, which has {low} to {high} bits"
        )
    for (a, below), (b, above) in pairwise(points):
        if bits <= b:
            part = log2(bits / a) / log2(b / a)
            return exp2((1 - part) * log2(below) + part * log2(above))
    return points[-1][1]
