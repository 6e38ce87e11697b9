"""Faults of mapping problems in words, and buffers that are too small for any mapping."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, prod
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.space import Infeasible, is_amount
from archloom.space.hardware import BIT_PARTS, Hardware
from archloom.space.mapping import MappingConstraints
from archloom.space.workload import DIMS, NO_ZEROS, TENSORS, Sparsity, Tensor

from ..arrays import Ints
from .data_reuse import tile_words
from .hardware_arrays import unit_parts
from .kernel_inputs import MAX_LEVELS, KernelInputs

if TYPE_CHECKING:
    from .problem import MappingProblem


#: floating point holds every whole number up to here, and cycles and energies are such
EXACT: Final = 2**53

#: the kernel counts in 64-bit integers; up to here sums of four counts do not overflow
_COUNTABLE: Final = 2**60

#: beyond this an exponent of the objective is a slip
_MOST_WEIGHT: Final = 100.0

_LEAST: Final = {"stride": 1, "dilation": 1, "padding": 0, "input_size": 1}


def wrong_sizes(problem: "MappingProblem") -> Iterator[str]:
    """Say which numbers are no sizes; without these the other checks make sense."""
    if not _whole(problem.bounds, len(DIMS), 1):
        yield f"bounds must be {len(DIMS)} whole numbers, at least 1, got {problem.bounds!r}"
    loops: object = problem.loop_bounds
    if loops is not None and not (isinstance(loops, tuple) and _whole(loops, len(loops), 1)):
        yield f"loop_bounds must be whole numbers, at least 1, got {loops!r}"
    for name, least in _LEAST.items():
        if not _whole(getattr(problem, name), 2, least):
            yield (
                f"{name} must be 2 whole numbers, at least {least}, got {getattr(problem, name)!r}"
            )
    staged: object = problem.staged
    if not (
        isinstance(staged, tuple)
        and len(staged) == len(TENSORS)
        and all(isinstance(flag, bool) for flag in staged)
    ):
        yield f"staged must say true or false of {', '.join(TENSORS)}, got {staged!r}"
    free: object = problem.free_words
    if free is not None and not _whole((free,), 1, 0):
        yield f"free_words must be a whole number from 0 to {EXACT}, got {free!r}"
    shares: object = problem.density
    if not (isinstance(shares, tuple) and len(shares) == 2 and all(map(_is_share, shares))):
        yield f"density must be two shares above 0 and up to 1, got {shares!r}"
    if not _whole((problem.row_words,), 1, 0):
        yield f"row_words must be a whole number from 0 to {EXACT}, got {problem.row_words!r}"
    yield from _wrong_choices(problem)


def _wrong_choices(problem: "MappingProblem") -> Iterator[str]:
    """Say what is wrong with the objective, and with what holds for all mappings."""
    weights: object = problem.weights
    if not (
        isinstance(weights, tuple)
        and len(weights) == 2
        and all(is_amount(w, 0, _MOST_WEIGHT) for w in weights)
        and any(weights)
    ):
        yield f"weights must be two numbers from 0 to {_MOST_WEIGHT}, not both 0, got {weights!r}"
    if not is_amount(problem.cycle_pj, 0, EXACT):
        yield f"cycle_pj must be a number from 0 to {EXACT}, got {problem.cycle_pj!r}"
    begun: object = problem.begun
    if not isinstance(begun, bool):
        yield f"begun must be true or false, got {begun!r}"
    rules: object = problem.constraints
    if not isinstance(rules, MappingConstraints):
        yield f"constraints must be MappingConstraints, got {rules!r}"


def wrong_place(problem: "MappingProblem") -> Iterator[str]:
    """Say why the hardware cannot run it."""
    covered, hardware = problem.covered, problem.hardware
    pairs = zip(covered, problem.bounds, strict=False)
    if len(covered) != len(problem.bounds) or any(n < b for n, b in pairs):
        yield f"loop bounds {covered} do not cover the loops {problem.bounds}"
    levels, buffer = hardware.levels, hardware.fusion_level
    if len(levels) > MAX_LEVELS:
        yield many_levels(hardware)
    for tensor, staged in zip(TENSORS, problem.staged, strict=True):
        if staged and (buffer is None or tensor not in levels[buffer].keeps):
            yield f"no shared buffer can hold {tensor}"
    for name, near in problem.constraints.unknown_levels(level.name for level in levels):
        yield f"constraints name level {name!r}, which is unknown; {near}"


def many_levels(hardware: Hardware) -> str:
    """Say that a hardware has more levels than the kernel is compiled for."""
    return f"{len(hardware.levels)} levels, must have at most {MAX_LEVELS}"


def too_large(problem: "MappingProblem") -> Iterator[str]:
    """Say which counts the kernel could not hold.

    A tile of p results and r taps has at most max(stride, dilation) p r rows, so no words that
    any mapping moves over the run are more than the steps times that, on both axes.
    """
    macs = prod(problem.covered)
    if macs > EXACT:
        yield (
            f"bounds {problem.covered} make {macs} multiply-accumulates, must make at "
            f"most {EXACT} to be counted exactly"
        )
    holes = prod(max(pair) for pair in zip(problem.stride, problem.dilation, strict=True))
    own = [bits for level in problem.hardware.levels for _, bits in level.tensor_bits]
    widest = max([problem.hardware.word_bits, *own])
    # packed words are counted in parts of a bit
    bits = macs * holes * widest * (BIT_PARTS if problem.row_words else 1)
    if bits > _COUNTABLE:
        yield (
            f"up to {bits} bits to move ({macs} multiply-accumulates, windows of stride "
            f"{problem.stride} and dilation {problem.dilation}, words of up to {widest} bits"
            f"{f', parts of 1/{BIT_PARTS} bit' if problem.row_words else ''}), "
            f"at most {_COUNTABLE} can be counted"
        )


def _whole(values: object, count: int, least: int) -> bool:
    """Whether these are so many whole numbers; true and false are none."""
    return (
        isinstance(values, tuple)
        and len(values) == count
        and all(
            (type(value) is int or isinstance(value, np.integer)) and least <= value <= EXACT
            for value in values
        )
    )


def _is_share(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating):
        return False
    return bool(0 < value <= 1)


@dataclass(frozen=True, slots=True)
class Shortage:
    """One buffer that cannot hold even the smallest tiles of the tensors that it must hold.

    Attributes:
        level: name of the storage level.
        tensors: what the buffer must hold: of a private buffer one tensor.
        private: whether each tensor of the level has a buffer of its own.
        needed_bytes: of one instance, for the smallest tile of each, with the copies of each that
            the level buffers. A buffer of that size is just large enough.
        available_bytes: of one instance; where maps of a fused group live in it, what they leave.
        escapes: sets of tensors, the smallest ones, without which the others fit, if they bypass
            the level.
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
        """Changes after which the tiles would fit, for people."""
        name, needed = self.level, _bytes(self.needed_bytes)
        if self.private:
            name = f"the buffer of {self.tensors[0]} in {name}"
        if self.beside_maps:
            more = self.needed_bytes - self.available_bytes
            needed = _bytes(more, " more")
        ways = " or ".join(" and ".join(tensors) for tensors in self.escapes)
        text = f"give {name} at least {needed}, or let {ways} bypass it"
        return f"{text}, or fuse fewer layers" if self.beside_maps else text


