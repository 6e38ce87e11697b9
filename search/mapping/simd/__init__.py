"""Mapping searches that evaluate a batch of candidates at once: annealing, and GAMMA's operators.

``searches.py`` has the two searches; ``candidates.py`` holds a batch, ``moves.py`` and ``draws.py``
change it, ``annealing.py`` and ``gamma.py`` are the loops.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .candidates import (
        BatchEvaluator as BatchEvaluator,
        Stretch as Stretch,
        evaluator_of as evaluator_of,
        stretch as stretch,
    )
    from .draws import (
        Draws as Draws,
        blank_nests as blank_nests,
        draw_candidates as draw_candidates,
        draw_factors as draw_factors,
        draw_orders as draw_orders,
        draws_of as draws_of,
        freely_drawn as freely_drawn,
    )
    from .searches import LocalMapping as LocalMapping
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
