"""Simulators and the model: what they compute for a layer, and what the model has for the same.

``recorded/`` holds what they computed where they were installed, with versions and dates;
``benchmarks/agreement/record_simulators.py`` writes it. ``recorded_rows.py`` reads it.
``scale_sim_arrays.py``, ``zigzag_costs.py`` (with ``zigzag_mapping.py``), ``stream_chains.py`` and
``gemmini_layers.py`` put the same array, loops and memories together as a design and a mapping, and
compare. Gemmini's cycles are published; ``gemmini_software.py`` follows the software behind them.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .gemmini_layers import gemmini as gemmini
    from .scale_sim_arrays import scale_sim as scale_sim
    from .stream_chains import stream as stream
    from .zigzag_costs import zigzag as zigzag
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
