"""Observations on accuracy: what it goes with (I), who loses it (III), what types cost (VI)."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf
from statistics import fmean
from typing import Final

from .choice import TOLERANCE_POINTS, fastest
from .intervals import (
    correlation_interval,
    difference_interval,
    mean_interval,
    rank_correlation,
)
from .parts import LEAST_MODELS, Case, Part, Verdict, by_cases, by_interval, too_few
from .record import Point, StackRecord

#: assumption: a rank correlation beyond this is strong
STRONG: Final = 0.7

#: assumption: fewer pairs than this show no correlation
LEAST_PAIRS: Final = 6


def correlations(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation I: MACs, accuracy and time are not strongly correlated (section 6).

    Pairs are models and compressions with an accuracy and a time: that of their fastest algorithm,
    tuned if the study has it. Those with a refused kernel, which might be the fastest, are left
    out. MACs are those left.
    """
    tuned = record.states[-1] if record.states else False
    found: list[tuple[float, float, float]] = []
    for point in record.compressed():
        if point.accuracy_percent is None:
            continue
        time = fastest(record, point, tuned)
        if time is not None and not time.at_most:
            found.append((point.nonzero_macs, point.accuracy_percent, time.us))
    macs, accuracies, times = zip(*found, strict=True) if found else ((), (), ())
    return (
        _weak("nonzero MACs and accuracy", macs, accuracies),
        _weak("nonzero MACs and time", macs, times),
        _weak("accuracy and time", accuracies, times),
    )


def _weak(names: str, xs: Sequence[float], ys: Sequence[float]) -> Part:
    """Judge whether two figures are not strongly correlated."""
    claim = f"{names} are not strongly correlated"
    value = interval = None
    if len(xs) < LEAST_PAIRS:
        evidence = too_few("pairs", len(xs), LEAST_PAIRS)
    else:
        evidence = f"{len(xs)} pairs"
        value = rank_correlation(xs, ys)
        interval = None if value is None else correlation_interval(xs, ys)
        if value is None:
            evidence += ", and one of the two is the same in all"
    return by_interval(claim, value, interval, (-STRONG, STRONG), "rank correlation", evidence)


def vulnerability(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation III: size says little of accuracy; small models lose more (section 6.2).

    Size is the number of parameters of the dense model. Cases of the second part are pairs of
    models with the same compression, if one of them loses more than a point: for the claim where
    the smaller one loses more, by an interval over seeds.
    """
    sizes, accuracies = [], []
    for model in record.models:
        dense = record.dense(model)
        if dense is not None and dense.accuracy_percent is not None:
            sizes.append(float(dense.params))
            accuracies.append(dense.accuracy_percent)
    claim = "the smaller of two models loses more accuracy"
    return (
        _weak("parameters and accuracy of dense models", sizes, accuracies),
        by_cases(claim, list(_losers(record))),
    )


def _losers(record: StackRecord) -> Iterator[Case]:
    for compression in record.compressions:
        losses: list[tuple[int, str, list[float]]] = []
        for model in record.models:
            dense, points = record.dense(model), record.of(model, compression)
            if dense is None or not points or points[0].method == "dense":
                continue
            if lost := losses_points(dense, points[0]):
                losses.append((dense.params, model, lost))
        losses.sort(key=lambda loss: loss[:2])
        for (size, small, ones), (other, large, others) in combinations(losses, 2):
            if size == other or max(fmean(ones), fmean(others)) <= TOLERANCE_POINTS:
                continue
            interval = difference_interval(ones, others)
            answer = None
            if interval is not None and not interval[0] <= 0 <= interval[1]:
                answer = interval[0] > 0
            shown = f"{fmean(ones):.1f} and {fmean(others):.1f} percentage points"
            yield Case(f"{small} and {large}", compression, answer, shown)


def losses_points(dense: Point, point: Point) -> list[float]:
    """Return by how many points each seed's model is worse than it was dense."""
    pairs = zip(dense.accuracies_percent, point.accuracies_percent, strict=False)
    return [before - after for before, after in pairs]


def types(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation VI: float16 costs no accuracy, calibrated int8 some (section 6.3.2).

    Losses are means over models, each of which is a mean over seeds, with a 95% interval over
    models. Assumption: up to a point is negligible, as at elbows.
    """
    negligible, more = (-TOLERANCE_POINTS, TOLERANCE_POINTS), (TOLERANCE_POINTS, inf)
    return (
        _loss(
            record, "float16", "float16 loses at most one percentage point on average", negligible
        ),
        _loss(
            record, "int8", "calibrated int8 loses more than one percentage point on average", more
        ),
    )


def _loss(record: StackRecord, method: str, claim: str, inside: tuple[float, float]) -> Part:
    losses: dict[str, float] = {}
    for model in record.models:
        dense, levels = record.dense(model), record.levels(model, method)
        if dense is not None and levels and (lost := losses_points(dense, levels[0])):
            losses[model] = fmean(lost)
    interval = mean_interval(list(losses.values()))
    if interval is None:
        text = too_few(f"models with a measured accuracy in {method}", len(losses), LEAST_MODELS)
        return Part(claim, Verdict.UNTOLD, "percentage points lost", None, None, text)
    shown = "; ".join(f"{model} {lost:.2f}" for model, lost in losses.items())
    return by_interval(
        claim,
        fmean(losses.values()),
        interval,
        inside,
        "percentage points lost",
        f"Accuracy loss in percentage points: {shown}",
    )
