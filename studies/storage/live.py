"""What a study does right now, for whoever looks at it from another process.

``live.json`` is written at each change and belongs to no result; it is gone when the study ends.
Whether a process works on a study is told by its lock.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from .store import LOCK

LIVE = "live.json"


def write_live(folder: Path, content: dict[str, Any]) -> None:
    """Tell what a study does. A disk without room is told by what has to be kept."""
    part = folder / f".{LIVE}.part"
    with suppress(OSError):
        part.write_text(json.dumps(content) + "\n")
        part.replace(folder / LIVE)


def end_live(folder: Path) -> None:
    """Say that a study does nothing any more."""
    with suppress(OSError):
        (folder / LIVE).unlink(missing_ok=True)


def read_live(folder: Path) -> dict[str, Any]:
    """Return what the study said last of what it does; nothing if that cannot be read."""
    try:
        found = json.loads((folder / LIVE).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def works_on(folder: Path) -> int | None:
    """Return the process that works on a study; None if none does.

    The lock is not asked for: for a moment nobody else could take it.
    """
    try:
        process = int((folder / LOCK).read_text())
        held = (folder / LOCK).stat().st_ino
        locks = Path("/proc/locks").read_text()
    except (OSError, ValueError):
        return None
    inodes = {line.split()[5].rpartition(":")[2] for line in locks.splitlines() if "FLOCK" in line}
    return process if str(held) in inodes else None
