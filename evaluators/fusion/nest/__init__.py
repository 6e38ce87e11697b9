"""Fused groups as loop nests: ranks, operands, what runs and moves in each iteration, and costs."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .activity import Unfolded as Unfolded, nest_activity as nest_activity
    from .contents import NestContents as NestContents
    from .cores import NestCores as NestCores, alone as alone, nest_cores as nest_cores
    from .cost import nest_cost as nest_cost, nest_on as nest_on
    from .fit import (
        LEAST_SHARE as LEAST_SHARE,
        NestFit as NestFit,
        core_fits as core_fits,
        meanwhile as meanwhile,
        nest_use as nest_use,
        rooms as rooms,
    )
    from .iterations.loops import shown as shown
    from .iterations.seen_shares import SeenShares as SeenShares, seen_share as seen_share
    from .iterations.when_used import (
        ALL as ALL,
        BOTH as BOTH,
        FIRST as FIRST,
        LAST as LAST,
        MaskedRanks as MaskedRanks,
        masked_pair as masked_pair,
        masked_ranks as masked_ranks,
    )
    from .latency import (
        Moves as Moves,
        nest_cycles as nest_cycles,
        overlapped as overlapped,
    )
    from .members import splittable as splittable
    from .names import operand_names as operand_names, rank_names as rank_names
    from .operands import (
        NestGroup as NestGroup,
        Operand as Operand,
        nest_group as nest_group,
        part_of as part_of,
    )
    from .ranks import (
        GroupRanks as GroupRanks,
        group_ranks as group_ranks,
        windowless as windowless,
    )
    from .rules import dealable as dealable, depths as depths, nest_faults as nest_faults
    from .tile import tile_cost as tile_cost, tile_kinds as tile_kinds
    from .walk import NestWalk as NestWalk
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
