"""Trials of a study in a storage of Optuna, where optuna-dashboard shows them.

Akiba et al., "Optuna: A Next-generation Hyperparameter Optimization Framework" (KDD 2019). What is
shown is what archloom found: Optuna decides nothing here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from archloom.search import ObjectiveSet
from archloom.search.hardware import quiet_optuna
from archloom.studies.analysis import trial_table
from archloom.studies.config import Location, stored_objective_set
from archloom.studies.engine import design_problem, stored_config
from archloom.studies.storage import Trial, read_header, read_journal, read_trials

from ....errors import UserError

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

    from archloom.space.design_space import Parameter

#: attributes of a study and of a trial there that say what they are
_STUDY: Final = "archloom_study"
_RECORD: Final = "archloom_record"

#: results of rounds, and how long they took
_RESULTS: Final = ("advanced", "crashed", "lost", "over_limit")


class OptunaMirror:
    """A study of archloom as one of Optuna, under its own name.

    Trials with an EDP are complete there, with the figure of each objective, and how far it is
    above each limit as constraints. All others have failed; attributes say the state and why.

    Args:
        location: of the study.
        url: of the storage, such as ``sqlite:///study.db``.

    Attributes:
        name: of the study.
        storage: its URL without a password.
        trials: that are there.

    Raises:
        UserError: there is no study; or the storage cannot be used, or has another study of that
            name.
    """

    def __init__(self, location: Location, url: str) -> None:
        header = read_header(location)
        config = stored_config(location, header)
        self._location = location
        self._objective_set = stored_objective_set(header.config)
        space = design_problem(config, config.space).space
        with quiet_optuna():
            self._axes = {p.name: _axis(p) for p in space.parameters}
        self._identity, self._known = header.identity, header.identities
        self.name = str(header.config["name"])
        self.storage = _without_password(url)
        self._url = url
        self.trials = 0
        self._study = self._open()

    def update(self) -> int:
        """Add what the study has and the storage has not; return how many trials that is.

        If a record changed since, as trials may that a study with more of them decided anew, all
        are written anew.
        """
        records = read_trials(self._location)
        with self._trouble():
            there = [t.user_attrs.get(_RECORD) for t in self._study.get_trials(deepcopy=False)]
            if there != [_digest(record) for record in records[: len(there)]]:
                self._delete()
                self._study, there = self._open(), []
            times = _times(self._location)
            for record in records[len(there) :]:
                self._study.add_trial(self._trial(record, times.get(record.number)))
        self.trials = len(records)
        return len(records) - len(there)

    def add(self, record: Trial) -> None:
        """Add a trial that ended just now, unless it is there."""
        if record.number == self.trials:
            with self._trouble():
                self._study.add_trial(self._trial(record, None))
            self.trials += 1
        elif record.number > self.trials:
            self.update()

    def _delete(self) -> None:
        import optuna

        optuna.delete_study(study_name=self.name, storage=self._url)

    def _open(self) -> "Study":
        """Return the study of this name there, which is made if there is none."""
        with self._trouble():
            import optuna

            objectives = self._objective_set.objectives
            found = optuna.create_study(
                storage=self._url,
                study_name=self.name,
                directions=["maximize" if o.facts.rising else "minimize" for o in objectives],
                load_if_exists=True,
            )
            before = found.user_attrs.get(_STUDY)
            if before is None and found.get_trials(deepcopy=False):
                raise UserError(
                    f"{self.storage} has a study {self.name} that archloom did not write; nothing "
                    "was changed; say another storage"
                )
            if before is not None and before not in self._known:
                raise UserError(
                    f"{self.storage} has another study called {self.name}; nothing was changed; "
                    f"say another storage, or remove it: optuna delete-study --study-name "
                    f"{self.name} --storage {self.storage}"
                )
            found.set_metric_names([objective.name for objective in objectives])
            found.set_user_attr(_STUDY, self._identity)
            return found

    def _trial(self, record: Trial, times: tuple[datetime, datetime] | None) -> "FrozenTrial":
        import optuna

        states, point = optuna.trial.TrialState, record.point or {}
        (row,) = trial_table([record]).rows
        attributes = {k: v for k, v in row.items() if k not in point and v is not None}
        params = {name: value for name, value in point.items() if name in self._axes}
        made = optuna.create_trial(
            state=states.FAIL if record.edp_js is None else states.COMPLETE,
            values=None if record.edp_js is None else _figures(record, self._objective_set),
            params=params,
            distributions={name: self._axes[name] for name in params},
            user_attrs=attributes | {_RECORD: _digest(record)},
            constraints=_constraints(record, self._objective_set),
        )
        if times is not None:
            made.datetime_start, made.datetime_complete = times
        return made

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Turn what goes wrong in the storage into one message."""
        from optuna.exceptions import OptunaError
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with quiet_optuna():
                yield
        except (SQLAlchemyError, OptunaError, ImportError, ValueError) as error:
            text = " ".join(str(error).split()).replace(self._url, self.storage)
            raise UserError(f"--out {self.storage}: {text}") from None


def _figures(record: Trial, objective_set: ObjectiveSet) -> list[float]:
    return [record.figure(objective) for objective in objective_set.objectives]


def _constraints(record: Trial, objective_set: ObjectiveSet) -> dict[str, float] | None:
    """Return ln(cost / limit) of each limit, above 0 where it is broken; None without limits."""
    if record.edp_js is None or not objective_set.limits:
        return None
    names = [limit.objective.name for limit in objective_set.limits]
    return dict(zip(names, record.excess(objective_set), strict=True))


def _axis(parameter: "Parameter") -> "BaseDistribution":
    """Return a parameter as Optuna has them."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    numbers = [value for value in parameter.values if type(value) in (int, float)]
    if parameter.scale == "categorical" or len(numbers) < len(parameter.values):
        return CategoricalDistribution(tuple(parameter.values))
    least, most = min(numbers), max(numbers)
    if all(type(value) is int for value in numbers):
        return IntDistribution(int(least), int(most))
    return FloatDistribution(float(least), float(most))


def _digest(record: Trial) -> str:
    return sha256(repr(record.to_dict()).encode()).hexdigest()


def _times(location: Location) -> dict[int, tuple[datetime, datetime]]:
    """Return when each trial's first round began and its last one ended, as the journal has it."""
    ends: dict[int, list[float]] = {}
    for event in read_journal(location):
        if event["event"] in _RESULTS and "round" in event and "at" in event:
            at, seconds = event["at"], event.get("seconds", 0.0)
            ends.setdefault(event["trial"], []).extend((at - seconds, at))
    return {trial: (_local(min(known)), _local(max(known))) for trial, known in ends.items()}


def _local(at: float) -> datetime:
    # Optuna's times have no zone
    return datetime.fromtimestamp(at)


def _without_password(url: str) -> str:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        # the error may say the password
        raise UserError(
            "--out is no URL of a storage that SQLAlchemy knows; write it like sqlite:///study.db"
        ) from None
