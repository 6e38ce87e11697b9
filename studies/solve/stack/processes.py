"""Jobs of training in processes of their own: as many at a time as there are cores."""

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from archloom.studies.config import Reading
from archloom.studies.engine import end_with
from archloom.studies.engine.progress import Unwatched, Watch
from archloom.studies.solve.compressing import StepFigures

from ...errors import TroubleError, UserError
from .settings import StackConfig
from .training import Job, do_job

#: seconds between looks at whether the user wants to stop
_LOOK_S: Final = 0.2

#: seconds that a process may take to end by itself
_END_S: Final = 20.0

Found = dict[tuple[str, int], list[StepFigures]]


def train_all(
    config: StackConfig,
    folder: Path,
    jobs: Sequence[Job],
    watch: Watch,
    check: Callable[[], None],
) -> Found:
    """Do all jobs; return their figures by model and seed.

    Args:
        config: of the study.
        folder: of the study.
        jobs: each once.
        watch: hears how far they are.
        check: called often; may raise, and then jobs end with the epoch that is done.

    Raises:
        UserError: as of a job.
        TroubleError: a process ended without an answer.
    """
    models = len({job.model for job in jobs})
    count = f"{models} model{'s' if models > 1 else ''}"
    if config.executor.name == "inline":
        watch.begin(f"training {count}", len(jobs))
        found: Found = {}
        for job in jobs:
            found[job.model, job.seed] = do_job(config, folder, job, watch, check)
            watch.advance(f"{job.model}, seed {job.seed}")
        watch.end()
        return found
    watch.begin(f"training {count}, {len(jobs)} jobs: epochs", sum(j.epochs(config) for j in jobs))
    crew = _Crew(config, folder, min(config.executor.count, len(jobs)))
    try:
        return crew.run(jobs, watch, check)
    finally:
        crew.end()
        watch.end()


class _Crew:
    """Processes, each with a connection."""

    def __init__(self, config: StackConfig, folder: Path, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._processes: dict[Any, Any] = {}
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, config.to_dict(), folder))
            process.daemon = True
            process.start()
            theirs.close()
            self._processes[ours] = process

    def run(self, jobs: Sequence[Job], watch: Watch, check: Callable[[], None]) -> Found:
        """Do all jobs."""
        left, busy = list(jobs), dict[Any, Job]()
        found: Found = {}
        for connection in self._processes:
            busy[connection] = left.pop(0)
            connection.send(busy[connection])
        while busy:
            check()
            ready: list[Any] = list(wait(list(busy), _LOOK_S))
            for connection in ready:
                job = busy[connection]
                try:
                    kind, value = connection.recv()
                except EOFError:
                    raise self._lost(connection, job) from None
                if kind == "wrong":
                    raise UserError(value)
                if kind == "epoch":
                    watch.advance(f"{job.model}, seed {job.seed}", value)
                elif kind == "found":
                    watch.found(f"{job.model}: {value}")
                else:
                    found[job.model, job.seed] = value
                    del busy[connection]
                    if left:
                        busy[connection] = left.pop(0)
                        connection.send(busy[connection])
        return found

    def end(self) -> None:
        """End the processes, after the epochs under way: what is done is kept."""
        for connection in self._processes:
            connection.close()
        for process in self._processes.values():
            process.join(_END_S)
            process.kill()
            process.join()

    def _lost(self, connection: Any, job: Job) -> TroubleError:
        process = self._processes[connection]
        process.join()
        return TroubleError(
            f"the process that trained {job.model}, seed {job.seed}, ended with exit code "
            f"{process.exitcode}; the same command resumes"
        )


class _Told(Unwatched):
    """Tells the parent of epochs and steps that are done."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection

    def advance(self, now: str = "", steps: int = 1) -> None:  # noqa: ARG002
        """Tell of epochs."""
        self._connection.send(("epoch", steps))

    def found(self, text: str) -> None:
        """Tell of a step."""
        self._connection.send(("found", text))


def _serve(connection: "Connection[Any, Any]", settings: dict[str, Any], folder: Path) -> None:
    """Do jobs until the parent ends."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None or not end_with(parent.pid):
        return
    # Ctrl-C is for the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    config, told = StackConfig.read(settings, Reading()), _Told(connection)

    def check() -> None:
        # whatever comes while a job is done, or the end, means that nobody wants it any more
        if connection.poll():
            sys.exit()

    try:
        while True:
            job = connection.recv()
            connection.send(("done", do_job(config, folder, job, told, check)))
    except EOFError:
        return
    except BrokenPipeError:
        os._exit(1)
    except UserError as error:
        connection.send(("wrong", str(error)))
    except OSError:
        traceback.print_exc()
        os._exit(1)
