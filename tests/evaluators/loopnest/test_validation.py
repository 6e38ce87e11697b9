"""Buffers below the smallest tiles: the bytes named are the least that the kernel takes."""

from dataclasses import replace
from random import Random

import pytest

from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.validation import Shortage, shortages
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS

from ...cases.designs import edge, eyeriss_like
from ...cases.mapped_layers import some
from ...cases.sweeps import sweep
from .test_problem import LAYER, fits, with_level

ONE_BIT = 0.125


def draw(seed: int) -> MappingProblem:
    """Draw a problem on hardware of tiny buffers, private or shared, of words of all widths."""
    rng = Random(f"shortage-{seed}")
    bits = rng.choice((4, 8, 16))
    levels = []
    for i in range(rng.choice((1, 2, 3))):
        keeps = some(rng, 0.8) or TENSORS
        sizes = {t: rng.choice((1, 2, 3, 5, 8, 12)) / rng.choice((1, 1, 2)) for t in keeps}
        levels.append(
            StorageLevel(
                f"level {i}",
                "sram",
                keeps,
                (1, 1),
                tuple(sizes.items()) if rng.random() < 0.4 else sum(sizes.values()) / 2,
                4.0,
                optional=rng.random() < 0.2,
                multiple_buffering=rng.choice((1.0, 1.0, 1.5, 2.0, 2.7)),
                tensor_bits=tuple((t, rng.choice((8, 12, 16, 24))) for t in some(rng, 0.3)),
            )
        )
    dram = StorageLevel("dram", "dram", TENSORS, (1, 1), None, 4.0)
    priced = tuple(replace(level, energy=AccessEnergy(1, 1, 1)) for level in (*levels, dram))
    hardware = replace(edge(word_bits=bits), levels=priced, pe_mesh=(1, 1), mac_pj=1.0)
    problem = MappingProblem.of_layer(LAYER, hardware)
    buffer = hardware.fusion_level
    if buffer is None or rng.random() < 0.4:
        return problem
    staged = tuple(t in levels[buffer].keeps and rng.random() < 0.5 for t in TENSORS)
    return replace(problem, staged=staged, free_words=rng.choice((None, 0, 1, 2)))


def found(problem: MappingProblem) -> list[Shortage]:
    return shortages(problem.hardware, problem.setup, problem.free_words)


def enlarged(problem: MappingProblem, short: Shortage, size: float) -> MappingProblem:
    """Give the buffer that is short so many bytes; beside maps, as fusion would count them."""
    levels = problem.hardware.levels
    i = [level.name for level in levels].index(short.level)
    now = levels[i].capacity_bytes
    if short.beside_maps:
        size = now + size - short.available_bytes
        after = with_level(problem.hardware, i, capacity_bytes=size)
        words = buffer_words(after) - buffer_words(problem.hardware)
        return replace(problem, hardware=after, free_words=problem.free_words + words)
    if short.private:
        size = tuple((t, size if t == short.tensors[0] else b) for t, b in now)
    return replace(problem, hardware=with_level(problem.hardware, i, capacity_bytes=size))


def bypassing(problem: MappingProblem, short: Shortage, tensors: tuple[str, ...]) -> list[str]:
    """Return the levels that are short if these tensors may bypass one of them."""
    i = [level.name for level in problem.hardware.levels].index(short.level)
    optional = problem.setup.optional.copy()
    optional[i, [TENSORS.index(t) for t in tensors]] = 1
    setup = problem.setup._replace(optional=optional)
    left = shortages(problem.hardware, setup, problem.free_words)
    return [s.level for s in left if not s.private or s.tensors == short.tensors]


SHORT = [seed for seed in range(300) if found(draw(seed))]


def test_enough_kinds_of_shortage_are_drawn() -> None:
    every = [short for seed in SHORT for short in found(draw(seed))]
    assert len(SHORT) > 100
    assert any(short.private for short in every)
    assert any(short.beside_maps for short in every)
    assert any(len(short.escapes) > 1 for short in every)
    assert any(len(short.escapes[0]) > 1 for short in every)
    assert any(len(found(draw(seed))) > 1 for seed in SHORT)


