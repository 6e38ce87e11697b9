"""Words for what assumed values decide."""

from collections.abc import Iterator
from typing import Final

from archloom.space import Infeasible
from archloom.studies.solve.sensitivity import (
    DECIDES,
    METRICS,
    Metric,
    Outcome,
    Sensitivity,
)

#: what people call the figures
LABELS: Final[dict[Metric, str]] = {
    "latency": "latency",
    "energy": "energy",
    "edp": "EDP",
    "area": "area",
}

#: changes below it are shown as none
_NONE: Final = 0.0005


def change_text(change: float) -> str:
    """Return a relative change in percent, with its sign unless it is none."""
    return "0.0%" if abs(change) < _NONE else f"{change:+,.1%}"


def value_text(value: object) -> str:
    """Return a value of a template: a number, a word, or a list of these."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def values_text(outcome: Outcome) -> str:
    """Return what a design has in the place of an assumed value, and what goes with that."""
    first, *others = outcome.values.items()
    beside = ", ".join(f"{key} {value_text(value)}" for key, value in others)
    return value_text(first[1]) + (f" with {beside}" if beside else "")


def factor_words(factor: float) -> tuple[str, str]:
    """Return what is done to values, twice."""
    if factor == 2:
        return "halved", "doubled"
    return f"divided by {factor:g}", f"multiplied by {factor:g}"


def deciding_texts(found: Sensitivity, network: int) -> Iterator[str]:
    """Yield, for each value that decides a figure of a network, what it changes."""
    for effect in found.deciding(network):
        parts = [
            f"at {values_text(one)} {said}"
            for one in (effect.less, effect.more)
            if not one.refused and (said := _changes(found, one, network))
        ]
        yield f"{effect.assumed.mark.key}: {'; '.join(parts)}"


def largest_text(found: Sensitivity, network: int) -> str:
    """Say which figure of a network that can run changes most, and at which value."""
    changes = [
        (abs(change := found.change(one, metric, network)), change, LABELS[metric], effect, one)
        for effect in found.effects
        for one in (effect.less, effect.more)
        if not one.refused
        for metric in METRICS
    ]
    if not changes:
        return "no value was varied"
    _, change, label, effect, outcome = max(changes, key=lambda entry: entry[0])
    if abs(change) < _NONE:
        return "nothing changes"
    value = f"{effect.assumed.mark.key} at {values_text(outcome)}"
    return f"the largest change is {label} {change_text(change)} with {value}"


def _changes(found: Sensitivity, outcome: Outcome, network: int) -> str:
    """Say which figures change by more than what decides; or that the network cannot run."""
    run = outcome.runs[network]
    if isinstance(run, Infeasible):
        return f"it cannot run: {run}"
    changes = {metric: found.change(outcome, metric, network) for metric in METRICS}
    return ", ".join(
        f"{LABELS[metric]} {change_text(change)}"
        for metric, change in changes.items()
        if abs(change) > DECIDES
    )
