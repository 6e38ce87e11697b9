"""Schedules: how the loops of an algorithm run, as values of a space for each algorithm.

A schedule changes the time of a kernel and never its result. Names are those of its loops: an
accumulator is a vector of up to 16 output values that stays in a register while products are added.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from math import gcd
from typing import Any, ClassVar, Final, Literal, TypeAlias

from archloom.space import Infeasible

from .kernel import KernelSpec
from .shape import ConvShape

Order = Literal["pixels_outer", "channels_outer"]

#: Vectors of accumulators of a tile; more do not stay in registers (an x86 core has 16 or 32).
MOST_ACCUMULATORS: Final = 24

#: Accumulators times unrolled products: compilers take minutes for thousands of instructions.
MOST_UNROLLED: Final = 72

_VECTORS: Final = (4, 8, 16, 32)

#: values of an accumulator: a register of AVX-512, two of AVX2
_LANES: Final = 16


@dataclass(frozen=True, slots=True)
class Untuned:
    """The schedule that counts as untuned, the same for all algorithms.

    The innermost axis is a vector of 8 (fewer where it is shorter), the outermost one is spread
    over threads, accumulators of one row of pixels are in memory, all loops stand in the order of
    the formula, and no loop is unrolled.
    """

    vector: int = 8

    def fault(self, spec: KernelSpec) -> Infeasible | None:  # noqa: ARG002
        """There is none: it fits everywhere."""
        return None


@dataclass(frozen=True, slots=True)
class Direct:
    """Schedules of direct convolution: a tile of pixels and channels in accumulators.

    Attributes:
        vector: pixels of a row in a vector.
        x_vectors, y_rows, channels: the tile: vectors of a row, rows, output channels.
        order: what the loops over tiles go through last.
        unroll: whether the loops over the window are unrolled.
    """

    vector: int = 8
    x_vectors: int = 1
    y_rows: int = 1
    channels: int = 1
    order: str = "channels_outer"
    unroll: bool = False

    CHOICES: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "vector": (1, 2, *_VECTORS),
        "x_vectors": (1, 2, 4),
        "y_rows": (1, 2, 4),
        "channels": (1, 2, 4, 8),
        "order": ("channels_outer", "pixels_outer"),
        "unroll": ("no", "yes"),
    }

    def fault(self, spec: KernelSpec) -> Infeasible | None:
        """Return the constraint that it breaks; None if it fits."""
        shape = spec.shape
        accumulators = _registers(self.vector) * self.x_vectors * self.y_rows * self.channels
        return _first(
            _too_many("x tile", self.vector * self.x_vectors, shape.q),
            _no_divisor("y_rows", self.y_rows, shape.p),
            _no_divisor("channels", self.channels, tile_channels(shape)),
            _unrolled(accumulators, shape.r * shape.s if self.unroll else 1),
        )


@dataclass(frozen=True, slots=True)
class Gemm:
    """Schedules of im2col and a matrix product: a tile of pixels and channels in accumulators.

    Attributes:
        vector: pixels in a vector, over the ends of rows.
        pixel_vectors, channels: the tile.
        order: what the loops over tiles go through last.
        unroll: products of the reduction that are unrolled.
        columns: whether the column matrix is made as a ``whole`` or for a ``tile`` of whole rows.
    """

    vector: int = 8
    pixel_vectors: int = 1
    channels: int = 1
    order: str = "channels_outer"
    unroll: int = 1
    columns: str = "whole"

    CHOICES: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "vector": (1, *_VECTORS),
        "pixel_vectors": (1, 2, 4, 8),
        "channels": (1, 2, 4, 6, 8),
        "order": ("channels_outer", "pixels_outer"),
        "unroll": (1, 2, 4),
        "columns": ("tile", "whole"),
    }

    def fault(self, spec: KernelSpec) -> Infeasible | None:
        """Return the constraint that it breaks; None if it fits."""
        shape = spec.shape
        tile = self.vector * self.pixel_vectors
        whole_rows = tile % shape.q == 0 and self.order == "pixels_outer"
        return _first(
            _too_many("pixel tile", tile, shape.p * shape.q),
            _no_divisor("channels", self.channels, tile_channels(shape)),
            _no_divisor("unroll", self.unroll, shape.taps),
            _unrolled(_registers(self.vector) * self.pixel_vectors * self.channels, self.unroll),
            None
            if self.columns == "whole" or (whole_rows and not shape.pointwise)
            else _misfit("columns of a tile", tile, shape.q, "tiles of whole rows, pixels outer"),
        )


@dataclass(frozen=True, slots=True)
class SpatialPack:
    """Schedules of spatial pack: output channels in a vector, a tile of pixels in accumulators.

    Attributes:
        vector: output channels in a vector; weights are packed for it ahead.
        width, height: pixels of a tile.
        order: what the loops over tiles go through last.
        reduction: which loop of the reduction is the outer one, input ``channels`` or ``window``.
        unroll: input channels that are unrolled.
        packing: whether the map is cut into tiles as a ``whole``, or each ``tile`` when it is used.
        store: which axis is a vector when results go back to NCHW.
    """

    vector: int = 8
    width: int = 1
    height: int = 1
    order: str = "pixels_outer"
    reduction: str = "channels"
    unroll: int = 1
    packing: str = "tile"
    store: str = "pixels"

    CHOICES: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "vector": (1, 2, *_VECTORS, 64),
        "width": (1, 2, 4, 8),
        "height": (1, 2, 4),
        "order": ("channels_outer", "pixels_outer"),
        "reduction": ("channels", "window"),
        "unroll": (1, 2, 4),
        "packing": ("tile", "whole"),
        "store": ("channels", "pixels"),
    }

    def fault(self, spec: KernelSpec) -> Infeasible | None:
        """Return the constraint that it breaks; None if it fits."""
        shape = spec.shape
        reduced = 1 if shape.depthwise else shape.c // shape.groups
        return _first(
            _no_divisor("vector", self.vector, tile_channels(shape)),
            _no_divisor("width", self.width, shape.q),
            _no_divisor("height", self.height, shape.p),
            _no_divisor("unroll", self.unroll, reduced),
            _unrolled(_registers(self.vector) * self.width * self.height, self.unroll),
        )


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Schedules of CSR kernels, direct and GEMM: a tile of pixels in accumulators.

    Attributes:
        vector: pixels in a vector: of a row (direct), or over the ends of rows (GEMM).
        pixel_vectors: of a tile.
        y_rows: rows of a tile; 1 for GEMM.
        order: what the loops over tiles go through last.
        rows: rows of the matrix that one task takes, with several threads.
    """

    vector: int = 8
    pixel_vectors: int = 1
    y_rows: int = 1
    order: str = "channels_outer"
    rows: int = 1

    CHOICES: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "vector": (1, 2, *_VECTORS),
        "pixel_vectors": (1, 2, 4, 8),
        "y_rows": (1, 2, 4),
        "order": ("channels_outer", "pixels_outer"),
        "rows": (1, 4, 16),
    }

    def fault(self, spec: KernelSpec) -> Infeasible | None:
        """Return the constraint that it breaks; None if it fits."""
        shape = spec.shape
        direct = spec.algorithm == "direct"
        tile = self.vector * self.pixel_vectors
        return _first(
            _too_many("pixel tile", tile, shape.q if direct else shape.p * shape.q),
            _no_divisor("y_rows", self.y_rows, shape.p if direct else 1),
            _no_divisor("rows", self.rows, tile_channels(shape)),
            _unrolled(_registers(self.vector) * self.pixel_vectors * self.y_rows, 1),
        )


