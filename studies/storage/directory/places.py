"""Places that users choose for what is to be written, checked before the work for it begins."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from ...errors import choosing


def check_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be written; nothing is changed.

    Raises:
        UserError: its name is too long, it is a folder, or its folder is not there or nobody may
            write there.
        TroubleError: the disk is full, or fails.
    """
    with choosing(path, option):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with suppress(FileNotFoundError):
            # what is written first has a longer name
            path.with_name(f".{path.name}.part").lstat()
        with TemporaryFile(dir=path.absolute().parent):
            pass


def check_folder(path: Path, option: str = "--out") -> None:
    """Refuse a folder that cannot be made or written to; nothing is changed.

    Raises:
        UserError: as :func:`check_file`, or the path is empty.
        TroubleError: the disk is full, or fails.
    """
    with choosing(path, option):
        full = path.absolute()
        there = next(parent for parent in (full, *full.parents) if parent.exists())
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{there} is a file")
        with TemporaryFile(dir=there):
            pass
