"""Parts that all Halide kernels share: arguments, the padded map, products, what is stored.

Maps are [channels, rows, columns] of each group: Halide counts axes from the innermost, so that a
function of them is called with (x, y, channel, group). A depthwise layer is one group whose output
channels each read one input channel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ..kernel import KernelSpec
from ..schedules import tile_channels


def halide() -> Any:
    """Return the module, which takes a while to load."""
    import halide as module

    return module


@dataclass(frozen=True)
class Formula:
    """The convolution of a kernel, as functions of Halide that its algorithm puts together.

    Attributes:
        spec: the kernel.
        threads: that it may use.
    """

    spec: KernelSpec
    threads: int = 1

    @cached_property
    def groups(self) -> int:
        """Groups that loops go over; one for a depthwise layer."""
        return 1 if self.spec.shape.depthwise else self.spec.shape.groups

    @cached_property
    def group_outputs(self) -> int:
        """Output channels of such a group."""
        return tile_channels(self.spec.shape)

    @cached_property
    def reduced_channels(self) -> int:
        """Input channels that a product sums over."""
        return self.spec.shape.c // self.spec.shape.groups

    @cached_property
    def stored(self) -> Any:
        """Type of maps and weights in memory."""
        hl = halide()
        types = {"float32": hl.Float(32), "int8": hl.Int(8)}
        return types.get(self.spec.dtype, hl.Float(16))

    @cached_property
    def added(self) -> Any:
        """Type in which products are added, and of the bias."""
        hl = halide()
        types = {"float16": hl.Float(16), "int8": hl.Int(32)}
        return types.get(self.spec.dtype, hl.Float(32))

    @cached_property
    def variables(self) -> dict[str, Any]:
        """Loops by name."""
        names = ["x", "y", "k", "g", "px", "t", "xi", "yi", "ki", "xo", "yo", "ko", "po", "pi", "c"]
        return {name: halide().Var(name) for name in names}

    @cached_property
    def image(self) -> Any:
        """The input map."""
        shape = self.spec.shape
        sizes = (shape.w, shape.h, shape.c // self.groups, self.groups)
        return self.argument("image", self.stored, sizes)

    @cached_property
    def bias(self) -> Any:
        """A value for each output channel."""
        return self.argument("bias", self.added, (self.group_outputs, self.groups))

    @cached_property
    def scale(self) -> Any:
        """What sums of int8 products are multiplied with."""
        return halide().Param(halide().Float(32), "scale")

    @staticmethod
    def argument(name: str, kind: Any, sizes: Sequence[int]) -> Any:
        """Return a buffer whose sizes the compiler knows."""
        found = halide().ImageParam(kind, len(sizes), name)
        stride = 1
        for axis, size in enumerate(sizes):
            found.dim(axis).set_bounds(0, size).set_stride(stride)
            stride *= size
        return found

    @cached_property
    def padded(self) -> Any:
        """The map with its zeros: a function of (x, y, channel, group); the map if it has none."""
        hl, shape = halide(), self.spec.shape
        if not self.pads:
            return self.image
        x, y, c, g = (self.variables[name] for name in "xycg")
        zero = hl.cast(self.stored, 0)
        around = hl.BoundaryConditions.constant_exterior(self.image, zero)
        found = hl.Func("padded")
        found[x, y, c, g] = around[x - shape.padding[1], y - shape.padding[0], c, g]
        return found

    @cached_property
    def pads(self) -> bool:
        """Whether windows read zeros around the map."""
        shape = self.spec.shape
        rows, columns = shape.padded
        outside = rows > shape.h or columns > shape.w
        return outside or max(shape.padding) > 0

    def pad(self, vector: int) -> None:
        """Make the padded map first, a row's vectors at a time."""
        if self.pads:
            columns = self.spec.shape.padded[1]
            x = self.variables["x"]
            lanes = min(vector, columns)
            self.padded.compute_root().vectorize(x, lanes, halide().TailStrategy.GuardWithIf)

    def input_channel(self, k: Any, c: Any) -> Any:
        """Return the input channel that output channel ``k`` reads as its ``c``-th."""
        shape = self.spec.shape
        if not shape.depthwise:
            return c
        copies = shape.k // shape.c
        return k if copies == 1 else k // copies

    def product(self, weight: Any, value: Any) -> Any:
        """Return a product in the type in which it is added."""
        hl = halide()
        return hl.cast(self.added, weight) * hl.cast(self.added, value)

    def finished(self, total: Any) -> Any:
        """Return what is stored for a sum: scaled, activated, rounded, within its type's range."""
        hl, activation = halide(), self.spec.shape.activation
        if self.spec.dtype == "int8":
            # 127 stands for 6 where an activation ends there
            least = hl.i32(0 if activation else -128)
            scaled = hl.round(hl.cast(hl.Float(32), total) * self.scale)
            whole = hl.cast(hl.Int(32), hl.clamp(scaled, hl.f32(-128), hl.f32(127)))
            return hl.cast(hl.Int(8), hl.max(whole, least))
        if activation:
            total = hl.max(total, hl.cast(self.added, 0.0))
        if activation == "relu6":
            total = hl.min(total, hl.cast(self.added, 6.0))
        return hl.cast(self.stored, total)

    def bound(self, result: Any, sizes: Sequence[int]) -> None:
        """Let the compiler know the sizes of the result."""
        buffer, stride = result.output_buffer(), 1
        for axis, size in enumerate(sizes):
            buffer.dim(axis).set_bounds(0, size).set_stride(stride)
            stride *= size

    def spread(self, result: Any, loop: Any) -> None:
        """Let threads share a loop of the result, if there are several."""
        if self.threads > 1:
            result.parallel(loop)


#: suffixes of arguments in the order in which kernels take them
DENSE_ARGUMENTS: Final = ("image", "weights", "bias")
