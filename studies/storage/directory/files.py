"""The parts of a study as files of a directory."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from ...errors import UserError, choosing, writing
from ..journal import Event, Journal, copy_of, write_at
from ..parts import BEYOND, JOURNAL, LIVE, MOST_BYTES, NETWORKS, SPACE, START, STUDY, TRIALS
from .links import read_file, refuse_links
from .lock import LOCK, lock
from .lock_files import PREFIX
from .places import check_folder


class Files:
    """The parts of a study's directory, which is locked until this is closed.

    Attributes:
        notes: what was mended on opening, for people.

    Raises:
        UserError: another process writes to it, or something in it is a link.
        TroubleError: it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        refuse_links(folder)
        self.notes: list[str] = []
        self._folder = folder
        self._lock = lock(folder)
        self._journal: Journal | None = None
        self._trials = -1
        self._published = 0

    def open_journal(self, check: Callable[[Sequence[Event]], None]) -> list[Event]:
        """Return every event so far, after ``check`` has not refused them.

        Raises:
            UserError: the journal is damaged; nothing was changed.
        """
        path = self._folder / JOURNAL
        journal = self._journal = Journal(path, check)
        if size := journal.cut_short:
            self.notes.append(
                f"the last event of the journal was cut short; its {size} bytes are in "
                f"{copy_of(path)}, and what it told of is done again"
            )
        with writing(self._folder / TRIALS):
            self._trials = os.open(self._folder / TRIALS, os.O_RDWR | os.O_CREAT, 0o644)
        events, journal.found = journal.found, []
        return events

    def append(self, event: Event) -> None:
        """Add an event to the journal; it is on the disk when this returns."""
        assert self._journal is not None
        self._lock.check()
        self._journal.append(event)

    def publish(self, lines: Sequence[bytes]) -> None:
        """Let these be the next lines of the trials; what stands there already stays."""
        data = b"".join(lines)
        with writing(self._folder / TRIALS):
            there = os.pread(self._trials, len(data), self._published)
            if there != data:
                self._lock.check()
                os.ftruncate(self._trials, self._published)
                write_at(self._trials, data, self._published)
                os.fsync(self._trials)
        self._published += len(data)

    def settle(self) -> None:
        """Move lines of the trials behind all that was published to a file beside them."""
        with writing(self._folder / TRIALS):
            size = os.fstat(self._trials).st_size - self._published
            if size > MOST_BYTES:
                raise UserError(
                    f"{self._folder / TRIALS} has {size} bytes that are not in the journal, which "
                    "is more than archloom writes; delete it; it is written again from the journal"
                )
            beyond = os.pread(self._trials, size, self._published)
            if not beyond:
                return
            self._lock.check()
            with (self._folder / BEYOND).open("ab") as file:
                file.write(beyond)
                file.flush()
                os.fsync(file.fileno())
            os.ftruncate(self._trials, self._published)
            os.fsync(self._trials)

    def read(self, name: str) -> bytes | None:
        """Return a file; None if there is none."""
        return read_file(self._folder, name)

    def put(self, name: str, data: bytes) -> None:
        """Write a file as a whole."""
        self._lock.check()
        with writing(self._folder / name):
            write_whole(self._folder / name, data)

    def tell(self, data: bytes | None) -> None:
        """Write what is done right now. A disk without room is told by what has to be kept."""
        path, part = self._folder / LIVE, self._folder / f".{LIVE}.part"
        try:
            if data is None:
                path.unlink(missing_ok=True)
            else:
                part.write_bytes(data)
                part.replace(path)
        except OSError:
            return

    def close(self) -> None:
        """Give up the lock."""
        if self._journal is not None:
            self._journal.close()
        if self._trials >= 0:
            os.close(self._trials)
        self._lock.release()


def begin_directory(folder: Path, parts: Mapping[str, bytes]) -> None:
    """Make a study's directory, unless another process has just done so.

    Args:
        folder: that there is not, or that an unfinished beginning left behind.
        parts: the last of which makes it a study.

    Raises:
        UserError: it holds other files; nothing was changed.
    """
    refuse_place(folder)
    with choosing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    held = lock(folder)
    try:
        if not (folder / STUDY).exists():
            with writing(folder):
                _write(folder, parts)
    finally:
        held.release()


def fill_directory(folder: Path, parts: Mapping[str, bytes]) -> None:
    """Make a study's directory of all these parts at once, or none.

    Raises:
        UserError: there is something already; nothing was changed.
    """
    # of a path such as new/../copy, new is not made
    place = Path(os.path.realpath(folder))
    draft = place.with_name(f".{place.name}.{uuid4().hex}")
    with choosing(folder):
        draft.mkdir(parents=True)
        try:
            _write(draft, parts)
            # a directory takes the place of none, or of an empty one
            draft.rename(place)
        except OSError as error:
            if place.exists():
                raise UserError(
                    f"{folder} is there already ({error.strerror}); nothing was changed; choose "
                    "another directory"
                ) from None
            raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a kill, sees all of it or nothing."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        # half of a file would keep what little room there is
        with suppress(OSError):
            part.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _write(folder: Path, parts: Mapping[str, bytes]) -> None:
    for name, data in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_whole(folder / name, data)


def refuse_place(folder: Path) -> None:
    """Refuse a directory that no study can begin in; nothing is changed.

    Raises:
        UserError: it cannot be made or written to, or holds what no unfinished beginning of a study
            left there.
    """
    with choosing(folder):
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file; choose another directory with --out")
    _check_vacant(folder)
    refuse_links(folder)
    check_folder(folder)


def _check_vacant(folder: Path) -> None:
    """Refuse a directory that holds what no unfinished beginning of a study left there."""
    ours = {LOCK, SPACE, NETWORKS, START, f".{STUDY}.part", f".{START}.part"}
    there = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
    foreign = [name for name in there if name not in ours and not name.startswith(PREFIX)]
    if foreign:
        raise UserError(
            f"{folder} is not empty ({', '.join(foreign[:3])}) and no study; nothing was changed; "
            "choose another directory with --out"
        )
