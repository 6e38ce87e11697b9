"""Measurements of kernels on this machine, which resume where they were stopped.

``wanted.py`` is what is to be measured, ``memory.py`` keeps what was done in a journal,
``campaign.py`` does it, ``rows.py`` makes rows of it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .campaign import PASSING as PASSING, Campaign as Campaign
    from .memory import Memory as Memory, try_event as try_event
    from .rows import status_record as status_record
    from .wanted import (
        Variant as Variant,
        Wanted as Wanted,
        layers_of as layers_of,
        variants_of as variants_of,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
