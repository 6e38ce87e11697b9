"""Studies that run: in this process with one worker, else in a process of their own.

Ray ends the process that it runs in when it loses its head, and that should not be a notebook's.
So a study with several workers is gone on with by ``archloom resume`` in a child, and its trials
are read as that publishes them.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

from archloom.studies.commands.study import (
    Overrides,
    carry_out,
    read_study,
    ready,
    ready_again,
    stored,
)
from archloom.studies.config import (
    Location,
    SharedStudy,
    StudyConfig,
    config_of,
    location_of,
    without_forms,
)
from archloom.studies.engine import Stopped, StopRequest, Study as ReadyStudy
from archloom.studies.engine.progress import ProgressView, Unwatched, Watch
from archloom.studies.rendering.text import new_console
from archloom.studies.storage import (
    TRIALS,
    Store,
    Trial as Record,
    bring_up_to_date,
    published_trial,
    read_part,
)

from ..errors import INTERRUPTED, NOTHING_FOUND, SET_ASIDE, TroubleError, UserError
from .boundary import mendable
from .front import Trial
from .study import Study, study_at

#: what is called with each trial that ends
Callback = Callable[[Trial], object]

#: seconds between two looks at what a child has published
_LOOK_S: Final = 0.2

#: exit codes of a child whose study ran to its end
_ENDED: Final = (0, NOTHING_FOUND, SET_ASIDE)

_HEARD: Final = b"\nstopping after the work under way, which is kept\n"


@mendable
def run_study(
    study: "str | PathLike[str] | Mapping[str, Any]",
    out: "str | PathLike[str] | None" = None,
    *,
    workers: int | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = False,
) -> Study:
    """Run a study to its end; an existing study is resumed.

    Args:
        study: path of a study file, ``quickstart``, or a mapping with its keys and values.
        out: directory, or ``postgresql://HOST/DATABASE[#STUDY]`` (default: that of the study file,
            or ``runs/NAME``).
        workers: number of trials that run in parallel (default: that of the study file); 1 runs all
            of them in this process.
        callbacks: functions that are called with each finished trial, in the order of trial
            numbers, after its record is on disk. An exception of a callback ends the study and is
            raised here.
        progress: whether to print the progress on stderr.

    Raises:
        ArchloomError: the study has mistakes (all are listed), or a disk or a cluster failed.
        KeyboardInterrupt: Ctrl-C; completed work is kept.
    """
    config = _config(study, out, Overrides(**_executor(workers)))
    location = config.location(None if out is None else fspath(out))
    bring_up_to_date(location)
    if without_forms(config.workloads):
        raise UserError(
            "compressed workloads are trained before the study starts, which 'archloom "
            "run' does; resume_study() resumes it"
        )
    with _watched(progress) as view:
        made, header, _ = ready(config, location, view)
        with Store.create(location, header) as store:
            if config.executor.name == "inline":
                _work(made, store, view, callbacks)
    if config.executor.name != "inline":
        _watch_child(location, config, callbacks, progress)
    return study_at(location)


@mendable
def resume_study(
    source: "str | PathLike[str]",
    *,
    trials: int | None = None,
    workers: int | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = False,
) -> Study:
    """Resume a study that was stopped; the result is that of an uninterrupted run.

    Args:
        source: directory of the study, or ``postgresql://HOST/DATABASE#STUDY``.
        trials: total number of trials (default: that of the study). The result is that of a study
            that had this number from the start.
        workers: as for :func:`run_study`.
        callbacks: as for :func:`run_study`; they are not called for trials that finished earlier.
        progress: whether to print the progress on stderr.

    Raises:
        ArchloomError: there is no study, it cannot be resumed, or a disk or a cluster failed.
        KeyboardInterrupt: Ctrl-C; completed work is kept.
    """
    location = location_of(fspath(source))
    study_at(location)
    bring_up_to_date(location)
    if trials is not None and type(trials) is not int:
        raise UserError(f"trials: {trials!r} must be a whole number")
    config, header = stored(location, Overrides(**_executor(workers), trials=trials))
    if config.executor.name == "inline":
        with _watched(progress) as view:
            made = ready_again(config, header, view)
            with Store(location) as store:
                store.extend(config.trials)
                _work(made, store, view, callbacks)
    else:
        _watch_child(location, config, callbacks, progress, trials)
    return study_at(location)


def _config(
    study: "str | PathLike[str] | Mapping[str, Any]",
    out: "str | PathLike[str] | None",
    overrides: Overrides,
) -> StudyConfig:
    if isinstance(study, Mapping):
        # a name of a directory is one of a study, unless its check says otherwise
        name = None if out is None or "://" in fspath(out) else Path(fspath(out)).absolute().name
        return overrides.apply(config_of(study, name))
    return read_study(Path(fspath(study)), overrides)


def _executor(workers: int | None) -> dict[str, Any]:
    """Return what is said of the executor: one worker needs no other process.

    Raises:
        UserError: no number of workers.
    """
    if workers is None:
        return {}
    if type(workers) is not int or workers < 1:
        raise UserError(f"workers: {workers!r} must be a whole number, at least 1")
    return {"executor": "inline"} if workers == 1 else {"executor": "ray", "workers": workers}


@contextmanager
def _watched(progress: bool) -> Iterator[Watch]:
    if not progress:
        yield Unwatched()
        return
    with ProgressView(new_console(stderr=True)) as view:
        yield view


def _work(study: ReadyStudy, store: Store, view: Watch, callbacks: Iterable[Callback]) -> None:
    """Run a study in this process.

    Raises:
        KeyboardInterrupt: Ctrl-C; all that was done is in the store.
    """
    store.ended = _calling(callbacks)
    with _Kept(store.location):
        try:
            carry_out(study, store, _Patience(), view)
        except Stopped:
            raise KeyboardInterrupt("stopped") from None


class _Kept:
    """Says of whatever comes out how the study goes on."""

    def __init__(self, location: Location) -> None:
        self._location = location

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            how = f"archloom.resume_study({str(self._location)!r}) resumes it"
            error.add_note(f"finished work of the study is kept; {how}")


def _calling(callbacks: Iterable[Callback]) -> Callable[[Record], None] | None:
    """Return what is called with each record that is published; None if nothing is to be."""
    called = tuple(callbacks)

    def tell(record: Record) -> None:
        trial = Trial.of(record)
        for callback in called:
            callback(trial)

    return tell if called else None


class _Patience(StopRequest):
    """Hears Ctrl-C, and nothing else, as a question that is asked where stopping is safe.

    However often it is pressed: the process may be a notebook's, which is not ended. Outside the
    main thread, where Python hears no signals, nothing is changed.
    """

    def listen(self) -> None:
        """Take Ctrl-C."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._hear)

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before[signal.SIGINT])

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._heard = True
        os.write(2, _HEARD)


