"""Rules for pools, and for adaptive pools, whose windows follow from the sizes of both maps."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..graph import Tensor
from .call import Call, Result, Unsupported

Rule = Callable[[Call], Result]


def pairs(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """Return a number for each of so many axes, of which one may stand for all."""
    values = [value] if isinstance(value, int) else list(value)
    return tuple(values * dims if len(values) == 1 else values)


def first(call: Call, result: Tensor) -> Result:
    """Return a result, with what others a decomposed norm has (statistics, which nobody reads)."""
    if len(call.shapes) == 1:
        return result
    rest = [call.folded(i) for i in range(1, len(call.shapes))]
    return (result, *rest)


def pool(mode: str) -> Rule:
    """Return the rule for pools of one mode, max or avg."""

    def rule(call: Call) -> Result:
        dims = len(pairs(call["kernel_size"], 1))
        dims = max(dims, len(call["self"].shape) - 2)
        kernel = pairs(call["kernel_size"], dims)
        stride = pairs(call["stride"] or call["kernel_size"], dims)
        start = pairs(call["padding"] or 0, dims)
        dilation = pairs(call["dilation"] or 1, dims)
        window = {"kernel": kernel, "stride": stride, "start": start, "dilation": dilation}
        return first(call, call.emit("pool", [call["self"]], mode=mode, **window))

    return rule


def adaptive(mode: str) -> Rule:
    """Return the rule for adaptive pools of one mode."""

    def rule(call: Call) -> Result:
        source: Tensor = call["self"]
        dims = len(pairs(call["output_size"], 1))
        before, after = source.shape[-dims:], call.shape[-dims:]
        if before == after:
            return first(call, source)
        if any(b > a for a, b in zip(before, after, strict=True)):
            return first(call, _repeated(call, source, before, after))
        sizes = zip(before, after, strict=True)
        windows = [_adaptive_windows(a, b) for a, b in sizes]
        if any(window.apart for window in windows):
            laid = [
                w.size * b if w.apart else a for w, a, b in zip(windows, before, after, strict=True)
            ]
            source = call.emit("copy", [source], (*source.shape[:-dims], *laid))
        named = {
            "kernel": tuple(window.size for window in windows),
            "stride": tuple(window.stride for window in windows),
            "start": tuple(window.start for window in windows),
            "dilation": (1,) * dims,
        }
        return first(call, call.emit("pool", [source], mode=mode, **named))

    return rule


def _repeated(call: Call, source: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Return an adaptive pool to a larger map whose windows hold one value each."""
    if any(b % a for a, b in zip(before, after, strict=True)):
        raise Unsupported(
            f"enlarges {_sides(before)} positions to {_sides(after)}; sizes of the result must be "
            "multiples of those of the feature map, or all be at most as large"
        )
    return call.emit("resize", [source], mode="nearest")


class _Windows(NamedTuple):
    """Windows of a pool along an axis; ``apart`` if they are copied to stand side by side."""

    size: int
    stride: int
    start: int = 0
    apart: bool = False


def _adaptive_windows(before: int, after: int) -> _Windows:
    """Return the windows of an adaptive pool from n positions to m.

    Window i goes from floor(i n / m) to ceil((i + 1) n / m) (PyTorch,
    aten/src/ATen/native/AdaptivePooling.h). Where they differ in size, each counts as one of the
    largest, which is an upper figure of the work. Where they differ in distance, too, windows of
    one distance stand for them, in zeros at both ends, that reach all positions; if none do, all
    windows are copied side by side.
    """
    starts = [i * before // after for i in range(after)]
    ends = [-(-(i + 1) * before // after) for i in range(after)]
    sizes = {end - start for start, end in zip(starts, ends, strict=True)}
    strides = {b - a for a, b in pairwise(starts)} or sizes
    size = max(sizes)
    if len(sizes) == len(strides) == 1:
        return _Windows(size, max(strides))
    for stride in sorted(strides):
        beyond = (after - 1) * stride - before
        # the last window begins in the map and reaches its end, the first one reaches its start
        start = max(0, beyond + 1)
        if start <= min(size - 1, beyond + size):
            return _Windows(size, stride, start)
    return _Windows(size, size, apart=True)


def _sides(sides: Sequence[int]) -> str:
    return "x".join(map(str, sides))
