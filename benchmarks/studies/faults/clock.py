"""Clocks that jump: the wall clock of a study's processes is set, forwards and backwards.

The clock of the machine stays as it is. A small library in C (``clock.c``), compiled when it is
needed and loaded before all others, adds an offset to what its processes read.
"""

import os
import random
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .run import RAY, Run

_HOUR_S: Final = 3600.0

#: seconds by which clocks are set: by a leap second, as a time server does it, by someone in
#: another time zone, and where the battery of a clock is empty
_JUMPS_S: Final = (1.0, 61.0, _HOUR_S, 24 * _HOUR_S, 10 * 365 * 24 * _HOUR_S)


class Clock:
    """A wall clock that can be set.

    Args:
        folder: that other users can read.
        name: of it, among others in the same folder.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._library, self._offset = folder / "clock.so", folder / name
        if not self._library.exists():
            source = Path(__file__).with_name("clock.c")
            words = ["gcc", "-O1", "-shared", "-fPIC", "-o", self._library, source]
            subprocess.run(words, check=True)
        self._offset.write_bytes(bytes(8))
        for path in (self._library, self._offset):
            path.chmod(0o755)

    @property
    def environment(self) -> Mapping[str, str]:
        """Of processes that read this clock."""
        return {"LD_PRELOAD": str(self._library), "TORTURE_CLOCK": str(self._offset)}

    def set(self, offset_s: float) -> None:
        """Set it to the seconds that it is ahead."""
        with self._offset.open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), struct.pack("q", int(offset_s * 1e9)), 0)

    @contextmanager
    def jumping(self, rng: random.Random) -> Iterator[None]:
        """Set it again and again, and put it right at the end."""
        over = threading.Event()

        def jump() -> None:
            while not over.wait(rng.uniform(0.05, 1.0)):
                self.set(rng.choice([-1, 1, 0]) * rng.choice(_JUMPS_S))

        thread = threading.Thread(target=jump)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.set(0.0)


def clocks_can_jump() -> bool:
    """Whether there is a compiler for the library."""
    return shutil.which("gcc") is not None


def clock(run: Run) -> None:
    """The wall clock of the study jumps, forwards and backwards, again and again."""
    _jumping(run, run.rng.choice([(), RAY]))


def clock_killed(run: Run) -> None:
    """It jumps while the process is killed, and is begun again at another time."""
    assert run.clock is not None
    with run.clock.jumping(random.Random(run.rng.random())):
        for _ in range(run.rng.randrange(1, 3)):
            process = run.somewhere()
            process.kill()
            run.end(process)


def clock_lease(run: Run) -> None:
    """It jumps for two drivers of a study in a database, who both want its lease."""
    assert run.clock is not None
    with run.clock.jumping(random.Random(run.rng.random())):
        both = [run.somewhere(), run.begin()]
        codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2}, f"exit codes {codes}"


def clock_of_server(run: Run) -> None:
    """That of the database's server jumps: the lease may go to somebody else, once."""
    assert run.server_clock is not None
    with run.server_clock.jumping(random.Random(run.rng.random())):
        both = [run.somewhere(), run.begin()]
        codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2, 4}, f"exit codes {codes}"


def _jumping(run: Run, options: tuple[str, ...]) -> None:
    assert run.clock is not None
    with run.clock.jumping(random.Random(run.rng.random())):
        code = run.end(run.begin(*options))
    assert code == 0, f"exit code {code}"


CLOCKS: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one for one in (clock, clock_killed)
}
SHARED_CLOCKS: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one for one in (clock_lease, clock_of_server)
}