def _watch_child(
    location: Location,
    config: StudyConfig,
    callbacks: Iterable[Callback],
    progress: bool,
    trials: int | None = None,
) -> None:
    """Have a study gone on with in a process of its own.

    Raises:
        ArchloomError: what it said before it ended.
        KeyboardInterrupt: Ctrl-C; it was waited for.
    """
    choice, tell = config.executor, _calling(callbacks)
    command = [sys.executable, "-m", "archloom", "resume", str(location), "--executor", choice.name]
    command += ["--workers", str(choice.workers)] if choice.workers else []
    command += ["--address", choice.address] if choice.address else []
    command += ["--trials", str(trials)] if trials else []
    seen = _Published(location)
    with (
        tempfile.TemporaryFile("w+") as said,
        _Kept(location),
        _child(command, location, said, progress) as child,
    ):
        while (code := _ended(child)) is None:
            seen.tell(tell)
        seen.tell(tell)
        if code == INTERRUPTED:
            raise KeyboardInterrupt("stopped")
        if code not in _ENDED:
            said.seek(0)
            text = said.read().strip().removeprefix("error: ")
            error = UserError if code == UserError.exit_code else TroubleError
            raise error(text or f"the process that ran {location} ended with {code}")


def _ended(child: "subprocess.Popen[str]") -> int | None:
    """Wait for a moment; return the exit code of a child that has ended."""
    try:
        return child.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def _child(
    command: list[str], location: Location, said: IO[str], progress: bool
) -> Iterator["subprocess.Popen[str]"]:
    """Run a command in a process group of its own; whatever comes, it is stopped and waited for."""
    environment = dict(os.environ)
    # what a command line says everybody on the machine can read
    if isinstance(location, SharedStudy) and (word := urlsplit(location.database.url).password):
        environment["PGPASSWORD"] = unquote(word)
    shown = None if progress else subprocess.DEVNULL
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=shown, stderr=said, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            _wait(child)


def _wait(child: "subprocess.Popen[str]") -> None:
    """Wait for a child that was asked to stop, also if Ctrl-C is pressed meanwhile."""
    try:
        child.wait()
    except KeyboardInterrupt:
        os.write(2, _HEARD)


class _Published:
    """Trials of a study, as somebody else publishes them."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._told = set(map(hash, self._lines()))

    def _lines(self) -> list[bytes]:
        lines = (read_part(self._location, TRIALS) or b"").splitlines(keepends=True)
        return [line for line in lines if line.endswith(b"\n")]

    def tell(self, tell: Callable[[Record], None] | None) -> None:
        """Call ``tell`` with each trial that is new."""
        if tell is None:
            return
        for line in self._lines():
            if hash(line) not in self._told:
                self._told.add(hash(line))
                tell(published_trial(line))
