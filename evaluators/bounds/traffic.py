"""The least that words cost between a level and what is inside it, for a given capacity: compiled.

docs/explanation/bounds_proofs.md has the theorems. In short: the first temporal loop outside a tile
leaves at most one tensor where it is. Words of the other two follow from the shape of the tile
alone, and the tile of the one that stays must fit. So a bound is the least of three trades between
two numbers, each solved to within ``TOLERANCE`` from below.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

from ..arrays import Floats
from .layer_work import OF_KERNEL, OF_OUTPUTS, PADDED, SCATTERED, Work, words_per_mac

#: how far below the true minimum of a trade a bound may stop, relative
TOLERANCE: Final = 4e-3

#: intervals that may wait in a search; each split leaves one more, and halves ln x
WAITING: Final = 64

#: columns of ``ends[WAITING, 4]``: x and the rate of the window at both ends of an interval
LOW, HIGH, RATE_LOW, RATE_HIGH = range(4)

#: prices of a word are float64[4]: of each tensor (of outputs, when they arrive from inside), and
#: of outputs that must be fetched again before they are added to
AGAIN: Final = 3

#: place in ``TileCapacity.units`` of what all tensors share
TOGETHER: Final = 3


class TileCapacity(NamedTuple):
    """Capacity that tiles must fit; infinite where nothing limits them.

    Attributes:
        stays: float64[3], words of each tensor that can stay while the others change.
        passes: float64[3], words of each tensor that a tile can have at all.
        units: float64[4], units of one word, 0 for a tensor whose tile is elsewhere; and units
            that the tiles of all tensors take together.
    """

    stays: Floats
    passes: Floats
    units: Floats


class _Trade(NamedTuple):
    """Words of one tensor are macs / x, of another macs / y; x * y is limited.

    If ``windowed``, the other words are multiplied by the rate of the window at x, and x * y is
    at most ``product``. If not, x * y times that rate is.
    """

    macs: float
    windowed: bool
    x_most: float
    y_most: float
    product: float
    together: float
    unit_x: float
    unit_y: float
    price_x: float
    again_x: float
    floor_x: float
    price_y: float
    again_y: float
    floor_y: float
    owned: float


@helper
def pay(words: float, price: float, again: float, owned: float) -> float:
    """Return what words cost; all but ``owned`` of them cost ``again`` more."""
    return price * words + again * max(0.0, words - owned)


@helper
def _between(trade: _Trade, low: float, high: float, rate_low: float, rate_high: float) -> float:
    """Return what no x from ``low`` to ``high`` can cost less than; exact if they are equal.

    The rate of a window falls with x, and x times the rate grows: each part of the cost is taken
    at that end of the interval where it is less.
    """
    paid = rate_high if trade.windowed else 1.0
    most = max(paid / trade.y_most, low * rate_low / trade.product)
    if trade.together < np.inf:
        left = max(trade.unit_y, trade.together - trade.unit_x * low)
        most = max(most, paid * trade.unit_y / left)
    x_words = max(trade.floor_x, trade.macs / high)
    y_words = max(trade.floor_y, trade.macs * most)
    cost = pay(x_words, trade.price_x, trade.again_x, trade.owned)
    cost += pay(y_words, trade.price_y, trade.again_y, trade.owned)
    # the same from below by a / x + b x, which has its minimum at sqrt(a / b)
    falls = (trade.price_x + trade.again_x) * trade.macs
    grows = (trade.price_y + trade.again_y) * trade.macs * rate_high / trade.product
    if high > low and grows > 0:
        x = min(high, max(low, np.sqrt(falls / grows)))
        elided = (trade.again_x + trade.again_y) * trade.owned
        cost = max(cost, falls / x + grows * x - elided)
    return cost


@helper
def _wait(interval: Floats, low: float, high: float, rate_low: float, rate_high: float) -> None:
    """Set one interval of ``ends``."""
    interval[LOW], interval[HIGH] = low, high
    interval[RATE_LOW], interval[RATE_HIGH] = rate_low, rate_high


@helper
def _least(
    trade: _Trade, rates: Floats, sides: Floats, enough: float, useless: float, ends: Floats
) -> float:
    """Return the least cost of a trade, or up to ``TOLERANCE`` less: branch and bound in ln x.

    Stops early with a cost of at most ``enough``, if there is one, and where all costs are above
    ``useless`` with about that. ``ends[WAITING, 4]`` is overwritten: x and the window's rate at
    both ends of each interval that waits.
    """
    top = trade.x_most
    if trade.windowed:
        top = min(top, trade.product)
    if trade.together < np.inf:
        top = min(top, (trade.together - trade.unit_y) / trade.unit_x)
    top = max(1.0, top)
    rate, rate_top = words_per_mac(1.0, rates, sides), words_per_mac(top, rates, sides)
    best = min(useless, _between(trade, 1.0, 1.0, rate, rate))
    best = min(best, _between(trade, top, top, rate_top, rate_top))
    _wait(ends[0], 1.0, top, rate, rate_top)
    waiting, least = 1, best
    while waiting and best > enough:
        waiting -= 1
        low, high = ends[waiting, LOW], ends[waiting, HIGH]
        rate_low, rate_high = ends[waiting, RATE_LOW], ends[waiting, RATE_HIGH]
        bound = _between(trade, low, high, rate_low, rate_high)
        if bound >= (1.0 - TOLERANCE) * best or high <= 1.000001 * low:
            least = min(least, bound)
            continue
        middle = np.sqrt(low * high)
        rate = words_per_mac(middle, rates, sides)
        best = min(best, _between(trade, middle, middle, rate, rate))
        _wait(ends[waiting], low, middle, rate_low, rate)
        _wait(ends[waiting + 1], middle, high, rate, rate_high)
        waiting += 2
    return min(least, best)


@allocating
def _trade(
    work: Work, real: int, price: Floats, owned: float, capacity: TileCapacity, stays: int
) -> _Trade:
    """Return what is left to choose while one tensor stays where it is.

    X, Y, Z are the MACs of a tile for each word of weights, inputs and outputs, windows aside. A
    tile holds at least X words of inputs and of outputs, Y of weights and outputs, Z of weights
    and inputs; X Y of outputs, Y Z of weights, X Z times the rate of the window of inputs.
    """
    one = OUTPUTS if stays == WEIGHTS else WEIGHTS
    other = OUTPUTS if stays == INPUTS else INPUTS
    # of which a tile holds at least x words, or y
    in_x = OUTPUTS if stays == INPUTS else INPUTS
    in_y = OUTPUTS if stays == WEIGHTS else WEIGHTS
    both = capacity.units[in_x] * capacity.units[in_y] > 0
    return _Trade(
        work.macs,
        stays != INPUTS,
        min(work.reuse[one], capacity.passes[in_x]),
        max(1.0, min(work.reuse[other], capacity.passes[in_y])),
        max(1.0, capacity.stays[stays]),
        capacity.units[TOGETHER] if both else np.inf,
        capacity.units[in_x],
        capacity.units[in_y],
        price[one],
        price[AGAIN] if one == OUTPUTS else 0.0,
        work.words[real, one],
        price[other],
        price[AGAIN] if other == OUTPUTS else 0.0,
        work.words[real, other],
        owned,
    )


@helper
def least_cost(
    work: Work,
    real: int,
    price: Floats,
    owned: float,
    capacity: TileCapacity,
    enough: float,
    useless: float,
    ends: Floats,
) -> float:
    """Return what the words of all tensors cost at the least.

    Args:
        work: the layer.
        real: how inputs come: padded, real or scattered
            (:mod:`archloom.evaluators.bounds.layer_work`).
        price: float64[4] of a word.
        owned: words of outputs that arrive once without a fetch before.
        capacity: that tiles must fit.
        enough: stop at a cost of this or less; 0 never stops.
        useless: do not tell costs above this apart.
        ends: float64[WAITING, 4], overwritten.
    """
    least = useless
    for stays in (OUTPUTS, WEIGHTS, INPUTS):
        kind = OF_KERNEL if stays == WEIGHTS else OF_OUTPUTS
        # a tile takes capacity for its padding
        rate = PADDED if stays == INPUTS and real != SCATTERED else real
        again = price[AGAIN] if stays == OUTPUTS else 0.0
        cost = pay(work.words[real, stays], price[stays], again, owned)
        if cost < least:
            trade = _trade(work, real, price, owned, capacity, stays)
            rates, sides = work.rates[rate, kind], work.sides[kind]
            found = _least(trade, rates, sides, enough - cost, least - cost, ends)
            least = min(least, cost + found)
        if least <= enough:
            break
    return least


@helper
def least_shared(macs: float, price: Floats, owned: float, most: Floats, children: float) -> float:
    """Return the least cost of tensors that MACs ask for in every cycle.

    A word of tensor t serves at most ``most[t]`` MACs at once, and these numbers multiply to at
    most ``children``. A price of zero takes a tensor out. The shares are prices times one
    factor, clipped to [1, most] (the conditions of Karush, Kuhn and Tucker). The factor is found
    by bisection from above, so the shares are too large if anything.
    """
    low, high, product = 0.0, 0.0, 1.0
    for t in range(3):
        whole = price[t] + (price[AGAIN] if t == OUTPUTS else 0.0)
        if whole > 0:
            high = max(high, most[t] / whole)
            product *= most[t]
    for _ in range(50 if product > children else 0):
        middle = 0.5 * (low + high)
        product = 1.0
        for t in range(3):
            whole = price[t] + (price[AGAIN] if t == OUTPUTS else 0.0)
            product *= min(most[t], max(1.0, whole * middle))
        if product >= children:
            high = middle
        else:
            low = middle
    together, apart = -price[AGAIN] * owned, 0.0
    for t in range(3):
        again = price[AGAIN] if t == OUTPUTS else 0.0
        whole = price[t] + again
        if whole > 0:
            together += macs * whole / min(most[t], max(1.0, whole * high))
            apart += pay(macs / most[t], price[t], again, owned)
    return float(max(together, apart))
