"""Observations on what compression gains in time: II, IV, V and X."""

from collections.abc import Mapping, Sequence
from typing import Final

from .choice import chosen, elbow_level, fastest, macs_left, pruned, state_name
from .gains import speed_up
from .intervals import Interval, Quotient, geometric_mean, quotient
from .parts import Case, Part, by_cases
from .record import PRUNED, StackRecord

#: assumption: times that differ by less than a tenth are the same
SAME: Final = 1.1

#: assumption: "seldom reached" is missed in more than three quarters of the cases
SELDOM: Final = 0.75


def sparse_against_dense(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation II: tuned models with pruned weights are faster than dense (section 6.1).

    Cases are models: time of the fastest tuned sparse algorithm over that of the fastest tuned
    dense one. For ImageNet the paper says the opposite, and so does the claim.
    """
    cases, ratios = [], []
    large = record.study.get("data") == "imagenet"
    for model in record.models:
        for pick in pruned(record, model, "weights"):
            ratio = _over_dense(record, model, pick.point.compression, tuned=True)
            if ratio is not None:
                less = ratio.below(1)
                answer = not less if large and less is not None else less
                cases.append(Case(model, pick.name, answer, str(ratio)))
                ratios.append(ratio)
    note = _means({"time / dense time": ratios})
    how = "are not faster" if large else "are faster"
    claim = f"tuned weight-pruned models {how} than tuned dense models"
    return (by_cases(claim, cases, evidence=note),)


def _over_dense(record: StackRecord, model: str, compression: str, tuned: bool) -> Quotient | None:
    """Return time over that of the dense model, both by their fastest algorithms."""
    dense, points = record.dense(model), record.of(model, compression)
    if dense is None or not points:
        return None
    before, after = fastest(record, dense, tuned), fastest(record, points[0], tuned)
    return None if before is None or after is None else quotient(after, before)


def weights_against_channels(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation IV: weights are pruned further and gain more than channels (section 6.3).

    Cases are models for the first part: parameters left at the elbows, which lie between the last
    level that keeps the accuracy and the first that does not. For the others they are models,
    untuned and tuned: times at the chosen levels, and shares of the expected speed-up, which is
    that of MACs (section 5.1.2 takes the compression ratio). The third says that weights get a
    smaller share.
    """
    further, faster, shares = [], [], []
    for model in record.models:
        ends = [_left_at_elbow(record, model, method) for method in PRUNED]
        if ends[0] is not None and ends[1] is not None:
            further.append(_further(model, ends[0], ends[1]))
        picks = list(pruned(record, model, *PRUNED))
        if len(picks) < len(PRUNED):
            continue
        weights, channels = (pick.point for pick in picks)
        for tuned in record.states:
            ones, others = fastest(record, weights, tuned), fastest(record, channels, tuned)
            if ones is None or others is None:
                continue
            ratio = quotient(ones, others)
            faster.append(Case(model, state_name(tuned), ratio.below(1), str(ratio)))
            left, other_left = macs_left(record, weights), macs_left(record, channels)
            if left is not None and other_left is not None:
                share = quotient(others, ones).scaled(left / other_left)
                shares.append(Case(model, state_name(tuned), share.below(1), str(share)))
    return (
        by_cases("weights can be pruned further than channels", further),
        by_cases("weight-pruned models are faster than channel-pruned models", faster),
        by_cases(
            "weight pruning reaches a smaller fraction of the speed-up expected from MACs", shares
        ),
    )


def _left_at_elbow(record: StackRecord, model: str, method: str) -> Interval | None:
    """Return between which shares of parameters left the elbow lies; None if not known."""
    dense = record.dense(model)
    levels = [point for point in record.levels(model, method) if point.accuracies_percent]
    if dense is None or not dense.accuracies_percent or not levels:
        return None
    elbow = elbow_level(record, model, method)
    kept = [point for point in levels if elbow is not None and point.level <= elbow]
    lost = levels[len(kept) :]
    return (
        lost[0].nonzero_params / dense.params if lost else 0.0,
        kept[-1].nonzero_params / dense.params if kept else 1.0,
    )


def _further(model: str, weights: Interval, channels: Interval) -> Case:
    answer = None
    if weights[1] <= channels[0]:
        answer = True
    elif channels[1] <= weights[0]:
        answer = False
    spans = (f"{low:.1%} to {high:.1%}" for low, high in (weights, channels))
    return Case(model, "", answer, "{} and {} of the parameters left".format(*spans))


def types_differ(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation V: what a type gains in time depends on the type (section 6.3).

    Cases are models, untuned and tuned: time in float16 over that in int8, each by its fastest
    algorithm. Less than a tenth is no difference.
    """
    cases = []
    gains: dict[str, list[Quotient]] = {}
    for model in record.models:
        halves, bytes_ = chosen(record, model, "float16"), chosen(record, model, "int8")
        if halves is None or bytes_ is None:
            continue
        for tuned in record.states:
            one, other = fastest(record, halves.point, tuned), fastest(record, bytes_.point, tuned)
            if one is None or other is None:
                continue
            ratio = quotient(one, other)
            cases.append(Case(model, state_name(tuned), _differ(ratio), str(ratio)))
            for pick in (halves, bytes_):
                found = _over_dense(record, model, pick.point.compression, tuned)
                if found is not None:
                    key = f"{pick.point.method} {state_name(tuned)}"
                    gains.setdefault(f"time of {key} / float32", []).append(found)
    return (by_cases("float16 and int8 differ in their speed-up", cases, evidence=_means(gains)),)


def _differ(ratio: Quotient) -> bool | None:
    """Whether a ratio differs from 1 by more than what counts as the same; None if not resolved."""
    if ratio.low > SAME or ratio.high < 1 / SAME:
        return True
    return False if ratio.low >= 1 / SAME and ratio.high <= SAME else None


def expected_gains(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation X: pruning seldom gains what it should (section 6.4).

    Cases are models, pruned weights and removed channels, untuned and tuned: the speed-up over
    that of MACs, with the fastest algorithms.
    """
    cases = []
    shares: dict[str, list[Quotient]] = {}
    for model in record.models:
        for pick in pruned(record, model, *PRUNED):
            for tuned in record.states:
                found = speed_up(record, pick.point, tuned)
                if found is None:
                    continue
                state, share = state_name(tuned), found.share
                where = f"{pick.name}, {state}"
                cases.append(Case(model, where, share.below(1), str(share)))
                shares.setdefault(f"fraction reached with {pick.point.method} {state}", []).append(
                    share
                )
    claim = "the speed-up is smaller than expected from MACs"
    return (by_cases(claim, cases, SELDOM, _means(shares)),)


def _means(groups: Mapping[str, Sequence[Quotient]]) -> str:
    """Return geometric means of ratios that no refused row leaves open."""
    texts = []
    for name, ratios in groups.items():
        closed = [ratio for ratio in ratios if ratio.closed]
        if closed:
            texts.append(f"{name}: {geometric_mean(closed)} (geometric mean of {len(closed)})")
    return "; ".join(texts)
