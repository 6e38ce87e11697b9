"""``archloom measure``: kernels of a network's convolutions, timed on this machine.

``cli.py`` declares the options, ``asked.py`` reads them, ``command.py`` does it, ``tables.py`` and
``picture.py`` show it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import MEASURE_EXAMPLES as MEASURE_EXAMPLES, measure as measure
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
