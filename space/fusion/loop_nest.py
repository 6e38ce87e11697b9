"""Loop nest of a fused group: loops around all of its layers, and how long each operand stays."""

from dataclasses import dataclass
from typing import Any, Final

#: an operand of one layer that passes through the buffer as the layer's mapping takes it
STREAMED: Final = -1


@dataclass(frozen=True, slots=True)
class NestLoop:
    """A loop around the layers of a group.

    Attributes:
        rank: number of the rank among those of the group
            (:func:`archloom.evaluators.fusion.nest.group_ranks`).
        tile: indices of it that one iteration covers; the last one may cover fewer.
    """

    rank: int
    tile: int


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Loops around all layers of a group, outermost first, and residency of its operands.

    Attributes:
        loops: no rank twice.
        depth: for each operand of the group (:func:`archloom.evaluators.fusion.nest.operands`) the
            number of loops, from the outermost on, whose next iteration ends its stay in the
            buffer; 0 for what stays for the whole group; :data:`STREAMED` for what streams.
        split: layers that run in parts, one for each box of channels that others read of their
            results, as places in the group, ascending. Ranks and operands are those of the parts.
        dealt: whether cores share out the iterations of the outermost loop, where a chip has
            several. Each runs some that follow one another, all as many but the last one.
        in_turn: whether cores take these iterations in turn instead, and leave out tiles that a
            mask drops.

    Raises:
        ValueError: no loop, a rank twice, a tile below 1, a depth beyond the loops, places that do
            not ascend from 0 on, or iterations in turn that are not dealt.
    """

    loops: tuple[NestLoop, ...]
    depth: tuple[int, ...]
    split: tuple[int, ...] = ()
    dealt: bool = False
    in_turn: bool = False

    def __post_init__(self) -> None:
        ranks = [loop.rank for loop in self.loops]
        if not ranks or len(set(ranks)) != len(ranks):
            raise ValueError(f"loops must be over different ranks, got {ranks}")
        if min(loop.tile for loop in self.loops) < 1 or min(ranks) < 0:
            raise ValueError(f"loops need a rank from 0 on and a tile from 1 on, got {self.loops}")
        if not all(STREAMED <= depth <= len(self.loops) for depth in self.depth):
            most = len(self.loops)
            raise ValueError(f"depths must be from {STREAMED} to {most}, got {self.depth}")
        if list(self.split) != sorted(set(self.split)) or min(self.split, default=0) < 0:
            raise ValueError(
                f"positions of split layers must be in ascending order from 0, got {self.split}"
            )
        if self.in_turn and not self.dealt:
            raise ValueError("only iterations that are dealt to cores can be taken in turn")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse.

        Layers in parts, and that the nest is dealt, in turn or not, are named only where it is so.
        """
        loops = [[loop.rank, loop.tile] for loop in self.loops]
        split = {"split": list(self.split)} if self.split else {}
        dealt = {"dealt": True} if self.dealt else {}
        in_turn = {"in_turn": True} if self.in_turn else {}
        return {"loops": loops, "depth": list(self.depth), **split, **dealt, **in_turn}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LoopNest":
        """Build a nest from :meth:`to_dict`."""
        loops = tuple(NestLoop(rank, tile) for rank, tile in data["loops"])
        split, dealt = tuple(data.get("split", ())), bool(data.get("dealt", False))
        in_turn = bool(data.get("in_turn", False))
        return cls(loops, tuple(data["depth"]), split, dealt, in_turn=in_turn)
