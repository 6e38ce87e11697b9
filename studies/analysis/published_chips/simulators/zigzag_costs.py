"""ZigZag beside the model: words, energies and cycles of the mappings that it chose."""

from collections.abc import Iterator, Mapping as Table
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.loopnest import LayerCost, MappingProblem, mapped_cost
from archloom.space.hardware import AccessEnergy, Hardware
from archloom.space.workload import INPUTS, OUTPUTS, TENSORS, C, G, K, N, P, Q, R, S

from ..figures import Chapter, Figure
from .recorded_rows import recorded
from .zigzag_mapping import DIMENSIONS, INDEX, OPERANDS, Memory, Translated, translated

#: words read, filled from outside and updated from inside, by level and tensor
Counts = NDArray[np.float64]

HELD: Final = "held words"
ANEW: Final = "windows anew"
SUMS: Final = "all sums read"
BOTH: Final = "both"
PORTS: Final = "DRAM ports"
IN_TURN: Final = "in turn"
SWITCHES: Final = (HELD, ANEW, SUMS, BOTH, PORTS, IN_TURN)

EXACT: Final = (0.999, 1.001)

READ, FILLED, UPDATED = 0, 1, 2


@dataclass(frozen=True)
class Compared:
    """A recorded row and what the model has for it.

    Attributes:
        row: request and answer.
        made: its design and mapping.
        cost: what the model has.
        counts: words of it.
    """

    row: Table[str, Any]
    made: Translated
    cost: LayerCost
    counts: Counts

    @classmethod
    def of_row(cls, row: Table[str, Any], *, box: bool = False) -> "Compared":
        """Return the comparison of a row; ``box`` as for :func:`translated`."""
        made = translated(row, box=box)
        return cls(row, made, _cost(made, made.hardware), _counts(made))

    @property
    def energy_pj(self) -> float:
        """Energy of the model."""
        return float(self.cost.dynamic_pj)

    def levels(self) -> Iterator[tuple[int, Memory, int]]:
        """Yield position, memory and tensor of each level inside DRAM."""
        for i, memory in enumerate(self.made.memories):
            yield i, memory, TENSORS.index(OPERANDS[memory.operand])

    def repeats(self, memory: Memory) -> int:
        """Steps in a row for which the innermost memory of an operand hands out the same word."""
        first = next(m for m in self.made.memories if m.operand == memory.operand)
        if memory is not first or memory.operand == "O":
            return 1
        levels = self.row["found"]["operands"]["W"]["levels"]
        asked = 1
        for dim, size in (pair for level in levels for pair in level["temporal"]):
            if DIMENSIONS[dim] in INDEX[memory.operand]:
                break
            asked *= size
        return asked

    def read(self, held: bool) -> float:
        """Words of weights and inputs that on-chip memories read; repeated ones once if held."""
        return sum(
            float(self.counts[READ, i, t]) / (self.repeats(memory) if held else 1)
            for i, memory, t in self.levels()
            if t != OUTPUTS
        )

    def filled(self) -> float:
        """Words of weights and inputs that on-chip memories get from outside."""
        return float(sum(self.counts[FILLED, i, t] for i, _, t in self.levels() if t != OUTPUTS))

    def filled_anew(self) -> float:
        """The same, if a memory fetches its whole window of inputs at each step that moves it.

        The model fetches what the window before did not have. Dimensions that are unrolled outside
        of a memory count as much of the layer as is there, so parts of an array count in part.
        """
        found = self.filled()
        for i, _, t in self.levels():
            if t == INPUTS:
                found += max(0.0, self._windows(i) - float(self.counts[FILLED, i, t]))
        return found

    def _windows(self, i: int) -> float:
        """Words of inputs in all windows that a level holds one after another, on all instances."""
        levels, bounds = self.made.mapping.levels, self.made.layer.bounds
        tile = np.prod([level.temporal for level in levels[: i + 1]], axis=0)
        for level in levels[: i + 1]:
            tile = tile * level.spatial_x * level.spatial_y
        stride, rest = self.made.layer.stride, range(len(bounds))
        rows = (tile[P] - 1) * stride[0] + tile[R]
        columns = (tile[Q] - 1) * stride[1] + tile[S]
        loops = [(d, level.temporal[d]) for level in levels[i + 1 :] for d in level.order]
        moves = [(d, size) for d, size in loops if size > 1]
        while moves and moves[0][0] == K:
            moves = moves[1:]
        steps = np.array([prod(size for e, size in moves if e == d) for d in rest], dtype=float)
        all_loops = np.array([prod(size for e, size in loops if e == d) for d in rest], dtype=float)
        unrolled = prod(
            bounds[d] / (all_loops[d] * tile[d])
            for d in rest
            if any(v.spatial_x[d] * v.spatial_y[d] > 1 for v in levels[i + 1 :])
        )
        return float(tile[N] * tile[G] * tile[C] * rows * columns * steps.prod() * unrolled)

    def sums_written(self) -> float:
        """Sums that on-chip memories get from inside."""
        return float(self.counts[UPDATED, :-1, OUTPUTS].sum())

    def sums_read(self, all_of_them: bool) -> float:
        """Sums that on-chip memories read: without those that are begun or leave, or all."""
        if not all_of_them:
            return float(self.counts[READ, :-1, OUTPUTS].sum())
        return sum(
            float(self.counts[UPDATED, i, t]) + self._left(i)
            for i, _, t in self.levels()
            if t == OUTPUTS
        )

    def _left(self, i: int) -> float:
        """Sums that leave a level: those that are fetched again, and those that are begun."""
        read, filled, updated = self.counts[:, i, OUTPUTS]
        return float(filled + updated - read)

    def changed_pj(self, *, held: bool, sums: bool) -> float:
        """Energy with words held at ports, and with all sums read."""
        energy = self.energy_pj
        for i, memory, t in self.levels():
            read, filled, updated = self.counts[:, i, t]
            bits = self.row["sum_bits"] if t == OUTPUTS else 8
            each = max(1.0, bits / 8) / memory.words if memory.instances == 1 else 1.0
            if held and t != OUTPUTS:
                energy -= read * (1 - 1 / self.repeats(memory)) * each * memory.access.read_pj
            if sums and t == OUTPUTS:
                begun = updated - read
                energy += (begun + self._left(i)) * each * memory.access.read_pj
                energy += (begun if filled else 0.0) * each * memory.access.fill_pj
        return float(energy)

    def theirs(self, directions: tuple[str, ...], *, sums: bool) -> int:
        """Words of ZigZag at the memories that have a level here, of sums or of the operands."""
        return sum(
            int(memory.entry["elements"][direction][0])
            for _, memory, t in self.levels()
            for direction in directions
            if (t == OUTPUTS) == sums
        )

    def port_cycles(self) -> int:
        """Cycles of DRAM if weights, inputs and results each had a port as wide as its own."""
        words = self.made.hardware.levels[-1].bandwidth_words
        return ceil(int(self.cost.words[-1].max()) / words)

    def dram_words(self) -> int:
        """Words of ZigZag at DRAM."""
        memories = [operand["levels"][-1] for operand in self.row["found"]["operands"].values()]
        return sum(int(words) for m in memories for words, _ in m["elements"].values())


