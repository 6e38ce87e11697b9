"""Records are passed to parts of kernels by reference.

numba takes a NamedTuple of forty arrays apart for each call: three hundred words, of which each is
an instruction for the caller and for the callee. Here a part gets the address of the record, and
reads a word when it needs it. Words do not change while it runs, and loads say so
(``invariant.load`` in LLVM's reference manual), so that they leave loops as arguments would.

A reference is made for a call and ends with it: what a function returns is a copy.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr

#: most words of a record that is passed as it is
FEW: Final = 8

#: members of an array, in numba's order
_MEMBERS: Final = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")
_SHAPE: Final = _MEMBERS.index("shape")


class Reference(types.Type):  # type: ignore[misc]
    """The address of a NamedTuple that does not change."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(name=f"reference({record})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Part of the names of functions in LLVM's code, whose length costs time. Records of one
        class differ by the types of their fields."""
        fields = blake2b(str(self.record).encode(), digest_size=6).hexdigest()
        return f"reference_{self.record.instance_class.__name__}_{fields}", ()


@register_default(Reference)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


def passed(kind: Any) -> Any:
    """Return the type that arguments of a type are passed as."""
    # a part compiles once for all values
    kind = types.unliteral(kind)
    is_record = isinstance(kind, types.BaseNamedTuple)
    return Reference(kind) if is_record and _words(kind) > FEW else kind


def copied(kind: Any) -> Any:
    """Return the type of a copy that outlives the references in a value."""
    if isinstance(kind, Reference):
        return copied(kind.record)
    if not isinstance(kind, types.BaseTuple):
        return kind
    parts = tuple(copied(part) for part in kind.types)
    if parts == tuple(kind.types):
        return kind
    of_class = [kind.instance_class] if isinstance(kind, types.BaseNamedTuple) else []
    return types.BaseTuple.from_types(parts, *of_class)


def _words(kind: Any) -> int:
    if isinstance(kind, types.Array):
        return _SHAPE + 2 * int(kind.ndim)
    if isinstance(kind, types.BaseTuple):
        return sum(_words(part) for part in kind.types)
    return 1


def unseen(builder: Any, address: Any) -> Any:
    """Return an address of which LLVM does not know that it is the same.

    It would move loads of what never changes to where nothing has been stored yet, or across the
    store of the next call in a loop.
    """
    same = ir.FunctionType(address.type, [address.type])
    return builder.asm(same, "", "=r,0,~{memory}", [address], side_effect=True)


def empty_place(builder: Any, kind: Any) -> Any:
    """Return a place on the stack that is written before it is read.

    numba fills each with zeros, a record word by word.
    """
    with builder.goto_entry_block():
        return builder.alloca(kind)


def counters(context: Any, builder: Any, kind: Any, place: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the type of each array in a record at a place, and where its references are counted."""
    for at, part in enumerate(kind.types):
        if context.data_model_manager[part].contains_nrt_meminfo():
            field = cgutils.gep_inbounds(builder, place, 0, at)
            if isinstance(part, types.BaseTuple):
                yield from counters(context, builder, part, field)
            else:
                yield part, cgutils.gep_inbounds(builder, field, 0, 0)


def forget(context: Any, builder: Any, kind: Any, place: Any) -> None:
    """Let go of the arrays of a record, once: the next time there are none."""
    name = f"forget_{Reference(kind).mangling_args[0]}"
    function = builder.module.globals.get(name)
    if function is None:
        of = ir.FunctionType(ir.VoidType(), [place.type])
        function = ir.Function(builder.module, of, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        inside = ir.IRBuilder(function.append_basic_block())
        for array, counter in counters(context, inside, kind, function.args[0]):
            context.nrt.decref(inside, types.MemInfoPointer(array.dtype), inside.load(counter))
            inside.store(counter.type.pointee(None), counter)
        inside.ret_void()
    builder.call(function, [place])


@lower_cast(types.BaseNamedTuple, Reference)
def _refer(context: Any, builder: Any, kind: Any, _to: Any, value: Any) -> Any:
    """Store a record on the stack of the caller; return its address."""
    place = empty_place(builder, context.get_value_type(kind))
    builder.store(value, place)
    return unseen(builder, builder.bitcast(place, cgutils.voidptr_t))


@lower_cast(Reference, types.BaseNamedTuple)
def _copy(context: Any, builder: Any, kind: Any, to: Any, value: Any) -> Any:
    found = builder.load(_record(context, builder, kind, value))
    return found if kind.record == to else context.cast(builder, found, kind.record, to)


@lower_cast(types.BaseNamedTuple, types.BaseNamedTuple)
def _copy_parts(context: Any, builder: Any, kind: Any, to: Any, value: Any) -> Any:
    if kind.instance_class is not to.instance_class:
        raise TypeError(f"{kind} is no {to}")
    parts = [
        context.cast(builder, builder.extract_value(value, at), kind.types[at], to.types[at])
        for at in range(len(kind.types))
    ]
    return context.make_tuple(builder, to, parts)


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        fields = kind.record.fields
        return passed(kind.record.types[fields.index(name)]) if name in fields else None


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    field = kind.record.types[kind.record.fields.index(name)]
    place = place_of_field(context, builder, kind, value, name)
    if passed(field) != field:
        return builder.bitcast(place, cgutils.voidptr_t)
    load = _load_array if isinstance(field, types.Array) else _load
    return impl_ret_borrowed(context, builder, field, load(context, builder, field, place))


def place_of_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Return the address of a field of a record."""
    at = kind.record.fields.index(name)
    return cgutils.gep_inbounds(builder, _record(context, builder, kind, value), 0, at)


def _record(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return builder.bitcast(value, context.get_value_type(kind.record).as_pointer())


def _load(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    counted = context.enable_nrt and context.data_model_manager[kind].contains_nrt_meminfo()
    return builder.load(place) if counted else _load_steady(builder, place)


def _load_steady(builder: Any, place: Any) -> Any:
    """Load what does not change while the record exists. What counts references does, at its end"""
    found = builder.load(place)
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


def load_word(builder: Any, place: Any, *at: int) -> Any:
    """Load a word of an array that is the field of a record."""
    return _load_steady(builder, cgutils.gep_inbounds(builder, place, 0, *at))


def _load_array(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """Load an array word by word; nobody pays for words that nobody reads."""
    size = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    kinds = context.get_value_type(kind)
    found = ir.Constant(kinds, ir.Undefined)

    for at, name in enumerate(_MEMBERS[:_SHAPE]):
        if name == "itemsize":
            value = size
        elif name == "parent" or (name == "meminfo" and not context.enable_nrt):
            value = kinds.elements[at](None)
        elif name == "meminfo":
            value = builder.load(cgutils.gep_inbounds(builder, place, 0, at))
        else:
            value = load_word(builder, place, at)
        found = builder.insert_value(found, value, at)
    for axis in range(kind.ndim):
        last = axis == kind.ndim - 1 and kind.layout == "C"
        found = builder.insert_value(found, load_word(builder, place, _SHAPE, axis), (_SHAPE, axis))
        stride = size if last else load_word(builder, place, _SHAPE + 1, axis)
        found = builder.insert_value(found, stride, (_SHAPE + 1, axis))
    return found
