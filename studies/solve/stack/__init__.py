"""Studies across the stack: model, compression, algorithm, schedules; accuracy, time and size.

``settings.py`` is the study file, with ``compression.py``; ``study.py`` runs it. ``training.py``
trains and compresses, in ``processes.py``; ``points.py`` says which kernels a point runs,
``bench.py`` measures them: ``tuning.py`` searches schedules, ``sessions.py`` has the rules of
timing, ``crew.py`` the workers. ``record.py`` is what it comes to, ``problem.py`` lets an optimizer
choose the points; ``status.py`` says how far a study is.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .settings import (
        Processes as Processes,
        StackConfig as StackConfig,
        load_stack as load_stack,
        require_packages as require_packages,
        stack_of as stack_of,
    )
    from .status import StackStatus as StackStatus, stack_status as stack_status
    from .study import (
        RESULTS as RESULTS,
        StackStudy as StackStudy,
        claim as claim,
        stored_config as stored_config,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
