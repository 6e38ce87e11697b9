"""What of the buffer is left in the iterations of a nest: for what streams, and for transfers."""

from archloom.evaluators import Ints
from archloom.evaluators.fusion.nest import LEAST_SHARE
from archloom.evaluators.jit import helper
from archloom.space.fusion import STREAMED

from .group_loops import PlacedGroup, PlacedLoops
from .iterations import Walk


@helper
def _streams(group: PlacedGroup, loops: PlacedLoops, m: int) -> bool:
    """Whether anything that a member uses streams."""
    for n in range(group.users.shape[1]):
        t = group.users[m, n]
        if t >= 0 and loops.depth[t] == STREAMED:
            return True
    return False


@helper
def set_left(group: PlacedGroup, loops: PlacedLoops, walk: Walk, capacity: int, left: Ints) -> bool:
    """Set words for what streams to each member; whether all fits."""
    last = len(walk.times) - 1
    for m in range(len(left)):
        used, flies = 0, 0
        for cell in range(last + 1):
            if walk.runs[m, cell]:
                flying = walk.fetched[cell + 1] if cell < last else 0
                flying += walk.stored[cell - 1] if cell > 0 else 0
                used = max(used, walk.used[m, cell])
                flies = max(flies, walk.used[m, cell] + flying)
        free = capacity - used
        if not _streams(group, loops, m):
            if free < 0:
                return False
            continue
        words = max(capacity - flies, max(free // LEAST_SHARE, min(free, 1)))
        if words < 1:
            return False
        # a power of two lets nests share their mappings
        left[m] = 1
        while 2 * left[m] <= words:
            left[m] *= 2
    for cell in range(last + 1):
        if _idle(walk, cell) and walk.used[0, cell] > capacity:
            return False
    return True


@helper
def _idle(walk: Walk, cell: int) -> bool:
    """Whether no member runs: the first one stands for what lies in the buffer."""
    running = 0
    for m in range(walk.runs.shape[0]):
        running |= walk.runs[m, cell]
    return not running


@helper
def set_moves(walk: Walk, capacity: int, left: Ints) -> int:
    """Set what comes and leaves while iterations run; return the words that do between them."""
    n, late = len(walk.times), 0
    for cell in range(n):
        most = walk.used[0, cell] if _idle(walk, cell) else 0
        for m in range(len(left)):
            if walk.runs[m, cell]:
                most = max(most, walk.used[m, cell] + left[m])
        walk.space[cell] = capacity - most
    for cell in range(1, n):
        walk.behind[cell] = min(walk.stored[cell - 1], walk.space[cell])
        late += (walk.stored[cell - 1] - walk.behind[cell]) * walk.times[cell - 1]
    for cell in range(n - 1):
        walk.ahead[cell] = min(walk.fetched[cell + 1], walk.space[cell] - walk.behind[cell])
        late += (walk.fetched[cell + 1] - walk.ahead[cell]) * walk.times[cell + 1]
    for cell in range(n):
        walk.room[cell] = walk.space[cell] - walk.behind[cell] - walk.ahead[cell]
    return late
