"""Data sets as values: images to train on and to test with, and where both come from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ...arrays import Ints

Pixels: TypeAlias = NDArray[np.uint8]
Float32s: TypeAlias = NDArray[np.float32]


class DatasetError(ValueError):
    """A data set that is not there, or not as it must be; the message says what is expected."""


class Images(Protocol):
    """Labelled images."""

    @property
    def labels(self) -> Ints:
        """int64[n], the class of each."""
        ...

    def batch(self, positions: Ints, random: Generator | None = None) -> Float32s:
        """Return images as a model reads them, float32[len(positions), channels, rows, columns].

        Args:
            positions: of the images.
            random: for training: images are varied at random as the data set's recipe says.
        """
        ...


@dataclass(frozen=True, eq=False)
class ImageArray:
    """Images in memory, 8 bits a pixel, scaled to mean 0 and deviation 1 as they are handed out.

    Attributes:
        pixels: uint8[n, channels, rows, columns].
        labels: int64[n].
        mean, deviation: float32[channels], of pixels from 0 to 255.
        vary: makes other images of a batch for training; None where they are taken as they are.
    """

    pixels: Pixels
    labels: Ints
    mean: Float32s
    deviation: Float32s
    vary: Callable[[Pixels, Generator], Pixels] | None = None

    def batch(self, positions: Ints, random: Generator | None = None) -> Float32s:
        """Return images as a model reads them."""
        pixels = self.pixels[positions]
        if random is not None and self.vary is not None:
            pixels = self.vary(pixels, random)
        scaled = pixels.astype(np.float32) - self.mean[:, None, None]
        return scaled / self.deviation[:, None, None]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and classes.

    Attributes:
        name: that users write.
        train, test: images; none is in both.
        image: channels, rows and columns.
        classes: number of them.
        split: which images are tested with, in words.
    """

    name: str
    train: Images
    test: Images
    image: tuple[int, int, int]
    classes: int
    split: str


def moments(pixels: Pixels) -> tuple[Float32s, Float32s]:
    """Return mean and standard deviation of each channel, float32[channels] each."""
    values = np.arange(256)
    means, deviations = [], []
    for channel in range(pixels.shape[1]):
        # how often each value stands there says all, and is small
        share = np.bincount(pixels[:, channel].ravel(), minlength=256) / pixels[:, channel].size
        means.append(float(share @ values))
        deviations.append(float(share @ (values - means[-1]) ** 2) ** 0.5)
    return np.array(means, np.float32), np.array(deviations, np.float32)


def every_nth_of_a_class(labels: Ints, n: int) -> tuple[Ints, Ints]:
    """Return positions to train on, and to test with: of each class every ``n``-th image."""
    rank = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        where = np.flatnonzero(labels == label)
        rank[where] = np.arange(len(where))
    tested = rank % n == n - 1
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def split_array(
    name: str,
    pixels: Pixels,
    labels: Ints,
    train: Ints,
    test: Ints,
    split: str,
    vary: Callable[[Pixels, Generator], Pixels] | None = None,
) -> Dataset:
    """Return a data set in memory, scaled by what the images to train on have."""
    mean, deviation = moments(pixels[train])
    parts = [
        ImageArray(pixels[part], labels[part], mean, deviation, varied)
        for part, varied in ((train, vary), (test, None))
    ]
    classes = int(labels.max()) + 1
    return Dataset(name, parts[0], parts[1], pixels.shape[1:], classes, split)
