"""``archloom serve``: requests that arrive over time, for networks that share a chip.

``cli.py`` declares the options, ``command.py`` does it, ``wishes.py`` reads what users write on the
command line, ``trace_file.py`` reads a trace, ``tables.py`` shows the result.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import SERVE_EXAMPLES as SERVE_EXAMPLES, serve as serve
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
