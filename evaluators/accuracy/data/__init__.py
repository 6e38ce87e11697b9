"""Data sets by name, with splits that never change.

``images.py`` says what a data set is, ``packaged.py`` has those inside Python packages,
``cifar10.py`` and ``imagenet.py`` read a user's directory, ``registry.py`` lists all.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .images import (
        Dataset as Dataset,
        DatasetError as DatasetError,
        ImageArray as ImageArray,
        Images as Images,
    )
    from .registry import DATASETS as DATASETS, load_dataset as load_dataset
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
