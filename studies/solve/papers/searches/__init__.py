"""Tables of searches: studies of one file with parts exchanged, and the designs that they pick."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .search_rows import SearchRow as SearchRow, searched as searched
    from .search_studies import RunStudy as RunStudy
    from .search_table import SearchTable as SearchTable
    from .source_file import (
        StudySource as StudySource,
        origin as origin,
        study_source as study_source,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
