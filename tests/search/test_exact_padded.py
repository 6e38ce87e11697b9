"""The best mapping over all paddings, against a list of all of them."""

from dataclasses import replace
from itertools import product
from math import inf, prod

import numpy as np
import pytest

from archloom.search.exact_padded import prove_padded
from archloom.search.factors import least_score

from .enumerated import all_prices, kept, orders, tilings
from .wide_cases import Wide, wide_problem

PLENTY = 10**9
MOST = 60_000


def least_of_all(wide: Wide) -> float | None:
    """Least ln EDP over all mappings of all paddings to less than twice the bounds, and to that."""
    problem, least, total = wide.problem, inf, 0
    for bounds in product(*(range(b, 2 * b + 1) if b > 1 else (1,) for b in problem.bounds)):
        setup = replace(problem, bounds=bounds).setup
        tiled = tilings(setup, MOST)
        if tiled is None:
            return None
        total += orders(tiled)
        if total > MOST:
            return None
        energy, cycles = all_prices(setup, kept(setup), tiled)
        if len(energy):
            with np.errstate(divide="ignore"):
                least = min(least, float((np.log(energy) + np.log(cycles)).min()))
    return least


def small(first: int, count: int) -> list[tuple[int, Wide]]:
    """Problems of which all paddings can be listed: few moving dimensions, small bounds."""
    found, number = [], first
    while len(found) < count:
        wide = wide_problem(number)
        moving = [b for b in wide.problem.bounds if b > 1]
        if 1 <= len(moving) <= 3 and prod(2 * b for b in moving) <= 150 and wide.mappings < 150:
            found.append((number, wide))
        number += 1
    return found


@pytest.mark.parametrize("block", range(3))
def test_no_padding_is_better_than_the_best(block: int) -> None:
    compared = 0
    for number, wide in small(10_000 * block, 12):
        problem, least = wide.problem, least_of_all(wide)
        if least is None:
            continue
        compared += 1
        found = prove_padded(problem, PLENTY, warm_up=0)
        assert found.proof.proven, number
        score = inf if found.proof.best is None else found.proof.best.score
        assert score == pytest.approx(least, abs=1e-9), number
        assert least_score(problem) <= least + 1e-9, number
    assert compared > 4
