"""The process that compiles, checks and times kernels, for a parent that may kill it.

It reads requests from a connection and answers each. Times are those of the calling thread with
one thread, which counts nothing that others do, and those of a clock with several.
"""

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from typing import Any, Final

import numpy as np

from archloom.evaluators.host.machine import pinned, usable_cores

from ..chain import Chain, LibraryChain
from ..executable import executable
from ..kernel import CompileError, KernelSpec
from ..operands import Operands, random_operands, stored_operands
from ..reference import Reference, WrongResultError, reference
from ..samples import Block, block_of
from ..schedules import Schedule, code_key
from .requests import Answer, Failed, Prepare, PrepareNetwork, Turn, Turned

#: runs before the ones that count
_WARM_UP: Final = 2

#: runs of a block, and the least time of one in microseconds: shorter ones are put together
_RUNS: Final = (5, 101)
_LEAST_US: Final = 100.0

#: edge of the matrices whose product is the control kernel
_CONTROL: Final = 192


class Timer:
    """Times calls by one of two clocks."""

    def __init__(self, threads: int) -> None:
        self._clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns

    def once(self, call: Callable[[], object]) -> float:
        """Return the time of a call in microseconds."""
        begin = self._clock()
        call()
        return (self._clock() - begin) / 1e3

    def block(self, call: Callable[[], object], budget_us: float) -> Block:
        """Return the quartiles of runs that take about as long as the budget together."""
        for _ in range(_WARM_UP):
            about = max(self.once(call), 0.1)
        together = max(round(_LEAST_US / about), 1)
        runs = min(max(int(budget_us / (about * together)), _RUNS[0]), _RUNS[1])
        clock, times = self._clock, []
        for _ in range(runs):
            begin = clock()
            for _ in range(together):
                call()
            times.append((clock() - begin) / 1e3 / together)
        return block_of(times)


class Kernels:
    """Kernels of this process, by name.

    Args:
        threads: of each.
    """

    def __init__(self, threads: int) -> None:
        self._threads, self._timer = threads, Timer(threads)
        self._calls: dict[str, Callable[[], object]] = {}
        self._code: dict[tuple[KernelSpec, Schedule], Any] = {}
        self._keys: dict[str, tuple[KernelSpec, Schedule]] = {}
        self._known: dict[tuple[Any, ...], tuple[Operands, Reference]] = {}
        matrix = np.random.default_rng(0).standard_normal((_CONTROL, _CONTROL)).astype(np.float32)
        product = np.empty_like(matrix)
        self._control = lambda: np.matmul(matrix, matrix, out=product)

    def prepare(self, wanted: Prepare) -> tuple[float, float]:
        """Compile and check a kernel; return its largest difference, and a first time.

        Raises:
            CompileError: the compiler refuses the schedule.
            WrongResultError: its result differs from the reference.
        """
        operands, expected = self._expected(wanted)
        made = executable(wanted.spec, wanted.schedule, operands, self._threads, self._code)
        off = made.checked(expected)
        self._calls[wanted.name] = made.call
        self._keys[wanted.name] = code_key(wanted.spec, wanted.schedule)
        first = self._timer.block(made.call, wanted.budget_us) if wanted.budget_us else None
        return off, first.low if first else 0.0

    def prepare_network(self, wanted: PrepareNetwork) -> None:
        """Compile a network and check its layers.

        Raises:
            CompileError: the compiler refuses a schedule.
            WrongResultError: the result of a layer differs from the reference.
        """
        kernels = wanted.chain.kernels.values()
        whole = all(kernel.algorithm == "library" for kernel, _ in kernels)
        chain = (
            LibraryChain(wanted.chain)
            if whole
            else Chain(wanted.chain, self._threads, code=self._code)
        )
        self._calls[wanted.name] = chain

    def turn(self, wanted: Turn) -> Turned:
        """Time a block of each kernel, with the control before and after."""
        # what is there already is not looked at again in the next turn, which takes a tenth of a
        # second otherwise
        gc.collect()
        gc.freeze()
        before = self._timer.block(self._control, wanted.budget_us).low
        blocks = {n: self._timer.block(self._calls[n], wanted.budget_us) for n in wanted.names}
        after = self._timer.block(self._control, wanted.budget_us).low
        return Turned(blocks, before, after, os.getloadavg()[0])

    def keep(self, names: tuple[str, ...]) -> None:
        """Forget all kernels but some, and their code."""
        kept = set(names)
        self._calls = {name: call for name, call in self._calls.items() if name in kept}
        self._keys = {name: key for name, key in self._keys.items() if name in kept}
        keys = set(self._keys.values())
        self._code = {key: call for key, call in self._code.items() if key in keys}

    def _expected(self, wanted: Prepare) -> tuple[Operands, Reference]:
        # operands are the same for all algorithms
        spec, stored = wanted.spec, wanted.stored
        key = (spec.shape, spec.dtype, spec.density, stored)
        if key not in self._known:
            if len(self._known) >= 8:
                self._known.clear()
            operands = stored_operands(spec, stored) if stored else random_operands(spec)
            self._known[key] = (operands, reference(spec, operands))
        return self._known[key]


def serve(connection: Connection, threads: int, core: int | None) -> None:
    """Answer requests until the parent closes the connection.

    Args:
        connection: to the parent.
        threads: of each kernel.
        core: that kernels of one thread are compiled on; None for those that all are timed on,
            which are the last ones.
    """
    timing = usable_cores()[-threads:]
    # threads that a library starts stay on the cores that this one is on
    with pinned(timing if core is None else [core]):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        kernels = Kernels(threads)
        answers: dict[type, Callable[[Any], object]] = {
            Prepare: kernels.prepare,
            PrepareNetwork: kernels.prepare_network,
            Turn: kernels.turn,
            tuple: kernels.keep,
        }
        while True:
            try:
                wanted = connection.recv()
            except EOFError:
                return
            with pinned(timing) if isinstance(wanted, Turn) else nullcontext():
                connection.send(_answer(answers[type(wanted)], wanted))


def _answer(answer: Callable[[Any], object], wanted: object) -> Answer:
    try:
        return answer(wanted)
    except WrongResultError as error:
        return Failed("wrong_result", str(error))
    except CompileError as error:
        return Failed("not_compiled", str(error))
    except (RuntimeError, MemoryError, ValueError, LookupError) as error:
        return Failed("crashed", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    serve(Connection(numbers[0]), numbers[1], numbers[2] if len(numbers) > 2 else None)
