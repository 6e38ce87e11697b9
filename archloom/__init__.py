"""The Python API of Archloom: studies, schedules and mappings from scripts and notebooks.

``import archloom as al``; docs/how_to/python_api.md describes each name of ``__all__``. All other
names of the package are internal and may change with any version. A name is loaded when it is first
used, so the import takes next to no time.
"""

from os.path import dirname, isdir, join  # pathlib would be half of the time of this import

TYPE_CHECKING = False

_FOLDER = dirname(__file__)  # noqa: PTH120
if not isdir(join(_FOLDER, "space")):  # noqa: PTH112, PTH118
    # not installed but found in the repository, where the packages stand beside this folder
    __path__.append(dirname(_FOLDER))  # noqa: PTH120

__all__ = [
    "ArchloomError",
    "Design",
    "Figures",
    "Front",
    "Group",
    "Hardware",
    "Infeasible",
    "Layer",
    "LayerCost",
    "LayerMapping",
    "Level",
    "LevelCost",
    "Network",
    "NetworkPlan",
    "Schedule",
    "Study",
    "Trial",
    "__version__",
    "evaluate",
    "load_hardware",
    "load_network",
    "load_study",
    "map_layer",
    "optuna_mirror",
    "resume_study",
    "run_study",
    "schedule",
]

if TYPE_CHECKING:
    from .studies.api import (
        ArchloomError as ArchloomError,
        Design as Design,
        Figures as Figures,
        Front as Front,
        Group as Group,
        Hardware as Hardware,
        Infeasible as Infeasible,
        Layer as Layer,
        LayerCost as LayerCost,
        LayerMapping as LayerMapping,
        Level as Level,
        LevelCost as LevelCost,
        Network as Network,
        NetworkPlan as NetworkPlan,
        Schedule as Schedule,
        Study as Study,
        Trial as Trial,
        evaluate as evaluate,
        load_hardware as load_hardware,
        load_network as load_network,
        load_study as load_study,
        map_layer as map_layer,
        optuna_mirror as optuna_mirror,
        resume_study as resume_study,
        run_study as run_study,
        schedule as schedule,
    )

    __version__: str
else:

    def __getattr__(name):
        """Return a name of the API, which is loaded when it is first used."""
        if name == "__version__":
            from importlib.metadata import version

            found = version("archloom")
        elif name in __all__:
            from importlib import import_module

            found = getattr(import_module("archloom.studies.api"), name)
        else:
            raise AttributeError(f"module 'archloom' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__():
        """Return the names of the API."""
        return [*__all__]
