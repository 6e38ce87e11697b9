"""Tables of stack studies: what one says of the observations of DLAS."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .stack_rows import RunStack as RunStack, StackRow as StackRow, judged as judged
    from .stack_table import StackTable as StackTable
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
