"""Convolutional networks of the catalogue, one file per family.

Each file has functions that return a :class:`~archloom.space.workload.Network`; the registry of
:mod:`archloom.space.networks` gives them their names.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .efficientnet import B0_STAGES as B0_STAGES
    from .mobilenet import (
        V1_BLOCKS as V1_BLOCKS,
        V2_STAGES as V2_STAGES,
        inverted_residual as inverted_residual,
    )
    from .resnet import basic_block as basic_block
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
