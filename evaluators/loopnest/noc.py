"""Hops of words between one instance of a level and its children, on Timeloop's mesh.

Words enter at column 0 and the middle row, run along the row to the farthest column that needs
them, and up and down in each such column (Timeloop's legacy network model; Parashar et al.,
ISPASS 2019). The children in use are numbered through all spatial loops, those along x first,
and fill the rows of the mesh in that order.
"""

import numpy as np

from archloom.evaluators.jit import compiled, helper
from archloom.space.workload import INPUTS, OUTPUTS, P, R

from ..arrays import Floats, Ints
from .data_reuse import (
    DILATION,
    INPUT_DIMS,
    OUTPUT_DIMS,
    SPATIAL_X,
    STRIDE,
    WEIGHT_DIMS,
    TiledNest,
    X,
    Y,
)
from .kernel_inputs import KernelInputs


@compiled
def _places(loops: Ints, level: int, across: Ints, at: Ints) -> None:
    """Fill ``at[child, 8]``: where each child in use stands along each dimension.

    ``across[L, 2, 8]`` are the orders of the spatial loops along x and y, innermost first.
    """
    inside = np.empty(8, np.int64)
    for d in range(8):
        inside[d] = 1
        for child in range(at.shape[0]):
            at[child, d] = 0
    numbered = 1
    for axis in range(2):
        for i in range(8):
            d = across[level, axis, i]
            n = loops[level, SPATIAL_X + axis, d]
            for child in range(at.shape[0]):
                at[child, d] += child // numbered % n * inside[d]
            inside[d] *= n
            numbered *= n


@helper
def _position(tensor: int, at: Ints, nest: TiledNest, level: int, window: Ints) -> int:
    """A number that stands for where the tile of the child ``at[8]`` lies in the tensor."""
    cum, spread = nest.cum, nest.spread
    relevant = WEIGHT_DIMS
    if tensor == INPUTS:
        relevant = INPUT_DIMS
    elif tensor == OUTPUTS:
        relevant = OUTPUT_DIMS
    key = 0
    for d in range(8):
        if relevant >> d & 1 and not (tensor == INPUTS and d >= P):
            key = key * spread[level, d] + at[d]
    if tensor == INPUTS:
        for axis in range(2):
            step_out = window[axis, STRIDE] * cum[level, P + axis]
            step_kernel = window[axis, DILATION] * cum[level, R + axis]
            reach = 1 + (spread[level, P + axis] - 1) * step_out
            reach += (spread[level, R + axis] - 1) * step_kernel
            key = key * reach + at[P + axis] * step_out + at[R + axis] * step_kernel
    return key


@helper
def _sort(keys: Ints, order: Ints) -> None:
    """Sort ``order`` by the keys of its entries, equal ones by number (Shell, CACM 1959).

    numpy's sort would take seconds to compile.
    """
    gap = len(order) // 2
    while gap > 0:
        for i in range(gap, len(order)):
            moved = order[i]
            j = i
            while j >= gap and (
                keys[order[j - gap]] > keys[moved]
                or (keys[order[j - gap]] == keys[moved] and order[j - gap] > moved)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = moved
        gap //= 2


@helper
def _group_hops(members: Ints, width: int, height: int, low: Ints, high: Ints) -> float:
    """Hops that serve one group of children with one word.

    ``low`` and ``high`` have an entry for each column and start and end as -1.
    """
    middle = (height - 1) / 2
    farthest = 0
    for child in members:
        column, row = child % width, child // width
        farthest = max(farthest, column)
        low[column] = row if low[column] < 0 else min(low[column], row)
        high[column] = max(high[column], row)
    hops = float(farthest)
    for column in range(farthest + 1):
        if high[column] >= 0:
            hops += max(0.0, middle - low[column]) + max(0.0, high[column] - middle)
            low[column] = high[column] = -1
    return hops


@compiled
def group_sizes(keys: Ints, fanout: Ints, groups: Ints, hops: Floats) -> None:
    """Add, by size of group, how many groups there are and the hops that serve all of them.

    Children with equal keys are one group; ``groups[n + 1]`` and ``hops[n + 1]`` start as zeros.
    """
    children = len(keys)
    rows = np.empty((3, children), np.int64)
    order, low, high = rows[0], rows[1], rows[2]
    for i in range(children):
        order[i], low[i], high[i] = i, -1, -1
    _sort(keys, order)
    start = 0
    for i in range(1, children + 1):
        if i == children or keys[order[i]] != keys[order[start]]:
            groups[i - start] += 1
            hops[i - start] += _group_hops(order[start:i], fanout[X], fanout[Y], low, high)
            start = i


@compiled
def network_pj(
    setup: KernelInputs, nest: TiledNest, tensor: int, level: int, words: float, stream: float
) -> float:
    """Energy of ``words`` of a tensor that one instance of a level exchanges with its children.

    ``stream`` are the words that enter one child's tile, whether it is kept there or not: that
    is what Timeloop counts hops for. It averages them over the words that really pass, for each
    size of multicast group. A level with one child in use has no network.
    """
    children = 1
    for d in range(8):
        children *= nest.spread[level, d]
    if children == 1:
        words = 0.0
    at = np.empty((children, 8), np.int64)
    _places(nest.loops, level, setup.across, at)
    keys = np.empty(children, np.int64)
    for child in range(children):
        keys[child] = child
        if setup.multicast[level, tensor]:
            keys[child] = _position(tensor, at[child], nest, level, setup.window)
    groups, hops = np.zeros(children + 1, np.int64), np.zeros(children + 1)
    group_sizes(keys, setup.fanout[level], groups, hops)
    hop_pj, router_pj = setup.hop_pj[level], setup.router_pj[level]
    energy, total = 0.0, 0
    for size in range(1, children + 1):
        total += groups[size]
    for size in range(1, children + 1):
        if groups[size] and words > 0:
            # Timeloop's legacy network: words * (hops * E_hop + (1 + floor(hops)) * E_router)
            passing = words * groups[size] / total
            moved = stream * hops[size]
            energy += moved * hop_pj + passing * (1.0 + np.floor(moved / passing)) * router_pj
    return energy
