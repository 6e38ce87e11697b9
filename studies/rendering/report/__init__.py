"""The report of a study: one HTML file that needs neither network nor server, or served live.

``material.py`` gathers what there is to show, ``page.py`` gives it to the templates of
``rendering/pages``, with one design after the other as compact data (``design_data.py``);
``report.py`` writes the file, ``live.py`` serves it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .live import (
        LiveReport as LiveReport,
        address_of as address_of,
        live_server as live_server,
    )
    from .report import write_report as write_report
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