@dataclass(frozen=True, slots=True)
class Library:
    """Ways to call the library.

    Attributes:
        layout: of the maps in memory.
        packed: whether weights are packed ahead and the activation is part of the call.
    """

    layout: str = "nchw"
    packed: bool = False

    CHOICES: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "layout": ("nchw", "nhwc"),
        "packed": ("no", "yes"),
    }

    def fault(self, spec: KernelSpec) -> Infeasible | None:
        """Return the constraint that it breaks; None if it fits."""
        if self.packed and spec.shape.activation == "relu6":
            return _misfit("packed", 1, 0, "the library fuses relu, not relu6")
        return None


Schedule: TypeAlias = Untuned | Direct | Gemm | SpatialPack | SparseRows | Library

Code: TypeAlias = MutableMapping[tuple[KernelSpec, Schedule], Any]
"""Compiled code by :func:`code_key`; operands are its arguments."""

_TUNED: Final[dict[str, type[Direct | Gemm | SpatialPack | Library]]] = {
    "direct": Direct,
    "gemm": Gemm,
    "spatial_pack": SpatialPack,
    "library": Library,
}


def tile_channels(shape: ConvShape) -> int:
    """Return the output channels that tiles cut: all of a depthwise layer, else of one group."""
    return shape.k if shape.depthwise else shape.k // shape.groups


def schedule_kind(spec: KernelSpec) -> type[Direct | Gemm | SpatialPack | SparseRows | Library]:
    """Return the type of a kernel's schedules.

    Raises:
        LookupError: a portable kernel, which has one schedule.
    """
    if spec.sparse and spec.algorithm in ("direct", "gemm"):
        return SparseRows
    return _TUNED[spec.algorithm]


