"""``archloom compress``: how far a model can be compressed before its accuracy drops.

``cli.py`` declares the options, ``wishes.py`` reads what users write, ``command.py`` does all steps
of :mod:`archloom.studies.solve.compressing`. ``record.py`` sums up, ``tables.py`` and
``picture.py`` show it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import COMPRESS_EXAMPLES as COMPRESS_EXAMPLES, compress as compress
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
