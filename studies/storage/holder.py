"""Who writes to a study: a process, its machine, and whether it is still there."""

import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

#: seconds between signs of life of a process that writes, where no lock says that it lives
BEAT_S: Final = 10.0

#: seconds of silence after which such a process has lost the study
SILENT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that writes to a study.

    Attributes:
        host, process, user: where, as what and for whom it runs.
        machine: tells this boot and these process numbers from all others; empty if unknown.
        started: when the process did, in ticks since the boot; process numbers are used again.
    """

    host: str
    process: int
    user: str = ""
    machine: str = ""
    started: int = 0

    @classmethod
    def me(cls) -> "Holder":
        """Return this process."""
        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            user = f"user {os.getuid()}"
        process = os.getpid()
        return cls(socket.gethostname(), process, user, _machine(), _started(process))

    @classmethod
    def from_text(cls, text: str) -> "Holder | None":
        """Return what :meth:`to_text` was called on; None for another text."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            return None

    def to_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.host}"

    @property
    def gone(self) -> bool:
        """Whether it was on this machine and has ended; of other machines nothing is known."""
        here = bool(self.machine) and self.machine == _machine()
        return here and _started(self.process) != self.started


def _machine() -> str:
    """Return which boot of which machine this is, and whose process numbers; empty off Linux."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(process: int) -> int:
    """Return when a process of this machine started; 0 if it has ended."""
    try:
        # the name of the program, in brackets, may hold anything
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in ("Z", "X") else int(fields[19])
