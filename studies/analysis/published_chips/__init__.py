"""Published chips and the model: published figures, modelled figures, and why they differ.

``figures.py`` says what a figure is. Chips without zeros: ``eyeriss_alexnet.py``,
``tpu_v3_efficientnet.py``. Chips that skip zeros: ``eyeriss_v2_networks.py``, ``scnn_networks.py``,
``dual_side_products.py``; ``random_zeros.py`` says what the model leaves out for them, with zeros
at random places.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .dual_side_products import dual_side_tensor_core as dual_side_tensor_core
    from .eyeriss_alexnet import eyeriss as eyeriss
    from .eyeriss_v2_networks import eyeriss_v2 as eyeriss_v2
    from .figures import Chapter as Chapter, Figure as Figure
    from .scnn_networks import scnn as scnn
    from .tpu_v3_efficientnet import tpu_v3 as tpu_v3
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
