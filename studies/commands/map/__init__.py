"""``archloom map``: the best mapping of each layer in a file of cases.

``command.py`` does it, ``cases.py`` reads the problems, ``tables.py`` shows the results.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cases import Sought as Sought, constraints_of as constraints_of
    from .command import Output as Output, effort_of as effort_of, map_cases as map_cases
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
