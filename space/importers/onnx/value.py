"""Values of an ONNX graph while it is read: shape, element type, and what is known of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ..causal_masks import LOW

if TYPE_CHECKING:
    from onnx import TensorProto

Array = NDArray[np.generic]

#: Words of the largest tensor that is taken (assumption): beyond it counts are no longer exact,
#: as :mod:`archloom.space.workload.layer_validation` says.
MOST_WORDS: Final = 2**53
#: Elements of the largest tensor whose values are looked at (assumption: shapes, indices and
#: masks are smaller, and weights need not be read).
MOST_READ: Final = 2**20
#: Dimensions of the largest shape (assumption): no operator that can be lowered has so many.
MOST_DIMENSIONS: Final = 16

# numbers of element types and sizes in bits: onnx.proto, TensorProto.DataType
BITS: Final = {
    1: 32,
    2: 8,
    3: 8,
    4: 16,
    5: 16,
    6: 32,
    7: 64,
    9: 8,
    10: 16,
    11: 64,
    12: 32,
    13: 64,
    14: 64,
    15: 128,
    16: 16,
    17: 8,
    18: 8,
    19: 8,
    20: 8,
    21: 4,
    22: 4,
    23: 4,
    24: 8,
    25: 2,
    26: 2,
}
INT32: Final = 6
INT64: Final = 7
BOOL: Final = 9
FLOATS: Final = frozenset({1, 10, 11, 16, 17, 18, 19, 20, 23, 24})
#: Integers that weights are stored as.
QUANTIZED: Final = frozenset({2, 3, 21, 22, 25, 26})
#: Where values stand that are not raw bytes; all other types use ``int32_data``.
_FIELDS: Final = {
    1: "float_data",
    14: "float_data",
    11: "double_data",
    15: "double_data",
    7: "int64_data",
    12: "uint64_data",
    13: "uint64_data",
}


class OnnxError(ValueError):
    """What is wrong with one tensor or node."""


def nothing() -> Array | None:
    """Return what is known of a value that is not looked at."""
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One value.

    Attributes:
        name: of its tensor in the graph that is made; empty for truth values that are computed
            at run time, which are no tensors there.
        shape: all dimensions are known.
        dtype: number of its element type.
        constant: known before the network runs.
        learned: names of the learned tensors that it is made of.
        read: returns its elements if it is a constant of few.
    """

    name: str
    shape: tuple[int, ...]
    dtype: int
    constant: bool = False
    learned: frozenset[str] = frozenset()
    read: Callable[[], Array | None] = nothing

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def scalar(self) -> float | None:
        """The value of a constant of one element."""
        array = self.read() if self.constant and self.size == 1 else None
        return None if array is None else float(np.real(array.reshape(())[()]))

    def _decimals(self) -> NDArray[np.float64] | None:
        """Return the elements of a constant of several floating-point numbers."""
        array = self.read() if self.constant and self.dtype in FLOATS and self.size > 1 else None
        # what is no number is neither low, nor 0, nor a cosine
        return None if array is None else np.nan_to_num(as_numbers(array), nan=2.0)

    @property
    def is_mask(self) -> bool:
        """Whether it switches positions off where it is added.

        It holds nothing but 0 and values so low that a softmax makes 0 of them. Zeros alone are
        a mask if they stand where one does, in four dimensions with the keys in the last (no
        network starts with such weights; a bias may well start at 0).
        """
        array = self._decimals()
        if array is None:
            return False
        flat = array.ravel()
        low = flat <= LOW
        if not low.any():
            return not flat.any() and len(self.shape) == 4 and self.shape[3] > 1
        return bool(np.all(low | (flat == 0)))

    @property
    def is_angles(self) -> bool:
        """Whether it holds the cosines or sines of positions from 0, by which vectors are turned.

        At position 0 they are all 1 or all 0 (Su et al., arXiv:2104.09864, equation 34).
        """
        array = self._decimals()
        rows = np.squeeze(array) if array is not None else np.zeros(0)
        if rows.ndim != 2 or bool((np.abs(rows) > 1).any()):
            return False
        first = rows[0]
        return (
            bool((first == first[0]).all()) and first[0] in (0, 1) and bool((rows != first).any())
        )


