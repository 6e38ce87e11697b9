"""One small study, run again and again with a fault each time: does it end as if nothing had been?

Each run gets one fault of a kind, at a moment or a place drawn from ``--seed``, and is then resumed
as its messages say (a file that is refused is restored from a copy) until it ends. Its trials,
baseline and certificate are then compared with those of an undisturbed run, byte by byte. Faults
of Ray start it on this machine alone; those of a database (``torture_server.py``) start a server of
PostgreSQL, and are left out by default where there is none. Nothing leaves the machine.

    python benchmarks/studies/torture.py --runs 200
    python benchmarks/studies/torture.py --runs 20 --kinds worker raylet head

Exit code 1 if a run lost, doubled or changed a trial, printed a traceback, or did not end.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archloom.studies.config.location import Database, location_of
from archloom.studies.storage.database.schema import migrate
from archloom.studies.storage.reading import read_part

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.studies.torture_server import SERVER_KINDS
from tests.cases.postgres import Server, programs

STUDY: Final = """\
seed: {seed}
workloads: [tiny_cnn]
space: casco_edge
optimizer: {{name: random}}
halving: {{name: msh, rounds: 3, first_budget: 2}}
trials: 24
batch_size: 6
software: {{fusion: casco, population: 4, mapping: random, mapping_evaluations: 40}}
executor: {{name: inline}}
baseline: eyeriss
"""

COMMAND: Final = [sys.executable, "-c", "from archloom.studies.cli import main; main()"]
RESULTS: Final = ("trials.jsonl", "baseline.json", "certificate.json")
RAY: Final = ("--executor", "ray", "--workers", "2")

#: bytes of the journal of a study in a database
_SIZE: Final = (
    "SELECT coalesce(sum(length(content)), 0) FROM archloom_parts p JOIN archloom_studies s"
    " ON s.id = p.study WHERE p.name = 'journal.jsonl' AND s.name = %s"
)

#: seconds after which a run counts as one that does not end
PATIENCE_S: Final = 300

#: times that a run is resumed at the most
RESUMES: Final = 5


@dataclass
class Run:
    """A study in a directory of its own, or on a server, and what it printed."""

    folder: Path
    rng: random.Random
    server: Server | None = None
    said: str = ""

    @property
    def place(self) -> str:
        """Where the study is kept, as the command line says it."""
        return f"{self.server.url}#{self.folder.name}" if self.server else "run"

    @property
    def out(self) -> Path:
        """The study's directory."""
        return self.folder / "run"

    @property
    def journal(self) -> Path:
        """The study's journal."""
        return self.out / "journal.jsonl"

    def begin(self, *options: str, most_bytes: int | None = None) -> "subprocess.Popen[str]":
        """Start, or go on with, the study; perhaps where no file may grow beyond some bytes."""
        verb = ["run", "study.yaml", "--out", self.place]

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes or 0, most_bytes or 0))

        return subprocess.Popen(
            [*COMMAND, *verb, *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=limit if most_bytes is not None else None,
        )

    def end(self, process: "subprocess.Popen[str]") -> int:
        """Wait for a process; keep what it said, and return its exit code."""
        output, _ = process.communicate(timeout=PATIENCE_S)
        self.said += output
        return process.returncode

    def until(self, process: "subprocess.Popen[str]", size: int) -> None:
        """Wait until the journal has some bytes, or the process has ended."""
        while process.poll() is None and self.size < size:
            time.sleep(0.0005)

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

    def refused(self, change: Callable[[bytes], bytes | None], *names: str) -> None:
        """Change a file; see that the study is refused or mends it; put it back if refused."""
        path = self.out / (names[0] if names else "journal.jsonl")
        before = path.read_bytes()
        changed = change(before)
        if changed is None:
            path.unlink()
        else:
            path.write_bytes(changed)
        code = self.end(self.begin())
        assert code in (0, 2), f"exit code {code}"
        if code == 2:
            assert (path.read_bytes() if path.exists() else None) == changed, "it was changed"
            path.write_bytes(before)


def driver(run: Run) -> None:
    """The process is killed."""
    for _ in range(run.rng.randrange(1, 4)):
        process = run.begin()
        run.until(process, run.size + run.rng.randrange(1, 9000))
        process.kill()
        run.end(process)


def stop(run: Run) -> None:
    """Ctrl-C, or SIGTERM, at any moment, once or twice."""
    process = run.begin()
    time.sleep(run.rng.uniform(0.6, 2.5))
    for _ in range(run.rng.randrange(1, 3)):
        if process.poll() is None:
            os.killpg(process.pid, run.rng.choice([signal.SIGINT, signal.SIGTERM]))
            time.sleep(run.rng.uniform(0, 0.1))
    run.end(process)


def _ray(run: Run, name: str, signals: tuple[signal.Signals, ...]) -> int:
    """Send signals to a process of Ray's, or to the one that works; return the exit code."""
    process = run.begin(*RAY)
    run.until(process, run.rng.randrange(4000, 30000))
    work = int((run.out / ".lock").read_text() or 0) if process.poll() is None else 0
    victims = [work] if name == "work" else [p for p, n in _family(work) if n.startswith(name)]
    for number in signals:
        if victims:
            try:
                os.kill(run.rng.choice(victims), number)
            except ProcessLookupError:
                break
            time.sleep(run.rng.uniform(0, 1.0))
    return run.end(process)


def _family(of: int) -> list[tuple[int, str]]:
    """Return the processes that descend from one, and their names."""
    parents, names = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):
            continue
        parents[int(status.parent.name)] = int(lines["PPid"])
        names[int(status.parent.name)] = lines["Name"]
    found = {of}
    while more := {p for p, parent in parents.items() if parent in found} - found:
        found |= more
    return [(p, names[p]) for p in found - {of} if p in names]


