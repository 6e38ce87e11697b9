"""What numba does beside compiling, for people who watch it, left out where nobody does.

It colours the text of each error, and most errors only say that the next function is to be tried
for a call; and it announces each use of LLVM to whoever measures that. Both take a fiftieth of the
time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from llvmlite.binding import ffi
from numba.core import errors

#: what colours kinds of text
_COLOURS: Final = ("code", "errmsg", "filename", "highlight", "indicate", "reset")


def _same(text: str) -> str:
    return text


@contextmanager
def unwatched() -> Iterator[None]:
    """Let numba write errors without colours, and use LLVM without telling who measures that."""
    # numba's modules keep the scheme that they got when they were imported
    scheme, lock = vars(errors.termcolor()), ffi.lib._lock
    before, hears = dict(scheme), lock._cblist
    scheme.update(dict.fromkeys(_COLOURS, _same))
    lock._cblist = []
    try:
        yield
    finally:
        scheme.clear()
        scheme.update(before)
        lock._cblist = hears
