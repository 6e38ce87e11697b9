"""Commands made from functions: each parameter's annotation says what option or argument it is.

``app.py`` has the program, ``parameters.py`` reads annotations, ``shared.py`` has the options of
several commands.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .app import App as App, Exit as Exit, echo as echo
    from .parameters import Argument as Argument, Option as Option
    from .shared import (
        MAPPING_SEARCHES as MAPPING_SEARCHES,
        NETWORK_SETTINGS as NETWORK_SETTINGS,
        PLANNERS as PLANNERS,
        AsJson as AsJson,
        Fold as Fold,
        HardwareSettings as HardwareSettings,
        MappingEvaluations as MappingEvaluations,
        Out as Out,
        Pick as Pick,
        Seed as Seed,
        Study as Study,
        Technology as Technology,
        WordBits as WordBits,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
