"""The exact mapping search: branch and bound over subproblems, each solved by dynamic programming.

A subproblem fixes which level keeps which tensor and what is unrolled; theorems and proofs stand in
``docs/explanation/mapping_proofs.md``. Read ``search.py`` and ``branch_and_bound.py``, then
``choices.py`` (all subproblems in order of their bounds). :mod:`.spatial` lists unrollings,
:mod:`.subproblem` has the costs inside one, :mod:`.bounds` what its mappings cost at least and
:mod:`.dp` the search through it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .energy_latency_front import Front as Front, front as front
    from .proof import covered as covered
    from .search import (
        ExactMapping as ExactMapping,
        ExactState as ExactState,
        joined as joined,
        prove as prove,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
