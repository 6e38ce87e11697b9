"""Which tensor may stay at a level, and which loop may be first, where orders are constrained.

A way to order loops is a rank for each dimension: loops of lower rank stand inside those of
higher rank (``ranks`` of a setup). docs/explanation/mapping_proofs.md has the theorem.
"""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

#: dimensions that leave weights, inputs and outputs where they are
IDLE = ((N, P, Q), (K,), (C, R, S))


@helper
def _is_idle(tensor: int, d: int) -> bool:
    if tensor == WEIGHTS:
        return d in (N, P, Q)
    if tensor == OUTPUTS:
        return d in (C, R, S)
    return tensor == INPUTS and d == K


@helper
def idle(tensor: int, factors: Ints) -> int:
    """Steps of a level that leave the tensor where it is; 1 if there is no such tensor."""
    if tensor == WEIGHTS:
        return int(factors[N] * factors[P] * factors[Q])
    if tensor == OUTPUTS:
        return int(factors[C] * factors[R] * factors[S])
    return int(factors[K]) if tensor == INPUTS else 1


@helper
def _lowest(setup: KernelInputs, level: int, way: int, factors: Ints, but: int) -> int:
    """Lowest rank of the loops that move, but for those that leave tensor ``but`` in place."""
    lowest = 8
    for d in range(8):
        if factors[d] > 1 and not _is_idle(but, d):
            lowest = min(lowest, setup.ranks[level, way, d])
    return lowest


@helper
def staying(setup: KernelInputs, level: int, way: int, tensor: int, factors: Ints) -> int:
    """Steps that can stand innermost at a level and leave the tensor where it is."""
    steps = 1
    if setup.ranks.shape[1] == 0:
        return idle(tensor, factors)
    lowest = _lowest(setup, level, way, factors, tensor)
    for d in range(8):
        if _is_idle(tensor, d) and setup.ranks[level, way, d] <= lowest:
            steps *= factors[d]
    return steps


@helper
def may_lead(
    setup: KernelInputs, level: int, way: int, stays: int, first: int, factors: Ints
) -> bool:
    """Whether a loop can be the first that moves inputs while ``stays`` stays, by its rank; what
    is negative stands for no loop.
    """
    if first < 0 or setup.ranks.shape[1] == 0:
        return True
    lowest = _lowest(setup, level, way, factors, INPUTS if stays == INPUTS else -1)
    return bool(setup.ranks[level, way, first] == lowest)


@helper
def pack_order(way: int, stays: int, first: int) -> int:
    """A way to order loops, what stays and the first loop (or -1), in one number."""
    return (way * 4 + stays) * 16 + first + 1


def order_of(setup: KernelInputs, level: int, packed: int) -> Ints:
    """Return the loop order, innermost first, that :func:`pack_order` packed."""
    way, stays, first = packed // 64, packed // 16 % 4, packed % 16 - 1
    idle = (*IDLE, (G,) if first < 0 else ())[stays]
    leading = [d for d in (first,) if d in idle]
    leading += [d for d in idle if d != first]
    if first >= 0 and first not in idle:
        leading.append(first)
    order = np.array([*leading, *(d for d in range(8) if d not in leading)], np.int64)
    if setup.ranks.shape[1] > 0:
        order = order[np.argsort(setup.ranks[level, way][order], kind="stable")]
    return order
