"""Tables of papers: schedules of many sets of networks, and their figures compared with ours.

``table_file.py`` reads a file (``layerweaver_*.yaml`` stand beside it), ``streams.py`` weaves what
it asks for and makes its rows, ``results.py`` keeps them, with the version that made them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .results import (
        Results as Results,
        read_results as read_results,
        results_text as results_text,
    )
    from .streams import Row as Row, beside as beside, measured as measured
    from .table_file import (
        METRICS as METRICS,
        own_tables as own_tables,
        read_table as read_table,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
