"""Commands ``archloom run`` and ``archloom resume``: one process that works on a study."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.search import ObjectiveSet
from archloom.search.hardware.certify import certificate_text
from archloom.studies.analysis import Front, front_of
from archloom.studies.config import ExecutorChoice, StudyConfig, load_config, pick_rule, with_method
from archloom.studies.engine import (
    ProgressView,
    Stopped,
    StopRequest,
    Study,
    WarmStart,
    header_of,
    make_executor,
    prepare,
    run_study,
    stored_config,
    warm_start,
)
from archloom.studies.rendering.text import print_line
from archloom.studies.storage import (
    STUDY,
    Header,
    Store,
    Trial,
    read_baseline,
    read_certificate,
    read_header,
    read_validation,
)

from ..errors import UserError
from .machine import compile_missing
from .pareto import comparison, front_table

if TYPE_CHECKING:
    from rich.console import Console

SHIPPED = Path(__file__).parents[1]

#: mapping searches whose kernels compile before a study begins; others compile in a few seconds
EXACT = ("auto", "exact")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Choices of the command line about the executor; None leaves it to the study."""

    executor: str | None = None
    workers: int | None = None

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
        given = {"name": self.executor, "workers": self.workers}
        choice = config.executor.model_dump() | {k: v for k, v in given.items() if v is not None}
        return config.model_copy(update={"executor": ExecutorChoice(**choice)})


def start(
    path: Path,
    folder: Path | None,
    overrides: Overrides,
    console: "Console",
    method: str | None = None,
) -> int:
    """Run the study of a file, or go on with it; return the exit code.

    Args:
        path: a study file, or the name of one that comes with archloom.
        folder: the study's directory; None for ``runs/<name>``.
        overrides: of the executor.
        console: for progress and results.
        method: of :mod:`archloom.studies.config.methods`, in place of what the file says of it.

    Raises:
        UserError: nothing was written.
    """
    config = overrides.apply(load_config(_find(path), partial(with_method, name=method)))
    folder = folder or Path("runs") / config.name
    study, header = prepare(config, config.space), header_of(config)
    begun = _begun(folder, header)
    found = begun or warm_start(config, header, study.problem)
    if found is not None:
        study, header = replace(study, start=found), replace(header, start=found.to_text())
    with Store.create(folder, header) as store:
        for note in () if begun or not found else found.notes:
            print_line(note, console)
        return _run(study, store, console)


def _begun(folder: Path, header: Header) -> WarmStart | None:
    """Return what a study that is there already began with, from the same sources."""
    if not header.config["start_from"] or not (folder / STUDY).exists():
        return None
    there = read_header(folder)
    same = there.config.get("start_from") == header.config["start_from"]
    return WarmStart.from_text(there.start) if same and there.start is not None else None


def resume(folder: Path, overrides: Overrides, console: "Console") -> int:
    """Go on with the study of a directory; return the exit code.

    Raises:
        UserError: the directory is no study, or cannot be gone on with.
    """
    header = read_header(folder)
    config = overrides.apply(stored_config(folder, header))
    study = prepare(config, config.space)
    if header.start is not None:
        study = replace(study, start=WarmStart.from_text(header.start))
    with Store(folder) as store:
        return _run(study, store, console)


def _find(path: Path) -> Path:
    """Return the file, or the shipped study of that name."""
    shipped = SHIPPED / f"{path}.yaml"
    return shipped if not path.exists() and path.suffix == "" and shipped.exists() else path


def _run(study: Study, store: Store, console: "Console") -> int:
    """Run a study to its end, or until the user stops it; return the exit code."""
    folder, choice = store.folder, study.config.executor
    console.print(f"study {folder}: {'goes on' if store.begun else 'begins'}", highlight=False)
    began, now = store.header.archloom, version("archloom")
    if began != now:
        text = f"note: begun by archloom {began}, goes on with {now}; their results may differ"
        console.print(text, highlight=False, soft_wrap=True)
    stop = StopRequest()
    where = (choice.workers, choice.address)
    try:
        with stop:
            if study.config.software.mapping in EXACT:
                compile_missing(console, choice.workers, stop.check)
        with stop, make_executor(choice.name, study.context, *where, stop.check) as executor:
            stop.listen()
            with ProgressView(console) as view:
                trials = run_study(study, store, executor, view)
    except Stopped:
        console.print(f"stopped; resume with: archloom resume {folder}", highlight=False)
        return 130
    return _summarize(trials, study.config, folder, console)


def _summarize(
    trials: Sequence[Trial], config: StudyConfig, folder: Path, console: "Console"
) -> int:
    """Print what a study came to, and what went wrong; return the exit code."""
    rule = pick_rule(config.pick, config.objectives)
    held_out, proof = tuple(read_validation(folder)), read_certificate(folder)
    front = Front(
        config.objective_set, tuple(front_of(trials, config.objective_set)), rule, held_out, proof
    )
    if front.members:
        console.print(front_table(front))
        if len(trials) < config.trials:
            text = "no further design was found that may add to the front"
            console.print(f"ended after {len(trials)} of {config.trials} trials: {text}")
        if front.proof:
            console.print(certificate_text(front.proof), highlight=False, soft_wrap=True)
    else:
        what = "has an EDP" if all(t.edp_js is None for t in trials) else "keeps the limits"
        console.print(f"no trial {what}, so there is no front")
    line = comparison(front, read_baseline(folder))
    lines = [
        *([line] if line else []),
        *infeasible_lines(trials),
        *limit_lines(trials, front.objective_set),
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
    failed = [trial.label for trial in trials if trial.state == "failed"]
    if failed:
        text = f"{len(failed)} of {len(trials)} trials crashed: {', '.join(failed)}; "
        console.print(f"{text}{folder}/trials.jsonl has the tracebacks", highlight=False)
    return 0 if front.members else 1


def infeasible_lines(trials: Sequence[Trial]) -> list[str]:
    """Say how many trials nothing could run on, and why: one line for each rule and place."""
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.reason is not None:
            found.setdefault((trial.reason.reason, trial.reason.where), []).append(trial)
    return [
        f"{len(group)} of {len(trials)} trials were infeasible; trial {group[0].number}: "
        f"{group[0].reason}"
        for group in found.values()
    ]


def limit_lines(trials: Sequence[Trial], objective_set: ObjectiveSet) -> list[str]:
    """Say of each limit how many trials with an EDP break it, and which of those is the nearest."""
    lines = []
    priced = [trial for trial in trials if trial.edp_js is not None]
    for limit in objective_set.limits:
        objective = limit.objective
        over = [
            (excess, trial)
            for trial in priced
            if (excess := limit.excess(objective.figure(trial.figure(objective)))) > 0
        ]
        if over:
            _, nearest = min(over, key=lambda pair: pair[0])
            lines.append(
                f"{len(over)} of {len(trials)} trials break the limit of {objective.name} "
                f"({limit.sign} {limit.value:g}); the nearest is trial {nearest.number} with "
                f"{nearest.figure(objective):.4g}"
            )
    return lines
