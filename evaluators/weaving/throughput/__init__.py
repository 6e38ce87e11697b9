"""Throughput of endless queries: upper bounds of all schedules, and the rate of one network alone.

``resources.py`` says for how long a query keeps each resource busy, ``periods.py`` how far queries
of one network are apart where nothing else runs; ``bound.py`` puts both into a linear program.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .bound import steady_rows as steady_rows
    from .periods import rest_alone as rest_alone
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
