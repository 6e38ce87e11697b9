"""What a study's loop keeps of the costs of designs that ended."""

from operator import itemgetter

from hypothesis import given, strategies as st

from archloom.search import non_dominated
from archloom.studies.engine.loop import Deciding

Costs = tuple[float, ...]

#: few values, so that many are equal
COSTS = st.tuples(*[st.integers(1, 4).map(float)] * 3)


def deciding_of(costs: list[Costs]) -> list[Costs]:
    """Return the front of some costs, and the worst of each objective."""
    if not costs:
        return []
    worst = [max(costs, key=itemgetter(i)) for i in range(3)]
    front = [one for one, on in zip(costs, non_dominated(costs), strict=True) if on]
    return [*dict.fromkeys([*front, *worst])]


@given(st.lists(st.lists(COSTS, max_size=4), max_size=6))
def test_costs_that_decide_are_those_of_all_so_far_in_the_same_order(
    batches: list[list[Costs]],
) -> None:
    kept, expected = Deciding(3), list[Costs]()
    for batch in batches:
        kept.add(batch)
        expected = deciding_of([*expected, *batch])
        assert kept.costs == expected
    everything = [costs for batch in batches for costs in batch]
    assert {*kept.costs} >= {
        c for c, on in zip(everything, non_dominated(everything), strict=True) if on
    }
    assert [*map(max, zip(*kept.costs, strict=True))] == [*map(max, zip(*everything, strict=True))]
