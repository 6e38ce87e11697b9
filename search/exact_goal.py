"""What mappings of a frame must stay below to be worth a look, by energy, cycles and both.

Scores are ln(H^a T^b): H the energy with leakage, T the cycles, a and b the weights.
"""

from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Final

import numpy as np

from ..evaluators.words import Float
from .exact_proof import ln_score

#: what rounding may add to a cost that is compared with a ceiling, relative
SLACK: Final = 1e-11


@dataclass(frozen=True)
class Corner:
    """Energy (pJ) and cycles that no mapping of a frame is below, and leakage (pJ in a cycle)."""

    weights: tuple[float, float]
    energy_pj: float
    cycles: float
    leakage_pj: float

    @property
    def total_pj(self) -> float:
        """Energy with leakage."""
        return self.energy_pj + self.leakage_pj * self.cycles

    @property
    def score(self) -> float:
        """Ln of the objective that no mapping is below; minus infinity if it may be nothing."""
        return ln_score(self.weights, self.total_pj, self.cycles)

    @property
    def convex(self) -> bool:
        """Whether chords bound the objective: no weight is between 0 and 1."""
        whole = all(weight == 0 or weight >= 1 for weight in self.weights)
        return whole and self.total_pj > 0 and self.cycles > 0

    def ceilings(self, score: float, most_cycles: float, rates: Float) -> Float:
        """Energy, and units at each port, that mappings with less than a score stay below."""
        a, b = self.weights
        energy = most = inf
        if a and score < inf:
            energy = _exp((score - (b * _ln(self.cycles) if b else 0.0)) / a)
            if self.leakage_pj and not b:
                most = (energy - self.energy_pj) / self.leakage_pj
            energy -= self.leakage_pj * self.cycles
        if b and score < inf:
            most = _exp((score - (a * _ln(self.total_pj) if a else 0.0)) / b)
        units = rates * (min(most, most_cycles) * (1 + SLACK))
        found: Float = np.concatenate([[energy * (1 + SLACK)], units])
        return found

    def chords(self, rates: Float) -> Float:
        """Prices of energy and each port, float64[K, 1 + K]: their sums are below H^a T^b, over
        that of the corner, plus a + b - 1 (theorem 5(d) of docs/exact_mapping.md).
        """
        a, b = self.weights
        by_cycle = a * self.leakage_pj / self.total_pj + b / self.cycles
        energy = np.full((len(rates), 1), a / self.total_pj)
        return np.concatenate([energy, np.diag(by_cycle / rates)], axis=1)

    def chord_ceiling(self, score: float) -> float:
        """What such sums of mappings with less than a score stay below."""
        a, b = self.weights
        return (_exp(score - self.score) - 1 + a + b) * (1 + SLACK)

    def chord_score(self, least: float) -> float:
        """Score that no mapping is below whose sum is not."""
        a, b = self.weights
        return self.score + log1p(max(0.0, least * (1 - SLACK) - a - b))


def _ln(value: float) -> float:
    return log(value) if value > 0 else -inf


def _exp(power: float) -> float:
    return exp(power) if power < 700 else inf
