"""Rules that choose the next layer from the heads of the chains, compiled.

``run.py`` is what all of them work on: chains, queries left, choices so far. ``strings.py`` is
ours, ``layerweaver.py`` and ``ai_mt.py`` are published ones, ``serial.py`` runs whole queries.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .ai_mt import Thresholds as Thresholds, ai_mt_steps as ai_mt_steps
    from .layerweaver import (
        Greedy as Greedy,
        greedy_choice as greedy_choice,
        greedy_steps as greedy_steps,
        largest_of as largest_of,
    )
    from .run import Run as Run, endless as endless, finite as finite
    from .serial import serial_orders as serial_orders, serial_steps as serial_steps
    from .strings import (
        deficits as deficits,
        string_rank as string_rank,
        strings_choice as strings_choice,
        strings_steps as strings_steps,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
