"""Timeloop's architectures, problems, mappings and constraints, read as case records.

``reader.py`` is the whole way. ``yaml_dialect.py`` and ``values.py`` read scalars as yaml-cpp does,
:mod:`.architecture` and :mod:`.problem` the two halves of a case, ``directives.py``, ``fanout.py``
and ``mapping.py`` what runs how.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .reader import read_timeloop as read_timeloop
    from .yaml_dialect import TimeloopError as TimeloopError
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
