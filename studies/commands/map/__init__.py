"""``archloom map``: the best mapping of each layer in a file of cases.

``cli.py`` declares the options, ``command.py`` does it, ``cases.py`` reads the problems,
``tables.py`` shows the results. ``evaluate.py`` is ``archloom evaluate``: what one mapping costs.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cases import (
        OBJECTIVES as OBJECTIVES,
        Task as Task,
        constraints_of as constraints_of,
    )
    from .cli import MAP_EXAMPLES as MAP_EXAMPLES, map_ as map_
    from .command import DEFAULT_SECONDS as DEFAULT_SECONDS
    from .evaluate import Files as Files, evaluate_files as evaluate_files
    from .tables import case_json as case_json
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
