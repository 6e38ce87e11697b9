"""What operands take of the buffer in each iteration of a nest, and what comes and leaves."""

from archloom.evaluators.fusion.nest import ALL, BOTH, FIRST, LAST
from archloom.evaluators.jit import helper
from archloom.search.fusion.nest.estimates import MADE, GroupArrays
from archloom.space.fusion import STREAMED

from .group_loops import PlacedGroup, PlacedLoops
from .iterations import Walk, is_in, starts


@helper
def _comes(flags: GroupArrays, loops: PlacedLoops, walk: Walk, t: int, cell: int) -> bool:
    """Whether a piece of an operand comes from DRAM, partial sums with them."""
    depth = loops.depth[t]
    if flags.kind[t] == MADE:
        return _returns(flags, loops, walk, t, cell)
    for at in range(len(loops.rank)):
        if flags.along[t, loops.rank[at]]:
            continue
        use = walk.operands[t, at]
        if at < depth:
            here = is_in(loops, walk, at, cell, use)
        else:
            here = starts(loops, walk, at, cell, use)
        if not here:
            return False
    return True


@helper
def _returns(flags: GroupArrays, loops: PlacedLoops, walk: Walk, t: int, cell: int) -> bool:
    """Whether partial sums come back."""
    maker, depth, spilled, first = flags.maker[t], loops.depth[t], False, True
    for at in range(len(loops.rank)):
        if not flags.reduced[maker, loops.rank[at]]:
            continue
        begins = is_in(loops, walk, at, cell, FIRST)
        if at >= depth and not begins:
            return False
        if at < depth:
            spilled, first = True, first and begins
    return spilled and not first and _leaving(flags, loops, walk, t, cell)


@helper
def _leaving(flags: GroupArrays, loops: PlacedLoops, walk: Walk, t: int, cell: int) -> bool:
    """Whether it is the one time that a piece leaves, as far as other loops than those say that its
    maker adds up over."""
    maker = flags.maker[t]
    for at in range(len(loops.rank)):
        rank = loops.rank[at]
        if flags.along[t, rank] or flags.reduced[maker, rank]:
            continue
        if not starts(loops, walk, at, cell, walk.members[maker, at]):
            return False
    return True


@helper
def _leaves(flags: GroupArrays, loops: PlacedLoops, walk: Walk, t: int, cell: int) -> bool:
    """Whether a piece of an operand goes to DRAM, partial sums with them."""
    if flags.kind[t] != MADE or not flags.exported[t]:
        return False
    for at in range(loops.depth[t], len(loops.rank)):
        reduced = flags.reduced[flags.maker[t], loops.rank[at]]
        if reduced and not is_in(loops, walk, at, cell, LAST):
            return False
    return _leaving(flags, loops, walk, t, cell)


@helper
def _lasts(flags: GroupArrays, loops: PlacedLoops, walk: Walk, t: int) -> bool:
    """Whether an operand stays from one iteration to another."""
    maker = flags.maker[t]
    for at in range(loops.depth[t], len(loops.rank)):
        if flags.along[t, loops.rank[at]]:
            continue
        if flags.kind[t] != MADE:
            if walk.operands[t, at] == BOTH or walk.operands[t, at] == ALL:
                return True
            continue
        if flags.reduced[maker, loops.rank[at]]:
            return True
        for reader in range(flags.own.shape[0]):
            if flags.reads[t, reader] and walk.members[reader, at] != walk.members[maker, at]:
                return True
    return False


@helper
def _box_words(group: PlacedGroup, loops: PlacedLoops, t: int) -> int:
    """Words of an operand that stay from one iteration to another, at the most."""
    words: int = group.words[t]
    for n in range(len(loops.rank)):
        at = loops.ascending[n]
        if at < loops.depth[t] and group.flags.along[t, loops.rank[at]]:
            words = words // loops.size[at] * loops.tile[at]
    return words


@helper
def _statistics(group: PlacedGroup, loops: PlacedLoops, m: int) -> int:
    """Maxima and sums of the vectors whose weighted rows stay, two for each; 0 where a member reads
    no softmax whose vectors come piece by piece."""
    online, t, width = False, group.flags.made[m], group.width[m]
    for at in range(len(loops.rank)):
        rank = loops.rank[at]
        online |= group.flags.online[m, rank] > 0
        if group.columns[m, rank] and at < loops.depth[t]:
            width = width // loops.size[at] * loops.tile[at]
    return 2 * _box_words(group, loops, t) // width if online else 0


@helper
def add_operand(group: PlacedGroup, loops: PlacedLoops, walk: Walk, t: int) -> None:
    """Add what an operand takes of the buffer, and what of it comes and leaves."""
    flags, members = group.flags, group.flags.own.shape[0]
    if loops.depth[t] == STREAMED:
        return
    made, maker = flags.kind[t] == MADE, flags.maker[t]
    lasts = _lasts(flags, loops, walk, t)
    box = _box_words(group, loops, t) if lasts else 0
    more = _statistics(group, loops, maker) if made else 0
    begin, end = maker if made else 0, group.last[t]
    if flags.exported[t]:
        end = members - 1
    for cell in range(len(walk.times)):
        piece = walk.pieces[t, cell]
        comes = _comes(flags, loops, walk, t, cell)
        if comes:
            walk.fetched[cell] += piece
        if _leaves(flags, loops, walk, t, cell):
            walk.stored[cell] += piece
        if lasts:
            for m in range(members):
                walk.used[m, cell] += box + more
            continue
        here = piece if (walk.runs[maker, cell] if made else comes) else 0
        for m in range(begin, end + 1):
            walk.used[m, cell] += here + more
        # partial sums that come back are there from the start
        for m in range(maker if made and comes else 0):
            walk.used[m, cell] += piece
