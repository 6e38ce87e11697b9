"""The report of a study: one HTML file that needs neither network nor server.

``report.py`` first; each other module writes one section.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .report import write_report as write_report
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
