"""Errors that are shown as one message without a traceback, and what the exit code is then."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

#: a study ended without a front, or a check found something wrong
NOTHING_FOUND: Final = 1

#: a study ended, but machines failed some of its trials, which ``resume --retry-failed`` takes up
SET_ASIDE: Final = 3

#: the user ended it, with Ctrl-C for instance
INTERRUPTED: Final = 130

#: archloom itself is wrong: a traceback says where
FAULT: Final = 70


class ArchloomError(Exception):
    """Base class of the errors that the Python API raises for mistakes and failures."""


class UserError(ArchloomError):
    """Something that the user can mend; the message says what, where and how."""

    exit_code: ClassVar[int] = 2


class TroubleError(UserError):
    """A disk, a machine or a cluster failed; the study can go on once it is mended."""

    exit_code: ClassVar[int] = 4


#: what is wrong with a path that somebody chose, and not with a disk
_OF_PATHS: Final = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
        *(errno.EINVAL, errno.EROFS, errno.EACCES, errno.EPERM),
    }
)


def exit_code(error: OSError) -> int:
    """Return the exit code of a failure: that of a mistake where the path is wrong."""
    return (UserError if error.errno in _OF_PATHS else TroubleError).exit_code


class AllFaults:
    """Users' mistakes in parts that do not need each other, to be said at once."""

    def __init__(self) -> None:
        self._errors: list[UserError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep what is wrong inside, and go on."""
        try:
            yield
        except UserError as error:
            self._errors.append(error)

    def raise_any(self) -> None:
        """Raise all that was kept as one; alone it is raised as it is.

        Raises:
            UserError: there was something.
        """
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise UserError("\n".join(map(str, self._errors)))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what keeps a file from being written into one message.

    Raises:
        TroubleError: an :class:`OSError` was raised inside.
    """
    try:
        yield
    except OSError as error:
        raise TroubleError(f"{path} cannot be written: {reason(error)}") from None


@contextmanager
def choosing(path: Path, option: str = "") -> Iterator[None]:
    """Turn what keeps a place from being written that a user chose just now into one message.

    Args:
        path: that was chosen.
        option: that it was chosen with, for the message.

    Raises:
        UserError: there is no such place, or nobody may write there.
        TroubleError: the disk is full, or fails.
    """
    try:
        yield
    except OSError as error:
        kind = UserError if exit_code(error) == UserError.exit_code else TroubleError
        name = f"{option} {path}:" if option else f"{path}"
        raise kind(f"{name} cannot be written: {reason(error)}") from None


@contextmanager
def faults() -> Iterator[None]:
    """Give what nobody foresaw an exit code of its own, after its traceback."""
    sound = False
    try:
        yield
        sound = True
    except (UserError, OSError, KeyboardInterrupt, SystemExit):
        sound = True
        raise
    finally:
        if not sound:
            import traceback

            traceback.print_exc()
            print(
                "this is a bug in archloom; please report it with the lines above",
                file=sys.stderr,
            )
            sys.exit(FAULT)


def unreadable(error: Exception) -> str:
    """Say why a file of text cannot be read, after its name."""
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"is not UTF-8 text: byte 0x{byte:02x} at position {error.start}; save it as UTF-8"
    return f"cannot be read: {error}"


def reason(error: OSError) -> str:
    """Return what went wrong with a file, and what would help."""
    helps = {
        errno.ENOSPC: "make room",
        errno.EDQUOT: "free disk space within the quota",
        errno.EROFS: "choose a writable directory",
        errno.EACCES: "ask for permission, or choose another directory",
        errno.EPERM: "ask for permission, or choose another directory",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ENOTDIR: "choose another directory",
        errno.EEXIST: "choose another name",
        errno.EISDIR: "choose the name of a file",
    }
    text = error.strerror or str(error)
    hint = helps.get(error.errno or 0)
    return f"{text}; {hint}" if hint else text
