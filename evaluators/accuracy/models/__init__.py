"""Models that are trained and compressed: convolutional networks in torch, for images of any size.

``builder.py`` writes a traced graph layer by layer, ``cifar10.py`` and ``imagenet.py`` hold the
models, ``registry.py`` their names.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .builder import LEAST_SIDE as LEAST_SIDE, scaled as scaled
    from .registry import MODELS as MODELS, build_model as build_model
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
