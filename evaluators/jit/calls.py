"""Calls of parts, without what only calls need that can fail.

numba writes twenty instructions after each call that ask in five ways whether it failed, and ten
more in case it did. Most parts cannot fail: they raise nothing, and allocate nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any, Final

from numba.core import base, cgutils, types
from numba.core.callconv import RETCODE_NONE, RETCODE_OK, CPUCallConv, excinfo_ptr_t
from numba.core.lowering import BaseLower

from .references import empty_place

#: names, in LLVM's code, of functions that cannot fail; no two functions of a process share one
_SURE: Final[set[str]] = set()


@contextmanager
def checking_less() -> Iterator[None]:
    """Let calls ask whether they failed only where they can."""
    ways = CPUCallConv.call_function, CPUCallConv._return_errcode_raw
    lower, caller = BaseLower.lower_normal_function, base.user_function
    repack = base.BaseContext.get_return_value
    CPUCallConv.call_function, CPUCallConv._return_errcode_raw = _call, _return_code
    BaseLower.lower_normal_function = partialmethod(_lower, lower)
    base.BaseContext.get_return_value = partialmethod(_return_value, repack)
    base.user_function = _caller(caller)
    try:
        yield
    finally:
        CPUCallConv.call_function, CPUCallConv._return_errcode_raw = ways
        BaseLower.lower_normal_function, base.user_function = lower, caller
        base.BaseContext.get_return_value = repack


def _return_code(_: Any, builder: Any, code: Any) -> None:
    """Stand in for numba's ``_return_errcode_raw``; a function that returns a fault can fail."""
    if code is not RETCODE_OK and code is not RETCODE_NONE:
        builder.function.can_fail = True
    builder.ret(code)


def _lower(lowering: Any, numbas: Callable[..., None], about: Any) -> None:
    """Stand in for numba's ``lower_normal_function``; remember what cannot fail."""
    numbas(lowering, about)
    if not getattr(lowering.function, "can_fail", False):
        _SURE.add(lowering.function.name)


def _caller(numbas: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in for numba's ``user_function``: it writes calls of a function."""

    def caller(about: Any, libraries: Any) -> Any:
        write = numbas(about, libraries)
        if isinstance(about.restype, types.Optional):
            return write

        def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if hasattr(builder, _IN_TRY):
                return write(context, builder, signature, args)
            convention = context.call_conv
            callee = context.declare_function(builder.module, about)
            sure = about.llvm_func_name in _SURE
            # what raises an error leaves it with whoever called this function
            fault = excinfo_ptr_t.as_pointer()(None)
            if not sure:
                fault = convention._get_excinfo_argument(builder.function)
            code, place = _begun(
                convention, builder, callee, about.restype, about.argtypes, args, fault
            )
            if not sure:
                failed = builder.icmp_signed("!=", code, RETCODE_OK)
                with builder.if_then(failed, likely=False):
                    convention._return_errcode_raw(builder, code)
            return _loaded(convention, builder, about.restype, place)

        call.signature, call.libs = write.signature, write.libs  # type: ignore[attr-defined]
        return call

    return caller


#: numba's builders of functions with a ``try`` have this
_IN_TRY: Final = "_CPUCallConv__eh_try_state"


def _call(
    convention: Any,
    builder: Any,
    callee: Any,
    result: Any,
    kinds: Any,
    args: Any,
    attrs: tuple[str, ...] | None = None,
) -> tuple[Any, Any]:
    """Stand in for numba's ``call_function``, which fills the result's place with zeros, twice."""
    fault = cgutils.alloca_once(builder, excinfo_ptr_t, name="excinfo")
    code, place = _begun(convention, builder, callee, result, kinds, args, fault, attrs)
    status = convention._get_return_status(builder, code, builder.load(fault))
    return status, _loaded(convention, builder, result, place)


def _begun(
    convention: Any,
    builder: Any,
    callee: Any,
    result: Any,
    kinds: Any,
    args: Any,
    fault: Any,
    attrs: tuple[str, ...] | None = None,
) -> tuple[Any, Any]:
    """Call a function; return its code, and the place of what it returns.

    A callee that fails leaves nothing there, and then nobody reads it.
    """
    place = empty_place(builder, convention.get_return_type(result).pointee)
    # nothing else is ever stored there
    place.of_result = True
    given = convention._get_arg_packer(kinds).as_arguments(builder, args)
    return builder.call(callee, [place, fault, *given], attrs=attrs or ()), place


def _loaded(convention: Any, builder: Any, result: Any, place: Any) -> Any:
    """Return what a function has returned."""
    context, found = convention.context, builder.load(place)
    if found.type != context.get_value_type(result):
        return context.get_returned_value(builder, result, found)
    return found


def _return_value(
    context: Any, numbas: Callable[..., Any], builder: Any, kind: Any, value: Any
) -> Any:
    """Stand in for numba's ``get_return_value``, which takes a record apart and puts it together
    again, word by word."""
    if value.type == context.data_model_manager[kind].get_return_type():
        return value
    return numbas(context, builder, kind, value)
