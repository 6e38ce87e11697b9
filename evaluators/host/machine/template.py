"""This machine as a template of hardware: a YAML file with its measured rates and their sources.

The file is kept where caches of programs are, named by processor, caches and cores, so a machine is
measured once. It is a template like any other: a study that names it keeps it.
"""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from .caches import data_caches
from .facts import this_machine
from .rates import HostError, LevelRates, Rates, measured_rates

#: bytes of a float32
_WORD: Final = 4

_HEAD: Final = """description: >
  The machine {cpu}, {cores} cores, as hardware of the cost model, with rates that were measured on
  it: another machine gives other results. For times; energies are those of the technology below.
# assumption: only times are held against this machine
technology: n7
dram: ddr4
# a chain of dependent instructions, one a cycle, on one core
frequency_mhz: {frequency_mhz}
word_bits: 32
pe_mesh: [{cores}, 1]
# {vector_bits}-bit vectors; {products_per_cycle:g} products a cycle of a core in a matrix product
array: [{lanes}, {units}]
# assumption: as many additions as products
vector_lanes: {vector_lanes}
levels:
  - name: registers
    storage: register
    keeps: [weights, inputs, outputs]
    mesh: [{cores}, 1]
    # {registers} vector registers (flags of the processor); names for the compiler, no ports
    capacity_bytes: {register_bytes}
    bandwidth_words: 1.0e+6
    # an instruction may take an operand from memory
    optional: true
    # lanes are neighbours of a map or output channels; no instruction adds up over lanes
    spatial_x: [K, P, Q, G]
    spatial_y: [K, P, Q, G]
"""

_LEVEL: Final = """  - name: {name}
    storage: {storage}
    keeps: [weights, inputs, outputs]
    mesh: [{instances}, 1]
{capacity}    # measured on one core: reading, writing, and both in a copy
    read_bandwidth_words: {read:g}
    write_bandwidth_words: {write:g}
    bandwidth_words: {both:g}
"""

_MARKS: Final = """assumptions:
  technology: only times are held against this machine
  vector_lanes: as many additions as products
"""


def kept_template(told: Callable[[str], object]) -> Path:
    """Return the template of this machine; measure it where there is none yet.

    Args:
        told: hears that it is measured, which takes some seconds.

    Raises:
        HostError: it cannot be measured, or the file cannot be written.
    """
    file = _folder() / f"host-{_digest()}.yaml"
    if file.is_file():
        return file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        told(f"measuring this machine once, for {file}")
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(host_template(measured_rates()))
        fresh.replace(file)
    except OSError as error:
        why = f"{file}: {error.strerror}; XDG_CACHE_HOME names another place"
        raise HostError(why) from None
    return file


def _folder() -> Path:
    """Return where programs keep what they can make again (XDG Base Directory Specification)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "archloom"


def _digest() -> str:
    machine = this_machine(1)
    facts = (machine.cpu, machine.flags, machine.cores, tuple(data_caches()))
    return sha256(repr(facts).encode()).hexdigest()[:12]


def host_template(rates: Rates, cores: int | None = None) -> str:
    """Return the template of a machine, with all of its cores or with some."""
    cores = cores or rates.machine.cores
    head = _HEAD.format(
        cpu=rates.machine.cpu,
        cores=cores,
        frequency_mhz=rates.frequency_mhz,
        vector_bits=rates.vector_bits,
        products_per_cycle=rates.products_per_cycle,
        lanes=rates.lanes,
        units=rates.vector_units,
        vector_lanes=cores * rates.lanes * rates.vector_units,
        registers=rates.registers,
        register_bytes=rates.registers * rates.vector_bits // 8,
    )
    return head + "".join(_level(level, cores) for level in rates.levels) + _MARKS


def _level(level: LevelRates, cores: int) -> str:
    dram = level.capacity_bytes is None
    shared = 1 if dram else min(level.cores, cores)
    instances = 1 if dram else -(-cores // shared)
    # assumption: a shared memory gives each core what it gives to one; DRAM does not
    users = 1 if dram else shared
    capacity = "" if dram else f"    capacity_bytes: {level.capacity_bytes}\n"
    rates = (level.read, level.write, max(level.copy, level.read, level.write))
    read, write, both = (rate * users / _WORD for rate in rates)
    return _LEVEL.format(
        name=level.name,
        storage="dram" if dram else "sram",
        instances=instances,
        capacity=capacity,
        read=read,
        write=write,
        both=both,
    )
