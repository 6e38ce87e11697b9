"""Weaving: in which order the layers of several networks run on the two engines of one chip.

``protocol.py`` is the seam, ``result.py`` what comes back: every schedule with a bound that no
schedule beats. :mod:`.rules` choose layer by layer, ``applied.py`` runs them with their settings.
:mod:`.diagrams` search all orders; ``certify.py`` takes turns between them until schedule and bound
meet. ``plan.py`` weaves a period and repeats it. The weavers by name are in ``online.py`` and
``offline.py``. :mod:`.serving` asks the rules while requests arrive.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .applied import FREE as FREE, LEAD as LEAD
    from .mixing import MixedStream as MixedStream, mixed_stream as mixed_stream
    from .protocol import WeaverFactory as WeaverFactory
    from .result import (
        Stream as Stream,
        Woven as Woven,
        stream_limits as stream_limits,
        streamed as streamed,
        woven as woven,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
