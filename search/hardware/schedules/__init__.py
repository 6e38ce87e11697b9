"""Search for the fastest schedules of kernels on this machine, by optimizers of hardware.

``tuner.py`` proposes them: curated starts, those of similar layers (``transfer.py``), then what an
optimizer of the package around this one proposes, for which ``schedule_problem.py`` presents
schedules as designs.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .transfer import similar_schedules as similar_schedules
    from .tuner import TUNERS as TUNERS, Effort as Effort, Tuner as Tuner
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
