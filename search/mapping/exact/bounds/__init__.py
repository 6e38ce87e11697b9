"""Lower bounds of subproblems and of families of them, from cheap to tight.

``thresholds.py`` says what a mapping must stay below to matter, ``cost_to_go.py`` and
``outer_levels.py`` what lies outside a tile costs at least, ``filled.py`` that with an array that
fills and drains, ``subproblem_bound.py`` bounds one subproblem and ``family_pruning.py`` with
``siblings.py`` and ``unrolling_pairs.py`` many at once.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cost_to_go import (
        CostToGo as CostToGo,
        bare_lattice as bare_lattice,
        least_costs as least_costs,
    )
    from .family_pruning import (
        MANY as MANY,
        NO_FAMILIES as NO_FAMILIES,
        Families as Families,
        choose as choose,
        first_open as first_open,
        needs_guess as needs_guess,
        tiles_of as tiles_of,
    )
    from .filled import least_fills as least_fills, tile_scores as tile_scores
    from .lattice_min import least_of as least_of
    from .outer_levels import OuterLevels as OuterLevels, outer_levels_of as outer_levels_of
    from .subproblem_bound import (
        Floor as Floor,
        least_cycles as least_cycles,
        outline as outline,
    )
    from .thresholds import (
        Corner as Corner,
        ceilings as ceilings,
        chord_score as chord_score,
        chords_of as chords_of,
        convex as convex,
        corner_score as corner_score,
        most_energy as most_energy,
    )
    from .unrolling_pairs import (
        COUNTS as COUNTS,
        Factors as Factors,
        Pairs as Pairs,
        Serving as Serving,
        Window as Window,
        least_of_pairs as least_of_pairs,
        list_pairs as list_pairs,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
