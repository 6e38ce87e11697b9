"""Faults of processes: killed, stopped for good or for a while, and two at once."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .run import RAY, Run


def driver(run: Run) -> None:
    """The process is killed, once or again and again."""
    for _ in range(run.rng.randrange(1, 4)):
        process = run.begin()
        run.until(process, run.size + run.rng.randrange(1, 9000))
        process.kill()
        run.end(process)


def still_driver(run: Run) -> None:
    """The process stands still for a while, as with Ctrl-Z, or while the machine sleeps."""
    process = run.somewhere(*run.rng.choice([(), RAY]))
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(run.rng.uniform(0, 3))
        os.killpg(process.pid, signal.SIGCONT)
    code = run.end(process)
    assert code == 0, f"exit code {code}"


def stop(run: Run) -> None:
    """Ctrl-C, or SIGTERM, at any moment, once or twice."""
    _stopped(run, (), 2.5)


def stop_ray(run: Run) -> None:
    """The same of a study on Ray."""
    _stopped(run, RAY, 12)


def _stopped(run: Run, options: tuple[str, ...], most_s: float) -> None:
    run.cold = True
    process = run.begin(*options)
    # before that, it is Python that starts
    time.sleep(run.rng.uniform(0.3, most_s))
    for _ in range(run.rng.randrange(1, 3)):
        if process.poll() is None:
            os.killpg(process.pid, run.rng.choice([signal.SIGINT, signal.SIGTERM]))
            time.sleep(run.rng.uniform(0, 0.1))
    run.end(process)
    run.cold = False


def two(run: Run) -> None:
    """Two processes want to run the study at once."""
    both = [run.begin(), run.begin()]
    codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2}, f"exit codes {codes}"


def work(run: Run) -> None:
    """The process that works is killed, the one that watches it is not."""
    _ray(run, "work", (signal.SIGKILL,))


def worker(run: Run) -> None:
    """A worker is killed."""
    _ray(run, "ray::", (signal.SIGKILL,))


def still_worker(run: Run) -> None:
    """A worker stands still for a while."""
    _ray(run, "ray::Worker", (signal.SIGSTOP, signal.SIGCONT))


def stalled(run: Run) -> None:
    """A worker, or the process in it that searches, stands still for good."""
    run.write_study(lambda text: text.replace("{name: inline}", "{name: inline, stall_s: 4}"))
    code = _ray(run, run.rng.choice(["ray::Worker", "archloom-task"]), (signal.SIGSTOP,))
    assert code == 0, f"exit code {code}"


def raylet(run: Run) -> None:
    """Ray's node is killed."""
    _ray(run, "raylet", (signal.SIGKILL,))


def still_raylet(run: Run) -> None:
    """Ray's node stands still for a while."""
    _ray(run, "raylet", (signal.SIGSTOP, signal.SIGCONT))


def head(run: Run) -> None:
    """Ray's head is killed."""
    _ray(run, "gcs_server", (signal.SIGKILL,))


def still_head(run: Run) -> None:
    """Ray's head stands still for a while."""
    _ray(run, "gcs_server", (signal.SIGSTOP, signal.SIGCONT))


def _ray(run: Run, name: str, signals: tuple[signal.Signals, ...]) -> int:
    """Send signals to a process of Ray's, or to the one that works; return the exit code."""
    process = run.begin(*RAY)
    run.until(process, run.rng.randrange(4000, 30000))
    victim = _victim(run, name) if process.poll() is None else None
    for number in signals:
        if victim is not None:
            try:
                os.kill(victim, number)
            except ProcessLookupError:
                break
            time.sleep(run.rng.uniform(0, 2.0))
    return run.end(process)


def _victim(run: Run, name: str) -> int | None:
    """Return a process of a name among those of the study; None if there is none."""
    working = int((run.out / ".lock").read_text() or 0)
    if name == "work":
        return working
    found = [process for process, called in _family(working) if called.startswith(name)]
    return run.rng.choice(found) if found else None


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
    return [(p, names[p]) for p in sorted(found - {of}) if p in names]


PROCESSES: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one for one in (driver, still_driver, stop, stop_ray, two, work, worker)
} | {one.__name__: one for one in (still_worker, stalled, raylet, still_raylet, head, still_head)}
