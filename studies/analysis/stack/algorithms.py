"""Observations on the fastest algorithm: of dense models (VII) and of sparse ones (IX)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .choice import ALGORITHMS, Chosen, chosen, rivals, state_name, time_of
from .intervals import REFUSED, Time, quotient
from .parts import Case, Part, by_cases
from .record import Point, StackRecord


@dataclass(frozen=True, slots=True)
class _Claim:
    """That an algorithm is the fastest.

    Attributes:
        favourite, word: its name in records and in words.
        where: what the places have in common, in words.
        rivals: it and those it is compared with.
    """

    favourite: str
    word: str
    where: str
    rivals: tuple[str, ...]


_DENSE: Final = _Claim("spatial_pack", "spatial pack", "for tuned dense models", ALGORITHMS)

#: spatial pack has no kernel for weights in CSR
_SPARSE: Final = _Claim("gemm", "GEMM", "for weight-pruned models", ("direct", "gemm"))


def dense_algorithm(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation VII: tuned spatial pack is mostly the fastest on CPUs (section 6.4).

    Cases are models. It is the fastest where all other algorithms are slower, resolved; it is not
    where one is faster.
    """
    places = []
    for model in record.models:
        dense = record.dense(model)
        if dense is not None:
            places.append((Chosen(dense, True), True))
    return (_favourite(record, _DENSE, places, state=False),)


def sparse_algorithm(record: StackRecord) -> tuple[Part, ...]:
    """Judge observation IX: GEMM is mostly the fastest with pruned weights on CPUs (section 6.4).

    Cases are models, untuned and tuned.
    """
    places = [
        (pick, tuned)
        for model in record.models
        if (pick := chosen(record, model, "weights")) is not None
        for tuned in record.states
    ]
    return (_favourite(record, _SPARSE, places, state=True),)


def _favourite(
    record: StackRecord, claim: _Claim, places: Iterable[tuple[Chosen, bool]], state: bool
) -> Part:
    """Judge whether an algorithm is the fastest in most places.

    One that the study leaves out may be the fastest.

    Args:
        record: of the study.
        claim: which algorithm, and where.
        places: compressed models, untuned or tuned.
        state: whether names of cases say if they are tuned.
    """
    favourite, word = claim.favourite, claim.word
    unseen = frozenset(claim.rivals) - frozenset(record.algorithms)
    cases = []
    wins: Counter[str] = Counter()
    for pick, tuned in places:
        points = rivals(record, pick.point, tuned)
        if not any(each.exists for each in points):
            continue
        best = may_be_fastest(points) | unseen
        answer = False if favourite not in best else True if len(best) == 1 else None
        wins[next(iter(best)) if len(best) == 1 else "within noise"] += 1
        place = f"{pick.name}, {state_name(tuned)}" if state else ""
        shown = _against_next(points, favourite)
        cases.append(Case(pick.point.model, place, answer, shown))
    counts = ", ".join(f"{algorithm} {count}" for algorithm, count in wins.most_common())
    note = (
        f"Fastest: {counts}. Figures: time of {word} / time of the fastest other algorithm"
        if wins
        else ""
    )
    return by_cases(f"{claim.where}, {word} is the fastest", cases, evidence=note)


def may_be_fastest(points: Iterable[Point]) -> frozenset[str]:
    """Return the algorithms that none is resolved to be faster than; a refused one may be."""
    there = {each.algorithm: time for each in points if (time := time_of(each)) is not None}
    return least(there)


def least(times: Mapping[str, Time]) -> frozenset[str]:
    """Return the names that may have the least time: none is resolved to be below it."""
    return frozenset(
        name
        for name, time in times.items()
        if not any(quotient(rival, time).below(1) for rival in times.values())
    )


def _against_next(points: Iterable[Point], favourite: str) -> str:
    times = {each.algorithm: time_of(each) for each in points}
    mine = times.pop(favourite, None)
    others = {
        name: time for name, time in times.items() if time is not None and time is not REFUSED
    }
    if mine is None or not others:
        return "refused"
    name, best = min(others.items(), key=lambda item: item[1].us)
    return f"{quotient(mine, best)} of {name}"
