"""The thirteen observations of DLAS, each with this study's verdict beside the paper's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .accuracy import correlations, types, vulnerability
from .algorithms import dense_algorithm, sparse_algorithm
from .compression import (
    expected_gains,
    sparse_against_dense,
    types_differ,
    weights_against_channels,
)
from .paper import OBSERVATIONS, Observation
from .parts import Part, Verdict, together
from .record import StackRecord, read_record
from .tuning import pruned_gain_less, tuning

#: how each observation is judged; those that are missing need another machine
_JUDGES: Final[Mapping[str, Callable[[StackRecord], tuple[Part, ...]]]] = {
    "I": correlations,
    "II": sparse_against_dense,
    "III": vulnerability,
    "IV": weights_against_channels,
    "V": types_differ,
    "VI": types,
    "VII": dense_algorithm,
    "IX": sparse_algorithm,
    "X": expected_gains,
    "XI": tuning,
    "XII": pruned_gain_less,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation and what a study says of it.

    Attributes:
        observation: of the paper.
        parts: what was judged; none if this study cannot say anything.
    """

    observation: Observation
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether all parts hold; what :attr:`Observation.beyond` names is left out."""
        return together(self.parts)

    @property
    def record(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "number": self.observation.number,
            "statement": self.observation.statement,
            "section": self.observation.section,
            "paper": self.observation.theirs,
            "beyond": self.observation.beyond,
            "verdict": str(self.verdict),
            "parts": [part.record for part in self.parts],
        }


def judge(results: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the thirteen observations with the verdicts of a study.

    Args:
        results: its ``results.json``.
    """
    record = read_record(results)
    return tuple(
        Finding(each, _JUDGES[each.number](record) if each.number in _JUDGES else ())
        for each in OBSERVATIONS
    )
