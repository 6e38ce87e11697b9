"""CIFAR-10 (Krizhevsky, 2009) from a user's directory, in its binary or its Python version.

Python's version is pickled. It is read by an unpickler that knows nothing but arrays of numbers,
so that a file that somebody made to do harm cannot call anything.
"""

import io
import pickle
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from ...arrays import Ints
from .images import Dataset, DatasetError, Pixels, split_array

_TRAIN: Final = tuple(f"data_batch_{i}" for i in range(1, 6))
_TEST: Final = ("test_batch",)

#: bytes of an image with its label in the binary version, images of a file
_RECORD, _IMAGES = 1 + 3 * 32 * 32, 10_000

#: a file of the Python version has 31 MB
_MOST_BYTES: Final = 64_000_000

_EXPECTED: Final = (
    "expected are data_batch_1 to data_batch_5 and test_batch, each with .bin (CIFAR-10 binary "
    "version) or without (CIFAR-10 python version)"
)

#: what a pickled array of numbers is made with
_ALLOWED: Final = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return what builds arrays; refuse everything else."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no image needs")
        if name == "_reconstruct":
            module = "numpy._core.multiarray"
        return super().find_class(module, name)


def cifar10(folder: Path) -> Dataset:
    """Return CIFAR-10: 50,000 images to train on, 10,000 to test with, 32x32, ten classes.

    Raises:
        DatasetError: files that are missing or are not what they should be.
    """
    for inner in (folder, folder / "cifar-10-batches-bin", folder / "cifar-10-batches-py"):
        for suffix, read in ((".bin", _binary), ("", _pickled)):
            names = [inner / f"{name}{suffix}" for name in (*_TRAIN, *_TEST)]
            if all(path.is_file() for path in names):
                return _dataset([read(path) for path in names])
    raise DatasetError(f"{folder} does not contain CIFAR-10; {_EXPECTED}")


def _dataset(files: list[tuple[Pixels, Ints]]) -> Dataset:
    pixels = np.concatenate([part for part, _ in files])
    labels = np.concatenate([part for _, part in files])
    tested = len(files[-1][1])
    train, test = np.split(np.arange(len(labels)), [len(labels) - tested])
    return split_array(
        "cifar10", pixels, labels, train, test, "its test batch", cropped_and_flipped
    )


def _binary(path: Path) -> tuple[Pixels, Ints]:
    if path.stat().st_size != _RECORD * _IMAGES:
        raise DatasetError(
            f"{path} has {path.stat().st_size:,} bytes; {_IMAGES:,} images of {_RECORD:,} bytes "
            f"are {_RECORD * _IMAGES:,}"
        )
    records = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, _RECORD)
    return _checked(path, records[:, 1:], records[:, 0])


def _pickled(path: Path) -> tuple[Pixels, Ints]:
    if path.stat().st_size > _MOST_BYTES:
        raise DatasetError(f"{path} has {path.stat().st_size:,} bytes; a batch has 31 MB")
    try:
        found = _Unpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
        return _checked(path, found[b"data"], found[b"labels"])
    except DatasetError:
        raise
    # what a file that is no pickle, or another one, makes of reading it
    except (
        pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, KeyError,
        MemoryError, OverflowError, RecursionError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise DatasetError(f"{path} is not a batch of CIFAR-10: {error}") from None


def _checked(path: Path, data: object, labels: object) -> tuple[Pixels, Ints]:
    pixels, classes = np.asarray(data), np.asarray(labels)
    if pixels.shape != (_IMAGES, _RECORD - 1) or pixels.dtype != np.uint8:
        raise DatasetError(
            f"{path} has pixels {pixels.shape} of {pixels.dtype}, expected are "
            f"({_IMAGES}, {_RECORD - 1}) of uint8"
        )
    numbers = classes.shape == (_IMAGES,) and classes.dtype.kind in "iu"
    if not numbers or classes.min() < 0 or classes.max() > 9:
        raise DatasetError(f"{path}: labels must be {_IMAGES:,} numbers from 0 to 9")
    return pixels.reshape(-1, 3, 32, 32), classes.astype(np.int64)


def cropped_and_flipped(pixels: Pixels, random: Generator) -> Pixels:
    """Return each image moved by up to 4 pixels, every other one mirrored.

    It is the usual recipe of CIFAR-10 (He et al., CVPR 2016, section 4.2).
    """
    count, channels, rows, columns = pixels.shape
    padded = np.zeros((count, channels, rows + 8, columns + 8), np.uint8)
    padded[:, :, 4:-4, 4:-4] = pixels
    moves: Ints = random.integers(0, 9, (2, count))
    down, right = moves[0], moves[1]
    across = np.arange(columns) + right[:, None]
    mirrored = random.random((count, 1)) < 0.5
    across = np.where(mirrored, across[:, ::-1], across)
    image, channel = np.arange(count)[:, None, None, None], np.arange(channels)[:, None, None]
    along = (np.arange(rows) + down[:, None])[:, None, :, None]
    moved: Pixels = padded[image, channel, along, across[:, None, None, :]]
    return moved
