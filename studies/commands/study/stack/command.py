"""Studies of kind stack on the command line: run, resume, status, show and report."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.space import did_you_mean
from archloom.studies.config import Location, argument, location_of
from archloom.studies.rendering.text import new_console, print_json, print_line
from archloom.studies.solve.stack import (
    RESULTS,
    Processes,
    StackConfig,
    StackStudy,
    claim,
    load_stack,
    require_packages,
    stack_status,
    stored_config,
)

from ....errors import INTERRUPTED, NOTHING_FOUND, UserError, writing
from .tables import print_points, status_lines

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class StackOverrides:
    """Choices of the command line; None leaves them to the study.

    Attributes:
        executor, workers: where models are trained.
        others: options that such a study has not, by name.
    """

    executor: str | None
    workers: int | None
    others: Mapping[str, object]

    def apply(self, config: StackConfig) -> StackConfig:
        """Return the config with another executor, which changes no result.

        Raises:
            UserError: an unknown one, less than one worker, or an option of other studies.
        """
        known = ("processes", "inline")
        if given := [name for name, value in self.others.items() if value is not None]:
            raise UserError(f"{given[0]} is not for studies of kind stack; leave it out")
        if self.executor not in (None, *known):
            hint = did_you_mean(str(self.executor), known)
            raise UserError(f"--executor {self.executor!r} is unknown to kind stack; {hint}")
        if self.workers is not None and self.workers < 1:
            raise UserError(f"workers is {self.workers}, must be at least 1")
        choice = Processes(
            name=self.executor or config.executor.name,
            workers=self.workers or config.executor.workers,
        )
        return replace(config, executor=choice)


def run_stack(path: Path, out: str | None, overrides: StackOverrides) -> int:
    """Run the study of a file, or go on with it; return the exit code.

    Raises:
        UserError: all that is wrong with the file; or the directory holds something else.
    """
    config = overrides.apply(load_stack(path))
    folder = Path("runs") / config.name if out is None else location_of(out, config.name)
    if not isinstance(folder, Path):
        raise UserError(
            "a study with kind: stack is stored in a directory, not in a database; use --out DIR"
        )
    claim(config, folder)
    return _work(config, folder)


def resume_stack(location: Location, overrides: StackOverrides, again: bool) -> int:
    """Go on with a study; return the exit code.

    Args:
        location: of the study.
        overrides: of the command line.
        again: whether what a busy machine refused is measured again.

    Raises:
        UserError: it cannot be gone on with.
    """
    assert isinstance(location, Path), "the caller has looked"
    config = overrides.apply(stored_config(location))
    require_packages(config)
    return _work(config, location, again)


def _work(config: StackConfig, folder: Path, again: bool = False) -> int:
    from archloom.studies.engine import Stopped, StopRequest
    from archloom.studies.engine.progress import ProgressView

    console = new_console()
    stop = StopRequest()
    try:
        with stop, ProgressView(console) as view:
            found = StackStudy(config, folder, view, stop.check, again).run()
    except Stopped:
        print_line(f"stopped; resume with: archloom resume {argument(folder)}", console)
        return INTERRUPTED
    _print(found, console)
    print_line(
        f"results: {folder / RESULTS}; for plots: archloom report {argument(folder)}", console
    )
    return 0 if found["front"] else NOTHING_FOUND


def show_stack(location: Location, trial: str | None, as_json: bool, console: "Console") -> None:
    """Print the points of a study that ended, and its front.

    Raises:
        UserError: it has not ended; or a trial, which it has not.
    """
    if trial is not None:
        raise UserError(
            f"{location} is a study with kind: stack, which has no trials; leave {trial} out"
        )
    found = _results(location)
    if as_json:
        from archloom.studies.analysis.stack import judge

        print_json({**found, "verdicts": [each.record for each in judge(found)]}, console)
    else:
        _print(found, console)


def _print(found: dict[str, Any], console: "Console") -> None:
    from archloom.studies.rendering.stack import print_verdicts

    print_points(found, console)
    print_verdicts(found, console)


def show_stack_status(location: Location, as_json: bool, console: "Console") -> None:
    """Print how far a study is.

    Raises:
        UserError: it is damaged.
    """
    assert isinstance(location, Path), "the caller has looked"
    status = stack_status(location)
    if as_json:
        print_json(asdict(status), console)
    else:
        for line in status_lines(status):
            print_line(line, console)


def report_stack(location: Location, pick: str | None, out: Path | None) -> Path:
    """Write the report of a study that ended; return its path.

    Raises:
        UserError: it has not ended.
    """
    if pick is not None:
        raise UserError("--pick does not apply to studies with kind: stack; leave it out")
    from archloom.studies.rendering.stack import write_stack_report

    assert isinstance(location, Path), "the caller has looked"
    path = (out or location) / "report.html"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_stack_report(_results(location), path)
    return path


def _results(location: Location) -> dict[str, Any]:
    assert isinstance(location, Path), "the caller has looked"
    try:
        found: dict[str, Any] = json.loads((location / RESULTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{location} has no results yet; resume it with: archloom resume {argument(location)}; "
            "archloom status shows its progress"
        ) from None
    except ValueError as error:
        raise UserError(
            f"{location / RESULTS} is not valid JSON: {error}; remove the file and resume the study"
        ) from None
    return found
