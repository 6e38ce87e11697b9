"""Files of a directory that may come from somebody else: read as they are, never through a link.

A link could name any file of whoever opens the study, to be read, or written in its place.
"""

import os
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from ...errors import UserError
from ..journal import MOST_LINE, file_lines
from ..parts import GROWING, MOST_BYTES


def refuse_links(folder: Path) -> None:
    """Make sure that all below a study's directory is in it. The directory may be a link itself.

    Raises:
        UserError: something is a link.
    """
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            found = _seen(path)
            if found and not (S_ISREG(found.st_mode) or S_ISDIR(found.st_mode)):
                # a pipe would be waited for, a device read without an end
                raise UserError(f"{path} is no file, and a study has nothing else; delete it")


def read_file(folder: Path, name: str | Path) -> bytes | None:
    """Return a part of a study; None if there is none.

    Raises:
        UserError: it is a link or no file, or larger than any that archloom writes.
    """
    path = folder / name
    for inner in path.parents[: len(Path(name).parts) - 1]:
        _seen(inner)
    found = _seen(path)
    if found is None:
        return None
    if not S_ISREG(found.st_mode):
        raise UserError(f"{path} is no file, and a study has nothing else there; delete it")
    size = found.st_size
    if str(name) not in GROWING and size > MOST_BYTES:
        raise UserError(f"{path} has {size} bytes, which is more than archloom writes")
    try:
        if size > MOST_LINE:
            _refuse_unlike_lines(path)
        return path.read_bytes()
    except FileNotFoundError:
        # deleted since
        return None


def _refuse_unlike_lines(path: Path) -> None:
    """Refuse a large file of which a line cannot be a record, before it is read as a whole.

    Raises:
        UserError: there is such a line, and another one behind it: the last may be cut short.
    """
    unlike = 0
    for number, line in enumerate(file_lines(path), 1):
        if unlike:
            raise UserError(
                f"{path}: line {unlike} is damaged; restore the file from a copy (trials are "
                "written anew from the journal if there is none)"
            )
        if not (line.startswith(b"{") and line.endswith(b"}\n")):
            unlike = number


def _seen(path: Path) -> os.stat_result | None:
    """Return what a path is, looked at once; None for nothing: whoever works on a study replaces
    and deletes files of it meanwhile.

    Raises:
        UserError: it is a link.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if S_ISLNK(found.st_mode):
        raise UserError(
            f"{path} is a link, and a study has none: it might lead to a file of yours; "
            "put what it names in its place, or delete it"
        )
    return found
