"""What numba writes LLVM's code with, for parts: its own lowering, with fewer instructions.

Each instruction is an object in Python, then a line of text that LLVM reads, then work for its
passes. numba takes an array apart in memory for each item that is read or written: some forty
instructions, of which LLVM leaves five. It looks for references to count in each word of a record.
"""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from llvmlite import ir as llvm
from llvmlite.ir.instructions import LoadInstr
from numba.core import cgutils, config, ir, lowering, types
from numba.core.compiler_machinery import register_pass
from numba.core.imputils import impl_ret_borrowed
from numba.core.typed_passes import NativeLowering
from numba.cpython.builtins import do_minmax
from numba.cpython.slicing import fix_index

from .references import (
    Reference,
    counters,
    empty_place,
    forget,
    load_word,
    place_of_field,
    unseen,
)
from .short_forms import ShortForms, is_plain, is_row, short_forms, steady_records, step_of

#: records begin at a word
_WORD_BYTES: Final = 8

#: places in the structure of an array
MEMINFO, _PARENT, _ITEMSIZE, _DATA, _SHAPE, _STRIDES = 0, 1, 3, 4, 5, 6

#: parts of a step of a loop
_PAIR: Final = {"pair_first": 0, "pair_second": 1}

#: by function of Python's, whether a number is chosen rather than another
_CHOICES: Final[dict[Any, Any]] = {max: operator.gt, min: operator.lt}

#: operators of which there are others where the right operand is a constant
_POWERS: Final = (operator.pow, operator.ipow)


