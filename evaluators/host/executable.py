"""Kernels with operands, ready to be bound to maps and called, whoever compiles them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import COMPILED, KernelSpec
from .library import library_layer
from .operands import STORED, Operands
from .portable import portable_layer
from .reference import Reference
from .schedules import Code, Library, Schedule


@dataclass(frozen=True, eq=False)
class Executable:
    """A kernel bound to a map and to a result.

    Attributes:
        call: runs it.
        store: puts the result where it was bound to, if the call does not.
        result: [K, P, Q].
    """

    call: Callable[[], object]
    store: Callable[[], object]
    result: NDArray[Any]

    def checked(self, wanted: Reference) -> float:
        """Run it once; return the largest difference from the reference.

        Raises:
            WrongResultError: a difference is larger than it may be.
        """
        self.call()
        self.store()
        return wanted.check(self.result)


#: binds a kernel to the map that it reads and the one that it fills
Binder = Callable[[NDArray[Any], NDArray[Any]], Executable]


def _nothing() -> None:
    """Results are where they belong."""


def binder(
    spec: KernelSpec,
    schedule: Schedule,
    operands: Operands,
    threads: int,
    code: Code | None = None,
) -> Binder:
    """Return a kernel that is compiled and not yet bound.

    Args:
        spec, schedule, operands, threads: of the kernel.
        code: what was compiled before with as many threads; what is compiled now is added.

    Raises:
        CompileError: a schedule that the compiler refuses.
    """
    if spec.algorithm in COMPILED:
        from .halide import compiled_layer

        make = compiled_layer(spec, schedule, operands, threads, code)
        return lambda image, result: Executable(make(image, result), _nothing, result)
    if spec.algorithm == "library":
        way = schedule if isinstance(schedule, Library) else Library()
        calls = library_layer(spec, way, operands)
        return lambda image, result: Executable(*calls(image, result), result)
    loops = portable_layer(spec, operands)
    return lambda image, result: Executable(loops(image, result), _nothing, result)


def executable(
    spec: KernelSpec,
    schedule: Schedule,
    operands: Operands,
    threads: int = 1,
    code: Code | None = None,
) -> Executable:
    """Return a kernel bound to its own operands and to a result of its own.

    Raises:
        CompileError: a schedule that the compiler refuses.
    """
    result: NDArray[Any] = np.zeros((spec.shape.k, spec.shape.p, spec.shape.q), STORED[spec.dtype])
    return binder(spec, schedule, operands, threads, code)(operands.image, result)
