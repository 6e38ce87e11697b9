"""Compilation of Halide kernels for this machine, and their calls."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel import CompileError, KernelSpec
from ..operands import Operands
from ..schedules import (
    Code,
    Direct,
    Gemm,
    Schedule,
    SparseRows,
    SpatialPack,
    Untuned,
    code_key,
)
from .direct import direct
from .formula import Formula, halide
from .gemm import gemm
from .sparse import sparse
from .spatial_pack import packed_vector, spatial_pack


@cache
def target() -> Any:
    """Return this machine as Halide sees it."""
    return halide().get_host_target()


def compiled_layer(
    spec: KernelSpec, schedule: Schedule, operands: Operands, threads: int, code: Code | None = None
) -> Callable[[NDArray[Any], NDArray[Any]], Callable[[], object]]:
    """Return a function that binds a compiled kernel to the maps that it reads and fills.

    Args:
        spec, schedule, operands, threads: as of a kernel.
        code: what was compiled before with as many threads; what is compiled now is added.

    Raises:
        CompileError: Halide refuses the schedule.
    """
    arguments, call = _compiled(spec, schedule, operands, threads, {} if code is None else code)
    groups = Formula(spec).groups

    def bind(image: NDArray[Any], result: NDArray[Any]) -> Callable[[], object]:
        shape = spec.shape
        axes = (groups, shape.c // groups, shape.h, shape.w)
        read = _buffer(image.reshape(axes))
        filled = _buffer(result.reshape(_result_axes(spec)))
        bound = [read, *arguments[1:], filled]
        try:
            # what a schedule reads or fills is compared with the buffers when it runs
            call(*bound)
        except halide().HalideError as error:
            raise CompileError(str(error).strip()) from None
        return lambda: call(*bound)

    return bind


def _compiled(
    spec: KernelSpec, schedule: Schedule, operands: Operands, threads: int, code: Code
) -> tuple[list[Any], Any]:
    hl = halide()
    formula = Formula(spec, threads)
    shape, groups = spec.shape, formula.groups
    image = operands.image.reshape(groups, shape.c // groups, shape.h, shape.w)
    bias = operands.bias.reshape(groups, -1)
    try:
        if (key := code_key(spec, schedule)) not in code:
            result, parameters = _built(formula, schedule)
            parameters += [formula.scale] if spec.dtype == "int8" else []
            code[key] = hl.Pipeline([result]).compile_to_callable(parameters, target())
        if spec.sparse:
            matrix = operands.csr
            # a buffer of Halide holds one value at least
            values = matrix.values if len(matrix.values) else np.zeros(1, np.float32)
            places = matrix.places if len(matrix.places) else np.zeros(1, np.int32)
            arrays: list[Any] = [image, values, places, matrix.starts, bias]
            arguments = [*map(_buffer, arrays), matrix.longest]
        else:
            arguments = [*map(_buffer, (image, _weights(formula, schedule, operands), bias))]
        if spec.dtype == "int8":
            arguments.append(operands.scale)
        return arguments, code[key]
    except hl.HalideError as error:
        raise CompileError(str(error).strip()) from None


def _built(formula: Formula, schedule: Schedule) -> tuple[Any, list[Any]]:
    name = formula.spec.algorithm
    if formula.spec.sparse and isinstance(schedule, SparseRows | Untuned):
        return sparse(formula, schedule)
    if name == "direct" and isinstance(schedule, Direct | Untuned):
        return direct(formula, schedule)
    if name == "gemm" and isinstance(schedule, Gemm | Untuned):
        return gemm(formula, schedule)
    if name == "spatial_pack" and isinstance(schedule, SpatialPack | Untuned):
        return spatial_pack(formula, schedule)
    raise CompileError(f"{type(schedule).__name__} is no schedule of {formula.spec}")


def _weights(formula: Formula, schedule: Schedule, operands: Operands) -> NDArray[Any]:
    """Return weights as the algorithm reads them."""
    shape, groups = formula.spec.shape, formula.groups
    weights = operands.weights.reshape(groups, formula.group_outputs, -1, shape.r, shape.s)
    if formula.spec.algorithm == "gemm":
        return weights.reshape(groups, formula.group_outputs, shape.taps)
    if formula.spec.algorithm == "spatial_pack" and isinstance(schedule, SpatialPack | Untuned):
        vector = packed_vector(formula, schedule)
        parts = weights.reshape(groups, -1, vector, *weights.shape[2:])
        return np.ascontiguousarray(np.moveaxis(parts, 2, -1))
    return weights


def _result_axes(spec: KernelSpec) -> tuple[int, ...]:
    formula = Formula(spec)
    shape = spec.shape
    pixels = (shape.p * shape.q,) if spec.algorithm == "gemm" else (shape.p, shape.q)
    return (formula.groups, formula.group_outputs, *pixels)


def _buffer(array: NDArray[Any]) -> Any:
    return halide().Buffer(array)
