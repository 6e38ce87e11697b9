"""Studies across the stack for people: a page with pictures, and the conclusions on a terminal.

``report.py`` puts the page together of ``plots.py``, ``tables.py`` and ``verdicts.py``.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .report import write_stack_report as write_stack_report
    from .verdicts import print_verdicts as print_verdicts, verdict_rows as verdict_rows
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
