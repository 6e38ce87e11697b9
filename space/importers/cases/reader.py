"""Cases in the record format, as our own hardware, layer and mapping."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd, inf
from pathlib import Path
from typing import Any, Final, NamedTuple

from archloom.space.hardware import AccessEnergy, DramTiming, Effects, Hardware, StorageLevel
from archloom.space.mapping import Mapping
from archloom.space.workload import TENSORS, Layer

from ...yaml_reader import bounded_json
from .mapping import case_mapping
from .problem import CASE_TENSORS, CaseLayer, case_layer
from .record import Architecture, Level, Loops, Parts, RecordError, parse_record, parts_of

#: prices what a case leaves open, unless another table is asked for
DEFAULT_TECHNOLOGY: Final = "cacti_45nm"
DEFAULT_DRAM: Final = "lpddr4"

#: energies of a level that need those of its accesses
_BESIDE_ENERGY: Final = ("net_energy_per_hop_pJ", "net_router_energy_pJ", "addr_gen_energy_pJ")

#: clock of a case, which has cycles and no seconds
_FREQUENCY_MHZ: Final = 1000.0


@dataclass(frozen=True)
class Case:
    """One architecture, problem and mapping, with the counts that were recorded for them.

    Attributes:
        name: id of the record, or where it stands.
        hardware, layer: architecture and problem.
        mapping: None if the record has none.
        result: the recorded figures, as in the file; None if there are none.
        closed_form_agrees: False where the recorded figures are known to be off.
        slots: for each dimension of the problem its place in DIMS; one of a single step that
            indexes nothing has none.
        line: where it stands in its file; 0 if it comes from none.
    """

    name: str
    hardware: Hardware
    layer: Layer
    mapping: Mapping | None
    result: dict[str, Any] | None
    closed_form_agrees: bool
    slots: dict[str, int]
    line: int = 0


@dataclass(frozen=True)
class BadCase:
    """A record that is no case, with every reason; ``line`` says where in the file it stands."""

    name: str
    faults: tuple[str, ...]
    line: int


def read_cases(path: Path, technology: str = DEFAULT_TECHNOLOGY) -> Iterator[Case | BadCase]:
    """Yield the cases of a file with one JSON object a line; blank lines are skipped.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: it is not text.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _case_of_line(line.rstrip("\n"), number, technology)


def _case_of_line(line: str, number: int, technology: str) -> Case | BadCase:
    where = f"line {number}"
    try:
        data = bounded_json(line)
    except json.JSONDecodeError as error:
        return BadCase(where, (f"is not JSON: {error.msg}, column {error.colno}",), number)
    except (ValueError, RecursionError) as error:  # a number of too many digits, or too deep
        return BadCase(where, (f"is not JSON: {error}",), number)
    name = data.get("id") if isinstance(data, dict) else None
    name = name if isinstance(name, str) and name else where
    try:
        return replace(case_of(data, name, technology), line=number)
    except RecordError as error:
        return BadCase(name, error.faults, number)


def case_of(data: Any, name: str = "case", technology: str = DEFAULT_TECHNOLOGY) -> Case:
    """Return the case that a record holds.

    Raises:
        RecordError: everything that is wrong with it, each with its key path.
    """
    try:
        record = parse_record(data)
    except RecordError as error:
        raise RecordError([*error.faults, *_built(parts_of(data), technology).faults]) from None
    built = _built(Parts(record.arch, record.problem, record.mapping), technology)
    faults = list(built.faults)
    if record.imperfect_factorization:
        faults.append(
            "imperfect_factorization: must be false, because only exact factors are "
            "compared; got true"
        )
    if faults or built.hardware is None or built.found is None:
        raise RecordError(faults)
    return Case(
        record.id or name,
        built.hardware,
        built.found.layer,
        built.mapping,
        record.result,
        record.closed_form_agrees,
        built.found.slots,
    )


class _Built(NamedTuple):
    """What the parts of a record become, and all that is wrong with them."""

    hardware: Hardware | None
    found: CaseLayer | None
    mapping: Mapping | None
    faults: list[str]


def _built(parts: Parts, technology: str) -> _Built:
    faults: list[str] = []
    arch, problem, loops = parts
    hardware = found = mapping = None
    try:
        hardware = _hardware(arch, loops or [], technology) if arch else None
    except (RecordError, ValueError) as error:
        faults += _told(error, "arch")
    try:
        found = case_layer(problem) if problem else None
    except (RecordError, ValueError) as error:
        faults += _told(error, "problem")
    try:
        if loops is not None and arch and problem:
            names = [level.name for level in arch.levels]
            mapping = case_mapping(loops, names, problem.dims, found.slots if found else {})
    except (RecordError, ValueError) as error:
        faults += _told(error, "mapping")
    if hardware is not None:
        faults += _fanout_faults(loops or [], hardware)
    if hardware is not None and found is not None and arch:
        faults += _outermost_faults(arch, found.layer)
    return _Built(hardware, found, mapping, faults)


def _told(error: ValueError, part: str) -> Sequence[str]:
    return error.faults if isinstance(error, RecordError) else [f"{part}: {error}"]


