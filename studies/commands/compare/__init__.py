"""``archloom compare``: studies side by side.

``cli.py`` declares the options, ``command.py`` does it, ``tables.py`` shows it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import COMPARE_EXAMPLES as COMPARE_EXAMPLES, compare as compare
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
