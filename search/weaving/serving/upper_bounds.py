"""Upper bounds on what any policy serves, with weights that do not depend on the policy.

With a_m offered and r_m served queries of network m per tick, worth v_m each, every schedule obeys

    max  sum r_m v_m   s.t.  r_m <= a_m,   sum_m r_m d_mk <= 1  for each resource k

where d_mk are the ticks that a query keeps resource k busy
(:func:`archloom.evaluators.weaving.demands`). It holds from time 0 until the last request has left,
since no resource can be busy for longer than that.
"""

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled, helper

#: relative; how much a bound is raised, so that no rounding makes it too small
ROUNDING = 1e-9

#: relative; three planes whose determinant is below meet nowhere
_PARALLEL = 1e-12


def goodput_bound(demands: Floats, worth: Floats, offered: Floats) -> float:
    """Return a bound on the sum of rates times worth.

    The dual of the linear program has a price for each resource. For any prices p that are not
    negative, sum_k p_k + sum_m a_m max(0, v_m - sum_k d_mk p_k) is a bound (weak duality); its
    least value is at a corner, where three of its planes meet, and all corners are tried.

    Args:
        demands: float64[k, 3], ticks of a query in each resource.
        worth: float64[k], of a query.
        offered: float64[k], queries per tick.
    """
    # in units in which all numbers are near 1, so that determinants tell something
    unit, most = demands.max(), worth.max()
    least = _least_dual(demands / unit, worth / most, offered * unit)
    return float(least * most / unit * (1 + ROUNDING))


@compiled
def _least_dual(demands: Floats, worth: Floats, offered: Floats) -> float:
    chains = len(worth)
    planes = np.zeros((chains + 3, 4))
    for k in range(3):
        planes[k, k] = 1.0
    for m in range(chains):
        for k in range(3):
            planes[3 + m, k] = demands[m, k]
        planes[3 + m, 3] = worth[m]
    # without prices, all that is offered is served
    prices = np.zeros(3)
    best = _dual(demands, worth, offered, prices)
    for a in range(chains + 3):
        for b in range(a + 1, chains + 3):
            for c in range(b + 1, chains + 3):
                if _meet(planes[a], planes[b], planes[c], prices):
                    best = min(best, _dual(demands, worth, offered, prices))
    return best


@helper
def _dual(demands: Floats, worth: Floats, offered: Floats, prices: Floats) -> float:
    value = prices[0] + prices[1] + prices[2]
    for m in range(len(worth)):
        profit = worth[m]
        for k in range(3):
            profit -= demands[m, k] * prices[k]
        value += offered[m] * max(0.0, profit)
    return value


@helper
def _meet(a: Floats, b: Floats, c: Floats, prices: Floats) -> bool:
    """Set prices to where three planes meet, by Cramer's rule; return whether they do."""
    whole = _determinant(a, b, c, 0, 1, 2)
    if abs(whole) < _PARALLEL:
        return False
    prices[0] = max(0.0, _determinant(a, b, c, 3, 1, 2) / whole)
    prices[1] = max(0.0, _determinant(a, b, c, 0, 3, 2) / whole)
    prices[2] = max(0.0, _determinant(a, b, c, 0, 1, 3) / whole)
    return True


@helper
def _determinant(a: Floats, b: Floats, c: Floats, i: int, j: int, k: int) -> float:
    return (
        a[i] * (b[j] * c[k] - b[k] * c[j])
        - a[j] * (b[i] * c[k] - b[k] * c[i])
        + a[k] * (b[i] * c[j] - b[j] * c[i])
    )


def load_bound(demands: Floats, network: Ints, last_unit: float, latest: int, missed: int) -> float:
    """Return a load above which more requests are missed, whatever the policy.

    All that are in time end by the last deadline. Those that are missed are taken to be the ones
    that need most.

    Args:
        demands: float64[k, 3], ticks of a query in each resource.
        network: int64[n], which network each request is for.
        last_unit: tick of the last arrival at load 1.
        latest: ticks after its arrival until which a request is in time, at most.
        missed: requests that may be missed.
    """
    bounds = [np.inf]
    for row in demands.T:
        needed = np.sort(row[network])[: len(network) - missed].sum()
        if needed > latest:
            bounds.append(last_unit / (needed - latest) * (1 + ROUNDING))
    return float(min(bounds))
