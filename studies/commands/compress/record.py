"""Results of ``archloom compress`` over seeds: a record that becomes JSON, table and picture."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any, Final

from archloom.evaluators.accuracy import LevelAccuracy, allowed_drop, elbow_of
from archloom.studies.analysis import Details
from archloom.studies.solve.compressing import Settings, StepFigures

_COUNTS: Final = ("stored_bytes", "params", "nonzero_params", "macs", "nonzero_macs")


def compression_record(settings: Settings, split: str, steps: Sequence[StepFigures]) -> Details:
    """Return all results as plain JSON values.

    Args:
        settings: what was done.
        split: which images were tested with, in words.
        steps: figures of all steps of all seeds.
    """
    by_method: dict[str, dict[float, list[StepFigures]]] = {}
    for step in steps:
        by_method.setdefault(step.method, {}).setdefault(step.level, []).append(step)
    ((dense,),) = (list(levels.values()) for levels in [by_method.pop("dense")])
    of_dense = [step.accuracy_percent for step in dense]
    allowed = allowed_drop(of_dense, settings.tolerance)
    return {
        "model": settings.model,
        "data": settings.data,
        "tested_with": split,
        "width": settings.width,
        "seeds": settings.seeds,
        "seed": settings.seed,
        "epochs": None if settings.weights else settings.epochs,
        "fine_tune_epochs": dict(settings.fine_tune),
        "weights": str(settings.weights) if settings.weights else None,
        "tolerance_points": settings.tolerance,
        "allowed_drop_points": allowed,
        "dense": _level(dense),
        "methods": {
            method: {
                "levels": [_level(levels[level]) for level in sorted(levels)],
                "elbow": _elbow(of_dense, levels, settings.tolerance),
            }
            for method, levels in by_method.items()
        },
    }


def _elbow(
    dense: Sequence[float], levels: dict[float, list[StepFigures]], tolerance: float
) -> float | None:
    found = elbow_of(
        dense,
        [
            LevelAccuracy(level, tuple(step.accuracy_percent for step in steps))
            for level, steps in levels.items()
        ],
        tolerance,
    )
    return None if found is None else found.level


def _level(steps: Sequence[StepFigures]) -> dict[str, Any]:
    """Return means over seeds, and every seed."""
    accuracies = [step.accuracy_percent for step in steps]
    before = [step.before_percent for step in steps if step.before_percent is not None]
    return {
        "level": steps[0].level,
        "accuracy_percent": fmean(accuracies),
        "deviation_points": stdev(accuracies) if len(accuracies) > 1 else None,
        "before_fine_tuning_percent": fmean(before) if before else None,
        **{name: fmean(getattr(step, name) for step in steps) for name in _COUNTS},
        "of_seeds": [asdict(step) for step in steps],
    }
