"""What numba does beside compiling, for people who watch it, left out where nobody does.

It colours the text of each error, and most errors only say that the next function is to be tried
for a call; and it announces each use of LLVM to whoever measures that. Both take a fiftieth of the
time.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite.binding import ffi
from numba.core import errors


def _same(text: str) -> str:
    return text


class _Plain:
    """Stands in for numba's colours of messages."""

    code = errmsg = filename = indicate = highlight = reset = staticmethod(_same)


_PLAIN = _Plain()


@contextmanager
def unwatched() -> Iterator[None]:
    """Let numba write errors without colours, and use LLVM without telling who measures that."""
    lock = ffi.lib._lock
    colours, hears = errors._termcolor_inst, lock._cblist
    errors._termcolor_inst, lock._cblist = _PLAIN, []
    try:
        yield
    finally:
        errors._termcolor_inst, lock._cblist = colours, hears
