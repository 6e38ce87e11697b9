"""A mapping of ZigZag as a design and a mapping: each memory of an operand becomes a level.

ZigZag lets each operand have its memories where it likes in one order of loops. Here a level holds
one operand of one memory, and levels are ordered by the loops that they hold. A memory that holds
loops at its top that do not index its operand moves the same words without them, so it may lie
further in. Memories whose instances do not lie inside those of the next level are left out; what
asks them then asks the memory outside.
"""

from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from math import ceil, inf, prod
from typing import Any, Final

from archloom.space.hardware import AccessEnergy, Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.workload import TENSORS, C, K, Layer, N, P, Q, R, S, Tensor, conv2d

from ..fixed_mappings import level

#: dimensions and operands in ZigZag's words
DIMENSIONS: Final = {"B": N, "K": K, "C": C, "OY": P, "OX": Q, "FY": R, "FX": S}
OPERANDS: Final[Table[str, Tensor]] = {"W": "weights", "I": "inputs", "O": "outputs"}
#: dimensions that index an operand
INDEX: Final = {"W": {K, C, R, S}, "I": {N, C, P, Q, R, S}, "O": {N, K, P, Q}}

_DRAM: Final = "dram"

Loops = tuple[tuple[int, int], ...]
Spread = dict[int, int]


@dataclass(frozen=True)
class Memory:
    """A memory of one operand.

    Attributes:
        name: of the memory and the operand.
        operand: in ZigZag's words.
        cut: number of loops, innermost first, that it holds.
        spread: dimensions that are unrolled over its instances.
        entry: as the recorded file has it.
    """

    name: str
    operand: str
    cut: int
    spread: Spread
    entry: Table[str, Any]

    @property
    def instances(self) -> int:
        """Number of instances in use."""
        return prod(self.spread.values())

    @property
    def words(self) -> int:
        """Words of 8 bits that one access moves: one at a register, at others the least access."""
        return 1 if self.instances > 1 else int(self.entry["least_bits"]) // 8

    @property
    def access(self) -> AccessEnergy:
        """Energies of such an access; of a register, that of its whole port."""
        share = 1.0 if self.instances > 1 else self.entry["least_bits"] / self.entry["port_bits"]
        read, write = self.entry["read_pj"] * share, self.entry["write_pj"] * share
        return AccessEnergy(read, write, write)


@dataclass(frozen=True)
class Translated:
    """What a mapping of ZigZag is here.

    Attributes:
        layer: what runs.
        hardware, mapping: the same memories and loops.
        memories: those of the levels inside DRAM, innermost first.
        left_out: memories that no level stands for.
    """

    layer: Layer
    hardware: Hardware
    mapping: Mapping
    memories: tuple[Memory, ...]
    left_out: tuple[str, ...]


def translated(row: Table[str, Any], *, box: bool = False) -> Translated:
    """Return the design and the mapping of a recorded row.

    Args:
        row: request and answer.
        box: whether a kernel of one pixel with a stride reads the box around its pixels, as layers
            do in the model; else it reads those pixels alone, as in ZigZag.
    """
    found = row["found"]
    loops = _loops(found["operands"]["W"])
    spread = _spread(found["operands"])
    kept, left_out = _nested([m for o in OPERANDS for m in _memories(found["operands"], o, loops)])
    layer = _layer(row, box)
    hardware = _hardware(row, kept, spread)
    mapping = _mapping(kept, loops, spread)
    return Translated(layer, hardware, mapping, tuple(kept), tuple(m.name for m in left_out))


def _layer(row: Table[str, Any], box: bool) -> Layer:
    images, filters, channels, rows, columns, r, s = row["loops"]
    stride = row["stride"] if box or (r, s) != (1, 1) else 1
    size = ((rows - 1) * stride + r, (columns - 1) * stride + s)
    made = conv2d("layer", channels, filters, size, (r, s), stride, bias=False)
    return replace(made, n=images)


def _loops(operand: Table[str, Any]) -> Loops:
    pairs = [pair for memory in operand["levels"] for pair in memory["temporal"]]
    return tuple((DIMENSIONS[dim], int(size)) for dim, size in pairs)


def _factors(pairs: list[list[Any]]) -> Spread:
    """Return unrolled factors; a share of the array that is not whole takes a whole child more."""
    found = dict[int, int]()
    for dim, size in pairs:
        d = DIMENSIONS[dim]
        found[d] = found.get(d, 1) * ceil(size)
    return found


