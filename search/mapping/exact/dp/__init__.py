"""Label-setting dynamic programming: the best mapping of a subproblem, level by level.

``labels.py`` and ``label_setting.py`` are the algorithm, ``bounded_subproblem.py`` what it must
stay below, ``solver.py`` raises that bound in steps, ``reconstruction.py`` turns labels into a
mapping.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .label_setting import DONE as DONE, FULL as FULL, STOPPED as STOPPED, new_step as new_step
    from .labels import new_labels as new_labels
    from .reconstruction import alone as alone, rebuilt as rebuilt
    from .solver import (
        ASK as ASK,
        FOUND as FOUND,
        MORE as MORE,
        ROOM as ROOM,
        solve_listed as solve_listed,
        solve_subproblem as solve_subproblem,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
