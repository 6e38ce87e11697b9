"""Machine code of a kernel and all its parts, optimised together and once.

numba optimises each function by itself, and again, with all that it calls, in each function that
calls it: what lies six calls deep is optimised seven times, and turned into machine code as often.
Here a part is shrunk by itself, once, and waits until a kernel needs it: one of ours, or one of the
functions that numba writes in Python itself, such as ``np.empty``. A kernel takes in each part that
it reaches, and is then optimised as a whole.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.targetconfig import ConfigStack

#: passes over each function of a part alone, in this order: they shrink the code four times, and
#: turn loops so that they can be vectorised. A whole pipeline takes three times as long for this.
SHRINKING: Final = ("sroa", "simplify_cfg", "loop_rotate", "instruction_combine", "simplify_cfg")

#: how functions are linked that may be copied into their callers and dropped. Not "internal": what
#: is called in one place would always be copied, and kernels run slower, all in one large function
_COPIED: Final = "linkonce_odr"


#: numba's name for the code that takes arguments out of Python's objects
_FOR_PYTHON: Final = "wrapper"


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A part: neither optimised with others nor turned into machine code."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._whole: Any = None

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code, shrunk."""
        # several parts bring what raises their errors along; it is taken in once
        _link_as(ll_module, "weak_odr")
        self._final_module.link_in(_shrunk(ll_module, self._codegen))

    def add_linking_library(self, library: Any) -> None:
        """Remember whose code this needs."""
        self._linking_libraries.append(library)

    def _ensure_finalized(self) -> None:
        pass

    def _get_module_for_linking(self) -> Any:
        """Return what this needs, too: libraries that are not of this module look no further."""
        if self._whole is None:
            self._whole = self._final_module.clone()
            _take_in(self._whole, self)
            _link_as(self._whole, _COPIED)
        return self._whole

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code."""
        return 0


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel with all its parts."""

    def __init__(self, codegen: Any, name: str, brief: bool = False) -> None:
        super().__init__(codegen, name)
        self._brief = brief

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code, shrunk."""
        if ll_module.name == _FOR_PYTHON:
            _leave_alone(ll_module)
        self._final_module.link_in(_shrunk(ll_module, self._codegen))

    def finalize(self) -> None:
        """Take in all parts, optimise, and make machine code."""
        self._raise_if_finalized()
        module = self._final_module
        own = [function.name for function in module.functions if not function.is_declaration]
        for library in _take_in(module, self):
            self._reload_init.update(library._reload_init)
        _link_as(module, _COPIED, keep=own)
        module.data_layout = self._codegen._data_layout
        _optimise(module, self._codegen, self._brief)
        # no other kernel may take a part for its own: names repeat where processes compile
        _link_as(module, "internal", keep=own)
        module.verify()
        self._finalize_final_module()


class PartCodegen(JITCPUCodegen):  # type: ignore[misc]
    """Makes libraries of parts in the place of numba's, for what compiles with a kernel."""

    def __init__(self, numbas: Any) -> None:
        # the machine, and all that was loaded for it, are the same
        self.__dict__ = numbas.__dict__

    def create_library(self, name: str, **settings: Any) -> Any:
        """Return a library for a part, or numba's own for what Python calls as well."""
        flags = ConfigStack.top_or_none()
        is_part = flags is None or flags.no_cpython_wrapper
        made = PartLibrary if is_part else self._library_class
        return made(self, name, **settings)

    def set_env(self, env_name: str, env: Any) -> None:
        """Set what functions of numba's own libraries need; there is none of a part's."""
        if self._engine.is_symbol_defined(env_name):
            super().set_env(env_name, env)