def _cost(made: Translated, hardware: Hardware) -> LayerCost:
    problem = MappingProblem.of_layer(made.layer, hardware)
    return mapped_cost(replace(problem, loop_bounds=made.mapping.factors), made.mapping)


def _counts(made: Translated) -> Counts:
    """Return words [3, L, 3]: the energies of a design on which one kind of access costs 1 pJ."""
    found = []
    for unit in np.eye(3):
        energy = AccessEnergy(*map(float, unit))
        levels = tuple(
            replace(level, energy=energy, width_words=1, tensor_bits=())
            for level in made.hardware.levels
        )
        found.append(_cost(made, replace(made.hardware, levels=levels, mac_pj=0.0)).energy_pj)
    return np.array(found)


def zigzag() -> Chapter:
    """Return words of each architecture, and energy and cycles of each layer."""
    found = recorded("zigzag", "ZigZag", "zigzag-dse")
    rows = [Compared.of_row(row) for row in found.rows]
    figures = list[Figure]()
    for name in dict.fromkeys(one.row["hardware"] for one in rows):
        same = [one for one in rows if one.row["hardware"] == name]
        narrow = [one for one in same if one.row["sum_bits"] == 8]
        figures += _words(name, narrow, found.source)
        for one in same:
            figures += _costs(one, found.source)
        strided = next(one for one in rows if one.row["name"] == "conv4_down on tpu_like")
    box = Compared.of_row(strided.row, box=True)
    more = box.cost.words[-1].sum() / strided.cost.words[-1].sum()
    return Chapter("ZigZag", TEXT.format(box=f"{more:.2f}"), tuple(figures), switches=SWITCHES)


def _figure(
    name: str,
    ours: float,
    theirs: float,
    source: str,
    band: tuple[float, float] | None,
    why: str,
    **switched: float,
) -> Figure:
    """Return a figure; switches that are not named change nothing."""
    names = {
        "held": HELD,
        "anew": ANEW,
        "sums": SUMS,
        "both": BOTH,
        "ports": PORTS,
        "in_turn": IN_TURN,
    }
    others = {switch: switched.get(key, ours) for key, switch in names.items()}
    return Figure(name, ours, theirs, source, band, why, others)


