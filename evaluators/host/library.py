"""The library that others are compared with: oneDNN, as torch calls it.

A kernel is the call of a user's program: untuned, the convolution and then its activation, in
place; packed, one fused call whose weights oneDNN has reordered ahead, as torch's compiler makes
it of frozen models.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import KernelSpec
from .operands import Operands
from .schedules import Library
from .shape import ConvShape

#: a map in torch, to the result in torch
Convolve = Callable[[Any], Any]


def convolver(spec: KernelSpec, schedule: Library, operands: Operands) -> Convolve:
    """Return a function of torch tensors [1, C, H, W] that is a convolution with its activation."""
    import torch

    shape = spec.shape
    memory = _memory(schedule)
    weights = torch.from_numpy(np.array(operands.weights)).contiguous(memory_format=memory)
    bias = torch.from_numpy(np.array(operands.bias))
    (rows, columns), (top, left) = shape.padded, shape.padding
    bottom, right = rows - shape.h - top, columns - shape.w - left
    # the library pads both sides alike; where a map has more than windows read, it reads them too
    even = (bottom, right) == (top, left)
    outer = (bottom <= top and right <= left) and (_extra(shape) == (0, 0))
    padding = [top, left] if even or outer else [0, 0]
    geometry = (padding, list(shape.stride), list(shape.dilation), shape.groups)
    call = (_packed if schedule.packed else _plain)(shape, weights, bias, geometry)
    if even or outer:
        return call
    frame = (left, right, top, bottom)
    return lambda x: call(torch.nn.functional.pad(x, frame))


def _extra(shape: ConvShape) -> tuple[int, int]:
    """Return rows and columns of the result that padding on both sides alike would add."""
    found = []
    for size, pad, spread, step, out in zip(
        (shape.h, shape.w),
        shape.padding,
        shape.spread,
        shape.stride,
        (shape.p, shape.q),
        strict=True,
    ):
        found.append((size + 2 * pad - spread) // step + 1 - out)
    return found[0], found[1]


def _memory(schedule: Library) -> Any:
    import torch

    return torch.channels_last if schedule.layout == "nhwc" else torch.contiguous_format


def library_layer(
    spec: KernelSpec, schedule: Library, operands: Operands
) -> Callable[[NDArray[Any], NDArray[Any]], tuple[Callable[[], object], Callable[[], object]]]:
    """Return a function that makes a call of the library for a map, and one that stores the result.

    The library returns a new map for each call; storing it as [K, P, Q] is not part of the call,
    nor is the layout of the map that it reads.
    """
    import torch

    convolve = convolver(spec, schedule, operands)

    def bind(
        image: NDArray[Any], result: NDArray[Any]
    ) -> tuple[Callable[[], object], Callable[[], object]]:
        x = torch.from_numpy(image).unsqueeze(0).contiguous(memory_format=_memory(schedule))
        held: list[Any] = [None]

        def call() -> None:
            held[0] = convolve(x)

        return call, lambda: np.copyto(result, held[0][0].numpy())

    return bind


def _plain(shape: ConvShape, weights: Any, bias: Any, geometry: Any) -> Convolve:
    import torch

    padding, stride, dilation, groups = geometry
    convolve = torch.nn.functional.conv2d

    def call(x: Any) -> Any:
        found = convolve(x, weights, bias, stride, padding, dilation, groups)
        if shape.activation == "relu6":
            return found.clamp_(0, 6)
        return found.relu_() if shape.activation else found

    return call


def _packed(shape: ConvShape, weights: Any, bias: Any, geometry: Any) -> Convolve:
    import torch

    size = [1, shape.c, *map(max, shape.padded, (shape.h, shape.w))]
    reordered = torch.ops.mkldnn._reorder_convolution_weight(weights, *geometry, size)
    name = "relu" if shape.activation else "none"
    fused = torch.ops.mkldnn._convolution_pointwise
    return lambda x: fused(x, reordered, bias, *geometry, name, [], "")
