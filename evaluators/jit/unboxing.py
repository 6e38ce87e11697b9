"""Records that Python passes to kernels: read into memory once, and passed on by reference.

numba writes code that takes each field out of its object, in a hundred instructions for an array,
and hands some three hundred words to the kernel, which puts them together again: a third of all
code that was compiled. Here each type of field has a function that reads it, by numba's own code,
into a place in memory; the kernel gets the address.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.boxing import unbox
from numba.core.pythonapi import NativeValue

from .references import Reference, passed, unseen


def given(kind: Any) -> Any:
    """Return the type of what Python passes where a kernel gets a type."""
    return kind.record if isinstance(kind, Reference) else kind


def got(kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types that a kernel gets where Python passes some."""
    return tuple(passed(kind) for kind in kinds)


@unbox(Reference)
def _read_record(kind: Any, found: Any, at: Any) -> Any:
    """Read a record into memory of the caller; arrays are held until the kernel has returned."""
    record, builder = kind.record, at.builder
    place = cgutils.alloca_once(builder, at.context.get_value_type(record))
    # of what an error leaves out nothing is held
    size = at.context.get_constant(types.intp, at.context.get_abi_sizeof(place.type.pointee))
    cgutils.memset(builder, place, size, 0)
    failed = builder.call(_reader(at.context, builder.module, record), [found, place])
    letting_go = _letting_go(at.context, builder.module, record)
    with builder.if_then(failed, likely=False):
        builder.call(letting_go, [place])
    address = builder.bitcast(place, cgutils.voidptr_t)
    return NativeValue(
        unseen(builder, address),
        is_error=failed,
        cleanup=lambda: builder.call(letting_go, [place]),
    )


def _reader(context: Any, module: Any, kind: Any) -> Any:
    """Return the function that reads an object of a type into a place, and tells of an error."""
    builder, (found, place), function = _function(context, module, "read", kind, True)
    if builder is None:
        return function
    python = context.get_python_api(builder)
    if isinstance(kind, types.BaseTuple):
        many = python.tuple_size(found)
        failed = builder.icmp_signed("!=", many, many.type(len(kind.types)))
        with builder.if_then(failed, likely=False):
            python.err_set_string("PyExc_ValueError", f"{kind.name[:80]}: wrong number of fields")
            builder.ret(failed)
        for index, field in enumerate(kind.types):
            one = python.tuple_getitem(found, index)
            to = cgutils.gep_inbounds(builder, place, 0, index)
            failed = builder.or_(failed, builder.call(_reader(context, module, field), [one, to]))
    else:
        value = python.to_native_value(kind, found)
        if value.cleanup is not None:
            raise TypeError(f"a record that a kernel gets cannot hold {kind}")
        builder.store(value.value, place)
        failed = value.is_error
    builder.ret(failed)
    return function


def _letting_go(context: Any, module: Any, record: Any) -> Any:
    """Return the function that lets go of all arrays of a record."""
    builder, (place,), function = _function(context, module, "let_go", record, False)
    if builder is None:
        return function
    for index, field in enumerate(record.types):
        if context.enable_nrt and context.data_model_manager[field].contains_nrt_meminfo():
            to = cgutils.gep_inbounds(builder, place, 0, index)
            if isinstance(field, types.BaseTuple):
                builder.call(_letting_go(context, module, field), [to])
            else:
                counter = cgutils.gep_inbounds(builder, to, 0, 0)
                context.nrt.decref(
                    builder, types.MemInfoPointer(field.dtype), builder.load(counter)
                )
    builder.ret_void()
    return function


def _function(context: Any, module: Any, what: str, kind: Any, reads: bool) -> Any:
    """Return a function about values of a type, its arguments, and what writes it; None if it is
    written."""
    name = f"{what} {kind}"
    place = context.get_value_type(kind).as_pointer()
    arguments = [cgutils.voidptr_t, place] if reads else [place]
    result = ir.IntType(1) if reads else ir.VoidType()
    known = module.globals.get(name)
    if known is not None:
        return None, known.args, known
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    # each is called once for each field of its type
    function.attributes.add("noinline")
    return ir.IRBuilder(function.append_basic_block()), function.args, function
