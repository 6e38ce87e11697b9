"""Rates of this machine: what ``probe.py`` measured, in cycles and bytes."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

from .caches import Cache, data_caches
from .facts import Machine, this_machine, thread_environment

#: bits of a vector register, and how many there are, by the flag that says so (Intel SDM,
#: volume 1; Arm ARM). Assumption: SVE registers count as of 128 bits
_REGISTERS: Final = (("avx512f", 512, 32), ("avx", 256, 16), ("asimd", 128, 32))

#: of other processors (assumption: SSE, which every x86-64 has)
_USUAL: Final = (128, 16)

#: caches where the system tells none (assumption)
_CACHES: Final = (Cache(1, 32 * 2**10, 1), Cache(2, 512 * 2**10, 1))

#: a cache is measured by an array of half its size, memory by one of four times the last cache, but
#: no more than this (an assumption: enough of it lies beyond caches that are larger still)
_PART, _BEYOND, _MOST_BYTES = 0.5, 4, 2**29

#: seconds of a clock that measuring may take: a busy machine stretches some seconds of it
_LIMIT_S: Final = 300.0


class HostError(ValueError):
    """This machine cannot be measured."""


@dataclass(frozen=True, slots=True)
class LevelRates:
    """A level of memory as one core sees it.

    Attributes:
        name: ``l1`` and so on, or ``dram``.
        capacity_bytes: of a cache; None for memory.
        cores: that share one.
        read, write, copy: bytes a cycle that a core reads, writes, or both where it copies.
    """

    name: str
    capacity_bytes: int | None
    cores: int
    read: float
    write: float
    copy: float


@dataclass(frozen=True, slots=True)
class Rates:
    """What the cost model takes from this machine.

    Attributes:
        machine: its facts.
        frequency_mhz: of a core while it was measured.
        vector_bits, registers: of its vector unit.
        products_per_cycle: multiply-accumulates of float32 of one core in a product of matrices.
        levels: of memory, the innermost first.
    """

    machine: Machine
    frequency_mhz: float
    vector_bits: int
    registers: int
    products_per_cycle: float
    levels: tuple[LevelRates, ...]

    @property
    def lanes(self) -> int:
        """Values of float32 in a vector."""
        return self.vector_bits // 32

    @property
    def vector_units(self) -> int:
        """Vectors of products that a core starts in a cycle, as a whole number."""
        return max(1, round(self.products_per_cycle / self.lanes))


def measured_rates() -> Rates:
    """Measure this machine, one core of it, in a process of its own; takes some seconds.

    Raises:
        HostError: the process failed; says how.
    """
    machine, caches = this_machine(1), tuple(data_caches()) or _CACHES
    sizes = [round(cache.capacity_bytes * _PART) for cache in caches]
    found = _probed([*sizes, min(caches[-1].capacity_bytes * _BEYOND, _MOST_BYTES)])
    cycles = found["cycles_per_s"]
    bits, registers = next(((b, n) for flag, b, n in _REGISTERS if flag in machine.flags), _USUAL)
    names = [*(f"l{cache.level}" for cache in caches), "dram"]
    shapes = [*((c.capacity_bytes, c.cores) for c in caches), (None, machine.cores)]
    levels = tuple(
        LevelRates(name, *shape, *(round(rates[way] / cycles, 3) for way in _WAYS))
        for name, shape, rates in zip(names, shapes, found["memory"], strict=True)
    )
    products = round(found["products_per_s"] / cycles, 3)
    return Rates(machine, round(cycles / 1e6, 1), bits, registers, products, levels)


_WAYS: Final = ("read", "write", "copy")


def _probed(sizes: list[int]) -> dict[str, Any]:
    command = [sys.executable, "-m", "archloom.evaluators.host.machine.probe", *map(str, sizes)]
    try:
        done = subprocess.run(
            command,
            env=thread_environment(1),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise HostError(f"measuring its memories took more than {_LIMIT_S:g} s") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or ["no message"]
        raise HostError(
            f"measuring its memories ended with {error.returncode}: {last[0]}"
        ) from None
    except ValueError:
        raise HostError("measuring its memories printed no rates") from None
    return found
