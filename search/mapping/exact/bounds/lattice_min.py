"""The least of costs over all tiles that contain each tile, or that it contains."""

from archloom.evaluators import Floats
from archloom.evaluators.jit import helper
from archloom.search.mapping.exact.subproblem import NONE, Lattice
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S


@helper
def least_of(costs: Floats) -> float:
    """Return the least of some costs, none of which is missing (``min`` looks for that)."""
    least = costs[0]
    for cost in costs:
        least = min(least, cost)
    return float(least)


@helper
def _least_along(lattice: Lattice, costs: Floats, d: int, inside: bool) -> None:
    """Lower costs[size] to the least over all tiles that are larger along a dimension, or smaller
    if ``inside``.
    """
    place, count = lattice.places[d], lattice.counts[d]
    if count == 1:
        return
    for block in range(0, lattice.size, place * count):
        for turn in range(count):
            position, i = turn if inside else count - 1 - turn, 0
            here = block + position * place
            while i < 15 and lattice.covers[d, position, i] >= 0:
                outside = block + lattice.covers[d, position, i] * place
                to, of = (outside, here) if inside else (here, outside)
                # neighbours are in the inner loop
                for n in range(place):
                    one, other = costs[to + n], costs[of + n]
                    # a plain minimum, so that it is done for several at once
                    costs[to + n] = other if other < one else one
                i += 1


@helper
def least_outside(lattice: Lattice, ahead: Floats, beyond: Floats) -> None:
    """Set ``beyond[J, size]`` to the least of ``ahead[J, size]`` over all tiles that contain each
    tile.
    """
    for j in range(len(beyond)):
        for number in range(lattice.size):
            beyond[j, number] = ahead[j, number]
        for d in range(8):
            _least_along(lattice, beyond[j], d, False)


@helper
def least_inside(lattice: Lattice, inside: Floats) -> None:
    """Lower inside[size] to the least over all tiles that each tile contains."""
    for d in range(8):
        _least_along(lattice, inside, d, True)


@helper
def least_apart(lattice: Lattice, ahead: Floats, apart: Floats) -> None:
    """Set apart[4, J, size] to the least of ahead[J, size] over tiles that contain each, and are
    along dimensions which a tensor does not depend on the same; without a tensor, over all.
    """
    for j in range(len(ahead)):
        weights, inputs, outputs = apart[WEIGHTS, j], apart[INPUTS, j], apart[OUTPUTS, j]
        for number in range(lattice.size):
            weights[number] = ahead[j, number]
        _least_along(lattice, weights, G, False)
        for number in range(lattice.size):
            outputs[number] = weights[number]
        for d in (C, R, S):
            _least_along(lattice, weights, d, False)
        for number in range(lattice.size):
            inputs[number] = weights[number]
        _least_along(lattice, weights, K, False)
        for d in (N, P, Q):
            _least_along(lattice, inputs, d, False)
            _least_along(lattice, outputs, d, False)
        _least_along(lattice, outputs, K, False)
        for number in range(lattice.size):
            apart[NONE, j, number] = inputs[number]
        _least_along(lattice, apart[NONE, j], K, False)
