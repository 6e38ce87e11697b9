"""Energy by tiles of whole numbers, on chips of levels with one instance each, against searches."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.rounding import evaluation_pj
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.workload.dims import TENSORS

from ...cases.sweeps import sweep
from .test_joint_levels import joint, problem_of


def buffers_of(seed: int):
    """Return a layer on buffers of one instance; the outermost of them keeps all tensors."""
    problem = problem_of(seed)
    *inner, last, dram = problem.hardware.levels
    inner = [replace(level, mesh=(1, 1), spatial_x=(), spatial_y=()) for level in inner]
    size = 30.0 + seed % 7 * 25
    last = replace(last, keeps=TENSORS, mesh=(1, 1), capacity_bytes=size, tensor_bits=())
    # with one buffer alone there is one boundary, and its best tile is that of a mapping
    levels = (last, dram) if seed % 2 else (*inner, last, dram)
    hardware = replace(problem.hardware, levels=levels, array=(1, 1), pe_mesh=(1, 1))
    return replace(problem, hardware=hardware, weights=(1.0, 0.0))


def held(problem: MappingProblem) -> tuple[float, float, float]:
    """Hold the bound against a search; return the energy (pJ) that it found, the bound on all
    levels together, and that of each by itself."""
    together, apart = joint(problem)
    cost = Mapper(auto_mapping(), 20_000, 0, "imperfect")(problem)
    energy_pj = cost.dynamic_pj + evaluation_pj(len(problem.hardware.levels))
    assert energy_pj >= together
    return energy_pj, together, apart


@pytest.mark.parametrize("part", sweep(range(12), 2))
def test_no_search_gets_below(part: int) -> None:
    counts = Counter()
    for seed in range(40 * part, 40 * part + 40):
        try:
            problem = buffers_of(seed)
        except ValueError:
            counts["no chip"] += 1
            continue
        if problem.impossible() is not None:
            continue
        energy_pj, together, apart = held(problem)
        counts["higher"] += together > 1.001 * apart
        # 1% more would be wrong
        counts["close"] += energy_pj < 1.01 * together and together > 1.001 * apart
    assert counts["higher"] > 3, counts
    assert counts["close"] > 0, counts


def changed(problem: MappingProblem, seed: int, gaps: bool) -> MappingProblem:
    """Return a layer whose strides exceed its taps, or do not, without dilation."""
    rng = np.random.default_rng(seed)
    bounds = list(problem.bounds)
    bounds[6:8] = [int(n) for n in rng.integers(1, 3 if gaps else 4, 2)]
    bounds[4:6] = [int(n) for n in rng.integers(2, 14, 2)]
    some = [(taps + 1, taps + 3) if gaps else (1, taps + 1) for taps in bounds[6:8]]
    rows, columns = (int(rng.integers(*of)) for of in some)
    sizes = [(bounds[4 + a] - 1) * (rows, columns)[a] + bounds[6 + a] for a in range(2)]
    return replace(
        problem,
        bounds=tuple(bounds),
        stride=(rows, columns),
        dilation=(1, 1),
        padding=(0, 0),
        input_size=(sizes[0], sizes[1]),
        weights=(1.0, 0.0),
    )


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("part", sweep(range(10), 2))
def test_nor_below_layers_that_leave_rows_out(part: int, gaps: bool) -> None:
    counts = Counter()
    for seed in range(30 * part, 30 * part + 30):
        for make in (buffers_of, problem_of):
            try:
                problem = changed(make(seed), seed, gaps)
            except ValueError:
                continue
            if problem.impossible() is not None:
                continue
            energy_pj, together, apart = held(problem)
            counts["higher"] += together > 1.001 * apart
            counts["close"] += energy_pj < 1.02 * together
    assert counts["higher"] > 3, counts
    assert counts["close"] > 1, counts
