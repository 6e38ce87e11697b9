"""``archloom weave``: layers of several networks woven on one chip, with a proof.

``cli.py`` declares the options, some of them in ``options.py``, and ``command.py`` does it.
``chip.py``, ``sources.py`` and ``planning.py`` read what is asked for, ``chain_table.py`` tables of
layers; ``chains.py`` makes chains of them, ``figures.py`` and ``tables.py`` show the result.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .chains import chains_of as chains_of, check_maps as check_maps
    from .chip import Asked as Asked, Chip as Chip, find_chip as find_chip
    from .cli import WEAVE_EXAMPLES as WEAVE_EXAMPLES, weave as weave
    from .options import (
        MAPS as MAPS,
        Batch as Batch,
        BufferKib as BufferKib,
        Chosen as Chosen,
        Evaluations as Evaluations,
        MappingSearch as MappingSearch,
        Maps as Maps,
        Plan as Plan,
    )
    from .planning import Planning as Planning, effort_for as effort_for
    from .sources import Source as Source, read_sources as read_sources
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
