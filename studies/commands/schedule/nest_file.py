"""A loop nest in a plan file: ranks and operands by the names that ``archloom schedule`` prints."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from archloom.space import did_you_mean
from archloom.space.fusion import STREAMED, LoopNest, NestLoop
from archloom.space.workload import Network
from archloom.studies.analysis import STREAMS, WHOLE_GROUP

if TYPE_CHECKING:
    from archloom.evaluators.fusion.nest import NestGroup


class Loop(BaseModel):
    """A loop: a rank of the group, and how much of it an iteration covers."""

    model_config = ConfigDict(extra="ignore")

    rank: str
    tile: PositiveInt


class Operand(BaseModel):
    """How long an operand stays: for the whole ``group``, an iteration of a loop, or it streams."""

    model_config = ConfigDict(extra="ignore")

    name: str
    stays: str


class Nest(BaseModel):
    """Loops, outermost first; operands that are not named stay as short as can be.

    Layers ``in_parts`` run as one for each part of their results that others read. Where it is
    ``dealt``, several cores share out the iterations of the outermost loop: as many as follow one
    another, or ``in_turn``, when they leave out tiles that a mask drops.
    """

    model_config = ConfigDict(extra="ignore")

    loops: Annotated[list[Loop], Field(min_length=1)]
    operands: list[Operand] = []
    in_parts: list[str] = []
    dealt: bool = False
    in_turn: bool = False


def loop_nest_of(nest: Nest, network: Network, layers: tuple[int, ...], place: str) -> LoopNest:
    """Return the nest of a group.

    Raises:
        ValueError: it names what the group does not have, or breaks a rule; with the ``place``.
    """
    from archloom.evaluators.fusion.nest import depths, nest_faults, nest_group, operand_names

    if nest.in_turn and not nest.dealt:
        raise ValueError(
            f"{place}.in_turn: true, but only iterations that are dealt to cores can be taken in "
            'turn; add "dealt": true'
        )
    split = _split(nest, network, layers, place)
    loops = _loops(nest, network, layers, split, place)
    looped = tuple(loop.rank for loop in loops)
    group = nest_group(network, layers, frozenset(looped), split)
    assert group is not None, "its ranks are known"
    shortest = LoopNest(loops, tuple(depths(group, looped, t)[-1] for t in _numbers(group)), split)
    called, depth = operand_names(network, group), list(shortest.depth)
    stays = {WHOLE_GROUP: 0, STREAMS: STREAMED}
    stays.update((loop.rank, at) for at, loop in enumerate(nest.loops, 1))
    for at, operand in enumerate(nest.operands):
        here = f"{place}.operands.{at}"
        if operand.name not in called:
            hint = did_you_mean(operand.name, called)
            raise ValueError(f"{here}: the group has no operand {operand.name!r}; {hint}")
        if operand.stays not in stays:
            hint = did_you_mean(operand.stays, list(stays))
            raise ValueError(f"{here}: {operand.name} cannot stay for {operand.stays!r}; {hint}")
        depth[called.index(operand.name)] = stays[operand.stays]
    found = LoopNest(loops, tuple(depth), split, nest.dealt, in_turn=nest.in_turn)
    if faults := list(nest_faults(group, found)):
        raise ValueError(f"{place}: {'; '.join(faults)}")
    return found


def _numbers(group: "NestGroup") -> range:
    return range(len(group.operands))


def _split(nest: Nest, network: Network, layers: tuple[int, ...], place: str) -> tuple[int, ...]:
    """Return the places of layers that run in parts."""
    from archloom.evaluators.fusion.nest import splittable

    able = {network.layers[layers[at]].name: at for at in splittable(network, layers)}
    for at, name in enumerate(nest.in_parts):
        if name not in able:
            hint = f"layers that can: {', '.join(able)}" if able else "no layer of the group can"
            raise ValueError(f"{place}.in_parts.{at}: {name!r} cannot run in parts; {hint}")
    return tuple(sorted({able[name] for name in nest.in_parts}))


def _loops(
    nest: Nest,
    network: Network,
    layers: tuple[int, ...],
    split: tuple[int, ...],
    place: str,
) -> tuple[NestLoop, ...]:
    from archloom.evaluators.fusion.nest import group_ranks, rank_names

    ranks = group_ranks(network, layers, split)
    if ranks is None:
        raise ValueError(
            f"{place}: some layer of the group reads maps in a way of which no part is known; "
            "run it in tiles"
        )
    names, found = rank_names(network, layers, split), list[NestLoop]()
    free = [name for name, may in zip(names, ranks.loopable, strict=True) if may]
    for at, loop in enumerate(nest.loops):
        here = f"{place}.loops.{at}"
        if loop.rank not in names:
            hint = did_you_mean(loop.rank, free)
            raise ValueError(f"{here}: the group has no rank {loop.rank!r}; {hint}")
        rank = names.index(loop.rank)
        if any(rank == other.rank for other in found):
            raise ValueError(f"{here}: there is a loop over {loop.rank} already; cut it once")
        size = ranks.sizes[rank]
        if not ranks.loopable[rank]:
            raise ValueError(
                f"{here}: no loop may run over {loop.rank}: some layer needs all of it at once; "
                f"loops may run over {', '.join(free)}"
            )
        if loop.tile >= size:
            raise ValueError(
                f"{here}: tile {loop.tile} must be less than the {size} of {loop.rank}"
            )
        found.append(NestLoop(rank, loop.tile))
    return tuple(found)
