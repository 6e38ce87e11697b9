"""Rounding of real numbers to integers of few bits, and back: ``real = scale * (integer - zero)``.

That is equation 1 of Jacob et al. (CVPR 2018). Halves are rounded to even, as numpy and IEEE 754
do.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

#: bits of the widest integers
MOST_BITS: Final = 16


@dataclass(frozen=True)
class Grid:
    """Integers of a tensor.

    Attributes:
        scale: step between two neighbours.
        zero: the integer that stands for 0.
        bits: of an integer.
    """

    scale: float
    zero: int
    bits: int = 8

    @property
    def lowest(self) -> int:
        """The least integer."""
        return -(1 << self.bits - 1)

    @property
    def highest(self) -> int:
        """The largest integer."""
        return (1 << self.bits - 1) - 1

    @staticmethod
    def of_range(low: float, high: float, bits: int = 8) -> "Grid":
        """Return the grid whose ends are the smallest and largest value; 0 is always on it.

        Jacob et al., section 3 (zero is exact) and equation 1, with its zero point rounded.
        """
        low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            return Grid(1.0, 0, bits)
        ends = Grid(1.0, 0, bits)
        scale = (high - low) / (ends.highest - ends.lowest)
        zero = max(ends.lowest, min(ends.highest, round(ends.lowest - low / scale)))
        return Grid(scale, zero, bits)


def quantized(values: "Tensor", grid: Grid) -> "Tensor":
    """Return the integers of values, as floats; what lies outside gets the nearest end."""
    import torch

    integers: Tensor = torch.round(values / grid.scale) + grid.zero
    return integers.clamp(grid.lowest, grid.highest)


def quantized_weights(
    weights: "Tensor", per_channel: bool, bits: int = 8
) -> "tuple[Tensor, Tensor]":
    """Return weights as integers, and the scale of each output channel as float32.

    They are symmetric: 0 stands for 0, the largest magnitude for the largest integer
    (Krishnamoorthi, arXiv:1806.08342, section 2.2; the least one is left out: Jacob et al.,
    appendix B); of each output channel, or of the whole tensor. Up to 8 bits they are int8.
    """
    import torch

    most = 2 ** (bits - 1) - 1
    largest = weights.abs().flatten(1).amax(1)
    if not per_channel:
        largest = largest.max().expand_as(largest)
    scale = torch.where(largest > 0, largest / most, torch.ones_like(largest))
    shape = (-1, *(1,) * (weights.dim() - 1))
    integers = torch.round(weights / scale.view(shape)).clamp(-most, most)
    return integers.to(torch.int8 if bits <= 8 else torch.int16), scale.contiguous()
