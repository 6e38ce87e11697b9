"""Weaving: layers of several networks on one accelerator, the fetches of one behind the compute of
another.

Read ``chain.py`` (what a network's layers cost; the engines and buffers) and ``ticks.py`` (both in
whole numbers).
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .buffer_split import SplitHardware as SplitHardware, split_hardware as split_hardware
    from .chain import Chain as Chain, Npu as Npu
    from .plan_chain import plan_chain as plan_chain
    from .simulator import (
        Order as Order,
        Stamps as Stamps,
        makespan as makespan,
        simulated as simulated,
    )
    from .ticks import Ticks as Ticks, ticked as ticked
    from .timeline import (
        Stretch as Stretch,
        Timeline as Timeline,
        schedule_timeline as schedule_timeline,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
