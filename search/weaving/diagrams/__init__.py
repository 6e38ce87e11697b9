"""Decision diagrams over partial schedules, compiled.

``states.py`` says when one partial schedule makes another needless and what stands for two of them,
``expansion.py`` adds a layer, with lower bounds, ``selection.py`` keeps, drops or merges the states
of a level; ``levels.py`` goes from level to level.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .expansion import Problem as Problem
    from .levels import (
        Limits as Limits,
        Outcome as Outcome,
        diagram as diagram,
        problem_of as problem_of,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
