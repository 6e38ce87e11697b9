"""The least of costs over all tiles that contain each tile, or that it contains."""

from ..evaluators.compiled import part
from ..evaluators.words import Float
from ..space.dims import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S
from .exact_closing import NONE
from .exact_lattice import Lattice


@part
def lower_along(lattice: Lattice, costs: Float, d: int) -> None:
    """Lower costs[size] to the least over all tiles that are larger along a dimension."""
    place, count = lattice.places[d], lattice.counts[d]
    if count == 1:
        return
    for block in range(0, lattice.size, place * count):
        for position in range(count - 2, -1, -1):
            here, i = block + position * place, 0
            while i < 15 and lattice.covers[d, position, i] >= 0:
                outside = block + lattice.covers[d, position, i] * place
                # neighbours are in the inner loop
                for n in range(place):
                    one, other = costs[here + n], costs[outside + n]
                    # a plain minimum, so that it is done for several at once
                    costs[here + n] = other if other < one else one
                i += 1


@part
def least_outside(lattice: Lattice, ahead: Float, beyond: Float) -> None:
    """Set ``beyond[J, size]`` to the least of ``ahead[J, size]`` over all tiles that contain each
    tile.
    """
    for j in range(len(beyond)):
        for number in range(lattice.size):
            beyond[j, number] = ahead[j, number]
        for d in range(8):
            lower_along(lattice, beyond[j], d)


@part
def least_inside(lattice: Lattice, inside: Float) -> None:
    """Lower inside[size] to the least over all tiles that each tile contains."""
    for d in range(8):
        place, count = lattice.places[d], lattice.counts[d]
        for block in range(0, lattice.size, place * count):
            for position in range(count):
                here, i = block + position * place, 0
                while i < 15 and lattice.covers[d, position, i] >= 0:
                    outside = block + lattice.covers[d, position, i] * place
                    for n in range(place):
                        one, other = inside[here + n], inside[outside + n]
                        inside[outside + n] = one if one < other else other
                    i += 1


@part
def least_apart(lattice: Lattice, ahead: Float, apart: Float) -> None:
    """Set apart[4, J, size] to the least of ahead[J, size] over tiles that contain each, and are
    along dimensions which a tensor does not depend on the same; without a tensor, over all.
    """
    for j in range(len(ahead)):
        weights, inputs, outputs = apart[WEIGHTS, j], apart[INPUTS, j], apart[OUTPUTS, j]
        for number in range(lattice.size):
            weights[number] = ahead[j, number]
        lower_along(lattice, weights, G)
        for number in range(lattice.size):
            outputs[number] = weights[number]
        for d in (C, R, S):
            lower_along(lattice, weights, d)
        for number in range(lattice.size):
            inputs[number] = weights[number]
        lower_along(lattice, weights, K)
        for d in (N, P, Q):
            lower_along(lattice, inputs, d)
            lower_along(lattice, outputs, d)
        lower_along(lattice, outputs, K)
        for number in range(lattice.size):
            apart[NONE, j, number] = inputs[number]
        lower_along(lattice, apart[NONE, j], K)
