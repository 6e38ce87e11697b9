"""The engine: from a ready study to its trials, on one process or on Ray.

``study.py`` resolves all names of a config, ``loop.py`` proposes, runs and learns, in the order of
``logical_order.py``; ``trial_task.py`` is what crosses to a worker, :mod:`.executors` where it
runs; :mod:`.progress` shows it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .executors import make_executor as make_executor
    from .executors.cluster import late as late
    from .executors.process_use import end_with as end_with
    from .executors.ray_session import RaySession as RaySession
    from .interrupt import Stopped as Stopped, StopRequest as StopRequest
    from .loop import run_study as run_study
    from .start_from import WarmStart as WarmStart, warm_start as warm_start
    from .study import (
        Study as Study,
        design_problem as design_problem,
        header_of as header_of,
        prepare as prepare,
        stored_config as stored_config,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
