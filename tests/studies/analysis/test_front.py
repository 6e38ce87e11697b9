from hypothesis import given, strategies as st

from archloom.search.pareto import non_dominated
from archloom.studies.analysis.front.pareto_front import FEW, _non_dominated

COSTS = st.integers(0, 4).map(float)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[COSTS] * n), max_size=12)))
def test_few_designs_are_compared_one_by_one_to_the_same_front(
    costs: list[tuple[float, ...]],
) -> None:
    assert list(_non_dominated(costs)) == list(non_dominated(costs))


def test_so_are_many() -> None:
    costs = [(float(i), float(-i), float(i % 7)) for i in range(2 * FEW)]
    costs += [(x + 1, y + 1, z) for x, y, z in costs]
    assert list(_non_dominated(costs)) == [True] * 2 * FEW + [False] * 2 * FEW
