"""Parts that copy arrays.

``to[:] = of`` does the same, but numba compiles with it what looks for arrays that overlap, and for
shapes that differ, with the text of the error: more code than most kernels are made of.
"""

from typing import Any

from numpy.typing import NDArray

from .decorators import helper


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
