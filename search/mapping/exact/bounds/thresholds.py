"""What mappings of a subproblem must stay below to be worth a look, by energy, cycles and both.

Scores are ln(H^a T^b): H the energy with leakage, T the cycles, a and b the weights.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import OF_ENERGY, OF_LATENCY, KernelInputs
from archloom.search.mapping.exact.subproblem import energy_below

from ...objectives import score_of


class Corner(NamedTuple):
    """Energy (pJ) and cycles that no mapping of a subproblem is below, leakage (pJ a cycle), and
    cycles that levels on chip are not below, without those in which the array fills and drains.
    """

    energy_pj: float
    cycles: float
    leakage_pj: float
    inner: float


@helper
def total_pj(corner: Corner) -> float:
    """Energy with leakage."""
    return corner.energy_pj + corner.leakage_pj * corner.cycles


@helper
def corner_score(setup: KernelInputs, corner: Corner) -> float:
    """Ln of the objective that no mapping is below; minus infinity if it may be nothing."""
    return float(score_of(setup, corner.energy_pj, corner.cycles, corner.leakage_pj))


@helper
def convex(setup: KernelInputs, corner: Corner) -> bool:
    """Whether chords bound the objective: no weight is between 0 and 1."""
    for weight in setup.weights:
        if 0 < weight < 1:
            return False
    return total_pj(corner) > 0 and corner.cycles > 0


@helper
def most_energy(setup: KernelInputs, corner: Corner, score: float) -> float:
    """Energy (pJ) that mappings with less than a score stay below."""
    if setup.weights[OF_ENERGY] == 0 or score == np.inf:
        return np.inf
    return energy_below(setup, score, corner.cycles, corner.leakage_pj) * (1 + ROUNDING)


@helper
def latest(setup: KernelInputs, corner: Corner, score: float) -> float:
    """Cycles that mappings with less than a score stay below."""
    a, b = setup.weights[OF_ENERGY], setup.weights[OF_LATENCY]
    if score == np.inf:
        return np.inf
    if b > 0:
        left = score - (a * np.log(total_pj(corner)) if a > 0 else 0.0)
        return float(np.exp(left / b) * (1 + ROUNDING))
    if a > 0 and corner.leakage_pj > 0:
        spare = np.exp(score / a) - corner.energy_pj
        return float(spare / corner.leakage_pj * (1 + ROUNDING))
    return np.inf


@allocating
def ceilings(
    setup: KernelInputs,
    corner: Corner,
    score: float,
    most_cycles: float,
    rates: Floats,
    chords: int,
) -> Floats:
    """Return what mappings with less than a score, in so many cycles, stay below: energy, units at
    each port, and so many chords.
    """
    ports = len(rates)
    found = np.empty(1 + ports + chords)
    found[0] = most_energy(setup, corner, score)
    most = min(latest(setup, corner, score), most_cycles * (1 + ROUNDING))
    for port in range(ports):
        found[1 + port] = rates[port] * most
    for chord in range(chords):
        spare = np.exp(score - corner_score(setup, corner)) - 1
        found[1 + ports + chord] = (
            spare + setup.weights[OF_ENERGY] + setup.weights[OF_LATENCY]
        ) * (1 + ROUNDING)
    return found


@allocating
def chords_of(setup: KernelInputs, corner: Corner, rates: Floats) -> Floats:
    """Prices of energy and each port, float64[K, 1 + K]: their sums are below H^a T^b, over that
    of the corner, plus a + b - 1 (theorem 5(d) of docs/explanation/mapping_proofs.md).
    """
    a, b, total = setup.weights[0], setup.weights[1], total_pj(corner)
    prices = np.zeros((len(rates), 1 + len(rates)))
    for port in range(len(rates)):
        prices[port, 0] = a / total
        prices[port, 1 + port] = (a * corner.leakage_pj / total + b / corner.cycles) / rates[port]
    return prices


@helper
def chord_score(setup: KernelInputs, corner: Corner, least: float) -> float:
    """Score that no mapping is below whose chord is at least this."""
    more = least * (1 - ROUNDING) - setup.weights[OF_ENERGY] - setup.weights[OF_LATENCY]
    return float(corner_score(setup, corner) + np.log1p(max(0.0, more)))
