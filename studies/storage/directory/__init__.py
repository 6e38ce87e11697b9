"""A study in a directory: its parts as files, and the lock of the one process that writes.

``files.py`` writes the parts, ``links.py`` reads them, ``lock.py`` asks the file system for a
lock, ``lock_files.py`` does without where it has none; ``places.py`` looks first whether something
can be written where a user wants it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .files import (
        Files as Files,
        begin_directory as begin_directory,
        fill_directory as fill_directory,
        refuse_place as refuse_place,
    )
    from .links import read_file as read_file, refuse_links as refuse_links
    from .lock import works_on as works_on
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