def _bytes(amount: float, more: str = "") -> str:
    return f"{amount:,.12g}{more} {'byte' if amount == 1 else 'bytes'}"


def shortages(
    hardware: Hardware,
    setup: KernelInputs,
    free_words: int | None,
    zeros: Sparsity = NO_ZEROS,
) -> list[Shortage]:
    """Return every buffer that is too small for any mapping, from the innermost level.

    A mapping with the smallest tiles everywhere exists for every problem, so a problem has a
    mapping if and only if there is none. They do not depend on each other.

    Args:
        hardware: what is short.
        setup: kernel inputs of the problem; say which level must hold what.
        free_words: words of maps that are left in the fusion level; None for all of it.
        zeros: of the layer, which decide what packed weights take.
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
                _shortage(hardware, i, {t: int(least[i, t])}, setup, zeros)
                for t in held
                if setup.capacity[i, t] < least[i, t]
            ]
        elif 0 <= setup.shared[i] < least[i, held].sum():
            left = free_words if i == hardware.fusion_level else None
            units = {t: int(least[i, t]) for t in held}
            found.append(_shortage(hardware, i, units, setup, zeros, left))
    return found


def _least_units(setup: KernelInputs) -> Ints:
    """Return units of the smallest tiles, int64[L, 3]: a word, times what constraints unroll."""
    if (setup.fixed == 1).all() and not setup.within.any():
        return setup.unit
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
    hardware: Hardware,
    i: int,
    units: dict[int, int],
    setup: KernelInputs,
    zeros: Sparsity,
    left: int | None = None,
) -> Shortage:
    level, held = hardware.levels[i], list(units)
    unit_bits = unit_parts(hardware, i, zeros) / BIT_PARTS
    capacity = int(setup.capacity[i, held[0]] if level.private else setup.shared[i])
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
        _escapes(units, capacity),
        beside_maps=left is not None,
    )


def _escapes(units: dict[int, int], capacity: int) -> tuple[tuple[Tensor, ...], ...]:
    """The smallest sets of tensors without which the others fit."""
    every = sum(units.values())
    for size in range(1, len(units) + 1):
        enough = [
            out
            for out in combinations(units, size)
            if every - sum(units[t] for t in out) <= capacity
        ]
        if enough:
            return tuple(tuple(TENSORS[t] for t in out) for out in enough)
    raise AssertionError("no combination of bypasses fits")
