"""Hardware: one concrete accelerator, as storage levels above an array of multipliers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Literal, get_args

from archloom.space.workload import DIMS, TENSORS, Dim, Tensor

from .dram import DramTiming
from .effects import PLAIN, AccessEnergy, Effects
from .hashing import HashedOnce, fields_of
from .validation import (
    wrong_hardware_values,
    wrong_level_numbers,
    wrong_level_parts,
    wrong_levels,
    wrong_mesh,
    wrong_names,
)
from .weight_format import packed_words

if TYPE_CHECKING:
    from archloom.space.workload import Layer, Network

Storage = Literal["register", "sram", "dram"]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StorageLevel(HashedOnce):
    """One level of storage, with the network below it that feeds the next inner level.

    Attributes:
        name: name of the level, unique in the hardware.
        storage: type of memory; it determines energy and area.
        keeps: tensors that the level can hold.
        mesh: number of instances along x and y.
        capacity_bytes: capacity of one instance: one number for a buffer shared by its tensors, or
            one number per tensor for private buffers. Fractions of a byte (eighths) are allowed.
            DRAM has none.
        bandwidth_words: words that one instance can read and write together per cycle (a word has
            ``word_bits`` bits); may be infinite.
        width_words: words per access (vector width); energy is counted per access.
        spatial_x: dimensions that may be unrolled over the children of the level along x. A
        systolic
            array allows K along x and reductions (C, R, S) along y.
        spatial_y: dimensions that may be unrolled over the children of the level along y.
        optional: whether a tensor may bypass this level.
        read_bandwidth_words: words that one instance can read per cycle, if it has separate read
            ports (default: no separate limit).
        write_bandwidth_words: words that one instance can write per cycle, if it has separate write
            ports (default: no separate limit).
        multiple_buffering: number of copies of each tile in the capacity; 2 for double buffering,
            where the next tile is transferred while the current one is used.
        multicast: tensors that the network can send to several children at once, or reduce on the
            way from them.
        cluster_size: number of instances that are accessed together as one wide memory; energies
            are per such access.
        tensor_bits: word width of single tensors, if it differs from ``word_bits``; for example
            wide partial sums.
        energy: access energies, instead of those of the technology table.
        timing: device and channels of DRAM, whose rows, banks, bursts and refresh then count
            (default: full bandwidth at one energy per bit). Layers are then not fused.

    Raises:
        ValueError: a number that is no size or rate, clusters that do not divide the mesh,
            private buffers of other tensors than it keeps, or an unknown tensor, dimension or
            storage; all that is wrong at once.
    """

    name: str
    storage: Storage
    keeps: tuple[Tensor, ...]
    mesh: Pair
    capacity_bytes: float | tuple[tuple[Tensor, float], ...] | None
    bandwidth_words: float
    width_words: int = 1
    spatial_x: tuple[Dim, ...] = DIMS
    spatial_y: tuple[Dim, ...] = DIMS
    optional: bool = False
    read_bandwidth_words: float = inf
    write_bandwidth_words: float = inf
    multiple_buffering: float = 1.0
    multicast: tuple[Tensor, ...] = TENSORS
    cluster_size: int = 1
    tensor_bits: tuple[tuple[Tensor, int], ...] = ()
    energy: AccessEnergy | None = None
    timing: DramTiming | None = None

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        # each line takes for granted what the one before it found right
        self._refuse(wrong_names(self, get_args(Storage)), wrong_level_numbers(self))
        self._refuse(wrong_level_parts(self))

    def _refuse(self, *wrong: Iterable[str]) -> None:
        message = "; ".join(filter(None, chain(*wrong)))
        if message:
            raise ValueError(f"level {self.name}: {message}")

    def with_mesh(self, mesh: Pair) -> "StorageLevel":
        """Return the level with another mesh; only that is checked, so it takes a third of the time
        of a level that is made anew.

        Raises:
            ValueError: it is no mesh, or clusters do not divide it.
        """
        made = object.__new__(StorageLevel)
        names = self.__match_args__
        for name, value in zip(names, fields_of(names)(self), strict=True):
            object.__setattr__(made, name, value)
        object.__setattr__(made, "mesh", mesh)
        made._refuse(wrong_mesh(made))
        return made

    @property
    def instances(self) -> int:
        """Number of instances."""
        return self.mesh[0] * self.mesh[1]

    @property
    def private(self) -> bool:
        """Whether each tensor has a buffer of its own."""
        return isinstance(self.capacity_bytes, tuple)

    @property
    def total_bytes(self) -> float:
        """Bytes of one instance over all its buffers; 0 for DRAM."""
        if isinstance(self.capacity_bytes, tuple):
            return sum(b for _, b in self.capacity_bytes)
        return self.capacity_bytes or 0

    def buffer_bytes(self, tensor: Tensor) -> float | None:
        """Capacity of the buffer that holds ``tensor`` in one instance; None if unlimited."""
        if isinstance(self.capacity_bytes, tuple):
            return dict(self.capacity_bytes).get(tensor, 0)
        return self.capacity_bytes


class _Facts(HashedOnce):
    """What follows from the fields of a hardware, and is asked for again and again."""

    __slots__ = ("_known_fanouts", "_known_fusion_level", "_known_macs")

    _known_fanouts: tuple[Pair, ...]
    _known_macs: int
    _known_fusion_level: int | None


@dataclass(frozen=True, slots=True)
class Hardware(_Facts):
    """A mesh of PEs, each with an array of MACs, below a hierarchy of storage.

    Attributes:
        name: name of the preset, or of the template with its parameters.
        technology: technology table for energy and area.
        frequency_mhz: clock frequency of the chip.
        word_bits: word width of all tensors.
        pe_mesh: number of PEs along x and y.
        array: number of MACs in each PE along x and y: [1, 1] is a scalar PE, [1, n] a vector PE,
        all
            others are systolic arrays.
        levels: storage levels, from the innermost one to DRAM.
        dram: type of DRAM, as named in the technology table.
        vector_lanes: operations per cycle of the vector unit, which runs pooling, elementwise
            operations, activations and normalisation.
        native_batch: batch size that is used for networks with batch size 1.
        mac_pj: energy of one multiply-accumulate (default: from the technology table).
        effects: optional effects of the cost model.
        mac_bits: operand width of the multipliers (default: ``word_bits``).

    Raises:
        ValueError: meshes that do not divide from level to level, no DRAM at the top or DRAM
            elsewhere, or a number that is no size, rate or energy; all that is wrong at once.
    """

    name: str
    technology: str
    frequency_mhz: float
    word_bits: int
    pe_mesh: Pair
    array: Pair
    levels: tuple[StorageLevel, ...]
    dram: str
    vector_lanes: int
    native_batch: int = 1
    mac_pj: float | None = None
    effects: Effects = PLAIN
    mac_bits: int | None = None

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        self._refuse(wrong_hardware_values(self, StorageLevel))
        self._refuse(wrong_levels(self))

    def _refuse(self, wrong: Iterable[str]) -> None:
        message = "; ".join(filter(None, wrong))
        if message:
            raise ValueError(f"hardware {self.name}: {message}")

    @property
    def mac_mesh(self) -> Pair:
        """MACs along x and y over the whole chip."""
        return (self.pe_mesh[0] * self.array[0], self.pe_mesh[1] * self.array[1])

    @property
    def macs(self) -> int:
        """MACs on the chip."""
        try:
            return self._known_macs
        except AttributeError:
            pass
        x, y = self.mac_mesh
        object.__setattr__(self, "_known_macs", x * y)
        return x * y

    @property
    def operand_bits(self) -> int:
        """Bits of the operands of a multiplier."""
        return self.mac_bits or self.word_bits

    @property
    def datapath(self) -> Literal["scalar", "vector", "systolic"]:
        """Kind of array in a PE."""
        if self.array == (1, 1):
            return "scalar"
        return "vector" if 1 in self.array else "systolic"

    @property
    def fanouts(self) -> tuple[Pair, ...]:
        """For each level its children along x and y (MACs below the innermost)."""
        try:
            return self._known_fanouts
        except AttributeError:
            pass
        below = (self.mac_mesh, *(level.mesh for level in self.levels))
        found = tuple(
            (b[0] // level.mesh[0], b[1] // level.mesh[1])
            for b, level in zip(below, self.levels, strict=False)
        )
        object.__setattr__(self, "_known_fanouts", found)
        return found

    def bits(self, level: int, tensor: Tensor) -> int:
        """Bits of a word of ``tensor`` at a level."""
        own = self.levels[level].tensor_bits
        return dict(own).get(tensor, self.word_bits) if own else self.word_bits

    @property
    def operand_widths(self) -> Pair:
        """Bits of weights and of inputs that a multiplier can get: those of the narrowest place on
        their way.
        """
        weights, inputs = (
            min(self.bits(i, tensor) for i, v in enumerate(self.levels) if tensor in v.keeps)
            for tensor in ("weights", "inputs")
        )
        return min(weights, self.operand_bits), min(inputs, self.operand_bits)

    @property
    def unpacking_level(self) -> int:
        """Position of the innermost level that keeps weights: what is outside may pack them."""
        return next(i for i, level in enumerate(self.levels) if "weights" in level.keeps)

    @property
    def on_chip_bytes(self) -> float:
        """Bytes of all storage on the chip."""
        return sum(level.total_bytes * level.instances for level in self.levels)

    @property
    def fusion_level(self) -> int | None:
        """Position of the outermost level if all PEs share it and it keeps feature maps, else None.

        Fused groups hold their maps there (fusion model, "Buffer"). Its words and those of DRAM
        must all be ``word_bits`` wide: fused groups count words of one width. Nor do they know rows
        and banks of DRAM: there is none where its level has ``timing``.
        """
        try:
            return self._known_fusion_level
        except AttributeError:
            pass
        object.__setattr__(self, "_known_fusion_level", self._fusion_level())
        return self._known_fusion_level

    def _fusion_level(self) -> int | None:
        i = len(self.levels) - 2
        level = self.levels[i]
        if self.levels[-1].timing is not None:
            return None
        shared = level.instances == 1 and level.storage == "sram" and not level.private
        if any(bits != self.word_bits for v in self.levels[i:] for _, bits in v.tensor_bits):
            return None
        return i if shared and {"inputs", "outputs"} <= set(level.keeps) else None

    @property
    def dram_gbytes_per_s(self) -> float:
        """Peak DRAM bandwidth."""
        words = self.levels[-1].bandwidth_words
        return words * self.word_bits / 8 * self.frequency_mhz / 1e3


def pass_batch(network: "Network", hardware: Hardware) -> int:
    """Return how many inferences one pass works on.

    A network's own batch, if it has one; those of batch 1 take the hardware's native batch.
    """
    return network.batch if network.batch > 1 else hardware.native_batch


def packed(network: "Network", hardware: Hardware) -> "Network":
    """Return a network with weights of as many words as they take on a hardware that packs them.

    The same object each time for hardware that packs alike, and the network itself where nothing
    is packed.
    """
    kind = hardware.effects.weight_format
    if kind == "dense" or all(
        layer.packed_words is not None or not layer.sparsity.row_words for layer in network.layers
    ):
        return network
    dram = len(hardware.levels) - 1

    def change(layer: "Layer") -> "Layer":
        if not layer.sparsity.row_words:
            return layer
        words = packed_words(layer.weights, hardware, dram, layer.sparsity)
        return replace(layer, packed_words=words)

    return network.remade((kind, hardware.bits(dram, "weights")), change)
