"""Validation of the numbers of a storage level and of a hardware."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from archloom.space.workload import DIMS, TENSORS

from ..errors import amount_fault, did_you_mean, is_amount, is_whole, whole_fault
from .dram import DramTiming
from .effects import MOST_PJ, AccessEnergy, Effects

if TYPE_CHECKING:
    from .hardware import Hardware, StorageLevel

#: limits that no chip comes near (assumptions; the largest space of FAST has 2**32 MACs); what is
#: beyond them is a slip, and cycles and energies of long runs would be no finite numbers
_MOST_INSTANCES: Final = 2**40
_MOST_BITS: Final = 2**16
MOST_WORDS: Final = 2**31
_WORDS_PER_CYCLE: Final = (1e-9, 1e15)
_BYTES: Final = (0.125, 2.0**64)
_MOST_COPIES: Final = 2**20
_CLOCK_MHZ: Final = (1e-3, 1e6)


def wrong_names(level: "StorageLevel", kinds: tuple[str, ...]) -> Iterator[str]:
    """Say which fields of a level do not name what they should."""
    name: object = level.name
    if not isinstance(name, str) or not name:
        yield f"name must be a text, got {name!r}"
    storage: object = level.storage
    if storage not in kinds:
        yield f"storage {storage!r} is not known; {did_you_mean(str(storage), kinds)}"
    if not _named(level.keeps, TENSORS) or not level.keeps:
        yield f"keeps must name some of {', '.join(TENSORS)}, each once, got {level.keeps!r}"
    if not _named(level.multicast, TENSORS):
        wrong: object = level.multicast
        yield f"multicast must name some of {', '.join(TENSORS)}, each once, got {wrong!r}"
    for axis in ("spatial_x", "spatial_y"):
        dims: object = getattr(level, axis)
        if not _named(dims, DIMS):
            yield f"{axis}: spatial dimensions are {', '.join(DIMS)}, each once, got {dims!r}"
    optional: object = level.optional
    if not isinstance(optional, bool):
        yield f"optional must be true or false, got {optional!r}"
    energy: object = level.energy
    if energy is not None and not isinstance(energy, AccessEnergy):
        yield f"energy must be an AccessEnergy, got {energy!r}"
    timing: object = level.timing
    if timing is not None and not isinstance(timing, DramTiming):
        yield f"timing must be a DramTiming, got {timing!r}"


def wrong_level_numbers(level: "StorageLevel") -> Iterator[str]:
    """Say which numbers of a level are no sizes or rates."""
    yield _mesh_fault("mesh", level.mesh)
    yield whole_fault("width_words", level.width_words, 1, MOST_WORDS)
    for name in ("bandwidth_words", "read_bandwidth_words", "write_bandwidth_words"):
        yield amount_fault(name, getattr(level, name), *_WORDS_PER_CYCLE, unlimited=True)
    yield amount_fault("multiple_buffering", level.multiple_buffering, 1, _MOST_COPIES)
    yield whole_fault("cluster_size", level.cluster_size, 1, _MOST_INSTANCES)
    bits: object = level.tensor_bits
    if not _paired(bits, TENSORS) or not all(
        is_whole(b, 1, _MOST_BITS) for _, b in level.tensor_bits
    ):
        yield f"tensor_bits must be (tensor, bits from 1 up to {_MOST_BITS}) pairs, got {bits!r}"


def wrong_mesh(level: "StorageLevel") -> Iterator[str]:
    """Say what is wrong with the mesh of a level; the other fields must have been found right."""
    yield _mesh_fault("mesh", level.mesh) or _cluster_fault(level)


def _cluster_fault(level: "StorageLevel") -> str:
    if level.instances % level.cluster_size == 0:
        return ""
    return f"cluster_size {level.cluster_size} must divide the {level.instances} instances"


def wrong_level_parts(level: "StorageLevel") -> Iterator[str]:
    """Say which fields of a level do not go together; the others must have been found right."""
    yield _cluster_fault(level)
    yield _timing_fault(level)
    size: object = level.capacity_bytes
    if (size is None) != (level.storage == "dram"):
        yield (
            "all levels but DRAM need capacity_bytes, and DRAM must have none; storage "
            f"is {level.storage}, "
            f"capacity_bytes {size!r}"
        )
    elif isinstance(size, tuple):
        if not _paired(size, level.keeps) or len(size) != len(level.keeps):
            yield f"private buffers must match keeps {level.keeps}, got {size!r}"
        elif not all(is_amount(b, *_BYTES) for _, b in size):
            yield f"capacities must be from {_BYTES[0]} up to {_BYTES[1]:g} bytes, got {size!r}"
    elif size is not None:
        yield amount_fault("capacity_bytes", size, *_BYTES)


def _timing_fault(level: "StorageLevel") -> str:
    """Say why a level cannot be DRAM with rows and banks; empty if it can, or is none."""
    if level.timing is None:
        return ""
    if level.storage != "dram":
        return f"timing is for the level with storage dram, this one has storage {level.storage}"
    if level.energy is not None:
        return "timing and energy both say what an access costs; give one of them"
    if level.instances != 1:
        return (
            f"with timing, mesh must be (1, 1), got {level.mesh}; give timing more channels instead"
        )
    return ""


def wrong_hardware_values(hardware: "Hardware", level_class: type) -> Iterator[str]:
    """Say which fields of a hardware hold no such thing."""
    for name in ("name", "technology", "dram"):
        text: object = getattr(hardware, name)
        if not isinstance(text, str):
            yield f"{name} must be a text, got {text!r}"
    yield amount_fault("frequency_mhz", hardware.frequency_mhz, *_CLOCK_MHZ)
    yield whole_fault("word_bits", hardware.word_bits, 1, _MOST_BITS)
    yield _mesh_fault("pe_mesh", hardware.pe_mesh)
    yield _mesh_fault("array", hardware.array)
    for name in ("vector_lanes", "native_batch"):
        yield whole_fault(name, getattr(hardware, name), 1, MOST_WORDS)
    if hardware.mac_pj is not None:
        yield amount_fault("mac_pj", hardware.mac_pj, 0, MOST_PJ)
    if hardware.mac_bits is not None:
        yield whole_fault("mac_bits", hardware.mac_bits, 1, _MOST_BITS)
    effects: object = hardware.effects
    if not isinstance(effects, Effects):
        yield f"effects must be Effects, got {effects!r}"
    levels: object = hardware.levels
    if not isinstance(levels, tuple) or not all(isinstance(v, level_class) for v in levels):
        yield f"levels must be a tuple of {level_class.__name__}, got {levels!r}"


def wrong_levels(hardware: "Hardware") -> Iterator[str]:
    """Say which levels do not go together; the other fields must have been found right."""
    levels, macs = hardware.levels, hardware.mac_mesh
    kinds = [level.storage for level in levels]
    if not kinds or kinds[-1] != "dram" or "dram" in kinds[:-1]:
        yield f"the last level, and only it, must be DRAM, got {', '.join(kinds) or 'no levels'}"
    elif set(levels[-1].keeps) != set(TENSORS):
        yield f"DRAM must keep every tensor, keeps {levels[-1].keeps}"
    names = [level.name for level in levels]
    if len(set(names)) != len(names):
        yield f"level names must be unique, got {', '.join(names)}"
    if macs[0] * macs[1] > _MOST_INSTANCES:
        yield f"must have at most {_MOST_INSTANCES} MACs, got {hardware.macs}"
    yield _no_place_to_unpack(hardware)
    yield _no_place_to_drain(hardware)
    if levels and levels[-1].timing is not None and hardware.effects.weight_format != "dense":
        yield (
            f"effects: weight_format {hardware.effects.weight_format} packs weights in DRAM, whose "
            "runs of bytes its timing does not know; choose dense, or leave timing out"
        )
    below = macs
    for level in levels:
        mesh = level.mesh
        if below[0] % mesh[0] or below[1] % mesh[1]:
            yield f"mesh {mesh} of {level.name} must divide the mesh {below} of the level inside it"
        below = mesh


def _no_place_to_unpack(hardware: "Hardware") -> str:
    """Say why packed weights could not be unpacked on their way in; empty if they can."""
    kind, inside = hardware.effects.weight_format, hardware.levels[:-2]
    first = next((level for level in inside if "weights" in level.keeps), None)
    if kind == "dense" or (first is not None and not first.optional):
        return ""
    why = f"{first.name} may be bypassed" if first else "no level there keeps weights"
    return (
        f"effects: weight_format {kind} unpacks weights as they enter a level inside the outermost "
        f"buffer that always keeps them, and {why}; add such a level that is not "
        "optional, or choose dense"
    )


def _no_place_to_drain(hardware: "Hardware") -> str:
    """Say why it is not known which level results leave for DRAM; empty if it is."""
    holders = [level for level in hardware.levels[:-1] if "outputs" in level.keeps]
    if hardware.effects.drain_reads == "free" or (holders and not holders[-1].optional):
        return ""
    why = f"{holders[-1].name} may be bypassed" if holders else "no level keeps them"
    return (
        "effects: drain_reads counted needs an on-chip level from which all results leave for "
        f"DRAM, and {why}; choose free, or let the outermost level that keeps outputs not be "
        "optional"
    )


def _mesh_fault(name: str, mesh: object) -> str:
    """Say what is wrong with a mesh; empty if nothing is."""
    if (
        isinstance(mesh, tuple)
        and len(mesh) == 2
        and all(is_whole(side, 1, _MOST_INSTANCES) for side in mesh)
        and mesh[0] * mesh[1] <= _MOST_INSTANCES
    ):
        return ""
    return f"{name} must be instances along x and y, at most {_MOST_INSTANCES}, got {mesh!r}"


def _named(values: object, known: tuple[str, ...]) -> bool:
    """Whether these are known names, each once."""
    if not isinstance(values, tuple):
        return False
    try:
        different = set(values)
    except TypeError:
        return False
    return different.issubset(known) and len(different) == len(values)


def _paired(values: object, known: tuple[str, ...]) -> bool:
    """Whether these are pairs of a known name, each once, and something."""
    return (
        isinstance(values, tuple)
        and all(isinstance(value, tuple) and len(value) == 2 for value in values)
        and _named(tuple(value[0] for value in values), known)
    )
