"""Tables of papers: their figures beside ours, measured from files.

``table_file.py`` reads a file (those of :mod:`.tables` come with archloom). What measures its rows
is a kind of tables, in ``kinds.py``: :mod:`.streams` interleaves sets of networks, :mod:`.plans`
fuses networks on given hardware, :mod:`.searches` runs studies, :mod:`.stacks` stack studies.
``figures.py`` has what all kinds share, ``heading.py`` the keys of all, ``budgets.py`` what differs
at smaller budgets, ``comparison.py`` published figures beside ours, and ``results.py`` keeps rows,
with the version that made them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .budgets import BUDGETS as BUDGETS, FULL as FULL
    from .comparison import (
        Compared as Compared,
        compared as compared,
        tally as tally,
    )
    from .figures import PaperRow as PaperRow, PaperTable as PaperTable, beside as beside
    from .kinds import Studies as Studies, measured as measured
    from .plans.plan_rows import PlanFigures as PlanFigures, PlanRow as PlanRow
    from .results import (
        Measurement as Measurement,
        Results as Results,
        is_results as is_results,
        read_results as read_results,
        results_name as results_name,
        results_text as results_text,
    )
    from .searches import SearchRow as SearchRow
    from .searches.progress import Progress as Progress
    from .stacks import StackRow as StackRow
    from .streams import StreamRow as StreamRow
    from .table_file import (
        own_tables as own_tables,
        read_table as read_table,
        read_table_file as read_table_file,
        table_summary as table_summary,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
