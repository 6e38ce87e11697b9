"""Processes that compile, check and time kernels, and can be killed where a compiler hangs.

``requests.py`` is what they are asked for, ``process.py`` runs in one, ``client.py`` is how its
parent sees it, ``session.py`` times several kernels in turns.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .client import Worker as Worker
    from .requests import (
        Failed as Failed,
        Prepare as Prepare,
        PrepareNetwork as PrepareNetwork,
        Turn as Turn,
        Turned as Turned,
    )
    from .session import (
        Measured as Measured,
        Plan as Plan,
        in_turns as in_turns,
        measure as measure,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
