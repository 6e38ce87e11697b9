"""Costs of fused groups and fusion plans: traffic, energy and latency, tile by tile.

Read ``plan.py`` (a network), ``group.py`` (a group) and ``tile.py`` (a layer of a group).
:mod:`.tiling` has the geometry of tiles, :mod:`.buffer` what they take of the shared buffer,
``core_rounds.py`` tiles that run side by side, :mod:`.streamed` layers that stream and batches
that run in parts.
``timeline.py`` is for pictures, and ``decoupled.py`` for schedules that time DRAM transfers
themselves. :mod:`.optimus` is the cost that Optimus' planner minimises.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .core_rounds import (
        Rounds as Rounds,
        round_count as round_count,
        rounds_of as rounds_of,
    )
    from .decoupled import (
        Work as Work,
        decoupled_rounds as decoupled_rounds,
    )
    from .group import (
        BufferUseOf as BufferUseOf,
        buffer_use_of as buffer_use_of,
        group_cost as group_cost,
    )
    from .group_graph import (
        GroupShape as GroupShape,
        MapRead as MapRead,
        group_reads as group_reads,
        group_sources as group_sources,
        readers_outside as readers_outside,
        with_residents as with_residents,
    )
    from .group_share import GroupCost as GroupCost, LayerShare as LayerShare
    from .plan import (
        NetworkCost as NetworkCost,
        network_cost as network_cost,
        uneven_sub_batches as uneven_sub_batches,
    )
    from .tile import ProblemMapper as ProblemMapper, tile_cost as tile_cost
    from .timeline import (
        WEIGHTS_OF as WEIGHTS_OF,
        HeldWords as HeldWords,
        Kind as Kind,
        TimelineSegment as TimelineSegment,
        buffer_timeline as buffer_timeline,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
