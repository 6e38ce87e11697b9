"""Commands ``archloom run`` and ``archloom resume``: one process that works on a study."""

from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.config import (
    ExecutorChoice,
    Location,
    StudyConfig,
    argument,
    load_config,
    with_method,
)

from ...errors import TroubleError, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from archloom.studies.engine import Study, WarmStart
    from archloom.studies.engine.progress import Watch
    from archloom.studies.storage import Header, Store, Trial

SHIPPED = Path(__file__).parents[2]

#: mapping searches whose kernels compile before a study begins; others compile in a few seconds
EXACT = ("auto", "exact")


#: an address that is none: Ray starts on this machine
HERE = "local"


@dataclass(frozen=True, slots=True)
class Overrides:
    """Choices of the command line about the executor; None leaves it to the study."""

    executor: str | None = None
    workers: int | None = None
    address: str | None = None

    def apply(self, config: StudyConfig) -> StudyConfig:
        """Return the config with another executor, which changes no result.

        Raises:
            UserError: an executor that does not exist, or less than one worker.
        """
        names = ("inline", "ray")
        if self.executor not in (None, *names):
            raise UserError(f"executor {self.executor!r} is unknown; known: {', '.join(names)}")
        if self.workers is not None and self.workers < 1:
            raise UserError(f"workers is {self.workers}, must be at least 1")
        given = {"name": self.executor, "workers": self.workers, "address": self.address}
        if self.address is not None:
            if self.executor == "inline":
                raise UserError(f"--address {self.address}: the inline executor uses no cluster")
            given["name"] = "ray"
        choice = config.executor.model_dump() | {k: v for k, v in given.items() if v is not None}
        if choice["address"] == HERE:
            choice["address"] = None
        return config.model_copy(update={"executor": ExecutorChoice(**choice)})


def read_study(path: Path, overrides: Overrides, method: str | None = None) -> StudyConfig:
    """Read a study file.

    Args:
        path: a study file, or the name of one that comes with archloom.
        overrides: of the executor.
        method: of :mod:`archloom.studies.config.methods`, in place of what the file says of it.

    Raises:
        UserError: everything that is wrong in it.
    """
    return overrides.apply(load_config(_find(path), partial(with_method, name=method)))


def start(config: StudyConfig, location: Location | None, console: "Console") -> int:
    """Run a study, or go on with it; return the exit code.

    Args:
        config: of the study.
        location: where it is kept; None for what its file says.
        console: for progress and results.

    Raises:
        UserError: nothing was written.
    """
    from archloom.studies.engine import header_of, prepare, warm_start
    from archloom.studies.engine.progress import ProgressView
    from archloom.studies.rendering.text import print_line
    from archloom.studies.storage import Store, bring_up_to_date

    from .supervised import supervised

    location = location or config.location()
    bring_up_to_date(location)
    if config.executor.name == "ray":
        supervised(location)
    console.print(f"study {location}: {config.trials} trials at the most", highlight=False)
    with ProgressView(console) as view:
        view.begin("reading the space and preparing the study")
        study, header = prepare(config, config.space), header_of(config)
        begun = _begun(location, header)
        found = begun or warm_start(config, header, study.problem)
        if found is not None:
            study, header = replace(study, start=found), replace(header, start=found.to_text())
        view.end()
        with Store.create(location, header) as store:
            for note in () if begun or not found else found.notes:
                print_line(note, console)
            trials = _run(study, store, console, view)
    return _ended(trials, study, location, console)


def _begun(location: Location, header: "Header") -> "WarmStart | None":
    """Return what a study that is there already began with, from the same sources."""
    from archloom.studies.engine import WarmStart
    from archloom.studies.storage import STUDY, read_header, read_part

    if not header.config["start_from"] or read_part(location, STUDY) is None:
        return None
    there = read_header(location)
    same = there.config.get("start_from") == header.config["start_from"]
    return WarmStart.from_text(there.start) if same and there.start is not None else None


def resume(
    location: Location, overrides: Overrides, console: "Console", retry_failed: bool = False
) -> int:
    """Go on with a study; return the exit code.

    Args:
        location: of the study.
        overrides: of the executor.
        console: for progress and results.
        retry_failed: do again what crashed, and what machines failed.

    Raises:
        UserError: there is no study, or cannot be gone on with.
    """
    from archloom.studies.engine import WarmStart, prepare, stored_config
    from archloom.studies.engine.progress import ProgressView
    from archloom.studies.storage import Store, bring_up_to_date, read_header

    from .supervised import supervised

    bring_up_to_date(location)
    header = read_header(location)
    config = overrides.apply(stored_config(location, header))
    if config.executor.name == "ray":
        supervised(location)
    with ProgressView(console) as view:
        view.begin("reading the space and preparing the study")
        study = prepare(config, config.space)
        if header.start is not None:
            study = replace(study, start=WarmStart.from_text(header.start))
        view.end()
        with Store(location) as store:
            trials = _run(study, store, console, view, retry_failed)
    return _ended(trials, study, location, console)


def _find(path: Path) -> Path:
    """Return the file, or the shipped study of that name."""
    shipped = SHIPPED / f"{path}.yaml"
    return shipped if not path.exists() and path.suffix == "" and shipped.exists() else path


def _run(
    study: "Study", store: "Store", console: "Console", view: "Watch", retry: bool = False
) -> "list[Trial] | None":
    """Run a study to its end; return its trials, or None if the user stopped it.

    Raises:
        TroubleError: a disk or a cluster failed; it says how to go on.
    """
    from archloom.studies.engine import Stopped, StopRequest, make_executor, run_study
    from archloom.studies.rendering.text import print_line

    choice = study.config.executor
    console.print(
        f"study {store.location}: {'goes on' if store.begun else 'begins'}", highlight=False
    )
    began, now = store.header.archloom, version("archloom")
    if began != now:
        text = f"note: begun by archloom {began}, goes on with {now}; their results may differ"
        console.print(text, highlight=False, soft_wrap=True)
    for note in store.notes:
        print_line(f"note: {note}", console)
    stop = StopRequest()

    def compile_first() -> None:
        if study.config.software.mapping in EXACT:
            from archloom.studies.commands.machine import compile_missing

            compile_missing(view, choice.workers, stop.check)

    where = (choice.workers, choice.address, stop.check, view, compile_first)
    try:
        with stop, make_executor(choice.name, study.context, *where) as executor:
            return run_study(study, store, executor, view, retry)
    except Stopped:
        return None
    except TroubleError as error:
        raise TroubleError(
            f"{error}\nnothing that was done is lost; go on with: archloom resume "
            f"{argument(store.location)}"
        ) from None


def _ended(
    trials: "list[Trial] | None", study: "Study", location: Location, console: "Console"
) -> int:
    """Say what a study came to, or how to go on with it; return the exit code."""
    if trials is None:
        console.print(
            f"stopped; resume with: archloom resume {argument(location)}", highlight=False
        )
        return 130
    from .summary import summarize

    return summarize(trials, study.config, location, console)
