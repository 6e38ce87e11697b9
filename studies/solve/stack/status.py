"""How far a stack study is, read from its directory at any time."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from archloom.studies.storage import Event, read_holder, read_journal

from .points import points_of
from .settings import StackConfig
from .study import RESULTS, stored_config
from .training import jobs_of, settings_of


@dataclass(frozen=True, slots=True)
class StackStatus:
    """A study's state.

    Attributes:
        folder: where it is kept.
        process: that works on it; None if none does.
        steps, steps_wanted: models that are trained, pruned or rounded, of all that were asked for;
            an optimizer need not ask for all.
        tried: schedules that were tried.
        kernels: rows of kernels that were timed.
        points, points_wanted: networks that were timed, or refused; and all.
        ended: whether there are results.
    """

    folder: str
    process: int | None
    steps: int
    steps_wanted: int
    tried: int
    kernels: int
    points: int
    points_wanted: int
    ended: bool


def stack_status(folder: Path) -> StackStatus:
    """Return how far the study in a directory is.

    Raises:
        UserError: there is none, or is damaged.
    """
    config = stored_config(folder)
    holder = read_holder(folder)
    kinds = Counter(event["kind"] for event in _each(read_journal(folder)))
    files = list(_steps(config, folder))
    every = list(points_of(config))
    wanted = len(every) if config.search is None else min(config.search.trials, len(every))
    return StackStatus(
        folder=str(folder),
        process=holder.process if holder else None,
        steps=sum(path.exists() for path in files),
        steps_wanted=len(files),
        tried=kinds["tried"],
        kernels=kinds["kernel"],
        points=kinds["point"],
        points_wanted=wanted,
        ended=(folder / RESULTS).exists(),
    )


def _each(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        if event["kind"] == "together":
            yield from event["events"]
        else:
            yield event


def _steps(config: StackConfig, folder: Path) -> Iterator[Path]:
    """Yield the files that say that a step is done."""
    every = {(model, c) for model in config.models for c in config.compression}
    for job in jobs_of(config, every):
        settings = settings_of(config, job.model, job.compressions, folder)
        names = ["dense"]
        for method in settings.methods:
            names += [settings.step(method, level) for level in settings.levels.get(method, ())]
            if method == "int8":
                names += ["int8_uncalibrated", "int8"]
            elif method not in settings.levels:
                names.append(method)
        yield from (settings.out / f"seed{job.seed}" / f"{name}.json" for name in names)
