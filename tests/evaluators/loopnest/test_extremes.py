"""Layers of a trillion multiply-accumulates and more: exact, or refused by name."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, inf, prod
from random import Random

import numpy as np
import pytest

from archloom.evaluators.loopnest.kernel import VALID
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv1d

from ...cases.mapped_layers import drawn, primes
from ...cases.sweeps import sweep
from ...oracles import closed_form as plain
from ...oracles.compared import closed
from ...oracles.walked_cost import nest_of
from ...oracles.walked_nest import ALL, INPUTS, count
from .test_optional_effects import buffer, chip
from .test_oracle import SEED

#: bounds that are large, prime, or of few and of many factors
LARGE = (2, 3, 7, 64, 211, 1024, 3600, 65_536, 65_537, 999_983, 10**6, 2**20, 10**6 + 3)
PJ = (1.25, 2.5, 0.75)


def huge(rng, least, most):
    """Draw loop bounds whose product lies between the two."""
    while True:
        bounds = [1] * 8
        for _ in range(rng.randint(2, 7)):
            bounds[rng.randrange(8)] *= rng.choice(LARGE)
        if least <= prod(bounds) <= most:
            return tuple(bounds)


def tall(rng, bandwidth=inf):
    """Eight levels with up to 64 x 64 children each somewhere, and room for everything."""
    meshes = [(1, 1)]
    for _ in range(7):
        fan = rng.choice([(1, 1), (1, 1), (3, 1), (64, 16), (211, 1)])
        mesh = (meshes[0][0] * fan[0], meshes[0][1] * fan[1])
        meshes.insert(0, mesh if prod(mesh) < 2**24 else meshes[0])
    levels = [
        StorageLevel(
            name=f"level {i}",
            storage="dram" if i == 7 else "sram",
            keeps=TENSORS,
            mesh=mesh,
            capacity_bytes=None if i == 7 else 2.0**64,
            bandwidth_words=bandwidth,
            optional=i < 7,
            energy=AccessEnergy(*PJ),
        )
        for i, mesh in enumerate(meshes)
    ]
    return Hardware(
        name="tall",
        technology="cacti_45nm",
        frequency_mhz=1000,
        word_bits=16,
        pe_mesh=meshes[0],
        array=(1, 1),
        levels=tuple(levels),
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=0.5,
    )


def dealt(rng, bounds, hardware):
    """Deal all factors to loops, some of them unrolled."""
    height = len(hardware.levels)
    rows = [[[1] * 8 for _ in range(3)] for _ in range(height)]
    for d in ALL:
        for factor in primes(bounds[d]):
            level, axis = rng.randrange(height), rng.randrange(2)
            fits = hardware.fanouts[level][axis] >= factor * prod(rows[level][1 + axis])
            kind = 1 + axis if fits and rng.random() < 0.8 else 0
            rows[level][kind][d] *= factor
    share = rng.choice((0.4, 1.0))
    keeps = [tuple(rng.random() < share for _ in TENSORS) for _ in range(height - 1)]
    return Mapping(
        tuple(
            LevelMapping(tuple(t), tuple(rng.sample(ALL, 8)), tuple(x), tuple(y), held)
            for (t, x, y), held in zip(rows, [*keeps, (True,) * 3], strict=True)
        )
    )


def problem_of(bounds, hardware, stride=(1, 1), dilation=(1, 1)):
    sizes = [
        (bounds[4 + a] - 1) * stride[a] + (bounds[6 + a] - 1) * dilation[a] + 1 for a in (0, 1)
    ]
    return MappingProblem(bounds, stride, dilation, (0, 0), tuple(sizes), hardware)


#: in each a share of what is drawn
PARTS = 4
parts = pytest.mark.parametrize("part", sweep(range(PARTS), 1))


@parts
def test_plain_python_agrees_with_the_walked_nest(part):
    """What large nests are compared with holds for small ones."""
    checked = 0
    for number in range(part, 400, PARTS):
        case = drawn(SEED, number)
        nest = replace(nest_of(case.problem, case.mapping), multicast=[])
        if nest.top != (nest.levels - 1,) * 3:
            continue
        # a map that every window lies in
        nest = replace(nest, padding=(0, 0), input_size=(999, 999))
        assert plain.count(nest) == count(nest).tolist()
        checked += 1
    assert checked > 200 / PARTS


@parts
@pytest.mark.parametrize(
    ("least", "most"), [(10**12, 10**13), (10**13, 10**14), (10**14, 10**15), (10**15, 2**53)]
)
def test_counts_of_large_layers_are_exact(least, most, part):
    rng = Random(least + part)
    for _ in range(15):
        bounds, hardware = huge(rng, least, most), tall(rng)
        mapping, problem = dealt(rng, bounds, hardware), problem_of(bounds, hardware)
        found, nest = closed(problem, mapping), nest_of(problem, mapping)
        assert found.status == VALID
        expected, used = plain.count(nest), plain.used(nest)
        assert found.counts.tolist() == expected
        assert found.used.tolist() == used
        # multiply-accumulates, and steps of all MACs together
        assert found.chip == prod(f for v in mapping.levels for f in v.temporal)
        energy = prod(bounds) * Fraction(1, 2)
        for level, row in enumerate(expected):
            each = sum(Fraction(p) * n for cell in row for p, n in zip(PJ, cell, strict=True))
            energy += used[level] * each
        assert found.energy == pytest.approx(float(energy), rel=1e-14)
        cost = mapped_cost(problem, mapping)
        words = [[used[v] * sum(cell) for cell in row] for v, row in enumerate(expected)]
        assert cost.words.tolist() == words
        assert (cost.dram_reads, cost.dram_writes) == (
            sum(cell[0] for cell in expected[-1]),
            expected[-1][2][2],
        )


@parts
def test_windows_of_large_layers_are_exact(part):
    rng = Random(5 + 10 * part)
    for _ in range(15):
        hardware = tall(rng)
        bounds = huge(rng, 10**12, 10**13)
        stride, dilation = ((rng.randint(1, 6), rng.randint(1, 6)) for _ in range(2))
        problem = problem_of(bounds, hardware, stride, dilation)
        mapping = dealt(rng, bounds, hardware)
        assert closed(problem, mapping).counts.tolist() == plain.count(nest_of(problem, mapping))


@parts
def test_cycles_of_ports_are_exact(part):
    rng = Random(6 + 10 * part)
    for _ in range(15):
        bounds, hardware = huge(rng, 10**12, 10**14), tall(rng, bandwidth=0.5)
        mapping, problem = dealt(rng, bounds, hardware), problem_of(bounds, hardware)
        found = closed(problem, mapping)
        counts = plain.count(nest_of(problem, mapping))
        cycles = [ceil(sum(map(sum, row)) * 2) for row in counts]
        steps = prod(f for v in mapping.levels for f in v.temporal)
        assert (found.chip, found.dram) == (max(steps, *cycles[:-1]), cycles[-1])


def test_the_largest_layer_is_exact_and_a_larger_one_is_refused():
    rng = Random(7)
    hardware = tall(rng)
    bounds = (1, 1, 2**20, 2**13, 2**20, 1, 1, 1)
    mapping, problem = dealt(rng, bounds, hardware), problem_of(bounds, hardware)
    assert closed(problem, mapping).counts.tolist() == plain.count(nest_of(problem, mapping))
    for d, factor in ((0, 2), (5, 3), (7, 10**6)):
        larger = tuple(n * factor if i == d else n for i, n in enumerate(bounds))
        with pytest.raises(
            ValueError, match=r"tall: .* multiply-accumulates, must make at most 9007199254740992"
        ):
            problem_of(larger, hardware)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stride": (2**40, 2**40)}, "bits to move .* stride .*1099511627776"),
        ({"dilation": (2**26, 2**26)}, "bits to move .* dilation .*67108864"),
        ({"stride": (2**60, 1)}, "stride must be 2 whole numbers"),
        ({"padding": (2**70, 0)}, "padding must be 2 whole numbers, at least 0"),
        ({"input_size": (10**40, 1)}, "input_size must be 2 whole numbers"),
        ({"bounds": (10**30, *(1,) * 7)}, "bounds must be 8 whole numbers"),
        ({"loop_bounds": (2**54, *(1,) * 7)}, "loop_bounds must be whole numbers"),
        ({"free_words": 2**63}, "free_words must be a whole number"),
    ],
)
def test_what_would_overflow_is_refused(changes, message):
    problem = problem_of((4,) * 8, tall(Random(8)))
    with pytest.raises(ValueError, match=f"tall: .*{message}"):
        replace(problem, **changes)


def test_wide_words_leave_less_to_count():
    hardware = tall(Random(9))
    bounds = (1, 1, 2**20, 2**11, 2**20, 1, 1, 1)
    problem_of(bounds, hardware)
    levels = [replace(v, tensor_bits=(("outputs", 1024),)) for v in hardware.levels]
    with pytest.raises(ValueError, match="words of up to 1024 bits"):
        problem_of(bounds, replace(hardware, levels=tuple(levels)))


@parts
def test_the_largest_problem_that_is_taken_never_wraps(part):
    """At the limit of what is counted, every figure is what whole numbers of any size give."""
    rng, checked = Random(10 + 10 * part), 0
    while checked < 15:
        bounds, hardware = huge(rng, 10**10, 10**15), tall(rng)
        stride = (rng.randint(1, 2**11), rng.randint(1, 2**11))
        dilation = (rng.randint(1, 2**11), rng.randint(1, 2**11))
        wide = rng.choice((16, 48, 64))
        levels = tuple(replace(v, tensor_bits=(("outputs", wide),)) for v in hardware.levels)
        try:
            problem = problem_of(bounds, replace(hardware, levels=levels), stride, dilation)
        except ValueError:
            continue
        checked += 1
        mapping = dealt(rng, bounds, hardware)
        cost, nest = mapped_cost(problem, mapping), nest_of(problem, mapping)
        counts, used = plain.count(nest), plain.used(nest)
        words = [[used[v] * sum(cell) for cell in row] for v, row in enumerate(counts)]
        assert cost.words.tolist() == words
        assert cost.dram_reads == -(
            -sum(c[0] * b for c, b in zip(counts[-1], (16, 16, wide), strict=True)) // 16
        )
        assert np.isfinite(cost.energy_pj).all()
        assert (cost.energy_pj >= 0).all()


def test_long_kernels_are_counted_without_walking_them():
    # as many taps as samples, and as much padding: half of what windows cover is none of the map
    length = 1 << 20
    layer = conv1d("c", 1, 1, length, length, 1, length - 1)
    assert layer.p == 2 * length - 1
    # results inside taps: each tap reads the whole map once
    problem = MappingProblem.of_layer(layer, chip(buffer(capacity_bytes=1 << 30)))
    found = closed(problem, Mapping.from_text(f"WIO:// WIO:P{2 * length - 1}.R{length}//"))
    assert found.counts[1][INPUTS].tolist() == [length * length, 0, 0]
    # taps inside results: neighbours share all but one, and no window has more than the map
    found = closed(problem, Mapping.from_text(f"WIO:R{length}// WIO:P{2 * length - 1}//"))
    assert found.counts[1][INPUTS].tolist() == [length, 0, 0]


def test_a_layer_that_is_too_large_is_refused_where_it_is_made():
    with pytest.raises(ValueError, match=r"layer l: macs is .*, must be at most 9007199254740992"):
        Layer("l", "gemm", k=10**6, c=10**6, p=10**6, input_size=(10**6, 1))
