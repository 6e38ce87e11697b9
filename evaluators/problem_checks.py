"""What a mapping problem cannot be, in words."""

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from ..space.amounts import is_amount
from ..space.dims import DIMS, TENSORS
from ..space.mapping_constraints import MappingConstraints
from .setup import MAX_LEVELS

if TYPE_CHECKING:
    from .problem import MappingProblem

#: floating point holds every whole number up to here, and cycles and energies are such
EXACT: Final = 2**53

#: the kernel counts in 64-bit integers; up to here sums of four counts do not overflow
COUNTABLE: Final = 2**60

#: beyond this an exponent of the objective is a slip
MOST_WEIGHT: Final = 100.0

_LEAST: Final = {"stride": 1, "dilation": 1, "padding": 0, "input_size": 1}


def wrong_sizes(problem: "MappingProblem") -> Iterator[str]:
    """Say which numbers are no sizes; without these the other checks make sense."""
    if not _whole(problem.bounds, len(DIMS), 1):
        yield f"bounds must be {len(DIMS)} whole numbers from 1 up, got {problem.bounds!r}"
    loops: object = problem.loop_bounds
    if loops is not None and not (isinstance(loops, tuple) and _whole(loops, len(loops), 1)):
        yield f"loop_bounds must be whole numbers from 1 up, got {loops!r}"
    for name, least in _LEAST.items():
        if not _whole(getattr(problem, name), 2, least):
            yield f"{name} must be 2 whole numbers from {least} up, got {getattr(problem, name)!r}"
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
    weights: object = problem.weights
    if not (
        isinstance(weights, tuple)
        and len(weights) == 2
        and all(is_amount(w, 0, MOST_WEIGHT) for w in weights)
        and any(weights)
    ):
        yield f"weights must be two numbers from 0 to {MOST_WEIGHT}, not both 0, got {weights!r}"
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
        yield f"{len(levels)} levels, at most {MAX_LEVELS}"
    for tensor, staged in zip(TENSORS, problem.staged, strict=True):
        if staged and (buffer is None or tensor not in levels[buffer].keeps):
            yield f"no shared buffer can hold {tensor}"
    for name, near in problem.constraints.unknown_levels(level.name for level in levels):
        yield f"constraints name level {name!r}, which is unknown; {near}"


def too_large(problem: "MappingProblem") -> Iterator[str]:
    """Say which counts the kernel could not hold.

    A tile of p results and r taps has at most max(stride, dilation) p r rows, so no words that
    any mapping moves over the run are more than the steps times that, on both axes.
    """
    macs = prod(problem.covered)
    if macs > EXACT:
        yield (
            f"bounds {problem.covered} make {macs} multiply-accumulates, at most {EXACT} are "
            "counted exactly"
        )
    holes = prod(max(pair) for pair in zip(problem.stride, problem.dilation, strict=True))
    own = [bits for level in problem.hardware.levels for _, bits in level.tensor_bits]
    widest = max([problem.hardware.word_bits, *own])
    bits = macs * holes * widest
    if bits > COUNTABLE:
        yield (
            f"up to {bits} bits to move ({macs} multiply-accumulates, windows of stride "
            f"{problem.stride} and dilation {problem.dilation}, words of up to {widest} bits), "
            f"at most {COUNTABLE} can be counted"
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
