"""Rules of loop nests around a group: when every layer finds what it reads, complete."""

from collections.abc import Iterator

from archloom.space.fusion import STREAMED, LoopNest

from .iterations import uses
from .operands import NestGroup


def nest_faults(group: NestGroup, nest: LoopNest) -> Iterator[str]:
    """Yield every rule that a nest around a group breaks, with the names of layers."""
    if len(nest.depth) != len(group.operands):
        yield (
            f"{len(nest.depth)} depths are given, must be {len(group.operands)}, one for "
            "each operand"
        )
        return
    sizes = group.ranks.sizes
    for loop in nest.loops:
        if loop.rank >= len(sizes) or not group.ranks.loopable[loop.rank]:
            yield f"no loop may run over rank {loop.rank} of the group"
            return
        if not loop.tile < sizes[loop.rank]:
            yield f"a loop covers {loop.tile} of {sizes[loop.rank]} at a time, must cover less"
    if nest.dealt:
        yield from _wrong_deal(group, nest.loops[0].rank)
    yield from _wrong_sums(group, nest)
    for t in range(len(group.operands)):
        if nest.depth[t] == STREAMED:
            yield from _wrong_stream(group, t)
        else:
            yield from _wrong_depth(group, nest, t)


def dealable(group: NestGroup, rank: int) -> bool:
    """Whether cores may share out a loop over a rank."""
    return not any(_wrong_deal(group, rank))


def _wrong_deal(group: NestGroup, rank: int) -> Iterator[str]:
    """Yield why cores cannot share out a rank: none has what another one makes."""
    size = group.ranks.sizes[rank]
    for m, layer in enumerate(group.layers):
        if rank in group.reduced[m]:
            yield f"{layer.name} sums over the rank of size {size} that is distributed over cores"
        elif rank in group.online.get(m, ()):
            yield (
                f"{layer.name} needs all {size} elements of the rank that is distributed over "
                "cores for each vector"
            )
        elif rank not in group.own[m] and group.operands[group.made[m]].exported:
            yield (
                f"{layer.name} is an output of the group that every core would compute and store "
                "as a whole"
            )


def _wrong_sums(group: NestGroup, nest: LoopNest) -> Iterator[str]:
    """Yield who would read what is not complete."""
    looped = {loop.rank: at for at, loop in enumerate(nest.loops)}
    for m, layer in enumerate(group.layers):
        summed = group.reduced[m] & looped.keys()
        if not summed and m not in group.online:
            continue
        made = group.operands[group.made[m]]
        depth = nest.depth[group.made[m]]
        for after, other in enumerate(group.layers if summed else ()):
            if m in group.ancestors[after] and summed & group.own[after]:
                yield (
                    f"{other.name} needs the complete sum of {layer.name}, but a loop runs over "
                    "both"
                )
        if made.readers and any(looped[rank] < depth for rank in summed):
            yield f"{layer.name} is read before it is complete"
        for rank in group.online.get(m, ()):
            if rank in looped:
                yield from _wrong_online(group, nest, m, rank, looped[rank])


def _wrong_online(group: NestGroup, nest: LoopNest, m: int, rank: int, at: int) -> Iterator[str]:
    made, name = group.operands[group.made[m]], group.layers[m].name
    if made.exported or not made.readers:
        yield f"{name} is an output of the group, so its vectors must be complete"
    rows = set(made.ranks) - set(group.online[m])
    for reader in made.readers:
        if not rows <= set(group.operands[group.made[reader]].ranks):
            other = group.layers[reader].name
            yield f"{other} sums rows of {name} with different maxima"
        elif _stays_beyond(group, nest, m, reader, at):
            other = group.layers[reader].name
            yield f"{other} reads {name} again after the maxima of its parts are lost"
        if rank not in group.reduced[reader]:
            other = group.layers[reader].name
            yield f"{other} reads partial vectors of {name} without summing them"
        elif nest.depth[group.made[reader]] > at or nest.depth[group.made[reader]] == STREAMED:
            other = group.layers[reader].name
            yield f"{other} rescales its partial sums, which must stay in the buffer"


def _stays_beyond(group: NestGroup, nest: LoopNest, m: int, reader: int, at: int) -> bool:
    """Whether what a member makes in a loop stays for other iterations of a loop around that one:
    of the running maxima only the last is known then."""
    ranks, depth = group.operands[group.made[m]].ranks, nest.depth[group.made[m]]
    mine, others = (uses(group, nest).members[member] for member in (m, reader))
    around = range(max(depth, 0), at)
    return any(nest.loops[k].rank not in ranks and mine[k] != others[k] for k in around)


def _wrong_stream(group: NestGroup, t: int) -> Iterator[str]:
    operand = group.operands[t]
    members = (*operand.readers, operand.maker) if operand.kind == "made" else operand.readers
    array = all(group.layers[m].uses_macs for m in members)
    if len(members) > 1 or not (array or operand.kind == "weights"):
        names = ", ".join(group.layers[m].name for m in members)
        yield f"operands of several layers or of the vector unit cannot stream: {names}"


def _wrong_depth(group: NestGroup, nest: LoopNest, t: int) -> Iterator[str]:
    """Yield that another depth holds the same with fewer transfers, or less with as many."""
    ranks, depth = group.operands[t].ranks, nest.depth[t]
    along = [loop.rank in ranks for loop in nest.loops]
    if depth and not along[depth - 1]:
        yield (
            f"{_called(group, t)}: its stay cannot end with loop {depth}, which does not run "
            "over any of its ranks"
        )
    elif any(along[depth:]) and along[depth]:
        yield (
            f"{_called(group, t)} must not stay beyond loop {depth + 1}, because that saves "
            "no loads"
        )


def _called(group: NestGroup, t: int) -> str:
    operand = group.operands[t]
    if operand.kind == "read":
        return f"what {group.layers[operand.readers[0]].name} reads"
    name = group.layers[operand.maker].name
    return f"weights of {name}" if operand.kind == "weights" else f"what {name} makes"


def depths(group: NestGroup, nest_ranks: tuple[int, ...], t: int) -> tuple[int, ...]:
    """Return the depths that an operand may have in loops over some ranks, longest stay first.

    Each holds more, or moves more, than the others.
    """
    along = [rank in group.operands[t].ranks for rank in nest_ranks]
    return tuple(
        depth
        for depth in range(len(along) + 1)
        if (depth == 0 or along[depth - 1]) and not (any(along[depth:]) and along[depth])
    )
