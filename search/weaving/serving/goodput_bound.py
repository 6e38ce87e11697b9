"""Upper bounds on what any policy serves, with weights that do not depend on the policy.

With a_m offered and r_m served queries of network m per tick, worth v_m each, every schedule obeys

    max  sum r_m v_m   s.t.  r_m <= a_m,   sum_m r_m d_mk <= 1  for each resource k

where d_mk are the ticks that a query keeps resource k busy
(:func:`archloom.evaluators.weaving.demands`). It holds from time 0 until the last request has left,
since no resource can be busy for longer than that.
"""

import numpy as np

from archloom.evaluators import Floats, Ints

#: relative; how much a bound is raised, so that no rounding makes it too small
ROUNDING = 1e-9


def goodput_bound(demands: Floats, worth: Floats, offered: Floats) -> float:
    """Return a bound on the sum of rates times worth.

    It is taken from prices of the resources, by weak duality: whatever these are, a query earns at
    most its worth less what it costs.

    Args:
        demands: float64[k, 3], ticks of a query in each resource.
        worth: float64[k], of a query.
        offered: float64[k], queries per tick.
    """
    from scipy.optimize import linprog

    # in units in which all is near 1
    scale = worth.max()
    found = linprog(
        -worth * offered / (worth * offered).sum(),
        A_ub=(demands * offered[:, None]).T,
        b_ub=np.ones(demands.shape[1]),
        bounds=(0.0, 1.0),
    )
    prices = np.maximum(-found.ineqlin.marginals, 0.0) * (worth * offered).sum() / scale
    profit = np.maximum(worth / scale - demands @ prices, 0.0)
    return float(prices.sum() + profit @ offered) * scale * (1 + ROUNDING)


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
