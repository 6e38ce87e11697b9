"""Verdicts and what decides them: the share of cases that speak for a claim, or an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final

from .intervals import Interval

#: assumption: "generally" and "mostly" are more than half of the cases
MOSTLY: Final = 0.5

#: assumption: cases of fewer models than this show nothing that is general
LEAST_MODELS: Final = 2

#: unit of figures that count cases
SHARE: Final = "share of cases"


class Verdict(StrEnum):
    """What a study says of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNTOLD = "inconclusive"


@dataclass(frozen=True, slots=True)
class Part:
    """One claim of an observation, judged.

    Attributes:
        claim: what is said.
        verdict: of this study.
        unit: what the figure is, as "rank correlation".
        value: the figure that decides; None if there is none.
        interval: where it may lie; None if there is none.
        evidence: figures behind it, in words.
        cases: of how many the figure is a share; 0 if it is none.
    """

    claim: str
    verdict: Verdict
    unit: str
    value: float | None
    interval: Interval | None
    evidence: str
    cases: int = 0

    @property
    def figure(self) -> str:
        """The figure with its interval and unit, as text; why there is none."""
        if self.value is None or self.interval is None:
            return self.evidence.partition(". ")[0]
        if self.cases:
            sure, may = (round(end * self.cases) for end in self.interval)
            return f"{sure if sure == may else f'{sure} to {may}'} of {self.cases} cases"
        low, high = (("unbounded" if abs(end) == inf else f"{end:.2f}") for end in self.interval)
        return f"{self.unit} {self.value:.2f} ({low} to {high})"

    @property
    def record(self) -> dict[str, Any]:
        """The part as JSON."""
        interval = None
        if self.interval is not None:
            interval = [None if abs(end) == inf else end for end in self.interval]
        return {
            "claim": self.claim,
            "verdict": str(self.verdict),
            "figure": self.value,
            "interval": interval,
            "unit": self.unit,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison that speaks for a claim, against it, or is not resolved.

    Attributes:
        model: of which it is a case.
        where: what else tells it from others; empty if nothing.
        answer: whether it speaks for the claim; None if it is not resolved.
        shown: its figure, as text.
    """

    model: str
    where: str
    answer: bool | None
    shown: str

    def __str__(self) -> str:
        """Return where it was made, with its figure."""
        return f"{self.model}{', ' * bool(self.where)}{self.where}: {self.shown}"


def by_cases(
    claim: str, cases: Sequence[Case], more_than: float = MOSTLY, evidence: str = ""
) -> Part:
    """Judge a claim by the share of cases that speak for it.

    It holds if those that surely do are more than ``more_than`` of all cases, and does not hold if
    they would not be with all unresolved cases on their side. That share from those that surely do
    to those that may is the interval.
    """
    shown = "; ".join(map(str, cases))
    models = len({case.model for case in cases})
    if models < LEAST_MODELS:
        few = too_few("models with such cases", models, LEAST_MODELS)
        return Part(claim, Verdict.UNTOLD, SHARE, None, None, _joined(few, shown))
    sure = sum(case.answer is True for case in cases)
    may = sure + sum(case.answer is None for case in cases)
    low, high = sure / len(cases), may / len(cases)
    verdict = Verdict.UNTOLD
    if low > more_than:
        verdict = Verdict.HOLDS
    elif high <= more_than:
        verdict = Verdict.FAILS
    count = f"{sure} of {len(cases)} cases support it, {len(cases) - may} contradict it"
    if may > sure:
        count += f", {may - sure} are within noise"
    text = _joined(count, evidence, shown)
    return Part(claim, verdict, SHARE, low, (low, high), text, len(cases))


def by_interval(
    claim: str,
    value: float | None,
    interval: Interval | None,
    inside: Interval,
    unit: str,
    evidence: str,
) -> Part:
    """Judge a claim by whether an interval lies inside another one, outside, or across its edge."""
    verdict = Verdict.UNTOLD
    if value is not None and interval is not None:
        if inside[0] <= interval[0] and interval[1] <= inside[1]:
            verdict = Verdict.HOLDS
        elif interval[1] < inside[0] or inside[1] < interval[0]:
            verdict = Verdict.FAILS
    return Part(claim, verdict, unit, value, interval, evidence)


def together(parts: Sequence[Part]) -> Verdict:
    """Return the verdict of a claim with several parts: all must hold."""
    if any(part.verdict is Verdict.FAILS for part in parts):
        return Verdict.FAILS
    if parts and all(part.verdict is Verdict.HOLDS for part in parts):
        return Verdict.HOLDS
    return Verdict.UNTOLD


def too_few(what: str, count: int, least: int) -> str:
    """Say that there are too few of something."""
    return f"{what}: {count or 'none'}, at least {least} are needed"


def _joined(*texts: str) -> str:
    return ". ".join(text for text in texts if text)
