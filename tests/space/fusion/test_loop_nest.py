import pytest
from hypothesis import given, strategies as st

from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup, FusionPlan

ONE = (NestLoop(0, 2),)


@pytest.mark.parametrize(
    ("loops", "depth", "message"),
    [
        ((), (0,), r"loops must be over different ranks, got \[\]"),
        ((NestLoop(1, 2), NestLoop(1, 1)), (0,), r"different ranks, got \[1, 1\]"),
        ((NestLoop(0, 0),), (0,), "a tile from 1 on"),
        ((NestLoop(-1, 2),), (0,), "a rank from 0 on"),
        (ONE, (0, 2), r"depths must be from -1 to 1, got \(0, 2\)"),
        (ONE, (-2,), "depths must be from -1 to 1"),
    ],
)
def test_what_is_no_nest(loops: tuple[NestLoop, ...], depth: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoopNest(loops, depth)


def test_only_what_cores_share_out_is_taken_in_turn() -> None:
    with pytest.raises(ValueError, match="only iterations that are dealt to cores"):
        LoopNest(ONE, (0, STREAMED), in_turn=True)


def test_a_nest_takes_the_place_of_tiles() -> None:
    nest = LoopNest(ONE, (0, STREAMED))
    for other in (
        {"tile": (2, 2)},
        {"halo": "keep_all"},
        {"resident": (1,)},
    ):
        with pytest.raises(ValueError, match="a loop nest excludes tile"):
            FusionGroup((0, 1), nest=nest, **other)  # type: ignore[arg-type]
    assert FusionGroup((0, 1), steady=(1,), nest=nest).nest == nest


@given(data=st.data())
def test_nests_come_back_from_json(data: st.DataObject) -> None:
    ranks = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
    loops = tuple(NestLoop(rank, data.draw(st.integers(1, 99))) for rank in ranks)
    depth = data.draw(st.lists(st.integers(STREAMED, len(loops)), max_size=9).map(tuple))
    dealt = data.draw(st.booleans())
    nest = LoopNest(loops, depth, dealt=dealt, in_turn=dealt and data.draw(st.booleans()))
    assert LoopNest.from_dict(nest.to_dict()) == nest
    assert ("dealt" in nest.to_dict()) == nest.dealt
    assert ("in_turn" in nest.to_dict()) == nest.in_turn
    plan = FusionPlan((FusionGroup((0, 1), nest=nest), FusionGroup((2,))))
    assert FusionPlan.from_list(plan.to_list()) == plan
