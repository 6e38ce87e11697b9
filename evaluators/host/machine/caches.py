"""Sizes of this machine's caches, as its kernel tells them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .facts import usable_cores

_SYSTEM: Final = Path("/sys/devices/system/cpu")
_UNITS: Final = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Cache:
    """A level of cache that holds data.

    Attributes:
        level: 1 is next to the core.
        capacity_bytes: of one of them.
        cores: of this machine that share one, of those that may be used.
    """

    level: int
    capacity_bytes: int
    cores: int


def data_caches(folder: Path = _SYSTEM) -> list[Cache]:
    """Return the caches of the first usable core, the innermost first; none where nothing tells."""
    usable = usable_cores()
    found = []
    for entry in sorted((folder / f"cpu{usable[0]}" / "cache").glob("index*")):
        try:
            kind, level, size, shared = (
                (entry / name).read_text().strip()
                for name in ("type", "level", "size", "shared_cpu_list")
            )
            if kind in ("Data", "Unified"):
                cores = len(_numbers(shared) & set(usable))
                found.append(Cache(int(level), _bytes(size), max(cores, 1)))
        except (OSError, ValueError, KeyError, IndexError):
            # a file that is not there, or written in another way: as if it told nothing
            continue
    return sorted(found, key=lambda cache: cache.level)


def _bytes(text: str) -> int:
    """Return the bytes of a size such as ``32K``."""
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def _numbers(text: str) -> set[int]:
    """Return the numbers of a list such as ``0-3,8``."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
