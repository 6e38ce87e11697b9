"""ImageNet (Russakovsky et al., IJCV 2015) from a user's directory, read image by image.

The folders ``train`` and ``val`` have one folder for each class, with its images inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.random import Generator

from ...arrays import Ints
from .images import Dataset, DatasetError, Float32s

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE, _SHORTER = 224, 256

#: mean and deviation of the pixels of each channel, from 0 to 1, that published weights expect
#: (torchvision's reference training)
_MEAN: Final = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION: Final = np.array([0.229, 0.224, 0.225], np.float32)

_ENDINGS: Final = frozenset((".jpeg", ".jpg", ".png"))


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images in files.

    Attributes:
        paths: of them.
        labels: int64[n].
    """

    paths: Sequence[Path]
    labels: Ints

    def batch(self, positions: Ints, random: Generator | None = None) -> Float32s:
        """Return images as a model reads them: a crop at the centre, or for training at random.

        Raises:
            DatasetError: a file that is no image.
        """
        return np.stack([_read(self.paths[i], random) for i in positions])


def imagenet(folder: Path) -> Dataset:
    """Return the images of a directory; classes are numbered in the order of their folders' names.

    Raises:
        DatasetError: folders that are missing or differ.
    """
    classes = _classes(folder / "train")
    if (tested := _classes(folder / "val")) != classes:
        odd = sorted(set(tested) ^ set(classes))
        raise DatasetError(
            f"{folder}: train and val must have the same classes; only one of them has {odd[0]}"
        )
    train, test = (_files(folder / part, classes) for part in ("train", "val"))
    return Dataset("imagenet", train, test, (3, _SIDE, _SIDE), len(classes), "the folder val")


def _classes(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    names = [name for name in names if (folder / name).is_dir()]
    if len(names) < 2:
        raise DatasetError(
            f"{folder} has no folders of classes; expected are train/CLASS/IMAGE.JPEG and "
            "val/CLASS/IMAGE.JPEG, with the same classes in both"
        )
    return names


def _files(folder: Path, classes: Sequence[str]) -> ImageFiles:
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        found = sorted(p for p in (folder / name).iterdir() if p.suffix.lower() in _ENDINGS)
        if not found:
            raise DatasetError(f"{folder / name} has no images (.JPEG, .jpg or .png)")
        paths += found
        labels += [label] * len(found)
    return ImageFiles(paths, np.array(labels, np.int64))


def _read(path: Path, random: Generator | None) -> Float32s:
    from PIL import Image

    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DatasetError(f"{path} is not an image: {error}") from None
    image = _central(image) if random is None else _at_random(image, random)
    pixels = np.asarray(image, np.float32) / np.float32(255)
    return ((pixels - _MEAN) / _DEVIATION).transpose(2, 0, 1)


def _central(image: "Image") -> "Image":
    """The shorter side to 256, then the middle (He et al., CVPR 2016, section 3.4)."""
    from PIL.Image import Resampling

    factor = _SHORTER / min(image.size)
    width, height = (max(_SHORTER, round(side * factor)) for side in image.size)
    left, top = (width - _SIDE) // 2, (height - _SIDE) // 2
    resized = image.resize((width, height), Resampling.BILINEAR)
    return resized.crop((left, top, left + _SIDE, top + _SIDE))


def _at_random(image: "Image", random: Generator) -> "Image":
    """A part of 8 % to 100 %, 3:4 to 4:3, mirrored or not (Szegedy et al., CVPR 2015, section 6).

    Where ten draws do not fit into the image, the largest square at its centre.
    """
    from PIL.Image import Resampling, Transpose

    width, height = image.size
    box = ((width - min(image.size)) // 2, (height - min(image.size)) // 2, *(min(image.size),) * 2)
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        across, down = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < across <= width and 0 < down <= height:
            left = int(random.integers(0, width - across + 1))
            box = (left, int(random.integers(0, height - down + 1)), across, down)
            break
    left, top, across, down = box
    corners = (left, top, left + across, top + down)
    part = image.resize((_SIDE, _SIDE), Resampling.BILINEAR, box=corners)
    return part.transpose(Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else part
