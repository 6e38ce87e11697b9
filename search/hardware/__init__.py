"""Hardware optimizers: which designs to try next.

Read ``protocol.py`` and ``problem.py`` (the space with its exact facts), then one optimizer:
``random_search.py``, or :mod:`.bayesian` for the default. ``observations.py`` keeps the results
that optimizers learn from, ``proposals.py`` makes feasible designs of wished ones. :mod:`.certify`
proves fronts, :mod:`.schedules` finds schedules of kernels on this machine in the same way.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .optuna_log import quiet_optuna as quiet_optuna
    from .problem import (
        ENUMERATE_LIMIT as ENUMERATE_LIMIT,
        PROOF_LIMIT as PROOF_LIMIT,
        Candidate as Candidate,
        DesignProblem as DesignProblem,
    )
    from .projection import nearest as nearest
    from .protocol import (
        HardwareOptimizer as HardwareOptimizer,
        Observation as Observation,
        OptimizerFactory as OptimizerFactory,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
