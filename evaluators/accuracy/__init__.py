"""Accuracy of models on data, dense and compressed, and what is left of them to store and compute.

:mod:`.models` builds them, :mod:`.data` has images, :mod:`.training` trains and tests.
:mod:`.pruning` and :mod:`.quantization` compress; ``figures.py`` counts what is left, ``elbow.py``
says how far is too far, ``network.py`` makes networks for accelerators, ``weights_file.py`` reads a
user's weights.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .elbow import (
        LevelAccuracy as LevelAccuracy,
        allowed_drop as allowed_drop,
        elbow_of as elbow_of,
    )
    from .figures import figures_of as figures_of, stored_bytes as stored_bytes
    from .network import to_network as to_network
    from .weights_file import WeightsError as WeightsError, load_weights as load_weights
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
