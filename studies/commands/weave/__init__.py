"""``archloom weave``: layers of several networks woven on one chip, with a proof.

``cli.py`` declares the options, ``command.py`` does it. ``chip.py``, ``sources.py`` and
``planning.py`` read what is asked for, ``chain_table.py`` tables of layers; ``figures.py`` and
``tables.py`` show the result.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import WEAVE_EXAMPLES as WEAVE_EXAMPLES, weave as weave
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
