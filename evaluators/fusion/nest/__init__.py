"""Fused groups as loop nests: ranks, operands, what runs and moves in each iteration, and costs."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .operands import NestGroup as NestGroup, Operand as Operand, nest_group as nest_group
    from .ranks import GroupRanks as GroupRanks, group_ranks as group_ranks
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
