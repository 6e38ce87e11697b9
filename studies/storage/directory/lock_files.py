"""A lock of plain files, for file systems that have none.

Whoever takes the lock makes ``.lock.N``, with N one above the highest there is. The file system
lets one process only make a file that is not there, so two never take the same number, and a
number below the highest is worth nothing. The file names its process, which touches it every ten
seconds. A process that has been silent for a minute, by the clock of the file system and not of
any machine, has lost the lock, and so has one that has ended on this machine. One that was silent
for half of that takes the next number itself before it writes, or learns that another has.

Assumed is what network file systems promise: a file is made exclusively, and who opens a file
sees what was written by whoever had closed it before; and that a process does not stand still for
half a minute between that look and its write.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from ...errors import TroubleError, UserError, writing
from ..holder import BEAT_S, SILENT_S, Holder

PREFIX: Final = ".lock."

#: content of a file whose process has let go
_RELEASED: Final = "released"


class LockFile:
    """A lock that is held until it is released, or this process stands still for too long.

    Raises:
        UserError: another process holds it.
        TroubleError: the directory cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        with writing(folder / PREFIX):
            last = _highest(folder)
            if last and not _free(folder, last):
                raise UserError(_refusal(folder, last))
            self._take(last + 1)
        self._over = threading.Event()
        threading.Thread(target=self._live, name="lock of a study", daemon=True).start()

    def check(self) -> None:
        """Make sure that nobody else has the lock, nor could take it before the next look.

        Raises:
            TroubleError: another process has taken it.
        """
        if _now_s() - self._seen_s > SILENT_S / 2:
            # perhaps it has been taken: whoever gets the next number has it
            with writing(self._path):
                self._take(self._number + 1)

    def release(self) -> None:
        """Let go; the number stays, so that it is never given again."""
        self._over.set()
        # a file that another process has deleted stays so
        with suppress(OSError), self._path.open("r+") as file:
            file.truncate()
            file.write(_RELEASED)

    @property
    def _path(self) -> Path:
        return _file(self._folder, self._number)

    def _take(self, number: int) -> None:
        """Make the file of a number, which must become the highest."""
        seen_s = _now_s()
        path = _file(self._folder, number)
        try:
            with path.open("x") as file:
                file.write(Holder.me().to_text())
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise self._lost(number) from None
        if (highest := _highest(self._folder)) > number:
            path.unlink()
            raise self._lost(highest)
        self._number, self._seen_s = number, seen_s
        for old in _numbers(self._folder):
            if old < number:
                _file(self._folder, old).unlink(missing_ok=True)

    def _lost(self, number: int) -> UserError:
        if not self._number:
            return UserError(_refusal(self._folder, number))
        return TroubleError(
            f"{self._folder}: this process made no progress for more than {SILENT_S:.0f} s, and "
            f"{_holder(self._folder, number) or 'another one'} has taken the study over"
        )

    def _live(self) -> None:
        while not self._over.wait(BEAT_S):
            seen_s = _now_s()
            if seen_s - self._seen_s > SILENT_S / 2:
                continue  # somebody may be about to take it
            # what fails here is told when something is to be written
            with suppress(OSError):
                os.utime(self._path)
                self._seen_s = seen_s


def newest_holder(folder: Path) -> Holder | None:
    """Return who holds the lock of a directory by such a file; None if nobody does."""
    try:
        last = _highest(folder)
        holder = _holder(folder, last) if last else None
        silent_s = time.time() - _file(folder, last).stat().st_mtime if last else 0.0
    except OSError:
        return None
    return None if holder is None or holder.gone or silent_s > SILENT_S else holder


def _now_s() -> float:
    """Return seconds that go on while a machine sleeps, where there is such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _file(folder: Path, number: int) -> Path:
    return folder / f"{PREFIX}{number}"


def _numbers(folder: Path) -> list[int]:
    names = (path.name.removeprefix(PREFIX) for path in folder.glob(f"{PREFIX}*"))
    return [int(name) for name in names if name.isdecimal()]


def _highest(folder: Path) -> int:
    return max(_numbers(folder), default=0)


def _holder(folder: Path, number: int) -> Holder | None:
    with suppress(OSError):
        return Holder.from_text(_file(folder, number).read_text())
    return None


def _free(folder: Path, number: int) -> bool:
    """Whether the holder of a number has let go, has ended, or has been silent for too long."""
    path = _file(folder, number)
    text = path.read_text()
    holder = Holder.from_text(text)
    ended = text == _RELEASED or (holder is not None and holder.gone)
    return ended or _silent_s(path) > SILENT_S


def _silent_s(path: Path) -> float:
    """Return since when a file was not touched, by the clock of its file system."""
    probe = path.with_name(f"{PREFIX}{uuid4().hex}")
    probe.touch()
    now_s = probe.stat().st_mtime
    probe.unlink()
    with path.open() as file:
        # opened, since what is known of a file that is not may be old
        return now_s - os.fstat(file.fileno()).st_mtime


def _refusal(folder: Path, number: int) -> str:
    return (
        f"{folder}: {_holder(folder, number) or 'another process'} is writing to this study; wait "
        f"for it, or stop it; a process that is gone loses the study {SILENT_S:.0f} s after its "
        "last sign of life; 'archloom pareto' works meanwhile"
    )
