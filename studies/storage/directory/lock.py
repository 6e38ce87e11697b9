"""The lock of a study's directory: that of its file system, which a killed process lets go of."""

import errno
import fcntl
import os
from pathlib import Path
from typing import Final, Protocol

from ...errors import UserError, writing
from ..holder import Holder
from .lock_files import LockFile, newest_holder

LOCK: Final = ".lock"

#: what file systems say that know no locks (network file systems without a lock service, FUSE)
_UNSUPPORTED: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Lock(Protocol):
    """Held by the one process that writes."""

    def check(self) -> None:
        """Make sure that it is still held.

        Raises:
            TroubleError: another process has taken it.
        """

    def release(self) -> None:
        """Give it up."""


def lock(folder: Path) -> Lock:
    """Return the lock of a study's directory.

    Raises:
        UserError: another process holds it.
        TroubleError: the directory cannot be written.
    """
    with writing(folder / LOCK):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise UserError(
            f"{folder}: process {owner or 'unknown'} is writing to this study; wait for it, or "
            "stop it; 'archloom pareto' works meanwhile"
        ) from None
    except OSError as error:
        os.close(descriptor)
        if error.errno not in _UNSUPPORTED:
            raise
        return LockFile(folder)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return _FileSystemLock(descriptor)


class _FileSystemLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def check(self) -> None:
        """Nobody can take it."""

    def release(self) -> None:
        os.close(self._descriptor)


def works_on(folder: Path) -> Holder | None:
    """Return the process that works on a study; None if none does.

    The lock is not asked for: for a moment nobody else could take it.
    """
    try:
        process = int((folder / LOCK).read_text())
        held = (folder / LOCK).stat().st_ino
        locks = Path("/proc/locks").read_text()
    except (OSError, ValueError):
        return newest_holder(folder)
    inodes = {line.split()[5].rpartition(":")[2] for line in locks.splitlines() if "FLOCK" in line}
    return Holder("", process) if str(held) in inodes else newest_holder(folder)
