"""Files of a directory that may come from somebody else: read as they are, never through a link.

A link could name any file of whoever opens the study, to be read, or written in its place.
"""

import os
from pathlib import Path
from typing import Final

from ...errors import UserError
from ..parts import GROWING

#: bytes of a part that does not grow line by line; snapshots of 100,000 boxes have some MB
MOST_BYTES: Final = 256 * 2**20


def refuse_links(folder: Path) -> None:
    """Make sure that all below a study's directory is in it. The directory may be a link itself.

    Raises:
        UserError: something is a link.
    """
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            _refuse_link(path)


def read_file(folder: Path, name: str | Path) -> bytes | None:
    """Return a part of a study; None if there is none.

    Raises:
        UserError: it is a link, or larger than any.
    """
    path = folder / name
    for inner in (path, *path.parents[: len(Path(name).parts) - 1]):
        _refuse_link(inner)
    if not path.exists():
        return None
    if str(name) not in GROWING and (size := path.stat().st_size) > MOST_BYTES:
        raise UserError(f"{path} has {size} bytes, which is more than archloom writes")
    return path.read_bytes()


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise UserError(
            f"{path} is a link, and a study has none: it might lead to a file of yours; "
            "put what it names in its place, or delete it"
        )
