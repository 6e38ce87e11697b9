"""Pruning: weights that become zero, and channels that are taken out of a model.

``weights.py`` is the former. For the latter ``coupling.py`` finds in the traced graph which
channels can only go together, ``channels.py`` removes them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .channels import (
        load_pruned as load_pruned,
        weakest_channels as weakest_channels,
        without_channels as without_channels,
    )
    from .coupling import Coupling as Coupling, coupling_of as coupling_of
    from .weights import prunable_layers as prunable_layers, prune_weights as prune_weights
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