def worker(run: Run) -> None:
    """A worker is killed."""
    _ray(run, "ray::", (signal.SIGKILL,))


def stopped_worker(run: Run) -> None:
    """A worker stands still for a while."""
    _ray(run, "ray::Worker", (signal.SIGSTOP, signal.SIGCONT))


def stalled(run: Run) -> None:
    """A worker, or the process in it that searches, stands still for good."""
    text = STUDY.format(seed=5).replace("{name: inline}", "{name: inline, stall_s: 4}")
    (run.folder / "study.yaml").write_text(text)
    code = _ray(run, run.rng.choice(["ray::Worker", "archloom-task"]), (signal.SIGSTOP,))
    assert code == 0, f"exit code {code}"


def raylet(run: Run) -> None:
    """Ray's node is killed."""
    _ray(run, "raylet", (signal.SIGKILL,))


def head(run: Run) -> None:
    """Ray's head is killed."""
    _ray(run, "gcs_server", (signal.SIGKILL,))


def work(run: Run) -> None:
    """The process that works is killed, the one that watches it is not."""
    _ray(run, "work", (signal.SIGKILL,))


def full(run: Run) -> None:
    """The disk is full, and is freed."""
    code = run.end(run.begin(most_bytes=run.rng.randrange(1500, 40000)))
    assert code in (0, 4), f"exit code {code}"


def torn(run: Run) -> None:
    """The journal ends in the middle of a line."""
    run.half()
    with run.journal.open("r+b") as file:
        file.truncate(run.rng.randrange(run.size + 1))


def zeros(run: Run) -> None:
    """The journal ends with zeros, as after a loss of power."""
    run.half()
    with run.journal.open("ab") as file:
        file.write(b"\0" * run.rng.randrange(1, 5000))


def flipped(run: Run) -> None:
    """A bit of the journal is another one."""
    run.half()

    def flip(data: bytes) -> bytes:
        at = run.rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << run.rng.randrange(8)]) + data[at + 1 :]

    run.refused(flip)


def doubled(run: Run) -> None:
    """The journal holds everything twice."""
    run.half()
    run.journal.write_bytes(run.journal.read_bytes() * 2)


def crlf(run: Run) -> None:
    """The journal was saved by an editor that ends lines in its own way."""
    run.half()
    run.refused(lambda data: data.replace(b"\n", b"\r\n"))