@contextmanager
def making_parts(typing: Any, target: Any) -> Iterator[None]:
    """Let numba make parts of all functions that it compiles for a kernel.

    Args:
        typing: numba's context of types.
        target: that of the machine that kernels are compiled for.
    """
    before = target._internal_codegen
    if isinstance(before, PartCodegen):
        yield
        return
    target._internal_codegen = PartCodegen(before)
    # for each size numba writes, and reads, a module of LLVM's code: it asks thousands of times
    target.get_abi_sizeof = cache(target.get_abi_sizeof)
    # nobody calls parts from C; numba's own functions would get what C calls them by
    target.create_cfunc_wrapper = _nothing_for_c
    typing.resolve_function_type = _remembering(typing.resolve_function_type)
    target.refresh = _if_grown(target.refresh, typing, target)
    try:
        yield
    finally:
        target._internal_codegen = before
        del target.get_abi_sizeof, target.create_cfunc_wrapper, target.refresh
        del typing.resolve_function_type


def _nothing_for_c(*_: object, **__: object) -> None:
    """Stand in for numba's ``create_cfunc_wrapper``."""


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Remember which of numba's functions stands for an operator: it tries dozens for a ``+``."""
    found: dict[Any, Any] = {}

    def resolved(function: Any, args: Any, kws: Any) -> Any:
        # a text stands for what depends on values; other types, for parts of ours
        is_kind = isinstance(function, str | types.Type)
        if kws or (is_kind and not isinstance(function, types.Function)):
            return resolve(function, args, kws)
        case = function, tuple(args)
        if case not in found:
            found[case] = resolve(function, args, kws)
        return found[case]

    return resolved


def _if_grown(refresh: Callable[[], None], typing: Any, target: Any) -> Callable[[], None]:
    """Take up functions that were registered with numba only if some were.

    numba imports all its modules, and looks through all they register, whenever it looks for
    something that there is not: thousands of times.
    """
    size = 0

    def refreshed() -> None:
        nonlocal size
        registries = [*typing._registries, *target._registries]
        now = sum(len(found) for one in registries for found in vars(one).values())
        if now != size:
            refresh()
            size = now

    return refreshed


def _shrunk(module: Any, codegen: Any) -> Any:
    """Shrink the functions of a module; return it."""
    module.data_layout = codegen._data_layout
    manager = llvm.create_new_module_pass_manager()
    for name in SHRINKING:
        getattr(manager, f"add_{name}_pass")()
    manager.add_refprune_pass()
    manager.run(module, codegen._pass_builder())
    return module


def _optimise(module: Any, codegen: Any, brief: bool) -> None:
    """Optimise a kernel with all its parts.

    Args:
        module: of the kernel.
        codegen: numba's, for the machine.
        brief: whether by LLVM's level 1, without unrolling and vectorising loops.
    """
    if not brief:
        manager, builder = codegen._module_pass_manager()
    else:
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_unrolling = options.loop_vectorization = False
        options.loop_interleaving = options.slp_vectorization = False
        builder = llvm.create_pass_builder(codegen._tm, options)
        manager = builder.getModulePassManager()
        manager.add_refprune_pass()
    manager.run(module, builder)


def _leave_alone(module: Any) -> None:
    """Let no pass optimise a module: what runs once a call, straight on, has little to gain."""
    for function in module.functions:
        if not function.is_declaration:
            # the first is what the second asks for
            for attribute in ("noinline", "optnone"):
                function.add_function_attribute(attribute)


def _take_in(module: Any, library: Any) -> list[Any]:
    """Link all that a library needs into a module; return the libraries it came from."""
    found = [*_reached(library)]
    for needed in found:
        part = isinstance(needed, PartLibrary)
        code = needed._final_module if part else needed._get_module_for_linking()
        module.link_in(code, preserve=True)
    return found


def _link_as(module: Any, linkage: str, keep: Collection[str] = ()) -> None:
    """Say how functions that a module defines are linked, but for some."""
    for function in module.functions:
        if not function.is_declaration and function.name not in keep:
            function.linkage = linkage


def _reached(of: Any) -> Iterator[Any]:
    """Yield the libraries that a library needs, and those that its parts need, each once."""
    seen: set[Any] = set()
    left = list(of._linking_libraries)
    while left:
        library = left.pop()
        if library in seen:
            continue
        seen.add(library)
        yield library
        # others hold what they need already
        if isinstance(library, PartLibrary):
            left += library._linking_libraries
