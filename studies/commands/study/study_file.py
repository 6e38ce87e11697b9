"""The study file that a command line names, with what the command line says otherwise.

It imports what reads the file and nothing more, so that mistakes in it are told at once.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

from archloom.studies.config import ExecutorChoice, StudyConfig, load_config, with_method

from ...errors import UserError

SHIPPED: Final = Path(__file__).parents[2]

#: trials of a study at the most, as of study files
MOST_TRIALS: Final = 10**9

#: an address that is none: Ray starts on this machine
HERE: Final = "local"


@dataclass(frozen=True, slots=True)
class Overrides:
    """Choices of the command line about executor, limits and trials; None leaves them to the
    study."""

    executor: str | None = None
    workers: int | None = None
    address: str | None = None
    cpu_s: float | None = None
    memory_mb: float | None = None
    trials: int | None = None

    def apply(self, config: StudyConfig) -> StudyConfig:
        """Return the config with another executor, which changes no result, other limits, and
        another number of trials.

        Raises:
            UserError: an executor that does not exist, less than one worker or trial, or a limit
                that is not above 0.
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
        choice = config.executor.to_dict() | {k: v for k, v in given.items() if v is not None}
        if choice["address"] == HERE:
            choice["address"] = None
        limits = {"cpu_s": self.cpu_s, "memory_mb": self.memory_mb}
        wrong = {k: v for k, v in limits.items() if v is not None and not (0 < v < inf)}
        if wrong:
            raise UserError(
                "; ".join(f"round_limits.{k} is {v:g}, must be above 0" for k, v in wrong.items())
            )
        changed = {k: v for k, v in limits.items() if v is not None}
        if self.trials is not None and not 1 <= self.trials <= MOST_TRIALS:
            raise UserError(f"trials is {self.trials}, must be from 1 to {MOST_TRIALS}")
        return replace(
            config,
            trials=self.trials or config.trials,
            executor=ExecutorChoice(**choice),
            round_limits=replace(config.round_limits, **changed),
        )


def read_study(path: Path, overrides: Overrides, method: str | None = None) -> StudyConfig:
    """Read a study file.

    Args:
        path: a study file, or the name of one that comes with archloom.
        overrides: of executor and limits.
        method: of :mod:`archloom.studies.config.methods`, in place of what the file says of it.

    Raises:
        UserError: everything that is wrong in it.
    """
    return overrides.apply(load_config(find_study(path), partial(with_method, name=method)))


def find_study(path: Path) -> Path:
    """Return the file, or the shipped study of that name."""
    shipped = SHIPPED / f"{path}.yaml"
    return shipped if not path.exists() and path.suffix == "" and shipped.exists() else path
