"""Parts that copy and fill arrays, and sort a few numbers.

``to[:] = of`` does the same, but numba compiles with it what looks for arrays that overlap, and for
shapes that differ, with the text of the error: more code than most kernels are made of.
``to[:] = value`` and ``np.argsort`` compile into many times what they do here, too.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .decorators import allocating, helper


@helper
def copy_row(to: NDArray[Any], of: NDArray[Any] | tuple[float, ...]) -> None:
    """Copy an array of one dimension, or numbers, into an array that does not overlap with it."""
    for n in range(len(of)):
        to[n] = of[n]


@helper
def copy_table(to: NDArray[Any], of: NDArray[Any]) -> None:
    """Like :func:`copy_row`, for arrays of two dimensions."""
    for m in range(of.shape[0]):
        for n in range(of.shape[1]):
            to[m, n] = of[m, n]


@helper
def fill_row(to: NDArray[Any], value: float) -> None:
    """Set all of an array of one dimension."""
    for n in range(len(to)):
        to[n] = value


@helper
def fill_table(to: NDArray[Any], value: float) -> None:
    """Set all of an array of two dimensions."""
    for m in range(to.shape[0]):
        for n in range(to.shape[1]):
            to[m, n] = value


@allocating
def descending(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of a few numbers, the largest first; equal ones in the order they have."""
    order = np.empty(len(values), np.int64)
    for n in range(len(values)):
        at = n
        while at and values[order[at - 1]] < values[n]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = n
    return order