def _words(name: str, rows: list[Compared], source: str) -> Iterator[Figure]:
    """Yield the words of all layers with sums as wide as results."""
    nested = EXACT if name != "eyeriss_like" else None
    parts = (
        ""
        if nested
        else "; ZigZag counts parts of an array's rows and columns, the model whole ones"
    )
    sizes = "" if nested else ", and fetches windows that overlap anew"
    layers = f"{name}, all layers"
    yield _figure(
        f"{layers}, words of DRAM",
        sum(one.cost.dram_reads + one.cost.dram_writes for one in rows),
        sum(one.dram_words() for one in rows),
        source,
        EXACT,
        "the same tiles stay on chip",
    )
    yield _figure(
        f"{layers}, weights and inputs filled into memories",
        sum(one.filled() for one in rows),
        sum(one.theirs(("wr_in_by_high",), sums=False) for one in rows),
        source,
        nested,
        f"the same loops bring the same words{parts}{sizes}",
        anew=sum(one.filled_anew() for one in rows),
    )
    held = sum(one.read(True) for one in rows)
    yield _figure(
        f"{layers}, weights and inputs read from memories",
        sum(one.read(False) for one in rows),
        sum(one.theirs(("rd_out_to_low",), sums=False) for one in rows),
        source,
        None,
        f"ZigZag reads a word once while the steps in a row ask for the same{parts}{sizes}",
        held=held,
        both=held,
    )
    yield _figure(
        f"{layers}, sums written",
        sum(one.sums_written() for one in rows),
        sum(one.theirs(("wr_in_by_low",), sums=True) for one in rows),
        source,
        (0.99, 1.01),
        f"the same loops add the same sums{parts}",
    )
    every = sum(one.sums_read(True) for one in rows)
    yield _figure(
        f"{layers}, sums read",
        sum(one.sums_read(False) for one in rows),
        sum(one.theirs(("rd_out_to_low", "rd_out_to_high"), sums=True) for one in rows),
        source,
        None,
        f"ZigZag reads a sum as it is begun, and as it leaves; the model does neither{parts}",
        sums=every,
        both=every,
    )


def _costs(one: Compared, source: str) -> Iterator[Figure]:
    """Yield energy and cycles of a layer."""
    found, name = one.row["found"], one.row["name"]
    if one.row["sum_bits"] != 8:
        name = f"{name}, sums of {one.row['sum_bits']} bits"
    yield _figure(
        f"{name}, energy, uJ",
        one.energy_pj / 1e6,
        found["energy_pj"] / 1e6,
        source,
        (0.9, 1.2),
        "words that are repeated, and sums that are begun or leave; DRAM has the rest",
        held=one.changed_pj(held=True, sums=False) / 1e6,
        sums=one.changed_pj(held=False, sums=True) / 1e6,
        both=one.changed_pj(held=True, sums=True) / 1e6,
    )
    steps, first, last = (found[key] for key in ("steps", "first_load_cycles", "last_store_cycles"))
    yield _figure(
        f"{name}, cycles",
        one.cost.latency_cycles,
        found["latency_cycles"],
        source,
        (0.65, 1.35),
        f"ZigZag: {steps:,} steps, {found['stall_cycles']:,.0f} cycles of stalls, {first:,.0f} of "
        f"the first load, {last:,.0f} of the last store; in the model all transfers overlap",
        ports=max(one.cost.chip_cycles, one.port_cycles()),
        in_turn=one.cost.chip_cycles + one.cost.dram_cycles,
    )


TEXT: Final = f"""
ZigZag (Mei et al., IEEE Trans. Computers 70(8), 2021) searches for mappings and prices them. It
mapped five layers of ResNet-18 on three of the architectures that come with it, for the least EDP;
its partial sums have 8 bits, and 16 in one run on each. In the model each of its memories is a
level for each operand that it holds, with the same loops, port widths and energies. Nothing was
fitted. The memories of these three lie inside each other, as the model's levels do; the range of
cycles was set after the ratios were known. For four layers on `tesla_npu_like` the register that a
row of the array shares has no level, for one of them the input buffer neither, and for one on
`eyeriss_like` the weight buffer. Their words are not compared.

Columns are ratios with other conventions. *{HELD}*: a memory does not read a word again that the
next steps ask for too. *{ANEW}*: a memory fetches its whole window of inputs whenever it moves,
also the words that it has; the model fetches the others. *{SUMS}*: sums are read, and fetched from
the memory outside, also as they are begun, and read as they leave a memory. *{BOTH}*: held words,
and all sums read. *{PORTS}*: cycles if DRAM had a port for each operand. *{IN_TURN}*: cycles if
DRAM works only while the array does not. ZigZag loads weights and inputs at once over one port, and
does not overlap the first load and the last store with the array. So it lies between the last two
columns; only for `fc` it is faster than both, by 0.4% to 15%: it moves 512,000 weights in fewer
than the 64,000 cycles that its port of 8 words needs.

A kernel of one pixel with a stride reads the pixels that it needs, as in ZigZag; a layer in the
model would read the box around them, and `conv4_down` on `tpu_like` {{box}} times the words of
DRAM.
"""
