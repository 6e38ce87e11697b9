"""Commands ``archloom run`` and ``archloom resume``: one process that works on a study."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from archloom.studies.config import Location, StudyConfig, argument, without_forms
from archloom.studies.storage import tell

from ...errors import INTERRUPTED, TroubleError
from .study_file import Overrides
from .telling import Telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from archloom.studies.engine import RaySession, StopRequest, Study, WarmStart
    from archloom.studies.engine.progress import Stages, Watch
    from archloom.studies.storage import Header, Store

#: mapping searches whose kernels compile before a study begins; others compile in a few seconds
EXACT = ("auto", "exact")


#: workers that batches keep busy that wait for each other
FEW = 2

#: tells nobody but those who look
QUIET = Telling()


def start(
    config: StudyConfig, location: Location | None, console: "Console", telling: Telling = QUIET
) -> int:
    """Run a study, or go on with it; return the exit code.

    Args:
        config: of the study.
        location: where it is kept; None for what its file says.
        console: for progress and results.
        telling: where to tell what happens, besides.

    Raises:
        UserError: nothing was written.
    """
    from archloom.studies.engine.progress import ProgressView
    from archloom.studies.rendering.text import print_line
    from archloom.studies.storage import Store, bring_up_to_date, check_place

    location = location or config.location()
    check_place(location)
    bring_up_to_date(location)
    about = (config.name, location, config.trials)
    if config.executor.name == "ray":
        _supervised(config, location, telling)
    console.print(f"study {location}: up to {config.trials} trials", highlight=False)
    with ProgressView(console) as view, telling.about(*about, view.found):
        if (measured := _with_forms(config, view)) is None:
            print_line(
                "stopped; accuracies measured so far are kept beside the weights, and the same "
                "command resumes",
                console,
            )
            return INTERRUPTED
        study, header, notes = ready(measured, location, view)
        with Store.create(location, header) as store:
            for note in notes:
                print_line(note, console)
            over = _run(study, store, console, view)
    return _ended(over, study, location, console)


def ready(
    config: StudyConfig, location: Location, view: "Stages"
) -> "tuple[Study, Header, Sequence[str]]":
    """Return a study before it begins or goes on, what it is, and notes on what it starts from.

    Raises:
        UserError: what is wrong with the config where the study is.
    """
    from archloom.studies.engine import header_of, prepare, warm_start

    view.begin("reading the hardware space and preparing the study")
    study, header = prepare(config, config.space), header_of(config)
    begun = _begun(location, header)
    found = begun or warm_start(config, header, study.problem)
    view.end()
    if found is None:
        return study, header, ()
    study, header = replace(study, start=found), replace(header, start=found.to_text())
    return study, header, () if begun else found.notes


def _with_forms(config: StudyConfig, view: "Watch") -> StudyConfig | None:
    """Return the config with all that is known of compressed workloads; None if the user stopped.

    Raises:
        UserError: what is wrong with them.
    """
    if not without_forms(config.workloads):
        return config
    from archloom.studies.engine import Stopped, StopRequest
    from archloom.studies.solve.forms import with_forms

    stop = StopRequest()
    try:
        with stop:
            return with_forms(config, view, stop.check)
    except Stopped:
        return None


def _supervised(config: StudyConfig, location: Location, telling: "Telling") -> None:
    """Go on in a process of its own, which another one begins again if it is killed."""
    from archloom.studies.engine import late

    from .supervised import supervised

    choice = config.executor
    supervised(
        location,
        told=telling.killed(config.name, location, config.trials),
        late=late(choice.address, choice.start_s),
        # here, what hung may not hang again; a cluster that does not answer is somebody else's
        late_starts=2 if choice.address is None else 1,
    )


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
    location: Location,
    overrides: Overrides,
    console: "Console",
    retry_failed: bool = False,
    telling: Telling = QUIET,
) -> int:
    """Go on with a study; return the exit code.

    Args:
        location: of the study.
        overrides: of executor, limits and the number of trials.
        console: for progress and results.
        retry_failed: do again what crashed, broke a limit, and what machines failed.
        telling: where to tell what happens, besides.

    Raises:
        UserError: there is no study, or cannot be gone on with.
    """
    from archloom.studies.engine.progress import ProgressView
    from archloom.studies.storage import Store, bring_up_to_date

    bring_up_to_date(location)
    config, header = stored(location, overrides)
    about = (config.name, location, config.trials)
    if config.executor.name == "ray":
        _supervised(config, location, telling)
    with ProgressView(console) as view, telling.about(*about, view.found):
        study = ready_again(config, header, view)
        with Store(location) as store:
            store.extend(config.trials)
            over = _run(study, store, console, view, retry_failed)
    return _ended(over, study, location, console)


def stored(location: Location, overrides: Overrides) -> "tuple[StudyConfig, Header]":
    """Return the config of a study that is there, and what it is.

    Raises:
        UserError: there is no study.
    """
    from archloom.studies.engine import stored_config
    from archloom.studies.storage import read_header

    header = read_header(location)
    return overrides.apply(stored_config(location, header)), header


def ready_again(config: StudyConfig, header: "Header", view: "Stages") -> "Study":
    """Return a study that is there before it goes on."""
    from archloom.studies.engine import WarmStart, prepare

    view.begin("reading the hardware space and preparing the study")
    study = prepare(config, config.space)
    view.end()
    return (
        study if header.start is None else replace(study, start=WarmStart.from_text(header.start))
    )


def _run(
    study: "Study", store: "Store", console: "Console", view: "Watch", retry: bool = False
) -> bool:
    """Run a study to its end; return whether it got there, or the user stopped it.

    Raises:
        TroubleError: a disk or a cluster failed; it says how to go on.
    """
    from importlib.metadata import version

    from archloom.studies.engine import Stopped, StopRequest
    from archloom.studies.rendering.text import print_line

    console.print(
        f"study {store.location}: {'resumed' if store.begun else 'started'}", highlight=False
    )
    began, now = store.header.archloom, version("archloom")
    if began != now:
        text = f"note: started with archloom {began}, resumed with {now}; results of both may "
        "differ"
        console.print(text, highlight=False, soft_wrap=True)
    advice = [] if store.begun else _advice(study.config)
    for note in [*store.notes, *advice, *_unheld(study.config)]:
        print_line(f"note: {note}", console)
    stop = StopRequest()
    try:
        trials = carry_out(study, store, stop, view, retry)
    except Stopped:
        stop.end()
        tell("stopped")
        return False
    except TroubleError as error:
        raise TroubleError(
            f"{error}\nno finished work is lost; resume with: archloom resume "
            f"{argument(store.location)}"
        ) from None
    tell("ended", trials=trials)
    return True


def carry_out(
    study: "Study",
    store: "Store",
    stop: "StopRequest",
    view: "Watch",
    retry: bool = False,
    session: "RaySession | None" = None,
) -> int:
    """Run a study to its end, from wherever its store says that it is; return its trials' number.

    Args:
        study, store: what is run, and what is known of it.
        stop: is asked now and then.
        view: shows how far it is.
        retry: do again what failed.
        session: Ray and workers of several studies; None to start and end them here.

    Raises:
        Stopped: ``stop`` was asked to, and nothing is under way.
        TroubleError: a disk or a cluster failed.
    """
    from archloom.studies.engine import make_executor, run_study
    from archloom.studies.engine.progress import PublishedWatch

    choice = study.config.executor
    watch = PublishedWatch(view, store)
    exact, weaving = study.config.software.mapping in EXACT, bool(study.config.tenants)

    def compile_first() -> None:
        if exact:
            from archloom.studies.commands.machine import compile_missing

            compile_missing(watch, choice.workers, stop.check, weaving)

    where = (choice.workers, choice.address, stop.check, watch, compile_first)
    start = (_prepare(exact, weaving), choice.start_s, session)
    try:
        with stop, make_executor(choice.name, study.context, *where, *start) as executor:
            watch.workers = executor.workers
            return run_study(study, store, executor, watch, retry)
    finally:
        watch.close()


def _prepare(exact: bool, weaving: bool) -> "Callable[[int], int]":
    """Return what is done on each node of a cluster before its first task."""
    from archloom.studies.commands.machine import compile_here

    def compiled(workers: int) -> int:
        return compile_here(workers, weaving) if exact else 0

    # a function of its own, for Ray sends nothing else that can be called
    return compiled


def _advice(config: StudyConfig) -> list[str]:
    """Return what somebody may want to choose in another way, before the study begins."""
    choice = config.executor
    here = os.sched_getaffinity(0) if choice.address is None else ()
    workers = choice.workers or len(here)
    if choice.name == "inline" or workers <= FEW or config.logical_workers >= 2 * workers:
        return []
    return [
        f"{workers} workers will often be idle, because batches wait for their slowest trial; set "
        f"logical_workers: {4 * workers} in the study file (now {config.logical_workers}) to keep "
        "them busy (docs/explanation/parallel.md)"
    ]


def _unheld(config: StudyConfig) -> "Iterator[str]":
    """Yield what the executor does not do of what the study file says."""
    if config.executor.name == "inline" and config.round_limits.memory_mb is not None:
        yield "executor inline does not enforce round_limits.memory_mb; executor ray does"


def _ended(over: bool, study: "Study", location: Location, console: "Console") -> int:
    """Say what a study came to, or how to go on with it; return the exit code."""
    if not over:
        console.print(
            f"stopped; resume with: archloom resume {argument(location)}", highlight=False
        )
        return INTERRUPTED
    from archloom.studies.storage import read_trials

    from .summary import summarize

    return summarize(read_trials(location), study.config, location, console)
