"""Importance of each parameter of a space for an objective, by fANOVA over trials."""

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any, Final

from .study_runs import Run

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: trials with an EDP below which an importance says nothing
ENOUGH: Final = 20


def importances(runs: Sequence[Run], objective: int, trees: int = 64) -> dict[str, float] | None:
    """Return the share of an objective's variance that each parameter explains, largest first.

    fANOVA (Hutter, Hoos, Leyton-Brown, ICML 2014) on the logarithm of the objective, over the
    trials that there are: where a search went decides what it can tell. The shares add up to 1;
    parameters that no two trials differ in are left out. None if there are too few trials, or
    all have the same value.

    Args:
        runs: of one space.
        objective: position among the objectives.
        trees: of the forest that is fitted; fewer take less time, and say small shares worse.
    """
    found = [
        (step.trial.point or {}, log(values[objective]))
        for run in runs
        for step in run.steps
        if (values := step.costs) is not None and not step.trial.outcome
    ]
    logs = [value for _, value in found]
    if len(found) < ENOUGH or len(set(logs)) == 1:
        return None
    names = [name for name in found[0][0] if len({str(p[name]) for p, _ in found}) > 1]
    return _fanova([{name: point[name] for name in names} for point, _ in found], logs, trees)


def _fanova(
    points: Sequence[dict[str, Any]], logs: Sequence[float], trees: int
) -> dict[str, float]:
    import optuna
    from optuna.distributions import CategoricalDistribution, IntDistribution
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    from archloom.search.hardware import quiet_optuna

    # numbers count by their rank, for spaces list them in powers as often as in steps
    ranks = {name: _ranks([point[name] for point in points]) for name in points[0]}
    distributions: dict[str, BaseDistribution] = {
        name: IntDistribution(0, len(rank) - 1)
        if all(isinstance(point[name], int | float) for point in points)
        else CategoricalDistribution(range(len(rank)))
        for name, rank in ranks.items()
    }
    with quiet_optuna():
        study = optuna.create_study()
        study.add_trials(
            optuna.create_trial(
                params={name: ranks[name][str(value)] for name, value in point.items()},
                distributions=distributions,
                value=value,
            )
            for point, value in zip(points, logs, strict=True)
        )
        evaluator = FanovaImportanceEvaluator(n_trees=trees, seed=0)
        found = get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def _ranks(values: Sequence[Any]) -> dict[str, int]:
    """Return the place of each value among those that occur, by its text."""
    numbers = all(isinstance(value, int | float) for value in values)
    known = {str(value): value for value in values}
    order = sorted(known, key=(lambda text: known[text]) if numbers else None)
    return {text: place for place, text in enumerate(order)}
