"""Studies in a PostgreSQL database: their parts as rows, and a lease for the one that writes.

``schema.py`` has the tables and how older ones become them, ``connection.py`` goes on when the
server is away for a while, ``lease.py`` says who may write, ``shared_parts.py`` writes,
``reading.py`` reads.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .reading import (
        count_lines as count_lines,
        holder_of as holder_of,
        read_shared as read_shared,
        study_names as study_names,
    )
    from .schema import migrate as migrate
    from .shared_parts import SharedParts as SharedParts, add_study as add_study
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
