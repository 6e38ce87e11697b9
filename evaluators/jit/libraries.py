"""Machine code of a kernel and all its parts, optimised together and once.

numba optimises each function by itself, and again, with all that it calls, in each function that
calls it: what lies six calls deep is optimised seven times, and turned into machine code as often.
Here a part stays as it was lowered until a kernel needs it. A kernel takes in each part that it
reaches once, and is then optimised as a whole.
"""

from collections.abc import Iterator
from typing import Any, Final

from numba.core.codegen import JITCodeLibrary

#: speed level of the passes that prepare for the others: they shrink the code of all parts, and
#: turn loops so that they can be vectorised. At a higher level they take longer for the same code.
PREPARING: Final = 1


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A part as it was lowered: neither optimised nor turned into machine code."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code as it is."""
        self._final_module.link_in(ll_module)

    def add_linking_library(self, library: Any) -> None:
        """Remember whose code this needs."""
        self._linking_libraries.append(library)

    def _ensure_finalized(self) -> None:
        pass

    def _get_module_for_linking(self) -> Any:
        return self._final_module

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code."""
        return 0


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel with all its parts."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add code as it is."""
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Take in all parts, optimise, and make machine code."""
        self._raise_if_finalized()
        module = self._final_module
        own = {function.name for function in module.functions if not function.is_declaration}
        for library in _reached(self):
            self._reload_init.update(library._reload_init)
            module.link_in(library._get_module_for_linking(), preserve=True)
        for function in module.functions:
            # may be copied into its callers and dropped. Not "internal": what is called in one
            # place would always be copied, and kernels run slower, all in one large function
            if not function.is_declaration and function.name not in own:
                function.linkage = "linkonce_odr"
        module.data_layout = self._codegen._data_layout
        self._optimize_final_module()
        for function in module.functions:
            if function.linkage.name == "linkonce_odr":
                # no other kernel may take it for its own: names repeat where processes compile
                function.linkage = "internal"
        module.verify()
        self._finalize_final_module()

    def _optimize_final_module(self) -> None:
        passes = self._codegen._module_pass_manager
        for settings in ({"opt": PREPARING, "slp_vectorize": False, "cost": "cheap"}, {}):
            manager, builder = passes(**settings)
            manager.run(self._final_module, builder)


def _reached(kernel: KernelLibrary) -> Iterator[Any]:
    """Yield the libraries that a kernel needs, and those that its parts need, each once."""
    seen: set[Any] = set()
    left = list(kernel._linking_libraries)
    while left:
        library = left.pop()
        if library in seen:
            continue
        seen.add(library)
        yield library
        # others hold what they need already
        if isinstance(library, PartLibrary):
            left += library._linking_libraries
