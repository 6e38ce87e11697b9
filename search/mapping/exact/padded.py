"""The best mapping over all paddings of the loop bounds, with a proof: theorem 9 of
docs/explanation/imperfect_factors.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf, log1p, prod
from typing import NamedTuple

from archloom.evaluators.bounds import ROUNDING, least_costs
from archloom.evaluators.loopnest import EXPOSED, NO_FILL, MappingProblem, padded_bounds
from archloom.space.workload import P

from ..factorization import least_score
from ..objectives import ln_score
from ..protocol import Found
from .branch_and_bound import WARM_UP, Search
from .proof import Proof, covered


def worth_padding_to(bound: int, window: bool) -> Iterator[int]:
    """Yield what a bound may have to be padded to for the best mapping, itself first, ascending.

    ``window`` says whether the dimension moves windows of inputs.
    """
    yield bound
    for padded in range(bound + 1, 2 * bound):
        factors = _primes(padded)
        factor = factors[0] if window else factors[-1]
        if factor * (padded - bound) < padded:
            yield padded


def _primes(number: int) -> list[int]:
    """Return the prime factors of a number from 2 up, ascending."""
    found, p = [], 2
    while p * p <= number:
        while number % p == 0:
            found.append(p)
            number //= p
        p += 1
    return [*found, number] if number > 1 else found


class _Options:
    """What one bound may be padded to, worked out as far as it is asked for."""

    def __init__(self, bound: int, window: bool) -> None:
        self._left = worth_padding_to(bound, window)
        self._found: list[int] = []

    def at(self, place: int) -> int | None:
        """Return the one at a place, None after the last."""
        while len(self._found) <= place:
            more = next(self._left, None)
            if more is None:
                return None
            self._found.append(more)
        return self._found[place]


class _Floor(NamedTuple):
    """What mappings cost at least by how many multiply-accumulates the padded bounds have.

    ``energy_pj`` and ``cycles`` are bounds of the layer as it is, ``mac_pj`` the price of another
    multiply-accumulate, ``rate`` those that end in a cycle at most.
    """

    weights: tuple[float, float]
    energy_pj: float
    cycles: float
    mac_pj: float
    rate: float
    leakage_pj: float
    macs: int

    def score(self, macs: int) -> float:
        """Score (ln) that no mapping of so many multiply-accumulates is below."""
        cycles = max(self.cycles, macs / self.rate)
        energy = self.energy_pj + (macs - self.macs) * self.mac_pj + self.leakage_pj * cycles
        return ln_score(self.weights, (1 - ROUNDING) * energy, (1 - ROUNDING) * cycles)


def _floor_of(problem: MappingProblem) -> _Floor:
    setup, (energy_pj, cycles) = problem.setup, least_costs(problem)
    a, b = setup.weights.tolist()
    rate = float(setup.fanout.prod(dtype=float)) / setup.busy
    price = setup.working * setup.mac_pj
    return _Floor(
        (a, b),
        energy_pj,
        cycles,
        price,
        rate,
        setup.leakage_pj,
        problem.macs,
    )


def paddings(bounds: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all bounds that may be worth padding to, by ascending multiply-accumulates."""
    options = [_Options(bound, d >= P) for d, bound in enumerate(bounds)]
    heap = [(prod(bounds), bounds, (0,) * len(bounds))]
    while heap:
        _, padded, place = heappop(heap)
        yield padded
        # each place is reached once: from that with one step less in its last padded dimension
        last = max((d for d, i in enumerate(place) if i), default=0)
        for d in range(last, len(bounds)):
            more = options[d].at(place[d] + 1)
            if more is not None:
                wider = (*padded[:d], more, *padded[d + 1 :])
                heappush(heap, (prod(wider), wider, (*place[:d], place[d] + 1, *place[d + 1 :])))


def provable(problem: MappingProblem) -> bool:
    """Whether theorem 9 holds: no factors are prescribed, and nothing costs that may be less if a
    loop has a step more: neither hops nor loading an array while it works on another tile.
    """
    setup = problem.setup
    hops = bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any())
    free = not (setup.fixed > 1).any() and not setup.within.any() and not hops
    return free and setup.fill_drain in (NO_FILL, EXPOSED) and covered(problem)


@dataclass(frozen=True)
class PaddedProof:
    """What is known of all paddings of a problem.

    Attributes:
        nest: the problem with the bounds that the best mapping multiplies to.
        proof: that mapping, and a bound of all mappings of all paddings.
    """

    nest: MappingProblem
    proof: Proof


def prove_padded(
    problem: MappingProblem, budget: int, seed: int = 0, warm_up: int = WARM_UP
) -> PaddedProof:
    """Search for the best mapping over all paddings, and for a proof that there is no better.

    The bounds of :func:`archloom.evaluators.loopnest.padding.padded_bounds` come first, for
    something to beat; where theorem 9 does not hold they are all that is searched. Arguments are
    those of :func:`archloom.search.mapping.exact.search.prove`; the budget is for all paddings
    together.
    """
    nest = replace(problem, bounds=padded_bounds(problem))
    if nest.impossible() is not None:
        # more of them may have to be unrolled, for which buffers may be too small
        nest = problem
    whole = least_score(problem) + log1p(-ROUNDING)
    search = Search(nest.setup, budget, seed, warm_up)
    first = search.run(covered(nest))
    if not provable(problem):
        bound = min(whole, _score(first.best))
        return PaddedProof(nest, Proof(first.best, bound, False, first.evaluations))
    return _others(problem, PaddedProof(nest, first), whole, budget, seed)


def _others(
    problem: MappingProblem, first: PaddedProof, whole: float, budget: int, seed: int
) -> PaddedProof:
    """Search all other paddings that may be better, while the budget lasts."""
    nest, best, spent = first.nest, first.proof.best, first.proof.evaluations
    # the least bound of what was given up
    unsettled = inf if first.proof.proven else max(whole, first.proof.bound)
    floor = _floor_of(problem)
    for bounds in paddings(problem.bounds):
        lowest = max(whole, floor.score(prod(bounds)))
        if lowest >= _score(best):
            break
        if spent >= budget:
            unsettled = min(unsettled, lowest)
            break
        spent += 1
        if bounds == first.nest.bounds:
            continue
        padded = replace(problem, bounds=bounds)
        lowest = max(lowest, least_score(padded) + log1p(-ROUNDING))
        if lowest >= _score(best):
            continue
        search = Search(padded.setup, budget - spent, seed, 0)
        search.beat = _score(best)
        found = search.run(provable=True)
        spent += found.evaluations
        if found.best is not None:
            nest, best = padded, found.best
        if not found.proven:
            unsettled = min(unsettled, max(lowest, found.bound))
    bound = min(unsettled, _score(best))
    return PaddedProof(nest, Proof(best, bound, bound >= _score(best), spent))


def _score(best: Found | None) -> float:
    return inf if best is None else best.score
