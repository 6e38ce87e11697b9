"""What words that cross a mesh, and that enter its buffers, cost: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, copy_row, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, R, S

from ....arrays import Floats, Ints
from ...layer_work import REAL
from ...level_capacity import Design
from ...traffic import AGAIN
from ...word_prices import BY_INNER, BY_MACS, FILLED
from ..whole_tiles import Whole
from .moved_words import Counted

#: words whose price is known: those of weights, inputs and results that cross the mesh, results
#: that do so again; words that enter buffers of the mesh, of weights, inputs, and results again;
#: and sums to which MACs add
W, I, O, O_AGAIN, W_FILL, I_FILL, O_FILL, SUMS = range(8)  # noqa: E741
KINDS: Final = 8


class Forms(NamedTuple):
    """What words cost: row 0 energy (pJ), others cycles of ports.

    Attributes:
        prices: float64[F, 8], of each kind of word.
        fixed: float64[F], of all else.
        shared: int64[F], 1 for ports that all buffers of the mesh have.
    """

    prices: Floats
    fixed: Floats
    shared: Ints


@helper
def _outer(design: Design, t: int) -> int:
    """Return the level next outside the mesh that keeps a tensor."""
    p = 1
    while not design.must[p, t]:
        p += 1
    return p


@allocating
def forms_of(layer: Whole) -> Forms:
    """Return what words cost, without those that move further out alone."""
    design, prices, work = layer.design, layer.prices, layer.work
    levels, accesses, macs = len(design.shared), layer.prices.accesses_pj, layer.work.macs
    every, fixed = np.zeros((1 + 3 * levels, KINDS)), np.zeros(1 + 3 * levels)
    shared = np.zeros(1 + 3 * levels, np.int64)
    fixed[0] = macs * prices.macs_pj
    for t in range(3):
        fixed[0] += macs * accesses[0, BY_MACS, t]
        every[0, W + t] = accesses[_outer(design, t), BY_INNER, t]
        if t != OUTPUTS:
            every[0, W_FILL + t] = accesses[0, FILLED, t]
    every[0, O_AGAIN] = accesses[_outer(design, OUTPUTS), BY_INNER, AGAIN]
    every[0, O_FILL], every[0, SUMS] = accesses[0, FILLED, AGAIN], accesses[0, BY_MACS, AGAIN]
    count = 1
    for j in range(3):
        for p in range(levels):
            rate, units, row = prices.rates[j, p], prices.ports[j, p], every[count]
            if rate == np.inf:
                continue
            row[:] = 0.0
            fixed[count] = 0.0
            for t in range(3):
                if p == 0:
                    fixed[count] += macs * units[BY_MACS, t] / rate
                elif _outer(design, t) == p:
                    row[W + t] = units[BY_INNER, t] / rate
                elif p == levels - 1 and design.must[p, t]:
                    fixed[count] += work.words[REAL, t] * units[BY_INNER, t] / rate
            if p == 0:
                row[W_FILL], row[I_FILL] = (
                    units[FILLED, WEIGHTS] / rate,
                    units[FILLED, INPUTS] / rate,
                )
                row[O_FILL], row[SUMS] = units[FILLED, AGAIN] / rate, units[BY_MACS, AGAIN] / rate
            elif _outer(design, OUTPUTS) == p:
                row[O_AGAIN] = units[BY_INNER, AGAIN] / rate
            shared[count] = p == 0
            count += 1
    return Forms(every[:count], fixed[:count], shared[:count])


@helper
def fill_kinds(
    layer: Whole, counted: Counted, over: Ints, words: Floats, fills: Floats, kinds: Floats
) -> None:
    """Fill ``kinds[8]`` from words that cross the mesh, and that enter its buffers."""
    every = counted.every[OUTPUTS]
    # results begin in each buffer that adds up a part of them
    own = every * over[C] * over[R] * over[S]
    kinds[W], kinds[I], kinds[O] = words[WEIGHTS], words[INPUTS], words[OUTPUTS]
    kinds[O_AGAIN] = max(0.0, words[OUTPUTS] - every)
    kinds[W_FILL] = max(words[WEIGHTS], fills[WEIGHTS])
    kinds[I_FILL] = max(words[INPUTS], fills[INPUTS])
    kinds[O_FILL] = max(0.0, fills[OUTPUTS] - own)
    kinds[SUMS] = max(0.0, layer.work.macs - own)


@helper
def come_so_often(counted: Counted, kinds: Floats, times: Floats, own: Floats) -> None:
    """Fill ``own[8]`` with words of each kind if all words of each tensor cross the mesh ``times``,
    or as often as in ``kinds`` if that is more."""
    once, every = counted.once, counted.every
    copy_row(own, kinds)
    own[W] = max(own[W], once[WEIGHTS] * times[WEIGHTS])
    own[W_FILL] = max(own[W_FILL], own[W])
    own[I] = max(own[I], once[INPUTS] * times[INPUTS])
    own[I_FILL] = max(own[I_FILL], own[I])
    own[O] = max(own[O], every[OUTPUTS] * times[OUTPUTS])
    own[O_AGAIN] = max(own[O_AGAIN], own[O] - every[OUTPUTS])


@helper
def priced(
    layer: Whole, forms: Forms, kinds: Floats, used: float, start: float
) -> tuple[float, float]:
    """Return energy and cycles of words, and of ``start`` cycles at the least."""
    energy, cycles = forms.fixed[0], start
    for k in range(KINDS):
        energy += forms.prices[0, k] * kinds[k]
    for f in range(1, len(forms.fixed)):
        units = forms.fixed[f]
        for k in range(KINDS):
            units += forms.prices[f, k] * kinds[k]
        cycles = max(cycles, units / used if forms.shared[f] else units)
    leakage, macs = layer.prices.leakage_pj, layer.work.macs
    for p in range(len(leakage)):
        energy += leakage[p] * max(cycles, macs * layer.prices.busy / layer.limits.below[p])
    return energy, cycles
