"""Weights in CSR: values, columns, row pointers; and the check without which no kernel runs.

A column counts the taps of one output channel, (c * R + r) * S + s within its group.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats


@dataclass(frozen=True, eq=False)
class Csr:
    """A sparse matrix, a row for each output channel.

    Attributes:
        values: float32[non-zeros].
        places: int32[non-zeros], column of each value.
        starts: int32[rows + 1], where each row begins, and the end.
        columns: that there are.

    Raises:
        ValueError: kernels would read outside of arrays; all that is wrong.
    """

    values: NDArray[np.float32]
    places: NDArray[np.int32]
    starts: NDArray[np.int32]
    columns: int

    def __post_init__(self) -> None:
        if faults := self._faults():
            raise ValueError(f"CSR weights: {'; '.join(faults)}")

    def _faults(self) -> list[str]:
        count, starts = len(self.values), self.starts
        arrays = ("values", "places", "starts")
        if odd := [name for name in arrays if getattr(self, name).ndim != 1]:
            return [f"{name} must have one axis" for name in odd]
        faults = []
        if len(self.places) != count:
            faults.append(f"{len(self.places)} columns for {count} values")
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != count:
            faults.append(f"row pointers must begin with 0 and end with {count}")
        if np.any(np.diff(starts.astype(np.int64)) < 0):
            row = int(np.flatnonzero(np.diff(starts.astype(np.int64)) < 0)[0])
            faults.append(f"row pointers must not descend, row {row} does")
        if len(self.places) and not 0 <= self.places.min() <= self.places.max() < self.columns:
            faults.append(
                f"columns are {self.places.min()} to {self.places.max()}, must be 0 to "
                f"{self.columns - 1}"
            )
        return faults

    @property
    def rows(self) -> int:
        """Rows of the matrix."""
        return len(self.starts) - 1

    @property
    def longest(self) -> int:
        """Values of the longest row."""
        return int(np.diff(self.starts).max())


def csr_of(weights: Floats | NDArray[np.float32]) -> Csr:
    """Return the non-zeros of weights [K, C / groups, R, S]."""
    matrix = weights.reshape(len(weights), -1)
    rows, places = np.nonzero(matrix)
    counts = np.bincount(rows, minlength=len(matrix))
    return Csr(
        values=np.ascontiguousarray(matrix[rows, places], np.float32),
        places=places.astype(np.int32),
        starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
        columns=matrix.shape[1],
    )
