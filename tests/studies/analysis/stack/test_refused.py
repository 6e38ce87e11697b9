"""Refused and noisy rows: they take verdicts away, and never make one."""

from random import Random

import pytest

from archloom.studies.analysis.stack import Verdict, judge
from archloom.studies.analysis.stack.findings import Finding

from ....cases.stack_records import (
    ALGORITHMS,
    COMPRESSIONS,
    FOUR,
    NO_KERNEL,
    Rules,
    even,
    refused,
    stack_results,
    times,
)

HOLDS, FAILS, UNTOLD = Verdict.HOLDS, Verdict.FAILS, Verdict.UNTOLD


def found(number: str, rules: Rules) -> Finding:
    return next(each for each in judge(stack_results(rules)) if each.observation.number == number)


@pytest.mark.parametrize("algorithm", ["direct", "gemm"])
def test_a_refused_row_decides_nothing(algorithm: str) -> None:
    """One of three refused could be faster than those that were timed."""

    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        time = times(tuned_spatial_pack=0.5)(model, compression, name, tuned)
        return "noisy" if name == algorithm and compression == "dense" else time

    finding = found("VII", Rules(times=rule))
    assert finding.verdict is UNTOLD
    assert "4 are within noise" in finding.parts[0].evidence
    # dense may be faster than sparse: how much sparse gains is not known, nor whether it does
    sparse = found("II", Rules(times=rule))
    assert sparse.verdict is UNTOLD
    assert "small, weights 0.95: 0.20 (0.18 to unbounded)" in sparse.parts[0].evidence


def test_a_refused_row_does_not_keep_others_from_deciding() -> None:
    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        time = times(tuned_direct=0.5)(model, compression, name, tuned)
        return "noisy" if name == "gemm" else time

    # spatial pack is slower than direct, whatever GEMM would be
    assert found("VII", Rules(times=rule)).verdict is FAILS
    # sparse direct is faster than all that was timed, and GEMM could be faster still
    lost = "small, weights 0.95: 0.10 (0.00 to unbounded)"
    assert lost in found("II", Rules(times=rule)).parts[0].evidence


def test_a_kernel_that_does_not_exist_is_no_rival() -> None:
    def rule(model: str, compression: str, name: str, tuned: bool) -> float | str:
        time = times(tuned_spatial_pack=0.5)(model, compression, name, tuned)
        return NO_KERNEL if name == "gemm" else time

    assert found("VII", Rules(times=rule)).verdict is HOLDS


CASES = ("II", "IV", "V", "VII", "IX", "X", "XI", "XII")


def by_cases(rules: Rules) -> list[tuple[str, str, Verdict]]:
    """All claims that count cases."""
    return [
        (finding.observation.number, part.claim, part.verdict)
        for finding in judge(stack_results(rules))
        if finding.observation.number in CASES
        for part in finding.parts
        if part.unit == "share of cases"
    ]


@pytest.mark.parametrize("seed", range(6))
def test_noise_and_refusals_never_make_a_verdict(seed: int) -> None:
    """They may only take one away, whichever rows are refused."""
    random = Random(seed)
    drawn = {
        (model, compression, algorithm, tuned): random.choice((0.4, 1.0, 2.5)) ** (1 + tuned)
        for model in FOUR
        for compression in COMPRESSIONS
        for algorithm in ALGORITHMS
        for tuned in (False, True)
    }
    lost = {key for key in drawn if random.random() < 0.2}

    def rule(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
        time = even(model, compression, algorithm, tuned)
        key = (model, compression, algorithm, tuned)
        return time if isinstance(time, str) else time * drawn[key]

    def refusing(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
        time = rule(model, compression, algorithm, tuned)
        return (
            "noisy"
            if (model, compression, algorithm, tuned) in lost and time != NO_KERNEL
            else time
        )

    before = by_cases(Rules(times=rule))
    assert len(before) == 10
    assert {verdict for *_, verdict in before} & {HOLDS, FAILS}
    for worse in (Rules(times=refusing), Rules(times=rule, noise=0.2)):
        after = by_cases(worse)
        for (number, claim, was), (_, same, now) in zip(before, after, strict=True):
            assert claim == same
            assert now in (was, UNTOLD), (number, claim)
    assert {verdict for *_, verdict in by_cases(Rules(times=refused))} == {UNTOLD}
