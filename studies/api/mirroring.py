"""Copies of running studies in other programs' storage."""

from os import PathLike, fspath
from typing import TYPE_CHECKING

from archloom.studies.config import location_of

from .boundary import mendable
from .front import Trial
from .running import Callback

if TYPE_CHECKING:
    from archloom.studies.commands.study.export import OptunaMirror


def optuna_mirror(source: "str | PathLike[str]", storage: str) -> Callback:
    """Return a callback that copies a study into an Optuna storage, for ``optuna-dashboard``.

    The first call adds all finished trials, as ``archloom export --format optuna`` does; each later
    call adds one trial.

    Args:
        source: location of the study, which may not exist yet: a directory, or
            ``postgresql://HOST/DATABASE#STUDY``.
        storage: URL of the storage, such as ``sqlite:///study.db``.
    """
    location = location_of(fspath(source))
    mirrors: list[OptunaMirror] = []

    @mendable
    def mirror(trial: Trial) -> None:
        if mirrors:
            mirrors[0].add(trial._record)
            return
        from archloom.studies.commands.study.export import OptunaMirror

        mirrors.append(OptunaMirror(location, storage))
        mirrors[0].update()

    return mirror
