"""Tiles whose mappings cannot differ are one problem, mapped once."""

from dataclasses import replace

import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.hardware.hardware import Hardware

from ...cases.small_designs import casco_edge, chain, three_levels

NET = chain(2, size=16, channels=8)
EDGE, EYERISS = casco_edge(64), preset("eyeriss")


def problems(hardware: Hardware) -> list[MappingProblem]:
    """What is asked for tiles of a fused group that leave much room or little for weights."""
    mapper, asked = Mapper(LocalMapping(), 2, 1), []

    def ask(problem: MappingProblem) -> LayerCost | Infeasible:
        asked.append(problem)
        return mapper(problem)

    for rows in (1, 2, 4):
        assert isinstance(
            group_cost(NET, FusionGroup((0, 1), (rows, 16)), hardware, ask), GroupCost
        )
    return asked


@pytest.mark.parametrize("free", [64, 100, 1024])
def test_room_beyond_all_weights_changes_no_mapping(free: int) -> None:
    """The pointwise layer has 64 words of weights, which are all that streams."""
    window = ((1, 1), (1, 1), (0, 0), (4, 16))
    whole = MappingProblem(
        (1, 1, 8, 8, 4, 16, 1, 1), *window, three_levels(600), (False, True, True)
    )
    one, other = prove(whole, 10**7).best, prove(replace(whole, free_words=free), 10**7).best
    assert one is not None
    assert other is not None
    assert (one.energy_pj, one.cycles) == (other.energy_pj, other.cycles)
    assert one.loops.tolist() == other.loops.tolist()
    tight = prove(replace(whole, free_words=2), 10**7).best
    assert tight is not None
    assert tight.score > one.score


def test_tiles_with_room_for_all_weights_are_asked_for_alike() -> None:
    assert {problem.free_words for problem in problems(EDGE)} == {None}
    # here maps leave less than the 576 words of the 3x3 layer's weights
    levels = (*EDGE.levels[:-2], replace(EDGE.levels[-2], capacity_bytes=1536), EDGE.levels[-1])
    free = [problem.free_words for problem in problems(replace(EDGE, levels=levels))]
    assert 0 < sum(words is not None and words < 576 for words in free) < len(free)


def test_where_weights_pass_the_buffer_its_room_does_not_matter() -> None:
    assert "weights" not in EYERISS.levels[-2].keeps
    assert {problem.free_words for problem in problems(EYERISS)} == {None}