class _Lower(lowering.Lower):  # type: ignore[misc]
    def extract_function_arguments(self) -> Any:
        """Mark arguments that are references: they can be read at any time, and leave loops."""
        found = super().extract_function_arguments()
        for kind, value in zip(self.fndesc.argtypes, found, strict=True):
            if isinstance(kind, Reference):
                record = self.context.get_value_type(kind.record)
                value.attributes.dereferenceable = self.context.get_abi_sizeof(record)
                value.attributes.align = _WORD_BYTES
                value.add_attribute("nonnull")
        return found

    def init(self) -> None:
        """Find variables that need no values."""
        super().init()
        plain = not self.func_ir.func_id.is_generator
        self._forms = (
            short_forms(self.blocks, self.typeof, self._singly_assigned_vars)
            if plain
            else ShortForms()
        )
        self._steady = steady_records(self.blocks, self.typeof) if plain else frozenset()
        # these stay where they are made
        self._singly_assigned_vars -= self._steady
        self._known: dict[str, Any] = {}
        self._names = self._forms.names

    def lower_inst(self, inst: Any) -> Any:
        """Write a statement, unless it makes what needs no value."""
        name = inst.target.name if isinstance(inst, ir.Assign) else ""
        if isinstance(inst, ir.StaticSetItem) and self._is_plain(inst.target, inst.index_var):
            signature = self.fndesc.calltypes[inst]
            return self.lower_setitem(inst.target, inst.index_var, inst.value, signature)
        if name not in self._names:
            return super().lower_inst(inst)
        forms, value = self._forms, inst.value
        if name in forms.fields:
            self._remember_field(name, value)
        elif name in forms.indices:
            self._known[name] = [self.loadvar(item.name) for item in value.items]
        elif name in forms.ranges:
            self._known[name] = self._bounds(value)
        elif name in forms.steps:
            self._known[name] = self._next_step(forms.loops[value.value.name])
        elif isinstance(value, ir.Expr):
            self._begin_loop(name, *self._known[value.value.name])
        return None

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Write an expression; what a step of a loop holds is there."""
        at = _PAIR.get(expr.op)
        if at is not None and expr.value.name in self._forms.steps:
            kind = (types.int64, types.boolean)[at]
            value = self._known[expr.value.name][at]
            return self.context.cast(self.builder, value, kind, resty)
        if expr.op == "static_getitem" and self._is_short(resty, expr.value, expr.index_var):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        if expr.op == "getattr" and expr.value.name in self._steady:
            return self._field(resty, expr)
        if expr.op == "call" and len(expr.args) > 1:
            is_first = _CHOICES.get(getattr(self.typeof(expr.func.name), "typing_key", None))
            if is_first is not None and not (expr.kws or expr.vararg):
                return self._chosen(resty, expr, is_first)
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Write an operation of two numbers; numba looks three times for one with a constant.

        Only powers have such forms.
        """
        kinds = [types.unliteral(self.typeof(one.name)) for one in (expr.lhs, expr.rhs)]
        plain = all(isinstance(kind, types.Number | types.Boolean) for kind in kinds)
        if not plain or op in _POWERS:
            return super().lower_binop(resty, expr, op)
        signature = self.fndesc.calltypes[expr]
        values = [
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kind)
            for one, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        typing = self.context.typing_context
        function = typing.resolve_value_type(op)
        # which was asked for, and is remembered, when types were inferred
        given = typing.resolve_function_type(function, signature.args, {})
        value = self.context.get_function(function, given)(self.builder, values)
        return self.context.cast(self.builder, value, signature.return_type, resty)

    def _chosen(self, resty: Any, expr: Any, is_first: Any) -> Any:
        """Write ``max`` or ``min`` of some numbers, which numba makes a tuple of for a call."""
        kinds = [types.unliteral(self.typeof(one.name)) for one in expr.args]
        values = [
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kind)
            for one, kind in zip(expr.args, kinds, strict=True)
        ]
        value = do_minmax(self.context, self.builder, kinds, values, is_first)
        of = self.context.typing_context.unify_types(*kinds)
        return self.context.cast(self.builder, value, of, resty)

    def _is_plain(self, array: Any, index: Any) -> bool:
        if index is None:
            return False
        return is_plain(self.typeof(array.name), self.typeof(index.name))

    def _is_short(self, result: Any, array: Any, index: Any) -> bool:
        if index is None:
            return False
        kind, at = self.typeof(array.name), self.typeof(index.name)
        return is_plain(kind, at) or is_row(kind, at, result)

    def _remember_field(self, name: str, expr: Any) -> None:
        """Keep the address of a field of a record."""
        record, kind = self.typeof(expr.value.name), self.typeof(name)
        value = self.loadvar(expr.value.name)
        if isinstance(kind, types.NestedArray):
            data = self.context.get_data_type(kind.dtype)
            place = cgutils.get_record_member(self.builder, value, record.offset(expr.attr), data)
        else:
            place = place_of_field(self.context, self.builder, record, value, expr.attr)
        self._known[name] = place

    def _slot(self, name: str, kind: Any) -> Any:
        """Return a place that a variable has in all of the function."""
        if name not in self._known:
            self._known[name] = cgutils.alloca_once(self.builder, kind)
        return self._known[name]

    def _bounds(self, call: Any) -> tuple[Any, Any, int]:
        """Return where a range begins and ends, and its step."""
        given = self.fndesc.calltypes[call].args
        values = [
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kind)
            for one, kind in zip(call.args, given, strict=True)
        ]
        step = step_of(call, self.typeof)
        if step is None:
            raise ValueError(f"{call} is no range of step 1 or -1")
        first = values[0] if len(values) > 1 else values[0].type(0)
        return first, values[min(len(values) - 1, 1)], step

    def _counters(self, loop: str) -> tuple[Any, Any]:
        """Return the places of the next number of a loop, and of how many are left."""
        word = self.context.get_value_type(types.int64)
        return self._slot(f"{loop} next", word), self._slot(f"{loop} left", word)

    def _begin_loop(self, loop: str, first: Any, end: Any, step: int) -> None:
        builder, (following, left) = self.builder, self._counters(loop)
        many = builder.sub(end, first) if step > 0 else builder.sub(first, end)
        none = many.type(0)
        some = builder.icmp_signed(">", many, none)
        builder.store(first, following)
        builder.store(builder.select(some, many, none), left)
        self._known[loop] = step

    def _next_step(self, loop: str) -> tuple[Any, Any]:
        """Return the next number of a loop, which counts only if there is one, and whether."""
        builder, (following, left) = self.builder, self._counters(loop)
        value, many = builder.load(following), builder.load(left)
        builder.store(builder.sub(many, many.type(1), flags=["nsw"]), left)
        builder.store(builder.add(value, value.type(self._known[loop])), following)
        return value, builder.icmp_signed(">", many, many.type(0))

    def lower_getitem(self, result: Any, expr: Any, of: Any, index: Any, signature: Any) -> Any:
        """Load an item of an array."""
        place, kind = self._place(of, index), self.typeof(of.name)
        if place is None and is_row(kind, self.typeof(index.name), result):
            return self._row(result, of, index)
        if place is None:
            return super().lower_getitem(result, expr, of, index, signature)
        item = self.context.unpack_value(self.builder, kind.dtype, place, align=_align(kind))
        return self.context.cast(self.builder, item, kind.dtype, result)

    def lower_setitem(self, to: Any, index: Any, value: Any, signature: Any) -> Any:
        """Store an item of an array."""
        place = self._place(to, index)
        if place is None:
            return super().lower_setitem(to, index, value, signature)
        kind = self.typeof(to.name)
        given = self.context.cast(
            self.builder, self.loadvar(value.name), self.typeof(value.name), kind.dtype
        )
        self.context.pack_value(self.builder, kind.dtype, given, place, align=_align(kind))
        return self.context.get_dummy_value()

    def _place(self, array: Any, index: Any) -> Any:
        """Return the address of an item of an array in C's order; None for anything else."""
        kind, at = self.typeof(array.name), self.typeof(index.name)
        if not is_plain(kind, at):
            return None
        word = self._words_of(array.name)
        return self.builder.gep(word(_DATA), [self._offset(index, word)])

    def _row(self, kind: Any, array: Any, index: Any) -> Any:
        """Return what lies at the first indices of an array in C's order."""
        builder, word = self.builder, self._words_of(array.name)
        first = self.typeof(array.name).ndim - kind.ndim
        sizes = [word(_SHAPE, first + axis) for axis in range(kind.ndim)]
        many = reduce(builder.mul, sizes)
        offset = builder.mul(self._offset(index, word), many)
        place = builder.gep(word(_DATA), [offset])
        row = llvm.Constant(self.context.get_value_type(kind), llvm.Undefined)
        parts = (word(MEMINFO), word(_PARENT), many, word(_ITEMSIZE), place)
        for at, value in enumerate(parts):
            row = builder.insert_value(row, value, at)
        for axis, size in enumerate(sizes):
            row = builder.insert_value(row, size, (_SHAPE, axis))
            row = builder.insert_value(row, word(_STRIDES, first + axis), (_STRIDES, axis))
        return impl_ret_borrowed(self.context, builder, kind, row)

    def _offset(self, index: Any, word: Callable[..., Any]) -> Any:
        """Return at how many items, or rows, an index lies; only literals count from the end."""
        builder, at = self.builder, self.typeof(index.name)
        kinds = at.types if isinstance(at, types.BaseTuple) else (at,)
        if index.name in self._forms.indices:
            given = self._known[index.name]
        elif isinstance(at, types.BaseTuple):
            value = self.loadvar(index.name)
            given = [builder.extract_value(value, axis) for axis in range(len(kinds))]
        else:
            given = [self.loadvar(index.name)]
        offset = None
        for axis, (one, here) in enumerate(zip(kinds, given, strict=True)):
            from_end = getattr(one, "literal_value", 0) < 0
            needs_size = from_end or config.BOUNDSCHECK or offset is not None
            size = word(_SHAPE, axis) if needs_size else None
            here = self.context.cast(builder, here, one, types.intp)
            if from_end:
                here = fix_index(builder, here, size)
            if config.BOUNDSCHECK:
                self._stop_beyond(here, size)
            offset = here if offset is None else builder.add(builder.mul(offset, size), here)
        return offset

    def _stop_beyond(self, here: Any, size: Any) -> None:
        """End the process at an index that is not in an array."""
        # what is below 0 is a large number without its sign
        beyond = self.builder.icmp_unsigned(">=", here, size)
        with self.builder.if_then(beyond, likely=False):
            nothing = llvm.FunctionType(llvm.VoidType(), ())
            trap = self.builder.module.declare_intrinsic("llvm.trap", (), nothing)
            self.builder.call(trap, [])

    def _words_of(self, name: str) -> Callable[..., Any]:
        """Return what gives a word of an array by its place in it."""
        if name not in self._forms.fields:
            value = self.loadvar(name)
            return lambda *at: self.builder.extract_value(value, at)
        place, kind = self._known[name], self.typeof(name)
        if isinstance(kind, types.NestedArray):
            sizes = [self.context.get_constant(types.intp, size) for size in kind.shape]
            return lambda part, axis=0: place if part == _DATA else sizes[axis]
        return lambda *at: load_word(self.builder, place, *at)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a variable; what it held needs no look where no references are counted."""
        kind = self.typeof(name)
        if name in self._steady:
            self._keep(value, name)
            return
        self._alloca_var(name, kind)
        alone = name in self._singly_assigned_vars and not self._disable_sroa_like_opt
        if alone or argidx is not None or self._is_counted(kind):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End a variable, which is no work where no references are counted."""
        if name in self._names:
            return
        if name in self._steady:
            if self._is_counted(self.typeof(name)):
                forget(self.context, self.builder, self.typeof(name), self.getvar(name))
        elif self._is_counted(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def getvar(self, name: str) -> Any:
        """Return the place of a variable."""
        if name in self._steady and name not in self.varmap:
            place = empty_place(self.builder, self.context.get_value_type(self.typeof(name)))
            self._settle(name, place)
        return super().getvar(name)

    def _settle(self, name: str, place: Any) -> None:
        """Let a record be at a place, with no arrays until it is made."""
        self.varmap[name] = place
        if self._is_counted(self.typeof(name)):
            with self.builder.goto_entry_block():
                for _, counter in counters(self.context, self.builder, self.typeof(name), place):
                    self.builder.store(counter.type.pointee(None), counter)

    def _keep(self, value: Any, name: str) -> None:
        """Store a record that is made once; what a part returned stays where that left it."""
        written = self.builder.block.instructions
        made = isinstance(value, LoadInstr) and getattr(value.operands[0], "of_result", False)
        if made and written[-1:] == [value] and name not in self.varmap:
            written.pop()
            self._settle(name, value.operands[0])
        else:
            self.builder.store(value, self.getvar(name))

    def _field(self, result: Any, expr: Any) -> Any:
        """Load a field of a record that stays in its place."""
        record = self.typeof(expr.value.name)
        at = record.fields.index(expr.attr)
        place = cgutils.gep_inbounds(self.builder, self.getvar(expr.value.name), 0, at)
        value = self.context.cast(self.builder, self.builder.load(place), record.types[at], result)
        return impl_ret_borrowed(self.context, self.builder, result, value)

    def _cast_var(self, variable: Any, kind: Any) -> Any:
        """Return an argument; a record that stays in its place is passed by its address."""
        name = getattr(variable, "name", "")
        if name not in self._steady or not isinstance(kind, Reference):
            return super()._cast_var(variable, kind)
        return unseen(self.builder, self.builder.bitcast(self.getvar(name), cgutils.voidptr_t))

    def _is_counted(self, kind: Any) -> bool:
        if not self.context.enable_nrt:
            return False
        return bool(self.context.data_model_manager[kind].contains_nrt_meminfo())


def _align(kind: Any) -> int | None:
    return None if kind.aligned else 1


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):  # type: ignore[misc]
    """numba's lowering, by the class above."""

    _name = "lower_part"

    @property
    def lowering_class(self) -> type[_Lower]:
        """Class that writes LLVM's code of a function."""
        return _Lower
