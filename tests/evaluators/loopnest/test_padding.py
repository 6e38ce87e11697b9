from dataclasses import replace
from fractions import Fraction
from math import inf, isqrt, nan

import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.loopnest.padding import padded_bounds
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.dims import DIMS, C, K, N, P, R

from ...cases.designs import edge, eyeriss_like, tpu_like

BOUNDS = (1,) * 8


def problem(hardware: Hardware, **bounds: int) -> MappingProblem:
    loops = tuple(bounds.get(d, 1) for d in DIMS)
    return MappingProblem(loops, (1, 1), (1, 1), (0, 0), (9999, 9999), hardware)


def mesh(columns: int, rows: int = 1, **changes: tuple[str, ...]) -> Hardware:
    """Return the edge design with another mesh of PEs."""
    base = edge()
    first = replace(base.levels[0], mesh=(columns, rows))
    glb = replace(base.levels[1], **changes)  # type: ignore[arg-type]
    return replace(base, pe_mesh=(columns, rows), levels=(first, glb, base.levels[2]))


def share(bound: int, b: int, children: int) -> Fraction:
    """Share of an axis that the best split of a padded bound occupies, over all its steps."""
    factors = [f for f in range(1, children + 1) if b % f == 0]
    return max(Fraction(bound, b // f * children) for f in factors)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % p for p in range(2, isqrt(number) + 1))


@pytest.mark.parametrize(
    ("children", "bound", "expected"),
    [
        (14, 55, 56),  # 4 steps in place of 5
        (14, 13, 13),  # one step as it is
        (14, 112, 112),
        (14, 1009, 1050),  # 75 steps in place of 1009
        (16, 1009, 1024),
        (16, 7, 7),
        (4, 7, 8),  # 2 steps in place of 7
        (4, 3, 3),
        (4, 1, 1),
        (4, 2, 2),
        (2, 3, 3),  # 4 would be a third more work
        (128, 57, 57),  # 57 is 3 * 19, but none of it is left for tiles
    ],
)
def test_bounds_divide_over_the_axis(children: int, bound: int, expected: int) -> None:
    assert padded_bounds(problem(mesh(children), K=bound))[K] == expected


def test_one_bound_is_padded_for_an_axis_that_none_fills() -> None:
    # 14 columns take 14 of 56 rows; 12 rows of PEs are left with 4 * 4, and 11 * 12 is 132
    assert padded_bounds(problem(eyeriss_like(), P=55))[P] == 56
    assert padded_bounds(problem(mesh(14), P=55, K=64, C=7)) == (1, 1, 64, 7, 55, 1, 1, 1)
    assert padded_bounds(problem(mesh(14), P=55, K=64, C=5)) == (1, 1, 64, 5, 56, 1, 1, 1)
    assert padded_bounds(problem(mesh(14, 12), K=128, C=64, P=14)) == (
        *(1, 1, 132, 64, 14),
        *(1, 1, 1),
    )


def test_what_the_widest_axis_takes_is_gone_for_the_next() -> None:
    # 8 columns take all of K = 8, whatever would suit 6 rows
    assert padded_bounds(problem(mesh(8, 6), K=8)) == (1, 1, 8, 1, 1, 1, 1, 1)
    assert padded_bounds(problem(mesh(8, 6), K=40)) == (1, 1, 40, 1, 1, 1, 1, 1)
    assert padded_bounds(problem(mesh(8, 6), K=44)) == (1, 1, 48, 1, 1, 1, 1, 1)


def test_only_axes_that_a_dimension_may_take_count() -> None:
    # K along 256 columns, C, R and S along 256 rows, the others nowhere
    assert padded_bounds(problem(tpu_like(), K=1000)) == (1, 1, 1000, 1, 1, 1, 1, 1)
    assert padded_bounds(problem(tpu_like(), K=1001, P=1001, N=23))[K] == 1008
    rows = mesh(14, spatial_x=("P",))
    assert padded_bounds(problem(rows, P=55, K=55, C=17)) == (1, 1, 55, 18, 56, 1, 1, 1)


def test_large_primes_give_way_to_numbers_that_have_tiles() -> None:
    scalar = mesh(1)
    for bound, expected in ((11, 11), (13, 13), (17, 18), (101, 104), (1009, 1014)):
        assert padded_bounds(problem(scalar, N=bound))[N] == expected


@settings(max_examples=150)
@given(st.integers(1, 3000), st.integers(1, 300), st.fractions(0, 1))
def test_padding_is_never_worse_than_none(bound: int, children: int, slack: Fraction) -> None:
    found = padded_bounds(problem(mesh(children), C=bound), slack)[C]
    assert bound <= found <= bound * (1 + slack) + Fraction(1, 2)
    if children == 1:
        return
    best = share(bound, found, children)
    assert best >= share(bound, bound, children)
    if found > bound and best == share(bound, bound, children):
        # a prime was in the way of tiles
        assert any(bound % p == 0 for p in range(17, bound + 1) if is_prime(p))


def test_no_slack_is_no_padding_and_odd_slacks_are_refused() -> None:
    prime = problem(mesh(4), R=13)
    assert padded_bounds(prime, 0) == prime.bounds
    assert padded_bounds(prime)[R] == 15
    assert padded_bounds(prime, 1)[R] == 16
    for slack in (-0.1, nan, inf):
        with pytest.raises(ValueError, match=f"slack must be at least 0, got {slack}"):
            padded_bounds(prime, slack)
