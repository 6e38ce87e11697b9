"""What the layers of a nest take at the least for each size of tiles, however results stay.

As ``layer_figures`` of :mod:`.loop_figures` has it, but with each layer running once for all tiles
of loops that are not over its own ranks. What a loop multiplies the runs of a layer by is then
known by its own tiles alone: it is worked out once for all sizes of the others, and what outer
loops multiply is kept while inner ones go through their sizes.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating

from .loop_arrays import GroupArrays, LoopSizes, WordFigures
from .stays import ROUNDING, StayPrices


class LayerFactors(NamedTuple):
    """Factors of sizes of tiles, and where these stand.

    Attributes:
        runs: float64[loops, most], what a size of tiles multiplies the runs of a member by.
        place: int64[loops], the size of tiles of each loop.
        product, cost: float64[m, loops + 1] and int64[m, loops + 1], the runs and the place of the
            costs of a member with the first loops.
    """

    runs: Floats
    place: Ints
    product: Floats
    cost: Ints


@allocating
def _layer_factors(sizes: LoopSizes, members: int) -> LayerFactors:
    loops = len(sizes.counts)
    layers = LayerFactors(
        np.zeros(sizes.tiles.shape),
        np.zeros(loops, np.int64),
        np.zeros((members, loops + 1)),
        np.zeros((members, loops + 1), np.int64),
    )
    for at in range(loops):
        for k in range(sizes.counts[at]):
            # a last tile that covers less is a part of one
            layers.runs[at, k] = sizes.sizes[at] / sizes.tiles[at, k]
    return layers


@allocating
def least_layers_edp(
    group: GroupArrays,
    sizes: LoopSizes,
    words: WordFigures,
    prices: StayPrices,
    once: tuple[float, float],
    to: Floats,
) -> None:
    """Write energy x latency (pJ and cycles) that no nest with each size of tiles is below.

    Args:
        group, sizes, words: of the group, its loops outermost first; no mask drops tiles.
        prices: what a choice is judged by.
        once: energy and words if each operand moves once.
        to: float64[n], for each size of tiles, of which the innermost loop's counts fastest.
    """
    members, loops = group.own.shape
    layers, first = _layer_factors(sizes, members), 0
    for m in range(members):
        layers.product[m, 0], layers.cost[m, 0] = 1.0, sizes.starts[m]
    for cell in range(len(to)):
        energy, busy = once[0], 0.0
        for m in range(members):
            for at in range(first, loops):
                k, times = layers.place[at], layers.product[m, at]
                layers.product[m, at + 1] = (
                    times * layers.runs[at, k] if group.own[m, at] else times
                )
                layers.cost[m, at + 1] = layers.cost[m, at] + k * sizes.strides[m, at]
            times, cost = layers.product[m, loops], layers.cost[m, loops]
            energy += sizes.costs[0, cost] * times * words.member_times[m]
            busy += sizes.costs[1, cost] * times
        cycles = max(busy, once[1] / prices.rate)
        # sums in another order may be more by their rounding
        to[cell] = (1.0 - 2.0 * ROUNDING) * (energy + prices.leakage_pj * cycles) * cycles
        first = loops - 1
        layers.place[first] += 1
        while first > 0 and layers.place[first] == sizes.counts[first]:
            layers.place[first] = 0
            first -= 1
            layers.place[first] += 1
