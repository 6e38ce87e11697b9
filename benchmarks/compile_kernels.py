"""What each kernel of a study takes to compile, and why.

    python benchmarks/compile_kernels.py [--full] [--first 3] [--last 1]

Compiles all kernels of ``archloom compile`` in a process of its own, without a cache. CPU seconds
are those of numba, which infers types and writes LLVM's code, and those of LLVM, which optimises it
and turns it into machine code; a part that several kernels share is written with the first of them,
and optimised with each. Instructions are LLVM's, before and after it optimises a kernel with its
parts.
``--full`` compiles all kernels at LLVM's full level, those that are marked ``brief`` too.
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from time import process_time
from typing import Any, Final

from archloom.evaluators.jit import libraries
from archloom.evaluators.jit.signatures import kernel_at, read_types
from archloom.studies.commands.machine.kernels import default_kernels

#: what is measured of a kernel
FIGURES: Final = ("numba", "LLVM", "before", "after")


def instructions(module: Any) -> int:
    """Return how many instructions a module has."""
    return sum(
        1
        for function in module.functions
        if not function.is_declaration
        for block in function.blocks
        for _ in block.instructions
    )


class Watch:
    """Adds up what LLVM takes, and counts its instructions."""

    def __init__(self, full: bool) -> None:
        self.found: Counter[str] = Counter()
        self._full, self._optimise = full, libraries._optimise
        libraries._optimise = self._counted
        libraries._shrunk = self._timed(libraries._shrunk)
        libraries.KernelLibrary.finalize = self._timed(  # type: ignore[method-assign]
            libraries.KernelLibrary.finalize
        )

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            began, counting = process_time(), self.found["counting"]
            result = function(*given)
            counted = self.found["counting"] - counting
            self.found["LLVM"] += process_time() - began - counted
            return result

        return timed

    def _counted(self, module: Any, codegen: Any, brief: bool) -> None:
        self._count("before", module)
        self._optimise(module, codegen, brief and not self._full)
        self._count("after", module)

    def _count(self, when: str, module: Any) -> None:
        began = process_time()
        self.found[when] = instructions(module)
        self.found["counting"] += process_time() - began


def main() -> None:
    """Compile in another process, whose kernels find no cache when they are imported."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all kernels at LLVM's full level")
    parser.add_argument("--first", type=int, help="so many of the list, not all")
    parser.add_argument("--last", type=int, help="of these the last ones, which take least")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        compile_all(asked.full, asked.first, asked.last)
        return
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--inside", *sys.argv[1:]]
        with_cache = os.environ | {"NUMBA_CACHE_DIR": cache}
        done = subprocess.run(command, env=with_cache, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    sys.exit(done.returncode)


def compile_all(full: bool, first: int | None, last: int | None) -> None:
    """Compile, and print a row for each kernel, what takes longest first."""
    watch = Watch(full)
    gc.disable()
    rows: dict[str, Counter[str]] = {}
    kernels = list(default_kernels().items())[:first]
    for name, signature in kernels[-last if last else 0 :]:
        kernel, kinds = kernel_at(name), read_types(signature)
        watch.found.clear()
        began = process_time()
        kernel.compile(kinds)
        took = process_time() - began - watch.found["counting"]
        watch.found["numba"] = took - watch.found["LLVM"]
        rows[name] = watch.found.copy()
    ordered = sorted(rows, key=lambda name: -rows[name]["numba"] - rows[name]["LLVM"])
    print(f"{'':<28}" + "".join(f"{figure:>9}" for figure in FIGURES))
    for name in ordered:
        print(_row(name.rpartition(".")[2], rows[name]))
    print(_row("all", sum(rows.values(), Counter())))


def _row(name: str, found: Counter[str]) -> str:
    return f"{name:<28}" + "".join(
        f"{found[figure]:9.2f}" if figure in FIGURES[:2] else f"{found[figure]:9d}"
        for figure in FIGURES
    )


if __name__ == "__main__":
    main()
