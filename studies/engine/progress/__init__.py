"""Progress of a running study: what runs, how far it is, how long it may take.

``watch.py`` is what the loop reports, ``monitor.py`` keeps it and puts it in words, ``view.py``
shows it: live on a terminal, as lines with a time stamp elsewhere. ``spoken.py`` says on stderr
what happens, for ``--log-level``.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .monitor import duration as duration
    from .published import PublishedWatch as PublishedWatch
    from .spoken import say as say
    from .view import ProgressView as ProgressView
    from .watch import (
        SILENT as SILENT,
        Running as Running,
        Stages as Stages,
        Status as Status,
        Unwatched as Unwatched,
        Watch as Watch,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