def tunable(spec: KernelSpec) -> bool:
    """Whether a kernel has schedules to choose from."""
    return spec.algorithm in _TUNED


def code_key(spec: KernelSpec, schedule: Schedule) -> tuple[KernelSpec, Schedule]:
    """Return what compiled code depends on: it serves weights of every density."""
    return replace(spec, density=1.0), schedule


def schedule_record(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as JSON; :func:`read_schedule` reads it."""
    return {"kind": type(schedule).__name__, **asdict(schedule)}


def read_schedule(record: Mapping[str, Any]) -> Schedule:
    """Return the schedule of a record."""
    kinds: tuple[type[Schedule], ...] = (Untuned, *_TUNED.values(), SparseRows)
    kind = next(k for k in kinds if k.__name__ == record["kind"])
    return kind(**{f.name: record[f.name] for f in fields(kind)})


def curated(spec: KernelSpec) -> list[Schedule]:
    """Return starts that are good on many layers, the most promising first, all of which fit.

    Assumption: tiles that won most often on layers of CIFAR networks, on cores with AVX2 and with
    AVX-512; docs/validation/host_kernels.md has the figures.
    """
    found: list[Schedule] = []
    for start in _starts(spec):
        if start.fault(spec) is None and start not in found:
            found.append(start)
    return found[:6]


def _starts(spec: KernelSpec) -> Iterator[Schedule]:
    shape = spec.shape
    channels = next(n for n in (4, 2, 1) if tile_channels(shape) % n == 0)
    rows = gcd(shape.p, 2)
    if spec.algorithm == "library":
        yield from (Library(lay, packed) for packed in (True, False) for lay in ("nhwc", "nchw"))
    elif spec.sparse:
        orders = ("channels_outer", "pixels_outer")
        for size in ((16, 4), (16, 2), (16, 1), (8, 4), (8, 2), (8, 1), (4, 1), (2, 1), (1, 1)):
            yield from (SparseRows(*size, order=order) for order in orders)
    elif spec.algorithm == "direct":
        for v, n in ((16, 2), (16, 1), (8, 1), (4, 1), (2, 1), (1, 1)):
            yield Direct(v, n, rows, channels, "channels_outer")
            yield Direct(v, n, rows, channels, "pixels_outer")
            yield Direct(v, n, 1, gcd(tile_channels(shape), 8), "channels_outer")
    elif spec.algorithm == "gemm":
        unroll = gcd(shape.taps, 2)
        for v, n in ((16, 4), (16, 2), (16, 1), (8, 2), (8, 1), (4, 1), (1, 1)):
            if v * n % shape.q == 0:
                yield Gemm(v, n, channels, "pixels_outer", unroll, "tile")
            yield Gemm(v, n, channels, "pixels_outer", unroll, "whole")
            yield Gemm(v, n, gcd(tile_channels(shape), 8), "channels_outer", 1, "whole")
    else:
        yield from _packed_starts(spec)


def _packed_starts(spec: KernelSpec) -> Iterator[Schedule]:
    for vector in (16, 32, 64, 8, 4, 2, 1):
        for width, height in ((8, 2), (4, 4), (4, 2), (2, 2), (8, 1), (4, 1), (2, 1), (1, 1)):
            start = SpatialPack(vector, width, height)
            if start.fault(spec) is None:
                yield start
                break


def _registers(vector: int) -> int:
    """Return the accumulators that a vector is."""
    return max(vector // _LANES, 1)


def _first(*found: Infeasible | None) -> Infeasible | None:
    return next(chain((f for f in found if f is not None), [None]))


def _misfit(what: str, needed: int, available: int, hint: str) -> Infeasible:
    return Infeasible("schedule", what, needed, available, "", hint)


def _too_many(what: str, size: int, extent: int) -> Infeasible | None:
    return _misfit(what, size, extent, "choose a smaller tile") if size > extent else None


def _no_divisor(what: str, size: int, extent: int) -> Infeasible | None:
    hint = f"a tile of {size} does not divide {extent}; choose a divisor"
    return _misfit(what, 1, 0, hint) if extent % size else None


def _unrolled(accumulators: int, unrolls: int) -> Infeasible | None:
    if accumulators > MOST_ACCUMULATORS:
        return _misfit("accumulators", accumulators, MOST_ACCUMULATORS, "choose a smaller tile")
    if accumulators * unrolls > MOST_UNROLLED:
        return _misfit("unrolled products", accumulators * unrolls, MOST_UNROLLED, "unroll less")
    return None
