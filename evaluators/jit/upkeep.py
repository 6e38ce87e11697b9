"""What numba does beside compiling, for people who watch it, left out where nobody does.

It colours the text of each error, and most errors only say that the next function is to be tried
for a call; and it announces each use of LLVM to whoever measures that. Both take a fiftieth of the
time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any, Final

from llvmlite.binding import ffi
from numba.core import errors, ir, types
from numba.core.postproc import PostProcessor
from numba.core.runtime.context import NRTContext
from numba.core.transforms import canonicalize_cfg

#: what colours kinds of text
_COLOURS: Final = ("code", "errmsg", "filename", "highlight", "indicate", "reset")

#: place in the structure of an array of what counts its references
_COUNTER: Final = 0

#: what may hold variables
_HOLDERS: Final = (ir.Inst, dict, list, tuple)


def _same(text: str) -> str:
    return text


@contextmanager
def unwatched() -> Iterator[None]:
    """Let numba write errors without colours, and use LLVM without telling who measures that."""
    # numba's modules keep the scheme that they got when they were imported
    scheme, lock = vars(errors.termcolor()), ffi.lib._lock
    before, hears = dict(scheme), lock._cblist
    scheme.update(dict.fromkeys(_COLOURS, _same))
    lock._cblist = []
    try:
        yield
    finally:
        scheme.clear()
        scheme.update(before)
        lock._cblist = hears


@contextmanager
def looking_less() -> Iterator[None]:
    """Let numba look for what lives where, and for references, only where somebody asks."""
    run, meminfos = PostProcessor.run, NRTContext.get_meminfos
    PostProcessor.run = partialmethod(_run, run)
    NRTContext.get_meminfos = partialmethod(_meminfos, meminfos)
    listed, ir.Inst._rec_list_vars = ir.Inst._rec_list_vars, _variables
    try:
        yield
    finally:
        PostProcessor.run, NRTContext.get_meminfos = run, meminfos
        ir.Inst._rec_list_vars = listed


def _variables(statement: Any, within: Any) -> list[Any]:
    """Stand in for numba's ``_rec_list_vars``, which calls itself for each word and number."""
    if isinstance(within, ir.Var):
        return [within]
    if isinstance(within, ir.Inst):
        return list(within.list_vars())
    found = []
    if isinstance(within, dict | list | tuple):
        for one in within.values() if isinstance(within, dict) else within:
            if isinstance(one, ir.Var):
                found.append(one)
            elif isinstance(one, _HOLDERS):
                found += _variables(statement, one)
    return found


def _run(found: Any, run: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Stand in for numba's ``PostProcessor.run``, which finds out nine times for each function
    which variables live where. Only what ends them asks, and generators, and ``with``."""
    code = found.func_ir
    if emit_dels or code.is_generator or any(_has_with(one) for one in code.blocks.values()):
        run(found, emit_dels, extend_lifetimes)
    else:
        code.blocks = canonicalize_cfg(code.blocks)
        code.generator_info = None


def _has_with(block: Any) -> bool:
    return next(block.find_insts(ir.EnterWith), None) is not None


def _meminfos(nrt: Any, numbas: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """Stand in for numba's ``get_meminfos``: what counts the references of each array in a value.

    numba takes all members out of a record, and all of an array.
    """
    if isinstance(kind, types.Array):
        counter = builder.extract_value(value, _COUNTER)
        return [(types.MemInfoPointer(kind.dtype), counter)]
    if not isinstance(kind, types.BaseTuple):
        return list(numbas(nrt, builder, kind, value))
    found = []
    for at, part in enumerate(kind.types):
        if nrt._context.data_model_manager[part].contains_nrt_meminfo():
            member = builder.extract_value(value, at)
            found += _meminfos(nrt, numbas, builder, part, member)
    return found
