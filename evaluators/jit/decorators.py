"""What kernels and their parts are marked with.

A kernel is called from Python: :func:`compiled`, or :func:`lean`. It compiles on its first call and
is cached on disk. A part is called from kernels and other parts: :func:`helper`, or
:func:`allocating`. It compiles with the kernels that reach it. A kernel that another one calls is a
part of that one.

A kernel that is ``brief`` is optimised at LLVM's level 1, in half of the time
(``benchmarks/compile_kernels.py --full``): loops are neither unrolled nor vectorised. Most kernels
of a study lose a twentieth of their speed by it, or nothing; those that spend their time in long
plain loops, and those that nobody has measured, are not marked.

All get records (NamedTuples) by reference, divide as numpy does (no checks), and compile once for
arguments of a type, whether they are constants or not.

An index counts from the end of an array only where it is written as a negative number: no other
index may be below 0. Looking whether it is takes an eighth of the time of kernels
(docs/validation/benchmarks.md). With ``NUMBA_BOUNDSCHECK=1`` a process ends where an index is not
in an array of numbers.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, overload

import numba
from numba.core.dispatcher import Dispatcher
from numba.core.typing import make_concrete_template

from .cache import cache_folder, load_alone, once_among_processes
from .pipelines import BriefCompiler, KernelCompiler, PartCompiler
from .references import passed
from .unboxing import given

Function = TypeVar("Function", bound=Callable[..., object])


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(*, brief: bool) -> Callable[[Function], Function]: ...
def compiled(function: Any = None, *, brief: bool = False) -> Any:
    """Make a kernel. While it runs, other threads run too."""
    if function is None:
        return lambda decorated: _kernel(decorated, True, brief)
    return _kernel(function, True, brief)


@overload
def lean(function: Function) -> Function: ...
@overload
def lean(*, brief: bool) -> Callable[[Function], Function]: ...
def lean(function: Any = None, *, brief: bool = False) -> Any:
    """Like :func:`compiled`, but it counts no references to arrays, as a :func:`helper`."""
    if function is None:
        return lambda decorated: _kernel(decorated, False, brief)
    return _kernel(function, False, brief)


def helper(function: Function) -> Function:
    """Make a part that allocates nothing, and neither gets nor returns arrays that a part
    allocates.

    It counts no references to arrays (numba's ``_nrt``): what it is passed outlives the call, and
    counting takes longer than all else that a short function does.
    """
    return _part(function, counts=False)


def allocating(function: Function) -> Function:
    """Make a part that allocates arrays, or calls parts that return some."""
    return _part(function, counts=True)


def _part(function: Function, counts: bool) -> Any:
    jit: Any = numba.njit
    part = jit(
        function,
        error_model="numpy",
        pipeline_class=PartCompiler,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=counts,
    )
    # numba returns the function itself where a debugger wants no compiled code
    if isinstance(part, Dispatcher):
        part.get_call_template = MethodType(_called, part)
        part.add_overload = MethodType(_add, part)
        part._compile_for_args = MethodType(_in_python, part)
    return part


def _called(part: Any, args: Any, kws: Any) -> Any:
    """Stand in for numba's ``get_call_template``: arguments are what they are passed as."""
    signature, args = part._compiler.fold_argument_types(args, kws)
    args = tuple(passed(kind) for kind in args)
    if args not in part.overloads:
        part.compile(args)
    name = part.py_func.__name__
    cases = [part.overloads[args].signature]
    return (
        make_concrete_template(f"call of {name}", key=name, signatures=cases),
        signature,
        args,
        {},
    )


def _add(part: Any, found: Any) -> None:
    """Stand in for numba's ``add_overload``, which offers it to callers in Python too."""
    part.overloads[tuple(found.signature.args)] = found


def _add_kernel(kernel: Any, found: Any) -> None:
    """Stand in for numba's ``add_overload``: a kernel is known by the types that Python passes."""
    kinds = tuple(given(kind) for kind in found.signature.args)
    kernel._insert([kind._code for kind in kinds], found.entry_point, found.objectmode)
    kernel.overloads[kinds] = found


def _in_python(part: Any, *_: object) -> Any:
    """Stand in for numba's ``_compile_for_args``: called from Python, a part runs as Python."""
    return part.py_func


def _kernel(function: Function, counts: bool, brief: bool) -> Function:
    # numba reads the folder while it decorates; other users of numba keep theirs
    config: Any = numba.config
    jit: Any = numba.njit
    before = config.CACHE_DIR
    folder = cache_folder(function, before)
    config.CACHE_DIR = folder or before
    part = _part(function, counts)
    try:
        kernel = jit(
            _entry(function, part),
            cache=bool(folder),
            error_model="numpy",
            nogil=True,
            pipeline_class=BriefCompiler if brief else KernelCompiler,
            no_cfunc_wrapper=True,
            _nrt=counts,
        )
    finally:
        config.CACHE_DIR = before
    if isinstance(kernel, Dispatcher):
        kernel.get_call_template, kernel.get_overload = part.get_call_template, part.get_overload
        kernel.add_overload = MethodType(_add_kernel, kernel)
        if folder:
            once_among_processes(kernel, folder, function.__qualname__)
            load_alone(kernel)
    result: Function = kernel
    return result


def _entry(function: Function, part: Any) -> Any:
    """Return a function like another, at the same place in the same file, that calls the part."""
    code = function.__code__
    names = ", ".join(code.co_varnames[: code.co_argcount])
    text = "\n" * (code.co_firstlineno - 1)
    text += f"def {function.__name__}({names}): return part({names})"
    found = {"part": part, "__name__": function.__module__}
    exec(compile(text, code.co_filename, "exec"), found)
    entry = found[function.__name__]
    entry.__qualname__, entry.__doc__ = function.__qualname__, function.__doc__
    entry.__defaults__ = function.__defaults__
    return entry
