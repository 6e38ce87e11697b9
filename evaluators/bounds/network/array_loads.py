"""Cycles of layers that run whole on an array whose cells hold weights: compiled.

An array is loaded anew for all positions whose sums do not fit below it, or the sums come and go
(docs/explanation/bounds_proofs.md, lemma 19).
"""

from typing import Final

import numpy as np

from archloom.evaluators.jit import compiled, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, R, S

from ...arrays import Floats, Ints
from ..layer_kernel import LayerBatch
from ..layer_work import PADDED, Work, one_work
from ..level_capacity import Design, Limits, limits_in, tiles_of
from ..rounding import ROUNDING
from ..traffic import AGAIN
from ..word_prices import BY_MACS, FILLED, Prices
from .crossing_words import single

#: the level of the cells, and that of their sums
_CELLS: Final = 0
_SUMS: Final = 1

#: axis of a mesh along which arrays have columns
_COLUMNS: Final = 0


@helper
def _stands_still(design: Design) -> bool:
    """Whether cells hold weights alone, one buffer for all of them holds sums, and only rows of
    the array add up.
    """
    must = design.must
    cells = must[_CELLS, WEIGHTS] and not must[_CELLS, INPUTS] and not must[_CELLS, OUTPUTS]
    if not (cells and must[_SUMS, OUTPUTS] and single(design, _SUMS + 1)):
        return False
    for level in range(_SUMS + 1):
        summing = design.dims[level, _COLUMNS] & (1 << C | 1 << R | 1 << S)
        if summing and design.fanout[level, _COLUMNS] > 1:
            return False
    return True


@helper
def _room(design: Design, level: int, tensor: int) -> float:
    """Words of a tensor that one instance of a level has room for."""
    units = min(design.private[level, tensor], design.shared[level])
    return float(np.floor(units / design.unit[level, tensor]))


@helper
def _fewest(bounds: Ints, most: float) -> float:
    """Return the fewest parts of at most so many channels times taps that a layer has."""
    fewest = np.inf
    for r in range(1, bounds[R] + 1):
        for s in range(1, bounds[S] + 1):
            if r * s > most and r * s > 1:
                break
            channels = int(max(1.0, min(float(bounds[C]), most / (r * s))))
            parts = -(-bounds[C] // channels) * -(-bounds[R] // r) * -(-bounds[S] // s)
            fewest = min(fewest, float(parts))
    return fewest


@helper
def _moving(prices: Prices, work: Work, limits: Limits, times: float) -> float:
    """Return the cycles that ports of the level of sums need if sums leave it so many times."""
    results, most = work.words[PADDED, OUTPUTS], 0.0
    owned = min(work.macs, results * limits.copies[_SUMS])
    asked = max(results, work.macs / limits.shares[_SUMS, OUTPUTS])
    for j in range(len(prices.ports)):
        by_macs, filled = prices.ports[j, _SUMS, BY_MACS], prices.ports[j, _SUMS, FILLED]
        units = by_macs[OUTPUTS] * asked + by_macs[AGAIN] * max(0.0, asked - owned)
        units += filled[AGAIN] * max(0.0, results * times - owned)
        most = max(most, units / prices.rates[j, _SUMS])
    return most


@compiled
def loading_cycles(design: Design, prices: Prices, batch: LayerBatch, bounds: Ints) -> Floats:
    """Return float64[B], cycles that no layer takes fewer of on an array that has to be loaded; 0
    if cells hold anything but weights.

    Args:
        design: one on which no tensor may bypass a level, with one array.
        prices: of its words; zeros spare no cycles.
        batch: the layers, as :func:`archloom.evaluators.bounds.layer_kernel.batch_costs` has them.
        bounds: int64[B, 8] of them.
    """
    count, tiles = len(bounds), tiles_of(design)
    found = np.zeros(count)
    if len(design.shared) < 3 or not _stands_still(design):
        return found
    weights, sums = _room(design, _CELLS, WEIGHTS), _room(design, _SUMS, OUTPUTS)
    rows = design.fanout[_CELLS, 1] * design.fanout[_SUMS, 1]
    for i in range(count):
        work, limits = one_work(batch.works, i), limits_in(batch.shares, i, tiles)
        times = _fewest(bounds[i], weights * rows)
        loading = work.words[PADDED, OUTPUTS] / sums * _fewest(bounds[i], weights)
        cycles = min(loading, _moving(prices, work, limits, times))
        found[i] = np.ceil(cycles * (1 - ROUNDING))
    return found