def as_numbers(array: Array) -> NDArray[np.float64]:
    """Return values in double precision: they may be anything, also what numpy warns of then."""
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def check_shape(shape: tuple[int, ...], least: int = 0) -> None:
    """Refuse a shape that no tensor can have.

    Raises:
        OnnxError: too many dimensions, one below ``least``, or too many elements.
    """
    text = " x ".join(map(str, shape[:MOST_DIMENSIONS]))
    if len(shape) > MOST_DIMENSIONS:
        raise OnnxError(f"{len(shape)} dimensions, at most {MOST_DIMENSIONS} are supported")
    if any(d < least for d in shape):
        raise OnnxError(f"shape {text}: dimensions must be at least {least}")
    if prod(shape) > MOST_WORDS or any(d > MOST_WORDS for d in shape):
        raise OnnxError(f"shape {text} has more than 2**53 elements")


def from_array(name: str, array: Array, dtype: int, learned: frozenset[str]) -> Value:
    """Return a constant whose elements are known."""
    return Value(name, array.shape, dtype, True, learned, lambda: array)


def from_tensor(tensor: "TensorProto", name: str, folder: Path) -> Value:
    """Return a constant of the file; its elements are read when they are asked for.

    Raises:
        OnnxError: a shape or type that no tensor has, or data that does not fit it.
    """
    shape = tuple(tensor.dims)
    check_shape(shape)
    bits = BITS.get(tensor.data_type)
    if bits is None:
        raise OnnxError(f"element type {tensor.data_type} is not a type of numbers")
    if tensor.HasField("segment"):
        raise OnnxError("it is stored in segments, which is not supported")
    size = prod(shape)
    source = _outside(tensor, folder, -(-size * bits // 8))
    if source is None:
        _check_inside(tensor, size, bits)
    # a number by itself is a factor or an epsilon
    numbers = shape and tensor.data_type in FLOATS | QUANTIZED
    learned = frozenset({name}) if numbers else frozenset()
    read = cache(partial(_read, tensor, source)) if size <= MOST_READ else nothing
    return Value(name, shape, tensor.data_type, True, learned, read)


def _check_inside(tensor: "TensorProto", size: int, bits: int) -> None:
    count, what = -(-size * bits // 8), "bytes"
    have = len(tensor.raw_data)
    if not tensor.HasField("raw_data"):
        have, what = len(getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data"))), "values"
        # of complex numbers both parts, of types below a byte whole bytes (onnx.proto)
        count = 2 * size if tensor.data_type in (14, 15) else count if bits < 8 else size
    if have != count:
        shape = " x ".join(map(str, tensor.dims)) or "of a scalar"
        raise OnnxError(f"{have} {what} of data, shape {shape} needs {count}")


@dataclass(frozen=True, slots=True)
class _Piece:
    path: Path
    offset: int
    length: int


def _outside(tensor: "TensorProto", folder: Path, length: int) -> _Piece | None:
    """Return where the data of a tensor stands that is in a file of its own."""
    if tensor.data_location != 1:
        return None
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    pure = PurePosixPath(location.replace("\\", "/"))
    if not location or pure.is_absolute() or ".." in pure.parts or "\0" in location:
        raise OnnxError(f"data file {location!r} is not in the folder of the model")
    offset = _number("offset", entries.get("offset", "0"))
    given = _number("length", entries["length"]) if "length" in entries else length
    path = folder / pure
    if not path.is_file():
        raise OnnxError(f"data file {location} is missing from the folder of the model")
    if not path.resolve().is_relative_to(folder.resolve()):
        # the model would say which files of this machine are read
        raise OnnxError(
            f"data file {location} is a link to {path.resolve()}, outside the folder of the model; "
            "copy that file into it"
        )
    have = path.stat().st_size
    if given < length or offset + length > have:
        raise OnnxError(
            f"data file {location}: {length} bytes from offset {offset} are needed, "
            f"{given} are declared and the file has {have}"
        )
    return _Piece(path, offset, length)


def _number(what: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise OnnxError(f"{what} of its data file is {text[:40]!r}, must be a whole number")
    return int(text)


def _read(tensor: "TensorProto", source: _Piece | None) -> Array | None:
    from onnx import TensorProto, numpy_helper

    if source is not None:
        with source.path.open("rb") as file:
            file.seek(source.offset)
            raw = file.read(source.length)
        tensor = TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=raw)
    return numpy_helper.to_array(tensor)