def test_a_problem_has_a_mapping_exactly_if_nothing_is_short() -> None:
    for seed in range(300):
        problem = draw(seed)
        assert fits(problem) == (not found(problem)) == (problem.impossible() is None), seed


@pytest.mark.parametrize("seed", sweep(SHORT[:100], 35))
def test_the_bytes_that_are_named_are_the_least_that_help(seed: int) -> None:
    problem = draw(seed)
    for short in found(problem):
        assert short.available_bytes < short.needed_bytes
        less = enlarged(problem, short, short.needed_bytes - ONE_BIT)
        assert (short.level, short.tensors) in [(s.level, s.tensors) for s in found(less)]
        enough = enlarged(problem, short, short.needed_bytes)
        assert found(enough) == [s for s in found(problem) if s != short]


@pytest.mark.parametrize("seed", sweep(SHORT[:100], 35))
def test_following_the_reasons_one_by_one_ends_in_a_mapping(seed: int) -> None:
    problem = draw(seed)
    while (why := problem.impossible()) is not None:
        (first, *others) = found(problem)
        assert (why.needed, why.available) == (first.needed_bytes, first.available_bytes)
        problem = enlarged(problem, first, why.needed)
        assert found(problem) == others
    assert fits(problem)


@pytest.mark.parametrize("seed", sweep(SHORT[:100], 35))
def test_every_bypass_that_is_offered_helps_and_no_fewer_would(seed: int) -> None:
    problem = draw(seed)
    for short in found(problem):
        for tensors in short.escapes:
            assert short.level not in bypassing(problem, short, tensors)
            for t in tensors:
                fewer = tuple(u for u in tensors if u != t)
                assert short.level in bypassing(problem, short, fewer)


def reason(hardware: Hardware, **changes) -> str:
    return str(replace(MappingProblem.of_layer(LAYER, hardware), **changes).impossible())


def test_a_shared_buffer_in_words() -> None:
    hardware = with_level(edge(), 0, capacity_bytes=2)
    assert reason(hardware) == (
        "no_mapping at rf (weights, inputs, outputs): needs 3 bytes, 2 bytes available; "
        "give rf at least 3 bytes, "
        "or let weights or inputs or outputs bypass it"
    )
    double = with_level(hardware, 0, multiple_buffering=2.0, capacity_bytes=3)
    assert (
        "needs 6 bytes, 3 bytes available; give rf at least 6 bytes, or let weights and inputs"
        in reason(double)
    )


def test_a_private_buffer_in_words() -> None:
    spads = (("weights", 448), ("inputs", 1), ("outputs", 48))
    hardware = with_level(eyeriss_like(), 0, capacity_bytes=spads)
    assert reason(hardware) == (
        "no_mapping at spad (inputs): needs 2 bytes, 1 byte available; give the buffer "
        "of inputs in spad at least "
        "2 bytes, or let inputs bypass it"
    )


def test_all_that_is_short_is_mended_by_one_hint() -> None:
    hardware = with_level(with_level(edge(), 0, capacity_bytes=2), 1, optional=False)
    wide = (("weights", 16), ("outputs", 32))
    hardware = with_level(hardware, 1, capacity_bytes=6, tensor_bits=wide)
    assert reason(hardware).endswith(
        "give rf at least 3 bytes, or let weights or inputs or outputs bypass it; "
        "and give glb at least 7 bytes, or let weights or inputs or outputs bypass it"
    )


def test_the_rest_of_a_buffer_that_holds_maps() -> None:
    hardware = with_level(edge(), 1, optional=False)
    assert reason(hardware, staged=(False, True, True), free_words=0) == (
        "no_mapping at glb (weights): needs 1 byte, 0 bytes available; give glb at least "
        "1 more byte, "
        "or let weights bypass it, or fuse fewer layers"
    )
