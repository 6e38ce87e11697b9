"""The Python API: what ``import archloom`` offers, typed, with a unit in the name of each figure.

``study.py`` (a study, its trials, its front) and ``running.py`` (running one) first;
``scheduling.py``, ``evaluating.py`` and ``layer_mapping.py`` are what the commands of these names
do, on the hardware of ``hardware.py`` and the networks of ``network.py``. ``boundary.py`` turns
what goes wrong into one kind of error, ``cells.py`` has tables for notebooks. The package
``archloom`` lists all names again; docs/how_to/python_api.md describes them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .boundary import ArchloomError as ArchloomError, Infeasible as Infeasible
    from .design import Design as Design
    from .evaluating import LayerCost as LayerCost, LevelCost as LevelCost, evaluate as evaluate
    from .front import Front as Front, Trial as Trial
    from .hardware import (
        Hardware as Hardware,
        Level as Level,
        load_hardware as load_hardware,
    )
    from .layer_mapping import LayerMapping as LayerMapping, map_layer as map_layer
    from .mirroring import optuna_mirror as optuna_mirror
    from .network import Layer as Layer, Network as Network, load_network as load_network
    from .network_plan import Figures as Figures, Group as Group, NetworkPlan as NetworkPlan
    from .running import resume_study as resume_study, run_study as run_study
    from .scheduling import Schedule as Schedule, schedule as schedule
    from .study import Study as Study, load_study as load_study
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
