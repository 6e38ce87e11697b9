"""Observations on tuned code: what it gains and changes (XI), and for whom it gains less (XII)."""

from collections.abc import Iterator
from math import inf
from typing import Final

from .algorithms import least, may_be_fastest
from .choice import ALGORITHMS, fastest, pruned, rivals, time_of
from .intervals import Quotient, Time, geometric_mean, quotient
from .parts import LEAST_MODELS, Case, Part, Verdict, by_cases, by_interval, too_few
from .record import PRUNED, StackRecord

#: assumption: tuning that halves the time gains much
MUCH: Final = 2.0


def tuning(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation XI: tuning gains much, and can change what is best (section 6.5).

    Gains are untuned over tuned times of the same model, compression and algorithm. The fastest
    algorithm of a compressed model changes, or the fastest compression of a model, where those that
    may be the fastest untuned and those that may be tuned have none in common.
    """
    return _much(record), _changes(record)


def _much(record: StackRecord) -> Part:
    claim = "tuning speeds models up by a factor of 2 or more on average"
    gains = [entry for entry in gains_of(record) if entry[-1].closed]
    models = len({model for model, *_ in gains})
    if models < LEAST_MODELS:
        text = too_few("models measured both tuned and untuned", models, LEAST_MODELS)
        return Part(claim, Verdict.UNTOLD, "mean speed-up", None, None, text)
    mean = geometric_mean([gain for *_, gain in gains])
    most = max(gains, key=lambda entry: entry[-1].value)
    fewest = min(gains, key=lambda entry: entry[-1].value)
    text = (
        f"geometric mean of {len(gains)} combinations; largest {most[-1]} "
        f"({', '.join(most[:-1])}), smallest {fewest[-1]} ({', '.join(fewest[:-1])})"
    )
    return by_interval(claim, mean.value, (mean.low, mean.high), (MUCH, inf), "mean speed-up", text)


def gains_of(record: StackRecord) -> Iterator[tuple[str, str, str, Quotient]]:
    """Yield model, compression, algorithm, and untuned over tuned time."""
    for model in record.models:
        for compression in record.compressions:
            for algorithm in ALGORITHMS:
                gain = _gain(record, model, compression, algorithm)
                if gain is not None:
                    yield model, compression, algorithm, gain


def _gain(record: StackRecord, model: str, compression: str, algorithm: str) -> Quotient | None:
    points = [record.at(model, compression, algorithm, tuned) for tuned in (False, True)]
    before, after = (None if point is None else time_of(point) for point in points)
    return None if before is None or after is None else quotient(before, after)


def _changes(record: StackRecord) -> Part:
    """Judge whether tuning changes what is fastest anywhere."""
    changed, same, open_ = [], 0, 0
    for name, before, after in _bests(record):
        if not before & after:
            changed.append(f"{name}: {_either(before)} to {_either(after)}")
        elif before == after and len(before) == 1:
            same += 1
        else:
            open_ += 1
    count = len(changed) + same + open_
    verdict = Verdict.UNTOLD
    if changed:
        verdict = Verdict.HOLDS
    elif count and not open_:
        verdict = Verdict.FAILS
    text = f"{len(changed)} of {count} change, {same} do not, {open_} are within noise"
    if changed:
        text += f". {'; '.join(changed)}"
    share = (len(changed) / count, (len(changed) + open_) / count) if count else None
    claim = "tuning changes the fastest algorithm or compression somewhere"
    value = None if share is None else share[0]
    return Part(claim, verdict, "share of cases", value, share, text, count)


def _bests(record: StackRecord) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """Yield what may be fastest untuned and tuned: algorithms, then compressions of a model."""
    for model in record.models:
        for compression in record.compressions:
            points = record.of(model, compression)
            states = [rivals(record, points[0], tuned) if points else [] for tuned in (False, True)]
            if all(sum(each.exists for each in state) > 1 for state in states):
                before, after = map(may_be_fastest, states)
                yield f"{model} {compression}", before, after
        times = [_compressions(record, model, tuned) for tuned in (False, True)]
        if all(len(found) > 1 for found in times):
            yield model, least(times[0]), least(times[1])


def _compressions(record: StackRecord, model: str, tuned: bool) -> dict[str, Time]:
    """Return the time of each compression by its fastest algorithm."""
    found = {}
    for compression in record.compressions:
        points = record.of(model, compression)
        time = fastest(record, points[0], tuned) if points else None
        if time is not None:
            found[compression] = time
    return found


def _either(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


def pruned_gain_less(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation XII: pruned models gain less from tuning than dense ones (section 6.5).

    Cases are models, pruned weights and removed channels, and algorithms: the gain over that of
    the dense model by the same algorithm.
    """
    cases = []
    for model in record.models:
        dense = record.dense(model)
        if dense is None:
            continue
        for pick in pruned(record, model, *PRUNED):
            for algorithm in ALGORITHMS:
                gain = _gain(record, model, pick.point.compression, algorithm)
                base = _gain(record, model, dense.compression, algorithm)
                if gain is None or base is None:
                    continue
                ratio = gain.over(base)
                where = f"{pick.name}, {algorithm}"
                cases.append(Case(model, where, ratio.below(1), str(ratio)))
    return (by_cases("tuning gains less for the pruned model", cases),)