def foreign(run: Run) -> None:
    """The journal is that of another study."""
    run.half()
    (run.folder / "other.yaml").write_text(STUDY.format(seed=99))
    other = [*COMMAND, "run", "other.yaml", "--out", "other"]
    subprocess.run(other, cwd=run.folder, check=True, capture_output=True)
    run.refused(lambda _: (run.folder / "other" / "journal.jsonl").read_bytes())


def missing(run: Run) -> None:
    """The journal is gone, or empty."""
    run.end(run.begin())
    run.refused(lambda _: run.rng.choice([None, b""]))


def other_trials(run: Run) -> None:
    """Lines of trials.jsonl were changed, doubled or invented."""
    run.end(run.begin())
    path = run.out / "trials.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = run.rng.randrange(len(lines))
    changed = lines[at].replace(b'"trial":', b'"trial":1')
    path.write_bytes(
        b"".join(run.rng.choice([[*lines, changed], [*lines[:at], changed], lines * 2]))
    )


def two(run: Run) -> None:
    """Two processes want to run the study at once."""
    both = [run.begin(), run.begin()]
    codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2}, f"exit codes {codes}"


KINDS: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one
    for one in (
        *(driver, stop, full, torn, zeros, flipped, doubled, crlf, foreign, missing, other_trials),
        *(two, work, worker, stopped_worker, stalled, raylet, head),
    )
}


EVERY: Final = KINDS | SERVER_KINDS


def results(run: Run) -> dict[str, bytes | None]:
    """Return what a study came to."""
    place = location_of(run.place) if run.server else run.out
    return {name: read_part(place, name) for name in RESULTS}


def faults(run: Run, kind: str, expected: dict[str, bytes | None]) -> list[str]:
    """Do one run; return what was wrong with it."""
    found = []
    try:
        EVERY[kind](run)
        codes = []
        while not codes or (codes[-1] not in (0, 2) and len(codes) < RESUMES):
            codes.append(run.end(run.begin()))
        if codes[-1] != 0:
            found.append(f"did not end: exit codes {codes}")
    except (AssertionError, subprocess.TimeoutExpired) as error:
        found.append(str(error)[:200])
    if "Traceback" in run.said:
        found.append("a traceback")
    if not found:
        found += [f"other {name}" for name, data in results(run).items() if data != expected[name]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kinds", nargs="+", choices=EVERY, default=list(EVERY if programs() else KINDS)
    )
    parser.add_argument("--json", type=Path, help="file that the figures go to")
    options = parser.parse_args()
    done, wrong = Counter[str](), Counter[str]()
    with ExitStack() as stack:
        base = stack.enter_context(tempfile.TemporaryDirectory())
        server = Server() if set(options.kinds) & set(SERVER_KINDS) else None
        if server:
            stack.callback(server.stop)
            # so that there are tables that a journal can be looked for in
            migrate(Database.of(server.url))
        calm = Run(Path(base, "calm"), random.Random(0))
        calm.folder.mkdir()
        (calm.folder / "study.yaml").write_text(STUDY.format(seed=5))
        assert calm.end(calm.begin()) == 0, calm.said
        expected = results(calm)
        assert None not in expected.values()
        for number in range(options.runs):
            kind = options.kinds[number % len(options.kinds)]
            run = Run(Path(base, str(number)), random.Random(f"{options.seed} {number}"))
            run.server = server if kind in SERVER_KINDS else None
            run.folder.mkdir()
            (run.folder / "study.yaml").write_text(STUDY.format(seed=5))
            found = faults(run, kind, expected)
            done[kind] += 1
            wrong[kind] += bool(found)
            if found:
                print(f"run {number}, {kind}: {'; '.join(found)}\n{run.said}", flush=True)
    print(f"{'fault':16} {'runs':>5} {'wrong':>6}")
    for kind, count in done.items():
        print(f"{kind:16} {count:5} {wrong[kind]:6}")
    print(f"{'all':16} {done.total():5} {wrong.total():6}")
    if options.json:
        options.json.write_text(json.dumps({"runs": done, "wrong": +wrong}, indent=1))
    sys.exit(1 if wrong.total() else 0)


if __name__ == "__main__":
    main()
