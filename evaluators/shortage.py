"""Buffers too small for the smallest tiles, and what would give them room."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, gcd

import numpy as np

from ..space.dims import TENSORS, Tensor
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from .setup import Setup
from .words import Int, tile_words


@dataclass(frozen=True, slots=True)
class Shortage:
    """One buffer in which not even the smallest tiles of the tensors that it must hold have room.

    Attributes:
        level: name of the storage level.
        tensors: what the buffer must hold: of a private buffer one tensor.
        private: whether each tensor of the level has a buffer of its own.
        needed_bytes: of one instance, for the smallest tile of each, with the copies of each that
            the level buffers. A buffer of that size is just large enough.
        available_bytes: of one instance; where maps of a fused group live in it, what they leave.
        escapes: sets of tensors, the smallest ones, that leave enough room if they bypass the
            level.
        beside_maps: whether maps of a fused group take the rest of the buffer.
    """

    level: str
    tensors: tuple[Tensor, ...]
    private: bool
    needed_bytes: float
    available_bytes: float
    escapes: tuple[tuple[Tensor, ...], ...]
    beside_maps: bool = False

    @property
    def remedy(self) -> str:
        """What would give it room, for people."""
        name, needed = self.level, f"{self.needed_bytes:g} bytes"
        if self.private:
            name = f"the buffer of {self.tensors[0]} in {name}"
        if self.beside_maps:
            more = self.needed_bytes - self.available_bytes
            needed = f"{more:g} more byte{'' if more == 1 else 's'}"
        ways = " or ".join(" and ".join(tensors) for tensors in self.escapes)
        text = f"give {name} {needed}, or let {ways} bypass it"
        return f"{text}, or fuse less" if self.beside_maps else text


def shortages(hardware: Hardware, setup: Setup, free_words: int | None) -> list[Shortage]:
    """Return every buffer that is too small for any mapping, from the innermost level.

    A mapping with the smallest tiles everywhere exists for every problem, so a problem has a
    mapping if and only if there is none. They do not depend on each other.

    Args:
        hardware: what is short.
        setup: of the problem; says which level must hold what.
        free_words: words of maps that are left in the fusion level; None for all of it.
    """
    found, least = [], _least_units(setup)
    for i in range(len(hardware.levels) - 1):
        held = [
            t
            for t in range(len(TENSORS))
            if setup.allowed[i, t]
            and not setup.optional[i, t]
            and i <= setup.top[t]
            and not (setup.staged[t] and i == setup.top[t])
        ]
        if hardware.levels[i].private:
            found += [
                _shortage(hardware, i, {t: int(least[i, t])}, setup)
                for t in held
                if setup.capacity[i, t] < least[i, t]
            ]
        elif 0 <= setup.shared[i] < least[i, held].sum():
            left = free_words if i == hardware.fusion_level else None
            units = {t: int(least[i, t]) for t in held}
            found.append(_shortage(hardware, i, units, setup, left))
    return found


def _least_units(setup: Setup) -> Int:
    """Return units of the smallest tiles, int64[L, 3]: a word, times what constraints unroll."""
    tiles = np.cumprod(setup.fixed.prod(axis=1), axis=0)
    inside = np.where(setup.within, setup.bounds // tiles[-1], 1)
    extents = tiles * inside
    words = [[tile_words(t, extents, i, setup.window) for t in range(len(TENSORS))]
             for i in range(len(extents))]  # fmt: skip
    return np.array(words) * setup.unit


def impossible(found: Sequence[Shortage]) -> Infeasible | None:
    """Return the first shortage as a reason, with what mends all of them; None without any."""
    if not found:
        return None
    first = found[0]
    return Infeasible(
        reason="no_mapping",
        where=f"{first.level} ({', '.join(first.tensors)})",
        needed=first.needed_bytes,
        available=first.available_bytes,
        unit="bytes",
        hint="; and ".join(shortage.remedy for shortage in found),
    )


def _shortage(
    hardware: Hardware, i: int, units: dict[int, int], setup: Setup, left: int | None = None
) -> Shortage:
    level, held = hardware.levels[i], list(units)
    unit_bits = gcd(*(hardware.bits(i, tensor) for tensor in level.keeps))
    room = int(setup.capacity[i, held[0]] if level.private else setup.shared[i])
    # each tile is there so many times; the kernel rounds the units of one copy down
    copies = Fraction(level.multiple_buffering)
    needed = sum(units.values())
    has = (level.buffer_bytes(TENSORS[held[0]]) or 0) if level.private else level.total_bytes
    if left is None:
        wants = ceil(needed * copies) * unit_bits / 8
    else:
        # maps take what is not left, whatever the size of the whole
        whole = int(has * 8 // unit_bits // level.multiple_buffering) + needed - left
        more = ceil(whole * copies) * unit_bits / 8 - has
        has = float(left * copies * unit_bits / 8)
        wants = has + more
    return Shortage(
        level.name,
        tuple(TENSORS[t] for t in held),
        level.private,
        wants,
        has,
        _escapes(units, room),
        beside_maps=left is not None,
    )


def _escapes(units: dict[int, int], room: int) -> tuple[tuple[Tensor, ...], ...]:
    """The smallest sets of tensors without which the others have room."""
    every = sum(units.values())
    for size in range(1, len(units) + 1):
        enough = [
            out for out in combinations(units, size) if every - sum(units[t] for t in out) <= room
        ]
        if enough:
            return tuple(tuple(TENSORS[t] for t in out) for out in enough)
    raise AssertionError("without any tensor there is room")
