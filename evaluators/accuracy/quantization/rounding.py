"""Rounding of real numbers to integers of 8 bits, and back: ``real = scale * (integer - zero)``.

That is equation 1 of Jacob et al. (CVPR 2018). Halves are rounded to even, as numpy and IEEE 754
do.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

#: integers that maps have, and (without -128, so that products stay below 2**14: Jacob et al.,
#: appendix B) those of weights
LOWEST, HIGHEST = -128, 127
_WEIGHTS: Final = 127


@dataclass(frozen=True)
class Grid:
    """Integers of a tensor.

    Attributes:
        scale: step between two neighbours.
        zero: the integer that stands for 0.
    """

    scale: float
    zero: int

    @staticmethod
    def of_range(low: float, high: float) -> "Grid":
        """Return the grid whose ends are the smallest and largest value; 0 is always on it.

        Jacob et al., section 3 (zero is exact) and equation 1, with its zero point rounded.
        """
        low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            return Grid(1.0, 0)
        scale = (high - low) / (HIGHEST - LOWEST)
        return Grid(scale, max(LOWEST, min(HIGHEST, round(LOWEST - low / scale))))


def quantized(values: "Tensor", grid: Grid) -> "Tensor":
    """Return the integers of values, as floats; what lies outside gets the nearest end."""
    import torch

    integers: Tensor = torch.round(values / grid.scale) + grid.zero
    return integers.clamp(LOWEST, HIGHEST)


def quantized_weights(weights: "Tensor", per_channel: bool) -> "tuple[Tensor, Tensor]":
    """Return int8 weights, and the scale of each output channel as float32.

    They are symmetric: 0 stands for 0, the largest magnitude for 127 (Krishnamoorthi,
    arXiv:1806.08342, section 2.2); of each output channel, or of the whole tensor.
    """
    import torch

    largest = weights.abs().flatten(1).amax(1)
    if not per_channel:
        largest = largest.max().expand_as(largest)
    scale = torch.where(largest > 0, largest / _WEIGHTS, torch.ones_like(largest))
    shape = (-1, *(1,) * (weights.dim() - 1))
    integers = torch.round(weights / scale.view(shape)).clamp(-_WEIGHTS, _WEIGHTS)
    return integers.to(torch.int8), scale.contiguous()
