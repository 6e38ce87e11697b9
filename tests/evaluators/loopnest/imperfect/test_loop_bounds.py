"""Problems whose mappings cover more than the loops of the layer, and what those cost."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import evaluate_batch
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.padding import padded_bounds
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.mapping.mapping import LevelMapping, Mapping, trimmed
from archloom.space.workload.layer import Layer

from ....cases.designs import edge, eyeriss_like
from ....cases.mappers import ONES, word_by_word

CONV = Layer("c", "conv", k=7, c=3, p=5, q=5, r=3, s=3, padding=(1, 1), input_size=(5, 5))
ALEXNET_1 = Layer(
    "c1", "conv", k=96, c=3, p=55, q=55, r=11, s=11, stride=(4, 4), input_size=(227, 227)
)
EXACT = MappingProblem.of_layer(CONV, edge())
PADDED = replace(EXACT, loop_bounds=(1, 1, 8, 3, 6, 6, 3, 3))
EVERY = (True, True, True)


def row(**of: int) -> tuple[int, ...]:
    return tuple(of.get(d, 1) for d in "NGKCPQRS")


def spread_out() -> Mapping:
    """K = 8 on columns and in time, P and Q on rows and in time: 6 for 5 of them."""
    order = tuple(range(8))
    return Mapping(
        (
            LevelMapping(row(R=3, S=3), order, ONES, ONES, EVERY),
            LevelMapping(row(P=2, Q=3, C=3), order, row(K=4), row(P=3), EVERY),
            LevelMapping(row(K=2, Q=2), order[::-1], ONES, ONES, EVERY),
        )
    )


def test_loop_bounds_are_what_searches_see() -> None:
    assert PADDED.loop_bounds == spread_out().factors
    assert PADDED.setup.bounds.tolist() == [1, 1, 8, 3, 6, 6, 3, 3]
    assert PADDED.macs == EXACT.macs == prod(CONV.bounds)
    assert PADDED.covered == PADDED.loop_bounds
    assert EXACT.covered == EXACT.bounds
    for name in EXACT.setup._fields:
        if name != "bounds":
            assert np.array_equal(getattr(EXACT.setup, name), getattr(PADDED.setup, name))


def test_keys_tell_covered_bounds_apart_and_plain_ones_stay_as_they_were() -> None:
    assert "covered" not in EXACT.key
    assert replace(EXACT, loop_bounds=EXACT.bounds).key == EXACT.key
    more = replace(PADDED, loop_bounds=(1, 1, 9, 3, 6, 6, 3, 3))
    assert len({EXACT.key, PADDED.key, more.key}) == 3


@pytest.mark.parametrize("loops", [(1, 1, 6, 3, 6, 6, 3, 3), (1, 1, 8, 3, 6, 6, 3)])
def test_loop_bounds_cover_the_loops(loops: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"loop bounds .* do not cover the loops \(1, 1, 7, 3, 5"):
        replace(EXACT, loop_bounds=loops)


def test_a_found_mapping_is_priced_as_far_as_there_is_work() -> None:
    mapping = spread_out()
    loops, keep = mapping.arrays()
    cost = mapped_cost(PADDED, mapping)
    setup = PADDED.setup._replace(bounds=np.array(EXACT.bounds))
    expected = imperfect_cost(setup, loops, keep)
    assert cost.words.tolist() == expected.totals.sum(axis=2).tolist()
    assert cost.operations == EXACT.macs
    assert cost.dynamic_pj == pytest.approx(expected.dynamic_pj, abs=0.05)
    assert (cost.chip_cycles, cost.dram_cycles) == (expected.chip_cycles, expected.dram_cycles)
    # what the search saw of it is no less
    _, energy, chip, dram = evaluate_batch(PADDED.setup, loops[None], keep[None])
    assert cost.dynamic_pj < energy[0]
    assert cost.chip_cycles <= chip[0]
    assert cost.dram_cycles <= dram[0]
    # one of the six columns of outputs is left out in all three rows of PEs
    assert cost.dram_writes == 7 * 5 * 5


def test_idle_steps_are_trimmed_before_a_mapping_is_priced_and_kept() -> None:
    rows = word_by_word(PADDED, -2)
    wide = Mapping((rows.levels[0], rows.levels[1], rows.levels[2]))
    levels = list(wide.levels)
    levels[1] = replace(levels[1], temporal=row(K=4, C=3, P=3, Q=3, R=3, S=3))
    levels[2] = replace(levels[2], temporal=row(K=2, P=2, Q=2))
    wide = Mapping(tuple(levels))
    cost = mapped_cost(replace(PADDED, bounds=(1, 1, 4, 3, 5, 5, 3, 3)), wide)
    assert cost.mapping is not None
    assert cost.mapping.factors == (1, 1, 4, 3, 6, 6, 3, 3)
    assert cost.mapping == trimmed(wide, (1, 1, 4, 3, 5, 5, 3, 3))
    again = replace(PADDED, bounds=(1, 1, 4, 3, 5, 5, 3, 3), loop_bounds=cost.mapping.factors)
    assert mapped_cost(again, cost.mapping).dynamic_pj == cost.dynamic_pj


def test_exact_bounds_given_as_loop_bounds_change_nothing() -> None:
    mapping = word_by_word(EXACT, -2)
    one, other = (
        mapped_cost(p, mapping) for p in (EXACT, replace(EXACT, loop_bounds=EXACT.bounds))
    )
    assert one.words.tolist() == other.words.tolist()
    assert one.energy_pj.tolist() == other.energy_pj.tolist()


def test_wrong_and_oversized_mappings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"mapping covers \(1, 1, 7, .* loops \(1, 1, 8, 3, 6"):
        mapped_cost(PADDED, word_by_word(EXACT))
    levels = list(spread_out().levels)
    levels[1] = replace(levels[1], spatial_x=row(K=8))
    levels[2] = replace(levels[2], temporal=row(Q=2))
    with pytest.raises(ValueError, match="does not fit edge"):
        mapped_cost(PADDED, Mapping(tuple(levels)))


def test_alexnets_first_layer_fills_eyeriss() -> None:
    """55 rows on 14 columns: 4 steps in place of the 5 that the divisor 11 takes."""
    chip = eyeriss_like()
    wide = tuple(replace(level, bandwidth_words=1e6) for level in chip.levels)
    problem = MappingProblem.of_layer(ALEXNET_1, replace(chip, levels=wide))
    assert padded_bounds(problem) == (1, 1, 96, 3, 56, 55, 11, 11)
    order = tuple(range(8))

    def mapping(columns: int, steps: int) -> Mapping:
        return Mapping(
            (
                LevelMapping(row(S=11), order, ONES, ONES, EVERY),
                LevelMapping(row(P=steps), order, row(P=columns), row(R=11), (False, True, True)),
                LevelMapping(row(K=96, Q=55, C=3), order, ONES, ONES, EVERY),
            )
        )

    exact = mapped_cost(problem, mapping(11, 5))
    cut = replace(problem, loop_bounds=mapping(14, 4).factors)
    clipped = mapped_cost(cut, mapping(14, 4))
    assert clipped.operations == exact.operations == ALEXNET_1.macs
    assert exact.chip_cycles == 5 * 11 * 96 * 55 * 3
    assert clipped.chip_cycles == 4 * 11 * 96 * 55 * 3
    assert clipped.dram_writes == exact.dram_writes