def _hardware(arch: Architecture, loops: Sequence[Loops], technology: str) -> Hardware:
    faults = [
        f"arch.levels[{i}].instances: {level.instances} is not meshX * meshY = "
        f"{level.meshX * level.meshY}"
        for i, level in enumerate(arch.levels)
        if level.instances != level.meshX * level.meshY
    ]
    if arch.mac.instances != arch.mac.meshX * arch.mac.meshY:
        faults.append(f"arch.mac.instances: {arch.mac.instances} is not meshX * meshY")
    faults += [
        f"arch.levels[{i}]: energies of network or addresses need energy_pJ as well"
        for i, level in enumerate(arch.levels)
        if level.energy_pJ is None and any(getattr(level, key) for key in _BESIDE_ENERGY)
    ]
    faults += _timing_faults(arch)
    bits = gcd(*(level.word_bits for level in arch.levels))
    if faults:
        raise RecordError(faults)
    last = len(arch.levels) - 1
    # multicast is the network's, but a record has it with the loops that use the network
    apart = [level.no_multicast for level in loops]
    levels = tuple(
        _level(level, bits, apart[i] if i < len(apart) else (), outermost=i == last)
        for i, level in enumerate(arch.levels)
    )
    mesh = (arch.mac.meshX, arch.mac.meshY)
    hops = any(level.net_energy_per_hop_pJ or level.net_router_energy_pJ for level in arch.levels)
    return Hardware(
        name=arch.name,
        technology=technology,
        frequency_mhz=_FREQUENCY_MHZ,
        word_bits=bits,
        pe_mesh=mesh,
        array=(1, 1),
        levels=levels,
        dram=DEFAULT_DRAM,
        vector_lanes=mesh[0],
        mac_pj=arch.mac.energy_pJ,
        effects=Effects(network="mesh" if hops else "free"),
        # wide words hold partial sums, narrow ones operands
        mac_bits=min(level.word_bits for level in arch.levels),
    )


def _level(level: Level, bits: int, no_multicast: Sequence[str], outermost: bool) -> StorageLevel:
    energy = None
    if level.energy_pJ is not None:
        energy = AccessEnergy(
            level.energy_pJ.read,
            level.energy_pJ.fill,
            level.energy_pJ.update,
            level.energy_pJ.leak_per_cycle,
            level.net_energy_per_hop_pJ or 0.0,
            level.net_router_energy_pJ or 0.0,
            level.addr_gen_energy_pJ or 0.0,
        )
    unlimited = 2.0**60
    # widths and bandwidths of our levels count words of the hardware, not of the level
    wide = level.word_bits // bits
    words = unlimited if level.size_words is None else level.size_words
    return StorageLevel(
        name=level.name,
        storage="dram" if outermost else "sram",
        keeps=TENSORS,
        mesh=(level.meshX, level.meshY),
        capacity_bytes=None if outermost else words * level.word_bits / 8,
        bandwidth_words=(level.shared_bandwidth or inf) * wide,
        width_words=level.block_size * wide,
        optional=not outermost,
        read_bandwidth_words=(level.read_bandwidth or inf) * wide,
        write_bandwidth_words=(level.write_bandwidth or inf) * wide,
        multiple_buffering=level.multiple_buffering,
        multicast=tuple(
            tensor
            for tensor, name in zip(TENSORS, CASE_TENSORS, strict=True)
            if name not in no_multicast
        ),
        cluster_size=level.cluster_size,
        tensor_bits=tuple((tensor, level.word_bits) for tensor in TENSORS),
        energy=energy,
        timing=None if level.timing is None else DramTiming(**level.timing.model_dump()),
    )


def _timing_faults(arch: Architecture) -> list[str]:
    """Only one device of the outermost level is DRAM with rows and banks, which prices itself."""
    faults = []
    for i, level in enumerate(arch.levels):
        if level.timing is None:
            continue
        where = f"arch.levels[{i}].timing:"
        if i < len(arch.levels) - 1:
            outermost = arch.levels[-1].name
            faults.append(f"{where} is for the outermost level, {outermost}; leave it out here")
        if level.energy_pJ is not None:
            faults.append(f"{where} says what an access costs, as energy_pJ does; leave one out")
        if level.meshX * level.meshY != 1:
            faults.append(
                f"{where} needs meshX and meshY of 1, got {level.meshX} and {level.meshY}; give it "
                "more channels instead"
            )
    return faults


def _fanout_faults(mapping: Sequence[Loops], hardware: Hardware) -> list[str]:
    faults = []
    for i, (loops, fanout) in enumerate(zip(mapping, hardware.fanouts, strict=False)):
        if loops.spatial is not None:
            given = (loops.spatial.fanoutX, loops.spatial.fanoutY)
            faults += [
                f"mapping[{i}].spatial.fanout{axis}: {stated}, but the meshes give {has}"
                for axis, stated, has in zip("XY", given, fanout, strict=True)
                if stated is not None and stated != has
            ]
    return faults


def _outermost_faults(arch: Architecture, layer: Layer) -> list[str]:
    """The level outside all others holds every tensor whole."""
    level = arch.levels[-1]
    words = layer.weight_words + layer.input_words + layer.output_words
    if level.size_words is None or words <= level.size_words // level.multiple_buffering:
        return []
    return [
        f"arch.levels[{len(arch.levels) - 1}].size_words: {level.name} is the outermost memory and "
        f"must hold all {words} words of the problem, has {level.size_words}"
    ]
