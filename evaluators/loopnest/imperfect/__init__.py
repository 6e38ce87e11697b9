"""Imperfect factorisation: nests whose edge tiles are cut (Ruby, Horeni et al., ISPASS 2022).

``reuse.py`` counts the words that move in such a nest, ``kernel.py`` what it costs.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .kernel import (
        ImperfectRoom as ImperfectRoom,
        evaluate_imperfect as evaluate_imperfect,
        imperfect_cost as imperfect_cost,
        imperfect_room as imperfect_room,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
