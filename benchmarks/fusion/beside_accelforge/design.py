"""A design, as hardware of Archloom and as an architecture of AccelForge: nothing leaks in either.

Both get the same levels, sizes, ports, energies, and dimensions that may be unrolled over columns
and rows. What neither is told is the same in both models: DRAM and each port of the buffer take
their time for every word that passes, and transfers of a product overlap with its work.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

from archloom.evaluators.hardware import access_costs
from archloom.space.hardware import AccessEnergy, Effects, Hardware, StorageLevel
from archloom.space.hardware.effects import DrainReads
from archloom.space.workload import TENSORS, Dim

WORD_BITS: Final = 16

#: what AccelForge calls Archloom's dimensions: ranks of these two tensors and of no other but heads
_SHARED: Final[dict[Dim, str]] = {
    "K": "weight.rank_variables & output.rank_variables",
    "C": "input.rank_variables & weight.rank_variables",
    "P": "input.rank_variables & output.rank_variables",
}
_TENSOR: Final = {"weights": "weight", "inputs": "input", "outputs": "output"}


@dataclass(frozen=True, slots=True)
class Design:
    """An array of one-MAC PEs below a shared buffer below DRAM, at 1 GHz.

    Attributes:
        name: for people.
        columns, rows: PEs along x and y.
        over_columns, over_rows: the dimension that may be unrolled there; heads may be, too.
        spad_words: words that a PE holds of weights, inputs and outputs; 0: none of its own.
        buffer_kib: of the shared buffer.
        buffer_words: words in a cycle of its port to read, and of that to write.
        dram_words: words in a cycle, both ways together.
        spad_pj, buffer_pj, dram_pj: a word read or written.
        mac_pj: a multiply-accumulate.
        vector_lanes: operations in a cycle of the unit for what is no product.
    """

    name: str
    columns: int
    rows: int
    over_columns: Dim
    over_rows: Dim
    spad_words: tuple[int, int, int]
    buffer_kib: int
    buffer_words: int
    dram_words: int
    spad_pj: float = 1.6
    buffer_pj: float = 40.0
    dram_pj: float = 800.0
    mac_pj: float = 0.5
    vector_lanes: int = 32

    def hardware(self, drain_reads: DrainReads = "free") -> Hardware:
        """Return the design as Archloom reads it, with or without the energy of buffer reads for
        results that leave for DRAM.

        What PEs hold are levels, that of results innermost, as AccelForge has them. In one level
        for all of them, tensors would have tiles between the same loops.
        """
        mesh = (self.columns, self.rows)
        spads = [
            StorageLevel(
                f"spad_{tensor}",
                "register",
                (tensor,),
                mesh,
                words * WORD_BITS / 8,
                inf,
                energy=_same(self.spad_pj),
            )
            for tensor, words in zip(TENSORS, self.spad_words, strict=True)
            if words
        ]
        buffer = StorageLevel(
            "buffer",
            "sram",
            TENSORS,
            (1, 1),
            self.buffer_kib * 1024,
            inf,
            read_bandwidth_words=self.buffer_words,
            write_bandwidth_words=self.buffer_words,
            spatial_x=(self.over_columns, "G"),
            spatial_y=(self.over_rows, "G"),
            energy=_same(self.buffer_pj),
        )
        dram = StorageLevel(
            "dram", "dram", TENSORS, (1, 1), None, self.dram_words, energy=_same(self.dram_pj)
        )
        return Hardware(
            name=self.name,
            technology="cacti_45nm",
            frequency_mhz=1000.0,
            word_bits=WORD_BITS,
            pe_mesh=mesh,
            array=(1, 1),
            levels=(*reversed(spads), buffer, dram),
            dram="lpddr4",
            vector_lanes=self.vector_lanes,
            mac_pj=self.mac_pj,
            effects=Effects(drain_reads=drain_reads),
        )

    def accelforge_architecture(self, vector_operations: int = 0) -> str:
        """Return the design as AccelForge reads it, in YAML; energies in pJ, time in cycles.

        Args:
            vector_operations: of the cascade's operator that is no product, for one word; 0: none.
        """
        nodes = [
            _memory(
                "DRAM",
                "inf",
                self.dram_pj,
                self.dram_words,
                "{keep: ~Intermediates, may_keep: All}",
            ),
            _memory(
                "buffer",
                str(self.buffer_kib * 1024 * 8),
                self.buffer_pj,
                self.buffer_words,
                "{keep: All}",
                "max(a.n_calls / a.throughput for a in actions)",
            ),
        ]
        if vector_operations:
            energy = vector_operations * access_costs(self.hardware()).vector_op_pj
            rate = self.vector_lanes / vector_operations
            nodes.append(_compute("vector", energy, rate, "len(weight) == 0"))
        spatial = "\n".join(
            f"    - name: {name}\n      fanout: {fanout}\n      loop_bounds:\n"
            f"      - {{expression: ~({_SHARED[dim]}), operator: ==, value: 1}}"
            for name, fanout, dim in (
                ("columns", self.columns, self.over_columns),
                ("rows", self.rows, self.over_rows),
            )
        )
        nodes.append(f"  - !Container\n    name: PE\n    spatial:\n{spatial}")
        for tensor, words in zip(TENSORS, self.spad_words, strict=True):
            if words:
                size = str(words * WORD_BITS)
                keeps = f"{{keep: {_TENSOR[tensor]}}}"
                nodes.append(_memory(f"spad_{tensor}", size, self.spad_pj, inf, keeps))
        enabled = "len(weight) == 1" if vector_operations else "True"
        nodes.append(_compute("MAC", self.mac_pj, 1, enabled))
        return "arch:\n  nodes:\n" + "\n".join(nodes) + "\n"


def _same(pj: float) -> AccessEnergy:
    return AccessEnergy(pj, pj, pj)


def _memory(name: str, bits: str, pj: float, words: float, tensors: str, latency: str = "") -> str:
    actions = "\n".join(
        f"    - {{name: {action}, energy: {pj}, bits_per_action: {WORD_BITS}, throughput: {words}}}"
        for action in ("read", "write")
    )
    ports = f"    total_latency: {latency}\n" if latency else ""
    return (
        f"  - !Memory\n    name: {name}\n    size: {bits}\n    leak_power: 0\n    area: 0\n{ports}"
        f"    tensors: {tensors}\n    actions:\n{actions}"
    )


def _compute(name: str, pj: float, rate: float, enabled: str) -> str:
    return (
        f"  - !Compute\n    name: {name}\n    leak_power: 0\n    area: 0\n    enabled: {enabled}\n"
        f"    actions:\n    - {{name: compute, energy: {pj}, throughput: {rate}}}"
    )
