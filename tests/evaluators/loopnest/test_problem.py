from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.loopnest.kernel import OVER_CAPACITY, VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS
from archloom.space.hardware.hardware import StorageLevel
from archloom.space.workload.layer import Layer

from ...cases.designs import ALL, edge, eyeriss_like, tpu_like
from ...cases.mappers import word_by_word

LAYER = Layer(
    "conv",
    "conv",
    n=2,
    g=3,
    k=4,
    c=5,
    p=6,
    q=7,
    r=3,
    s=2,
    stride=(2, 1),
    dilation=(1, 2),
    padding=(1, 0),
    input_size=(13, 9),
)


def with_level(hardware, i, **changes):
    levels = list(hardware.levels)
    levels[i] = replace(levels[i], **changes)
    return replace(hardware, levels=tuple(levels))


def test_a_layer_becomes_its_loops_and_windows():
    problem = MappingProblem.of_layer(LAYER, edge())
    assert problem.bounds == (2, 3, 4, 5, 6, 7, 3, 2)
    assert problem.macs == LAYER.macs == 2 * 3 * 4 * 5 * 6 * 7 * 3 * 2
    assert problem.setup.window.tolist() == [[2, 1, 1, 13], [1, 2, 0, 9]]
    assert problem.setup.top.tolist() == [2, 2, 2]
    assert problem.staged == (False, False, False)


def test_capacities_are_whole_words():
    setup = MappingProblem.of_layer(LAYER, edge(glb_bytes=4097, word_bits=16)).setup
    assert setup.shared.tolist() == [128, 2048, -1]
    assert np.all(setup.capacity == -1)
    spads = MappingProblem.of_layer(LAYER, eyeriss_like()).setup
    assert spads.capacity[0].tolist() == [224, 12, 24]
    assert spads.shared.tolist() == [-1, 108 * 1024 // 2, -1]


def test_what_may_be_unrolled_and_bypassed_comes_from_the_hardware():
    setup = MappingProblem.of_layer(LAYER, tpu_like()).setup
    assert setup.allowed.tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 1]]
    assert setup.spatial[1].tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 1, 1]]
    assert setup.fanout.tolist() == [[1, 1], [256, 256], [1, 1]]
    assert not setup.optional.any()
    assert MappingProblem.of_layer(LAYER, edge()).setup.optional.tolist() == [
        [0, 0, 0],
        [1, 1, 1],
        [0, 0, 0],
    ]


def test_a_staged_operand_lives_in_the_buffer_and_may_not_bypass_it():
    problem = replace(
        MappingProblem.of_layer(LAYER, edge()), staged=(False, True, True), free_words=100
    )
    setup = problem.setup
    assert setup.top.tolist() == [2, 1, 1]
    assert setup.staged.tolist() == [0, 1, 1]
    assert setup.optional[1].tolist() == [1, 0, 0]
    assert setup.shared.tolist() == [256, 100, -1]


def test_staging_needs_a_buffer_that_keeps_the_operand():
    with pytest.raises(ValueError, match=r"eyeriss-like: no shared buffer can hold weights"):
        replace(MappingProblem.of_layer(LAYER, eyeriss_like()), staged=(True, False, False))
    private = with_level(edge(), 1, capacity_bytes=tuple((t, 1024) for t in ALL))
    with pytest.raises(ValueError, match="edge: no shared buffer can hold inputs"):
        replace(MappingProblem.of_layer(LAYER, private), staged=(False, True, False))


def test_more_levels_than_the_kernel_holds_are_refused():
    deep = edge()
    more = tuple(StorageLevel(f"l{i}", "sram", ALL, (1, 1), 4096, 4) for i in range(6))
    deep = replace(deep, levels=(deep.levels[0], *more, *deep.levels[1:]))
    with pytest.raises(ValueError, match="edge: 9 levels, must have at most 8"):
        MappingProblem.of_layer(LAYER, deep)


def test_keys_tell_problems_apart_and_ignore_names():
    base = MappingProblem.of_layer(LAYER, edge())
    others = [
        replace(base, bounds=(1, *base.bounds[1:])),
        replace(base, stride=(1, 1)),
        replace(base, dilation=(1, 1)),
        replace(base, padding=(0, 0)),
        replace(base, input_size=(12, 9)),
        replace(base, staged=(True, False, False)),
        replace(base, free_words=64),
        replace(base, weights=(1.0, 0.0)),
    ]
    assert len({p.key for p in (base, *others)}) == 1 + len(others)
    again = MappingProblem.of_layer(replace(LAYER, name="other"), edge())
    assert again.key == base.key


@pytest.mark.parametrize(
    "weights",
    [(0.0, 0.0), (-1.0, 1.0), (1.0, float("nan")), (1.0,), [1.0, 1.0], (1.0, 101.0), None],
)
def test_weights_that_are_no_exponents_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be two numbers"):
        replace(MappingProblem.of_layer(LAYER, edge()), weights=weights)


def fits(problem):
    """Whether the kernel accepts the mapping with tiles of one word."""
    mapping = word_by_word(problem)
    loops = [[v.temporal, v.spatial_x, v.spatial_y, v.order] for v in mapping.levels]
    keep = [v.keeps for v in mapping.levels]
    status, *_ = evaluate_batch(
        problem.setup, np.array([loops], np.int64), np.array([keep], np.uint8)
    )
    assert status[0] in (VALID, OVER_CAPACITY)
    return status[0] == VALID


@pytest.mark.parametrize("words", [1, 2, 3, 4])
@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("staged", [(0, 0, 0), (0, 1, 1), (1, 1, 1), (0, 0, 1)])
@pytest.mark.parametrize("level", [0, 1])
def test_a_problem_is_impossible_exactly_if_single_words_do_not_fit(level, words, optional, staged):
    hardware = with_level(edge(), level, capacity_bytes=words)
    hardware = with_level(hardware, 1, optional=optional)
    problem = replace(MappingProblem.of_layer(LAYER, hardware), staged=tuple(map(bool, staged)))
    why = problem.impossible()
    assert (why is None) == fits(problem)
    if why is not None:
        assert why.reason == "no_mapping"
        assert why.where.startswith(f"{hardware.levels[level].name} (")
        assert (why.available, why.unit) == (words, "bytes")
        assert why.needed > why.available


@pytest.mark.parametrize("free", [0, 1, 5])
def test_free_words_of_the_buffer_decide_for_streamed_weights(free):
    hardware = with_level(edge(), 1, optional=False)
    problem = replace(
        MappingProblem.of_layer(LAYER, hardware), staged=(False, True, True), free_words=free
    )
    assert (problem.impossible() is None) == fits(problem) == (free > 0)


@pytest.mark.parametrize("name", PRESETS)
def test_published_chips_can_run_a_convolution(name):
    problem = MappingProblem.of_layer(LAYER, preset(name))
    assert problem.impossible() is None
    assert fits(problem)
