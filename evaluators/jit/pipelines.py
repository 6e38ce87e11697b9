"""How numba compiles kernels and parts: its own passes, but for what is said here."""

from typing import Any, Final

from numba import _dynfunc
from numba.core import ir
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

from .calls import checking_less
from .libraries import KernelLibrary, PartLibrary, making_parts
from .lowering import PartLowering
from .passes import INSTEAD
from .references import copied
from .unboxing import got
from .upkeep import looking_less, unwatched


class _Flags(Flags):  # type: ignore[misc]
    """numba's flags, whose values are asked for some hundred times for each function."""

    def values(self) -> dict[str, Any]:
        """Return the value of each flag, without asking for them one by one."""
        return {**_DEFAULTS, **self._values}


_DEFAULTS: Final = Flags().values()


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel, which Python calls."""

    brief = False

    # the order of arguments is numba's
    def __init__(
        self, typing: Any, target: Any, _: Any, args: Any, result: Any, flags: Any, kinds: Any
    ) -> None:
        library = KernelLibrary(target.codegen(), "kernel", brief=self.brief)
        library.enable_object_caching()
        super().__init__(typing, target, library, got(args), result, _Flags(flags), kinds)
        self._contexts = typing, target

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, and all that it needs as parts."""
        with making_parts(*self._contexts), looking_less(), checking_less(), unwatched():
            return super().compile_extra(func)


class BriefCompiler(KernelCompiler):
    """Compiles a kernel that has little to gain where loops are unrolled and vectorised."""

    brief = True


class PartCompiler(Compiler):  # type: ignore[misc]
    """Lowers a part, which other parts and kernels call."""

    def __init__(
        self, typing: Any, target: Any, _: Any, args: Any, result: Any, flags: Any, kinds: Any
    ) -> None:
        library = PartLibrary(target.codegen(), "part")
        super().__init__(typing, target, library, args, result, _Flags(flags), kinds)
        self.state.targetctx.get_executable = _nothing_to_execute

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes; results are copies, and references are known to be readable."""
        (manager,) = super().define_pipelines()
        manager.add_pass_after(CopyResults, NopythonTypeInference)
        ours = INSTEAD | {NativeLowering: PartLowering}
        manager.passes = [(ours.get(one, one), about) for one, about in manager.passes]
        manager.finalize()
        return [manager]


def _nothing_to_execute(library: Any, about: Any, environment: Any) -> Any:
    """Stand in for numba's ``get_executable``: what identifies a part among functions."""
    name = about.qualname.split(".")[-1]
    return _dynfunc.make_function(about.lookup_module(), name, "", 0, environment, (library,))


@register_pass(mutates_CFG=False, analysis_only=False)
class CopyResults(AnalysisPass):  # type: ignore[misc]
    """What a part returns holds no references, which end with the call."""

    _name = "copy_results"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Let the variable that is returned be of the type of a copy."""
        copy = copied(state.return_type)
        if copy == state.return_type:
            return False
        state.return_type = copy
        for block in state.func_ir.blocks.values():
            if isinstance(block.terminator, ir.Return):
                # the dictionary of types refuses to have a type replaced
                dict.__setitem__(state.typemap, block.terminator.value.name, copy)
        return True
