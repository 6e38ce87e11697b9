"""Passes of numba's over a part that look at it only where there is something for them.

Each pass of numba's begins with finding out which variables live where. Most parts hold no closure,
no expression over whole arrays and nothing whose references are counted.
"""

import functools
from typing import Any, Final

from numba.core import ir, types
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.ir_utils import enforce_no_dels, enforce_no_phis, fixup_var_define_in_scope
from numba.core.typed_passes import IRLegalization, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from numba.stencils.stencil import StencilFunc

#: expressions that numba's pass over closures may turn into others
_CLOSURES: Final = ("make_function", "build_list")

#: expressions that may be made one with others where they make arrays
_OVER_ARRAYS: Final = ("binop", "inplace_binop", "unary", "call")


def _values(blocks: Any) -> Any:
    """Yield what is assigned, with the name of the variable."""
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                yield statement.target.name, statement.value


def _has_closure(value: Any) -> bool:
    if isinstance(value, ir.Expr):
        return value.op in _CLOSURES
    of = getattr(value, "value", None)
    return of is functools.reduce or isinstance(of, StencilFunc)


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineClosures(InlineClosureLikes):  # type: ignore[misc]
    """numba's pass, where there are closures, comprehensions or lists."""

    _name = "inline_closures"

    def run_pass(self, state: Any) -> bool:
        """Inline closures."""
        if any(_has_closure(value) for _, value in _values(state.func_ir.blocks)):
            return bool(super().run_pass(state))
        fixup_var_define_in_scope(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class RewriteArrays(NopythonRewrites):  # type: ignore[misc]
    """numba's pass, where arrays are made, or items named by texts."""

    _name = "rewrite_arrays"

    def run_pass(self, state: Any) -> bool:
        """Turn expressions over arrays into loops."""
        kinds = state.typemap
        makes = any(
            isinstance(value, ir.Expr)
            and value.op in _OVER_ARRAYS
            and isinstance(kinds[name], types.Array)
            for name, value in _values(state.func_ir.blocks)
        )
        if makes or any(isinstance(kind, types.StringLiteral) for kind in kinds.values()):
            return bool(super().run_pass(state))
        return False


@register_pass(mutates_CFG=True, analysis_only=False)
class EndVariables(IRLegalization):  # type: ignore[misc]
    """numba's pass, where what ends with a variable is counted."""

    _name = "end_variables"

    def run_pass(self, state: Any) -> bool:
        """Say where each variable ends."""
        if state.flags.nrt:
            return bool(super().run_pass(state))
        enforce_no_phis(state.func_ir)
        enforce_no_dels(state.func_ir)
        return True


#: what takes the place of numba's passes
INSTEAD: Final[dict[type[AnalysisPass], type[AnalysisPass]]] = {
    InlineClosureLikes: InlineClosures,
    NopythonRewrites: RewriteArrays,
    IRLegalization: EndVariables,
}
