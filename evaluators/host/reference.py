"""The convolution in float64, that every kernel is held against, and how far it may be off."""

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..arrays import Floats
from .kernel import KernelSpec
from .operands import Operands
from .shape import ConvShape

#: unit roundoff of the types in which products are added, and results stored
_ROUNDOFF: Final = {"float32": 2.0**-24, "float16": 2.0**-11}

#: half the distance between the smallest numbers of float16
_TINY: Final = 2.0**-25

#: standard deviations of rounding errors that are allowed
_LAMBDA: Final = 6.0


class WrongResultError(Exception):
    """A kernel whose results are not those of the reference."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What a kernel must compute.

    Attributes:
        result: float64[K, P, Q]; whole numbers for int8.
        allowed: largest difference of each value; all 0 for int8.
    """

    result: Floats
    allowed: Floats

    def check(self, found: NDArray[Any]) -> float:
        """Return the largest difference.

        Raises:
            WrongResultError: one is larger than it may be, or not a number.
        """
        off = np.abs(found.astype(np.float64) - self.result)
        wrong = ~(off <= self.allowed)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise WrongResultError(
                f"{int(wrong.sum())} of {wrong.size} results differ; at {place} it is "
                f"{found[place]:g}, the reference {self.result[place]:g}, "
                f"allowed {self.allowed[place]:g}"
            )
        return float(off.max())


def convolution(
    shape: ConvShape, image: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]
) -> Floats:
    """Return a convolution in float64, without activation: [K, P, Q]."""
    rows, columns = shape.padded
    top, left = shape.padding
    frame = np.zeros((shape.c, max(rows, shape.h + top), max(columns, shape.w + left)))
    frame[:, top : top + shape.h, left : left + shape.w] = image
    spread = shape.spread
    windows = sliding_window_view(frame[:, :rows, :columns], spread, axis=(1, 2))
    windows = windows[
        :, :: shape.stride[0], :: shape.stride[1], :: shape.dilation[0], :: shape.dilation[1]
    ]
    group, outputs = shape.c // shape.groups, shape.k // shape.groups
    result = np.empty((shape.k, shape.p, shape.q))
    for g in range(shape.groups):
        part = windows[g * group : (g + 1) * group].transpose(0, 3, 4, 1, 2)
        matrix = weights[g * outputs : (g + 1) * outputs].astype(np.float64).reshape(outputs, -1)
        product = matrix @ part.reshape(matrix.shape[1], -1)
        result[g * outputs : (g + 1) * outputs] = product.reshape(outputs, shape.p, shape.q)
    return result + bias.astype(np.float64)[:, None, None]


def reference(spec: KernelSpec, operands: Operands) -> Reference:
    """Return what a kernel must compute from these operands."""
    shape = spec.shape
    total = convolution(shape, operands.image, operands.weights, operands.bias)
    if spec.dtype == "int8":
        # in float32, as kernels do: one rounding each
        scaled = np.rint(total.astype(np.float32) * np.float32(operands.scale))
        whole = np.clip(scaled.astype(np.float64), 0 if shape.activation else -128, 127)
        return Reference(whole, np.zeros_like(whole))
    sizes = convolution(
        shape, np.abs(operands.image), np.abs(operands.weights), np.abs(operands.bias)
    )
    most = {"": np.inf, "relu": np.inf, "relu6": 6.0}[shape.activation]
    result = np.clip(total, 0 if shape.activation else -np.inf, most)
    added = _ROUNDOFF["float16" if spec.dtype == "float16" else "float32"]
    stored = _ROUNDOFF["float32" if spec.dtype == "float32" else "float16"]
    # Higham and Mary, "A new approach to probabilistic rounding error analysis" (SIAM J. Sci.
    # Comput. 41(5), 2019), theorem 2.4, for products, sums and bias
    n = shape.taps + 2
    growth = exp(_LAMBDA * sqrt(n) * added + n * added**2 / (1 - added)) - 1
    tiny = 0.0 if spec.dtype == "float32" else _TINY * (n if spec.dtype == "float16" else 1)
    return Reference(result, growth * sizes + stored * np.abs(total) * (1 + growth) + tiny)
