"""Loop orders that the constraints of a problem permit (``ranks`` of a setup)."""

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import ORDER, KernelInputs


@helper
def ways_of(setup: KernelInputs, level: int) -> int:
    """In how many ways the loops of a level may be ordered; 0 if all orders are permitted."""
    ways = 0
    while ways < setup.ranks.shape[1] and setup.ranks[level, ways, 0] >= 0:
        ways += 1
    return ways


@helper
def permit(setup: KernelInputs, loops: Ints, level: int, way: int) -> None:
    """Order the loops of a level as a way permits; those of equal rank stay as they stand."""
    for i in range(1, 8):
        d, j = loops[level, ORDER, i], i
        while (
            j > 0
            and setup.ranks[level, way, loops[level, ORDER, j - 1]] > (setup.ranks[level, way, d])
        ):
            loops[level, ORDER, j] = loops[level, ORDER, j - 1]
            j -= 1
        loops[level, ORDER, j] = d
