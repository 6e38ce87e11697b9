"""One small study in a place of its own: its processes, its journal, and what it came to."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.studies.config.location import Location, location_of
from archloom.studies.storage.parts import BASELINE_FILE, CERTIFICATE, TRIALS, VALIDATION
from archloom.studies.storage.reading import read_part

from .process import Fork, Process

if TYPE_CHECKING:
    from tests.cases.postgres import Server

    from .clock import Clock

STUDY: Final = """\
seed: {seed}
workloads: [tiny_cnn]
validation: {{workloads: [tiny_mlp], evaluations: 3}}
space: casco_edge
optimizer: {{name: random}}
halving: {{name: msh, rounds: 3, first_budget: 2}}
trials: 24
batch_size: 6
logical_workers: {logical_workers}
software: {{fusion: casco, population: 4, mapping: random, mapping_evaluations: 40}}
executor: {{name: inline}}
baseline: eyeriss
"""

COMMAND: Final = [sys.executable, "-c", "from archloom.studies.commands.cli import main; main()"]
RESULTS: Final = (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION)
RAY: Final = ("--executor", "ray", "--workers", "2")

#: bytes of the journal of a study in a database
_SIZE: Final = (
    "SELECT coalesce(sum(length(content)), 0) FROM archloom_parts p JOIN archloom_studies s"
    " ON s.id = p.study WHERE p.name = 'journal.jsonl' AND s.name = %s"
)

#: seconds after which a process counts as one that does not end
PATIENCE_S: Final = 300

#: times that a study is resumed at the most
RESUMES: Final = 5


@dataclass
class Run:
    """A study in a directory of its own, or on a server, and what it printed.

    Attributes:
        folder: of its study file, and of the study if that is not in a database.
        rng: decides on the fault's moment and place.
        logical_workers: of the study.
        server: that has the study, if any.
        clock, server_clock: that its processes, and the server's, read.
        said: what they printed.
        cold: whether they are started from nothing, and not forked.
        afterwards: what is to be done when the run is over.
    """

    folder: Path
    rng: random.Random
    logical_workers: int = 1
    server: "Server | None" = None
    clock: "Clock | None" = None
    server_clock: "Clock | None" = None
    said: str = ""
    cold: bool = False
    afterwards: ExitStack = field(default_factory=ExitStack)
    _processes: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.write_study()

    def write_study(self, change: Callable[[str], str] = lambda text: text) -> None:
        """Write the study file, with changes that are no part of the study."""
        text = STUDY.format(seed=5, logical_workers=self.logical_workers)
        (self.folder / "study.yaml").write_text(change(text))

    @property
    def place(self) -> str:
        """Where the study is kept, as the command line says it."""
        return f"{self.server.url}#{self.folder.name}" if self.server else "run"

    @property
    def location(self) -> Location:
        """Where the study is kept."""
        return location_of(self.place) if self.server else self.out

    @property
    def out(self) -> Path:
        """The study's directory."""
        return self.folder / "run"

    @property
    def journal(self) -> Path:
        """The study's journal."""
        return self.out / "journal.jsonl"

    def begin(self, *options: str, most_bytes: int | None = None) -> Process:
        """Start, or go on with, the study; perhaps where no file may grow beyond some bytes."""
        words = ["run", "study.yaml", "--out", self.place, *options]
        if not self.cold and self.clock is None and threading.active_count() == 1:
            self._processes += 1
            output = self.folder.with_name(f"{self.folder.name}.{self._processes}")
            return Fork(words, self.folder, output, lambda: _limit(most_bytes))
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env={**os.environ, **(self.clock.environment if self.clock else {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: _limit(most_bytes),
        )

    def end(self, process: Process) -> int:
        """Wait for a process; keep what it said, and return its exit code."""
        try:
            output, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        self.said += output
        return process.returncode

    def until(self, process: Process, size: int) -> None:
        """Wait until the journal has some bytes, or the process has ended."""
        while process.poll() is None and self.size < size:
            time.sleep(0.0005)

    def somewhere(self, *options: str) -> Process:
        """Start the study; return it at some moment of its work, perhaps after its end."""
        process = self.begin(*options)
        self.until(process, self.size + self.rng.randrange(1, 30000))
        return process

    @property
    def size(self) -> int:
        """Bytes of the journal."""
        if self.server:
            rows = self.server.sql(_SIZE, self.folder.name)
            return int(rows[0][0])
        return self.journal.stat().st_size if self.journal.exists() else 0

    def half(self) -> None:
        """Run the study to some point, and kill it."""
        process = self.begin()
        self.until(process, self.rng.randrange(2000, 40000))
        process.kill()
        self.end(process)

    def results(self) -> dict[str, bytes | None]:
        """Return what the study came to."""
        return {name: read_part(self.location, name) for name in RESULTS}


def _limit(most_bytes: int | None) -> None:
    """Let no file of this process grow beyond some bytes, if any are given."""
    if most_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
