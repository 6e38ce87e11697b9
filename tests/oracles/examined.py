"""The exact search beside all mappings of a problem: what differs, in words.

Independent of: the exact search only through the oracles that it is held against.
"""

from collections.abc import Iterator
from math import exp, inf
from random import Random

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.energy_latency_front import front
from archloom.search.mapping.exact.proof import Proof
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.protocol import AnyMappingSearch, Found
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.mapping.mapping import Mapping

from ..cases.wide_problems import Wide
from .enumerated_mappings import Float, all_prices, kept
from .walked_cost import bill

#: exponents of energy and of latency in each objective
OBJECTIVES = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0), "ed2p": (1.0, 2.0)}

#: more than any search of a small problem needs, and what other searches try
PLENTY, TRIED = 10**9, 300

#: relative error of sums in another order
CLOSE = 1e-9


def differences(number: int, wide: Wide) -> Iterator[str]:
    """Yield all that is wrong with what searches say of a problem."""
    rng, setup = Random(f"examined-{number}"), wide.problem.setup
    energy, cycles = all_prices(setup, kept(setup), wide.tiled)
    for name, (a, b) in OBJECTIVES.items():
        with np.errstate(divide="ignore"):
            scores = (a * np.log(energy) if a else 0) + (b * np.log(cycles) if b else 0)
        least = float(scores.min()) if len(scores) else inf
        found = prove(wide.problem, PLENTY, (a, b), warm_up=0)
        yield from (f"{name}: {wrong}" for wrong in _wrong(wide.problem, found, least))
        budget = rng.randrange(1, max(2, 2 * found.evaluations))
        cut = prove(wide.problem, budget, (a, b), warm_up=budget // 4)
        yield from (f"{name} of {budget}: {wrong}" for wrong in _dishonest(cut, least))
        if name == "edp":
            yield from _beaten(wide.problem, least, number)
    yield from _wrong_front(wide.problem, energy, cycles)


def _wrong(problem: MappingProblem, found: Proof, least: float) -> Iterator[str]:
    """What is wrong with a search that had all the budget it wanted."""
    score = inf if found.best is None else found.best.score
    if not found.proven:
        yield f"not proven, gap {found.gap_percent} %"
    if score != least and not abs(score - least) <= CLOSE:
        yield f"{score}, of all mappings {least}"
    if found.best is not None:
        walked = bill(problem, mapping_of(found.best))
        if walked.broken:
            yield f"breaks rules {walked.broken}"
        pj = float(walked.energy_pj.sum()) + walked.compute_pj
        late = max(walked.chip_cycles, walked.dram_cycles) - found.best.cycles
        # where rates are no sums of powers of two, rounding may take a cycle; and it leaks
        pj -= late * float(problem.setup.used_leakage_pj @ walked.used)
        if abs(late) > 1 or not abs(pj - found.best.energy_pj) <= CLOSE * pj:
            yield f"{found.best.energy_pj} pJ, walked {pj}; {late} cycles more"


def mapping_of(found: Found) -> Mapping:
    """Return a mapping as reports write it."""
    rows = [[v[0], v[3], v[1], v[2], k] for v, k in zip(found.loops, found.keep, strict=True)]
    return Mapping.from_rows(rows)


def _dishonest(found: Proof, least: float) -> Iterator[str]:
    """What is wrong with the bound of a search that was cut."""
    score = inf if found.best is None else found.best.score
    if score < least - CLOSE:
        yield f"{score} is less than that of any mapping, {least}"
    if found.bound > least + CLOSE:
        yield f"bound {found.bound}, least of all mappings {least}"
    if found.proven and abs(score - least) > CLOSE:
        yield f"claims proof of {score}, least of all mappings {least}"
    if score < inf and exp(score - least) - 1 > found.gap_percent / 100 + CLOSE:
        yield f"gap {found.gap_percent} % of {score}, least of all mappings {least}"


def _beaten(problem: MappingProblem, least: float, seed: int) -> Iterator[str]:
    """Other searches that find less than the least."""
    searches: tuple[AnyMappingSearch, ...] = (LocalMapping(), RandomMapping())
    for search in searches:
        state = search.advance(problem, search.start(problem, seed), TRIED)
        found = search.best(problem, state)
        leaked = problem.setup.leakage_pj * found.latency_cycles
        product = (found.energy_pj + leaked) * found.latency_cycles
        if product < exp(least) * (1 - CLOSE):
            yield f"{type(search).__name__} finds {product}, least of all mappings {exp(least)}"


def _wrong_front(problem: MappingProblem, energy: Float, cycles: Float) -> Iterator[str]:
    """Where the front is not that of all mappings."""
    found = front(problem, PLENTY)
    if not found.proven:
        yield "front: not proven"
    least, expected = inf, []
    for steps in np.unique(cycles):
        here = energy[cycles == steps].min()
        if here < least * (1 - CLOSE):
            least = here
            expected.append((steps, here))
    with np.errstate(over="ignore"):
        points = [(p.cycles, np.exp(p.score)) for p in reversed(found.points)]
    if len(points) != len(expected) or not np.allclose(points, expected, rtol=CLOSE, atol=0):
        yield f"front: {points}, of all mappings {expected}"
