"""Label-setting dynamic programming: the best mapping of a subproblem, level by level.

``labels.py`` and ``label_setting.py`` are the algorithm, ``bounded_subproblem.py`` what it must
stay below, ``solver.py`` raises that bound in steps, ``reconstruction.py`` turns labels into a
mapping.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .bounded_subproblem import Limits as Limits
    from .label_setting import DONE as DONE, FULL as FULL, STOPPED as STOPPED
    from .labels import (
        Labels as Labels,
        new_labels as new_labels,
        new_workspace as new_workspace,
    )
    from .reconstruction import alone as alone, rebuilt as rebuilt
    from .solver import (
        FOUND as FOUND,
        NO_ROOM as NO_ROOM,
        OPEN as OPEN,
        SEVERAL as SEVERAL,
        Span as Span,
        solve as solve,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