def _spread(operands: Table[str, Any]) -> Spread:
    """Return all that is unrolled over the array."""
    operand = operands["W"]
    return _factors([*operand["below"], *(p for m in operand["levels"] for p in m["spatial"])])


def _memories(operands: Table[str, Any], operand: str, loops: Loops) -> list[Memory]:
    """Return the memories of an operand inside DRAM."""
    made, cut, levels = list[Memory](), 0, operands[operand]["levels"]
    for at, entry in enumerate(levels[:-1]):
        cut += len(entry["temporal"])
        over = _factors([pair for memory in levels[at:] for pair in memory["spatial"]])
        # several instances lie far in, one lies far out
        held = cut
        while sum(over.values()) and held and loops[held - 1][0] not in INDEX[operand]:
            held -= 1
        made.append(Memory(f"{entry['memory']} {operand}", operand, held, over, entry))
    return made


def _nested(memories: list[Memory]) -> tuple[list[Memory], list[Memory]]:
    """Return memories from the innermost outwards, and those whose instances do not nest."""
    kept, left_out = list[Memory](), list[Memory]()
    for memory in sorted(memories, key=lambda m: (-m.instances, m.cut)):
        inside = kept[-1] if kept else None
        nests = inside is None or (
            inside.cut <= memory.cut
            and all(inside.spread.get(d, 1) == size for d, size in memory.spread.items())
        )
        (kept if nests else left_out).append(memory)
    return kept, left_out


def _mesh(spread: Spread) -> tuple[int, int]:
    """Instances along x, where filters are unrolled, and along y, where all others are."""
    return spread.get(K, 1), prod(size for d, size in spread.items() if d != K)


def _hardware(row: Table[str, Any], kept: list[Memory], spread: Spread) -> Hardware:
    found = row["found"]
    dram = found["operands"]["W"]["levels"][-1]
    levels = [_storage(memory, row["sum_bits"]) for memory in kept]
    energy = AccessEnergy(dram["read_pj"], dram["write_pj"], dram["write_pj"])
    words = max(1, dram["port_bits"] // 8)
    levels.append(StorageLevel(_DRAM, "dram", TENSORS, (1, 1), None, words, words, energy=energy))
    return Hardware(
        name=row["hardware"],
        technology="n16",
        frequency_mhz=1000.0,
        word_bits=8,
        pe_mesh=_mesh(spread),
        array=(1, 1),
        levels=tuple(levels),
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=found["mac_pj"] / prod(row["loops"]),
    )


def _storage(memory: Memory, sum_bits: int) -> StorageLevel:
    tensor = OPERANDS[memory.operand]
    # a register has a port to either side; other ports are as wide as they say
    words = inf if memory.instances > 1 else memory.entry["port_bits"] / 8
    wide = memory.operand == "O" and sum_bits != 8
    return StorageLevel(
        memory.name,
        "sram",
        (tensor,),
        _mesh(memory.spread),
        # ZigZag has checked that tiles fit
        2.0**33,
        inf,
        memory.words,
        read_bandwidth_words=words,
        write_bandwidth_words=words,
        energy=memory.access,
        tensor_bits=((tensor, sum_bits),) if wide else (),
    )


def _mapping(kept: list[Memory], loops: Loops, spread: Spread) -> Mapping:
    levels, cut, below = [], 0, spread
    for i in range(len(kept) + 1):
        outermost = i == len(kept)
        own = loops[cut:] if outermost else loops[cut : kept[i].cut]
        over = {} if outermost else kept[i].spread
        # factors of dimensions that this level is the first to gather
        across = {d: size for d, size in below.items() if d not in over}
        held = set(TENSORS) if outermost else {OPERANDS[kept[i].operand]}
        keeps = tuple(tensor in held for tensor in TENSORS)
        levels.append(
            level(
                _product(own),
                tuple(dict.fromkeys(d for d, _ in own)),
                (keeps[0], keeps[1], keeps[2]),
                {d: size for d, size in across.items() if d == K},
                {d: size for d, size in across.items() if d != K},
            )
        )
        cut = cut if outermost else kept[i].cut
        below = over
    return Mapping(tuple(levels))


def _product(loops: Loops) -> dict[int, int]:
    """Return the factors of a level.

    Raises:
        ValueError: a loop over the same dimension lies between two parts of another one.
    """
    found, last = dict[int, int](), None
    for d, size in loops:
        if d in found and d != last:
            raise ValueError(f"the loops {loops} of one level have {d} twice")
        found[d] = found.get(d, 1) * size
        last = d
    return found
