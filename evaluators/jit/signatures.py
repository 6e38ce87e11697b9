"""Types of the arguments of kernels as text, so that kernels can be compiled before their first
call.

``int64``, ``none``; an array ``float64[2]`` of two dimensions, contiguous in C's order; an array of
structures by the name of their type, ``archloom.search.some_module.OUTCOME[1]``; a record by the
name of its class, with its fields: ``{"archloom.some_module.Pair": {"left": "int64[1]", ...}}``.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher

#: the type of one argument, or of a field
Written = str | Mapping[str, Mapping[str, Any]]

#: how full names of modules of this project begin
_OURS = f"{__name__.partition('.')[0]}."

_ARRAY = re.compile(r"(?P<item>[\w.]+)\[(?P<axes>\d+)\]")


def kernel_at(name: str) -> Any:
    """Return the kernel of a full name, ``archloom.module.function``."""
    return _at(name)


def name_of(kernel: Callable[..., object]) -> str:
    """Return the full name of a kernel."""
    return f"{kernel.__module__}.{kernel.__qualname__}"


def called_kernels() -> dict[str, list[Written]]:
    """Return the kernels that this process has called, with the types of their arguments.

    Raises:
        ValueError: one was called with several types, for which it compiles several times.
    """
    found = {}
    for name, module in sorted(sys.modules.items()):
        for kernel in vars(module).values() if name.startswith(_OURS) else ():
            # parts are told by what numba does not make for them
            if not isinstance(kernel, Dispatcher) or "no_cpython_wrapper" in kernel.targetoptions:
                continue
            if kernel.__module__ == name and kernel.overloads:
                if len(kernel.overloads) > 1:
                    raise ValueError(f"{name_of(kernel)}: {list(kernel.overloads)}")
                found[name_of(kernel)] = write_types(next(iter(kernel.overloads)))
    return found


def read_types(signature: Sequence[Written]) -> tuple[Any, ...]:
    """Return the types that are written.

    Raises:
        ValueError: a text names no type.
    """
    return tuple(_read(one) for one in signature)


def write_types(signature: Sequence[Any]) -> list[Written]:
    """Return how types are written.

    Raises:
        ValueError: there is no way to write one.
    """
    return [_written(one) for one in signature]


def _read(written: Written) -> Any:
    if isinstance(written, Mapping):
        ((name, fields),) = written.items()
        of_class = _at(name)
        if tuple(fields) != of_class._fields:
            raise ValueError(f"{name} has fields {of_class._fields}, not {tuple(fields)}")
        return types.BaseTuple.from_types(read_types(list(fields.values())), of_class)
    array = _ARRAY.fullmatch(written)
    if array:
        return types.Array(_item(array["item"]), int(array["axes"]), "C")
    return _item(written)


def _item(name: str) -> Any:
    if "." in name:
        return numba.from_dtype(_at(name))
    found = getattr(types, name, None)
    if not isinstance(found, types.Type):
        raise ValueError(f"{name!r} is no type")
    return found


def _written(kind: Any) -> Written:
    if isinstance(kind, types.BaseNamedTuple):
        name = f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}"
        return {name: dict(zip(kind.fields, write_types(kind.types), strict=True))}
    if isinstance(kind, types.Array):
        if kind.layout != "C" or not kind.mutable:
            raise ValueError(f"{kind} is not contiguous, or read-only")
        return f"{_written(kind.dtype)}[{kind.ndim}]"
    if isinstance(kind, types.Record):
        return _structures()[kind]
    text = str(kind)
    if getattr(types, text, None) != kind:
        raise ValueError(f"{kind} has no name")
    return text


def _structures() -> dict[Any, str]:
    """Return the full names of types of structures, of all modules that are imported."""
    return {
        numba.from_dtype(value): f"{name}.{key}"
        for name, module in sorted(sys.modules.items())
        if name.startswith(_OURS)
        for key, value in vars(module).items()
        if isinstance(value, np.dtype) and value.fields
    }


@cache
def _at(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)
