"""Kernel inputs as the records and tables that the SIMD kernel reads, where it covers them."""

from math import prod
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled
from archloom.space.workload import INPUTS, P, R

from ...arrays import Flags, Floats, Ints
from ..data_reuse import (
    DILATION,
    KERNEL_LOOP,
    NO_LOOP,
    OUTPUT_LOOP,
    STRIDE,
    TEMPORAL,
    axis_words,
)
from ..kernel_inputs import ARRAY_LEVELS, KernelInputs
from .records import LEVEL, PROBLEM, Records

#: counts up to here, and their quotients by a width, are exact in floats
EXACT: Final = 2**50

#: entries of the largest table that is looked up by two extents
TABLE: Final = 2**20


class SimdInputs(NamedTuple):
    """Numbers of a problem and of its levels, and tables, as loops over a batch read them.

    ``unpadded`` are words of inputs without padding, ``apart`` distances of unrolled children.
    """

    problem: Records
    levels: Records
    unpadded: Floats
    apart: Floats


def simd_inputs(
    setup: KernelInputs, spreads: Flags | None = None, held: Flags | None = None
) -> SimdInputs | None:
    """Return kernel inputs for SIMD batches, or None if the SIMD kernel does not cover them.

    ``spreads[L]`` and ``held[L, 3]`` say where any candidate unrolls loops and which tensors it
    keeps; by default where the problem lets it.
    """
    if setup.extras or not _exact(setup):
        return None
    cut = _cuts_padding(setup)
    levels = _level_numbers(setup, spreads, held)
    crossed = np.flatnonzero(levels["crossed"].any(axis=0))
    sizes = [(int(setup.bounds[P + a]) + 1) * (int(setup.bounds[R + a]) + 1) for a in (0, 1)]
    if (cut or len(crossed)) and max(sizes) > TABLE:
        return None
    problem = _problem_numbers(setup, cut)
    unpadded = np.zeros(3 * sum(sizes) if cut else 1)
    if cut:
        _fill_unpadded(setup.bounds, setup.window, unpadded)
    apart = _distances(setup, sizes) if len(crossed) else np.zeros(1)
    return SimdInputs(problem, levels, unpadded, apart)


def _exact(setup: KernelInputs) -> bool:
    """Whether floats hold every count: a tile's rows are at most p * r * (stride + dilation)."""
    most = prod(int(b) for b in setup.bounds) * int(setup.unit.max()) * 4
    return most * prod(int(s + d) for s, d, *_ in setup.window) <= EXACT


def _cuts_padding(setup: KernelInputs) -> bool:
    """Whether padding is cut off what DRAM sends to the level inside it."""
    levels = len(setup.fanout)
    if setup.fanout[-1].prod() != 1 or setup.top[INPUTS] != levels - 1:
        return False
    outputs, kernel = setup.bounds[P : P + 2], setup.bounds[R : R + 2]
    stride, dilation, pad, size = setup.window.T
    span = (outputs - 1) * stride + (kernel - 1) * dilation + 1
    return bool(((pad > 0) | (span - pad > size)).any())


def _level_numbers(setup: KernelInputs, spreads: Flags | None, held: Flags | None) -> Records:
    levels = np.zeros(len(setup.fanout), LEVEL)
    inner = np.arange(len(levels))[:, None]
    open_mesh = (setup.fanout > 1).any(axis=1)
    levels["spreads"] = open_mesh if spreads is None else open_mesh | (spreads > 0)
    both = (setup.bounds[P : P + 2] > 1) & (setup.bounds[R : R + 2] > 1)
    levels["crossed"] = levels["spreads"][:, None] & both
    levels["held"] = setup.allowed if held is None else setup.allowed | held
    levels["used"] = inner <= setup.top
    levels["inside"] = inner < setup.top
    # an operand that lives in the buffer whole was paid for by its fusion group
    levels["stored"] = setup.unit * ((inner < setup.top) | ((inner == setup.top) & ~setup.staged))
    levels["shared"] = np.where(setup.shared < 0, np.inf, setup.shared)
    levels["capacity"] = np.where(setup.capacity < 0, np.inf, setup.capacity)
    levels["limited"] = (setup.shared >= 0) | (setup.capacity >= 0).any(axis=1)
    levels["ports"] = np.isfinite(setup.bandwidth).any(axis=1)
    levels["clusters"] = setup.instances // setup.cluster
    for name in ("multicast", "fanout", "unit", "width", "bandwidth"):
        levels[name] = getattr(setup, name)
    for name in ("read_pj", "fill_pj", "update_pj"):
        levels[name] = getattr(setup, name)
    return levels


def _problem_numbers(setup: KernelInputs, cut: bool) -> Records:
    problem = np.zeros(1, PROBLEM)
    moving = np.flatnonzero(setup.bounds > 1)
    problem["dims"] = len(moving)
    problem["dim"][0, : len(moving)] = moving
    problem["cut"] = cut
    problem["zeros"] = (setup.served != 1).any()
    problem["table_rows"] = setup.bounds[P : P + 2] + 1
    problem["table_columns"] = setup.bounds[R : R + 2] + 1
    problem["table_begin"][0, 1] = (setup.bounds[P] + 1) * (setup.bounds[R] + 1)
    problem["window"] = setup.window[:, :2]
    problem["served"], problem["busy"] = setup.served, setup.busy
    macs = 1.0
    for bound in setup.bounds:
        macs *= bound
    problem["macs_pj"] = macs * setup.working * setup.mac_pj
    problem["fill_drain"] = setup.fill_drain
    problem["array"], problem["array_levels"] = (
        setup.array[:ARRAY_LEVELS],
        setup.array[ARRAY_LEVELS],
    )
    return problem


@compiled(brief=True)
def _fill_unpadded(bounds: Ints, window: Ints, unpadded: Floats) -> None:
    """Fill the words of one axis that all tiles fetch, for every extent that divides a bound."""
    loops, cum = np.ones((1, 4, 8), np.int64), np.ones((1, 8), np.int64)
    begin = 0
    for axis in range(2):
        outputs, kernel = bounds[P + axis], bounds[R + axis]
        for slide in (NO_LOOP, OUTPUT_LOOP, KERNEL_LOOP):
            for p in range(1, outputs + 1):
                if outputs % p:
                    continue
                for r in range(1, kernel + 1):
                    if kernel % r == 0:
                        cum[0, P + axis], cum[0, R + axis] = p, r
                        loops[0, TEMPORAL, P + axis] = outputs // p
                        loops[0, TEMPORAL, R + axis] = kernel // r
                        words = axis_words(loops, cum, 0, window, axis, slide)
                        unpadded[begin + p * (kernel + 1) + r] = words
            begin += (outputs + 1) * (kernel + 1)


def _distances(setup: KernelInputs, sizes: list[int]) -> Floats:
    """Return steps of kernel, then of outputs, over their greatest common divisor."""
    apart = np.zeros(2 * sum(sizes))
    for axis, begin in enumerate((0, 2 * sizes[0])):
        outputs, kernel = int(setup.bounds[P + axis]), int(setup.bounds[R + axis])
        rows, columns = _divisors(outputs), _divisors(kernel)
        step = (setup.window[axis, STRIDE] * rows)[:, None]
        step_kernel = (setup.window[axis, DILATION] * columns)[None]
        common = np.gcd(step, step_kernel)
        at = begin + 2 * (rows[:, None] * (kernel + 1) + columns)
        apart[at], apart[at + 1] = step_kernel // common, step // common
    return apart


def _divisors(bound: int) -> Ints:
    return np.flatnonzero(bound % np.arange(1, bound + 1) == 0) + 1
