"""What numba writes LLVM's code with, for parts: its own lowering, with fewer instructions.

Each instruction is an object in Python, then a line of text that LLVM reads, then work for its
passes. numba takes an array apart in memory for each item that is read or written: some forty
instructions, of which LLVM leaves five. It looks for references to count in each word of a record.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any, Final

from numba.core import ir, lowering, types
from numba.core.compiler_machinery import register_pass
from numba.core.postproc import PostProcessor
from numba.core.runtime.context import NRTContext
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering
from numba.cpython.slicing import fix_index

from .references import Reference

#: records begin at a word
_WORD_BYTES: Final = 8

#: places in the structure of an array
_MEMINFO, _DATA, _SHAPE = 0, 4, 5


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

    def lower_getitem(self, result: Any, expr: Any, of: Any, index: Any, signature: Any) -> Any:
        """Load an item of an array."""
        place = self._place(of, index)
        if place is None:
            return super().lower_getitem(result, expr, of, index, signature)
        kind = self.typeof(of.name)
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
        kinds = at.types if isinstance(at, types.BaseTuple) else (at,)
        plain = isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == len(kinds)
        plain = plain and isinstance(kind.dtype, types.Number | types.Boolean)
        if not plain or not kinds or not all(isinstance(one, types.Integer) for one in kinds):
            return None
        builder, value = self.builder, self.loadvar(array.name)
        given = self.loadvar(index.name)
        offset = None
        for axis, one in enumerate(kinds):
            here = builder.extract_value(given, axis) if at is not one else given
            here = self._counted_from_zero(one, here, value, axis)
            if offset is not None:
                size = builder.extract_value(value, (_SHAPE, axis))
                here = builder.add(builder.mul(offset, size), here)
            offset = here
        return builder.gep(builder.extract_value(value, _DATA), [offset])

    def _counted_from_zero(self, kind: Any, index: Any, array: Any, axis: int) -> Any:
        """Return an index as a word, not counted from the end."""
        word = self.context.cast(self.builder, index, kind, types.intp)
        known = getattr(kind, "literal_value", -1)
        if not kind.signed or known >= 0:
            return word
        return fix_index(self.builder, word, self.builder.extract_value(array, (_SHAPE, axis)))

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a variable; what it held needs no look where no references are counted."""
        kind = self.typeof(name)
        self._alloca_var(name, kind)
        alone = name in self._singly_assigned_vars and not self._disable_sroa_like_opt
        if alone or argidx is not None or self._is_counted(kind):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End a variable, which is no work where no references are counted."""
        if self._is_counted(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

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


@contextmanager
def looking_less() -> Iterator[None]:
    """Let numba look for what lives where, and for references, only where somebody asks."""
    run, meminfos = PostProcessor.run, NRTContext.get_meminfos
    PostProcessor.run = partialmethod(_run, run)
    NRTContext.get_meminfos = partialmethod(_meminfos, meminfos)
    try:
        yield
    finally:
        PostProcessor.run, NRTContext.get_meminfos = run, meminfos


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
        counter = builder.extract_value(value, _MEMINFO)
        return [(types.MemInfoPointer(kind.dtype), counter)]
    if not isinstance(kind, types.BaseTuple):
        return list(numbas(nrt, builder, kind, value))
    found = []
    for at, part in enumerate(kind.types):
        if nrt._context.data_model_manager[part].contains_nrt_meminfo():
            member = builder.extract_value(value, at)
            found += _meminfos(nrt, numbas, builder, part, member)
    return found
