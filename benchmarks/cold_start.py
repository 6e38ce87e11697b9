"""What a new user waits for: from a bare clone to the first front, and the same once more.

    python benchmarks/cold_start.py [--json FILE]

Clones the repository that this file lies in, installs it, compiles kernels with an empty cache, and
runs the quickstart study twice. Prints wall and CPU seconds of each, and those after which the
first designs were proposed, a trial had its first result, and the front came, with the memory of
the largest worker then; beside it, how fast plain Python is on this machine, by which to compare
machines. ``--installed`` leaves clone and installation out and measures the environment that runs
this; ``--study`` runs another study.

CPU seconds are those of all processes that a command starts, looked at twice a second: what a
process does after the last look is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic, time
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]

#: the studies that are run, each with the folder that it goes to
STUDIES: Final = {"study": "run0", "study, once more": "run1"}

#: set for all processes of a measurement, which inherit it
_MARK: Final = "ARCHLOOM_COLD_START"
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_LOOK_S: Final = 0.5

#: what a line of the log begins with when the front has come; progress names the front, too
FRONT: Final = "Pareto front: "

#: the events of a study's journal of which the first one is told
EVENTS: Final = {"first proposal": "asked", "first result": "advanced"}


@dataclass(frozen=True)
class Look:
    """What all processes had used after some seconds: CPU, and memory of the largest worker."""

    after_s: float
    cpu_s: float
    worker_mb: float


@dataclass
class Measured:
    """What a command took.

    Attributes:
        wall_s, cpu_s: in all.
        began_at: seconds since 1970.
        lines: seconds after which each line was printed.
        looks: what was used, twice a second.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    began_at: float = field(default_factory=time)
    lines: list[tuple[float, str]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def after(self, sign: str) -> float | None:
        """Return the seconds until a line that begins with a text, None if there was none."""
        return next((at for at, line in self.lines if line.startswith(sign)), None)

    def look(self, after_s: float) -> Look:
        """Return what was used when so many seconds were over, by the next look."""
        late = (look for look in self.looks if look.after_s >= after_s)
        return next(late, Look(after_s, self.cpu_s, 0.0))


class Watch:
    """Looks at the processes of a measurement until it is closed."""

    def __init__(self, mark: str, looks: list[Look]) -> None:
        self._began, self._looks = monotonic(), looks
        self._mark = f"{_MARK}={mark}".encode()
        self._cpu_s: dict[tuple[int, str], float] = {}
        self._mb: dict[tuple[int, str], float] = {}
        self._over = Event()
        self._thread = Thread(target=self._look)
        self._thread.start()

    def close(self) -> float:
        """Return CPU seconds of all processes."""
        self._over.set()
        self._thread.join()
        return sum(self._cpu_s.values())

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if self._mark in (process / "environ").read_bytes().split(b"\0"):
                        self._note(process)
                except OSError:
                    continue  # it has ended, or is another user's
            used = sum(self._cpu_s.values()), max(self._mb.values(), default=0.0)
            self._looks.append(Look(monotonic() - self._began, *used))

    def _note(self, process: Path) -> None:
        # the name of a process, which may hold spaces, stands in brackets
        figures = (process / "stat").read_text().rpartition(")")[2].split()
        # its number may be given again: it is told by when it started, too
        key = int(process.name), figures[19]
        self._cpu_s[key] = (int(figures[11]) + int(figures[12])) * _TICK_S
        if b"task_server" in (process / "cmdline").read_bytes():
            pages = int((process / "statm").read_text().split()[1])
            self._mb[key] = pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(command: list[str], folder: Path, cache: Path) -> Measured:
    """Run a command to its end; its output is kept.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    found, began = Measured(), monotonic()
    mark = f"{os.getpid()}-{began}"
    environment = os.environ | {_MARK: mark, "NUMBA_CACHE_DIR": str(cache), "PYTHONUNBUFFERED": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    watch = Watch(mark, found.looks)
    try:
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                found.lines.append((monotonic() - began, line.rstrip()))
    finally:
        found.cpu_s = watch.close()
    found.wall_s = monotonic() - began
    if process.returncode:
        text = "\n".join(line for _, line in found.lines[-20:])
        raise subprocess.CalledProcessError(process.returncode, command, text)
    return found


def stages(home: Path, installed: bool, study: str) -> Iterator[tuple[str, Measured]]:
    """Yield what is measured, one after another."""
    place, cache, bin_ = ROOT, home / "kernels", Path(sys.executable).parent
    if not installed:
        place, bin_ = home / "clone", home / "clone" / ".venv" / "bin"
        clone = ["git", "clone", "--quiet", str(ROOT), str(place)]
        yield "clone", measured(clone, home, cache)
        yield "install", measured(["make", "install"], place, cache)
    archloom = str(bin_ / "archloom")
    yield "compile kernels", measured([archloom, "compile"], place, cache)
    for name, folder in STUDIES.items():
        file = str(Path(study).resolve()) if Path(study).exists() else study
        run = [archloom, "run", file, "--out", str(home / folder)]
        yield name, measured(run, place, cache)
    report = [archloom, "report", str(home / STUDIES["study, once more"])]
    yield "report", measured(report, place, cache)
    script = str(ROOT / "benchmarks" / "mapping" / "mapping_throughput.py")
    plain = [str(bin_ / "python"), script, "--without-start", "--seconds", "0.3"]
    yield "plain Python", measured(plain, ROOT, cache)


def first_times(found: Measured, journal: Path) -> dict[str, float | None]:
    """Return the seconds until designs were proposed, a trial had a result, and the front came."""
    events: list[dict[str, Any]] = []
    if journal.exists():
        events = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    # the baseline is no trial of the search
    searched = [event for event in events if event.get("trial", 0) >= 0]
    times: dict[str, float | None] = {
        label: next((e["at"] - found.began_at for e in searched if e["event"] == name), None)
        for label, name in EVENTS.items()
    }
    return times | {"front": found.after(FRONT)}


def plain_rate(found: Measured) -> str:
    """Return the millions of mappings that plain Python prices in a CPU-second."""
    lines = [line for _, line in found.lines if "by plain Python" in line]
    return lines[0].split("plain Python")[1].split()[0]


def _figures(found: Measured, at: float | None) -> str:
    """Return the cells of a moment: wall and CPU seconds, and the memory of the largest worker."""
    if at is None:
        return "     none"
    look = found.look(at)
    memory = f"{look.worker_mb:11.0f}" if look.worker_mb else ""
    return f"{at:9.1f}{look.cpu_s:9.1f}{memory}"


def main() -> None:
    """Measure, and print a row for each stage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--installed", action="store_true", help="measure this environment")
    parser.add_argument("--study", default="studies/quickstart.yaml", help="a study file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    found: dict[str, Measured] = {}
    print(f"{'':<22}{'wall s':>9}{'CPU s':>9}{'worker MB':>11}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        for name, one in stages(Path(home), arguments.installed, arguments.study):
            found[name] = one
            if name == "plain Python":
                print(f"plain Python prices {plain_rate(one)} million mappings a CPU-second")
                continue
            print(f"{name:<22}{one.wall_s:9.1f}{one.cpu_s:9.1f}", flush=True)
            if name in STUDIES:
                journal = Path(home) / STUDIES[name] / "journal.jsonl"
                for label, at in first_times(one, journal).items():
                    print(f"  {label:<20}{_figures(one, at)}", flush=True)
    waited = [
        one for name, one in found.items() if name not in ("plain Python", "study, once more")
    ]
    print(f"{'from clone to report':<22}{sum(one.wall_s for one in waited):9.1f}")
    if arguments.json:
        figures = {name: asdict(one) for name, one in found.items()}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
