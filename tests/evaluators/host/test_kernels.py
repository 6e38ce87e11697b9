"""Kernels of all kinds compute what float64 does, within the stated error; int8 bit by bit."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.host.csr import Csr
from archloom.evaluators.host.executable import executable
from archloom.evaluators.host.kernel import (
    ALGORITHMS,
    DTYPES,
    CompileError,
    KernelSpec,
    missing_kernel,
)
from archloom.evaluators.host.operands import random_operands
from archloom.evaluators.host.reference import WrongResultError, reference
from archloom.evaluators.host.schedules import Direct, Gemm, Library, Schedule, Untuned
from archloom.evaluators.host.shape import read_shape
from tests.cases.convolutions import (
    COMPILED_KINDS,
    LIBRARY_KINDS,
    PORTABLE_KINDS,
    convolutions,
)
from tests.cases.sweeps import sweep

#: combinations for Halide's kernels, and those of every run of the tests
ALL, SAMPLE = 532, 56
COMPILED = list(convolutions(COMPILED_KINDS, ALL))
PORTABLE = list(convolutions(PORTABLE_KINDS, 300))
LIBRARY = list(convolutions(LIBRARY_KINDS, 60))


def difference(spec: KernelSpec, schedule: Schedule, threads: int = 1) -> float:
    operands = random_operands(spec)
    return executable(spec, schedule, operands, threads).checked(reference(spec, operands))


@pytest.mark.parametrize(("spec", "schedule"), sweep(COMPILED, SAMPLE), ids=str)
def test_compiled_kernels_equal_the_reference(spec: KernelSpec, schedule: Schedule) -> None:
    assert schedule.fault(spec) is None
    off = difference(spec, schedule)
    assert off == 0 if spec.dtype == "int8" else off >= 0


def test_plain_loops_equal_the_reference() -> None:
    for spec, schedule in PORTABLE:
        off = difference(spec, schedule)
        assert off == 0 or spec.dtype != "int8"


@pytest.mark.parametrize("way", [Library(layout, p) for layout in ("nchw", "nhwc") for p in (0, 1)])
def test_the_library_equals_the_reference(way: Library) -> None:
    for spec, _ in LIBRARY:
        if way.fault(spec) is None:
            difference(spec, way)


def test_combinations_are_of_every_kind() -> None:
    for cases in (COMPILED, COMPILED[:SAMPLE]):
        kinds = Counter((s.algorithm, s.dtype, s.sparse) for s, _ in cases)
        assert set(kinds) == set(COMPILED_KINDS)
        shapes = [s.shape for s, _ in cases]
        assert {s.density for s, _ in cases if s.sparse} == {0.0, 1.0, 0.2, 0.5}
        assert any(s.depthwise for s in shapes)
        assert any(s.groups > 1 and not s.depthwise for s in shapes)
        assert {s.stride for s in shapes} >= {(1, 1), (2, 2), (3, 3)}
        assert any(s.dilation != (1, 1) for s in shapes)
        assert any(s.padding[0] != s.padding[1] for s in shapes)
        tuned = [schedule for _, schedule in cases if not isinstance(schedule, Untuned)]
        assert len(tuned) > len(cases) / 2
    assert len({(str(spec), str(schedule)) for spec, schedule in COMPILED}) >= 500


@pytest.mark.parametrize("algorithm", ["direct", "gemm", "spatial_pack"])
def test_several_threads_compute_the_same(algorithm: str) -> None:
    spec = KernelSpec(read_shape("8x9x9:16:3x3,activation=relu"), algorithm)
    assert difference(spec, Untuned(), threads=2) < 1e-5


def test_a_wrong_kernel_is_found() -> None:
    """The check can fail: one weight that is off by a thousandth is too much."""
    spec = KernelSpec(read_shape("8x9x9:16:3x3"), "portable")
    operands = random_operands(spec)
    wanted = reference(spec, operands)
    weights = operands.weights.copy()
    weights[3, 2, 1, 0] += 1e-3
    with pytest.raises(WrongResultError, match=r"results differ; at \(3, "):
        executable(spec, Untuned(), replace(operands, weights=weights)).checked(wanted)
    whole = KernelSpec(spec.shape, "portable", "int8")
    operands = random_operands(whole)
    wanted = reference(whole, operands)
    off = replace(operands, bias=operands.bias + np.int32(1 / operands.scale))
    with pytest.raises(WrongResultError):
        executable(whole, Untuned(), off).checked(wanted)


def test_a_result_that_is_not_a_number_is_wrong() -> None:
    spec = KernelSpec(read_shape("2x5x5:2:3x3"), "portable")
    operands = random_operands(spec)
    image = operands.image.copy()
    image[0, 2, 2] = np.nan
    with pytest.raises(WrongResultError):
        executable(spec, Untuned(), replace(operands, image=image)).checked(
            reference(spec, operands)
        )


def test_a_schedule_that_does_not_fit_is_an_error_and_no_wrong_result() -> None:
    spec = KernelSpec(read_shape("4x6x6:4:3x3"), "direct")
    wide = Direct(vector=16, x_vectors=4)
    assert wide.fault(spec) is not None
    with pytest.raises(CompileError, match=r"beyond|before"):
        difference(spec, wide)
    with pytest.raises(CompileError, match="Gemm is no schedule of"):
        difference(spec, Gemm())


def test_every_combination_has_a_kernel_or_a_reason() -> None:
    shape = read_shape("4x6x6:4:3x3")
    have = set()
    for algorithm in ALGORITHMS:
        for dtype in DTYPES:
            for sparse in (False, True):
                spec = KernelSpec(shape, algorithm, dtype, sparse)
                why = missing_kernel(spec)
                if why is None:
                    have.add((algorithm, dtype, sparse))
                else:
                    assert why.hint
    assert have == {*COMPILED_KINDS, *PORTABLE_KINDS, *LIBRARY_KINDS}


@pytest.mark.parametrize(
    ("part", "change", "fault"),
    [
        ("places", lambda a: a + 36, "columns are"),
        ("places", lambda a: a - 40, "columns are"),
        ("places", lambda a: a[:-1], "columns for"),
        ("starts", lambda a: a[::-1].copy(), "row pointers must"),
        ("starts", lambda a: np.concatenate((a[:2], a[1:2] - 1, a[3:])), "must not descend"),
        ("starts", lambda a: a[:-1], "row pointers must begin with 0"),
        ("values", lambda a: a[:, None], "values must have one axis"),
    ],
)
def test_corrupt_csr_weights_are_refused(part: str, change: object, fault: str) -> None:
    spec = KernelSpec(read_shape("4x6x6:8:3x3"), "gemm", "float32", sparse=True, density=0.4)
    sound = random_operands(spec).csr
    arrays = {name: getattr(sound, name) for name in ("values", "places", "starts")}
    arrays[part] = change(arrays[part])  # type: ignore[operator]
    with pytest.raises(ValueError, match=fault):
        Csr(**arrays, columns=sound.columns)
