"""Upper bound on the throughput of endless queries, and what the engines are worth.

With rates r_m (queries of a chain per tick) and weights v_m, every schedule's long-run value obeys

    max  sum r_m v_m   s.t.  sum r_m C_m <= 1            array
                             sum r_m (W_m + A_m) <= 1    pins: weights and maps
                             sum r_m (W_m + I_m) <= 1    weights and inherent idle time
                             r_m P_m + sum of others r_n sum min(w, c) <= 1    order, of each m

where P_m is the period of a chain that runs alone. The last rows are bound B4 of the makespan for
endless queries: the longest path of one chain crosses each layer of the others on one side or the
other (docs/explanation/weaving.md, "Bound on throughput"). With v_m = P_m, the value bounds STP
(Eyerman and Eeckhout, IEEE Micro 28(3), 2008). Prices are the optimum of the dual, raised until
they pay for every chain, so that the bound holds by weak duality whatever rounding does to the
rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...arrays import Floats
from ..ticks import Ticks
from .periods import periods_alone
from .resources import demands, least_passages

#: relative; the value is raised by it
ROUNDING: Final = 1e-12

#: relative; rates below it are zero
_NEGATIVE: Final = 1e-10


@dataclass(frozen=True, eq=False)
class ThroughputBound:
    """Optimum of the linear program.

    Attributes:
        value: no schedule's sum of rates times weights is above it.
        rates: float64[k], queries per tick that attain it if nothing but the rows above binds.
        prices: what one more tick of the array, of the pins, of room to fetch weights, and of each
            chain's order would add, each as a share of all ticks; they add up to the value.
    """

    value: float
    rates: Floats
    prices: tuple[float, ...]

    @property
    def compute_price(self) -> float:
        """What an idle tick of the array costs."""
        return self.prices[0]

    @property
    def memory_price(self) -> float:
        """What an idle tick of the fetch engine costs."""
        return self.prices[1] + self.prices[2]

    @property
    def order_price(self) -> float:
        """What is owed to the order of layers within chains, where neither engine is scarce."""
        return sum(self.prices[3:])


def steady_rows(work: Ticks) -> Floats:
    """Return float64[k, 3 + k]: ticks of a query of each chain in each row of the program."""
    rows, passages = demands(work), least_passages(work)
    orders = np.repeat(passages[:, None], len(rows), axis=1)
    np.fill_diagonal(orders, np.maximum(periods_alone(work).least, rows.max(axis=1)))
    return np.hstack([rows, orders])


def throughput_bound(work: Ticks, weights: Sequence[float] | Floats) -> ThroughputBound:
    """Return the optimum of the linear program.

    Args:
        work: chains.
        weights: what a query of each is worth.

    Raises:
        ValueError: not one positive weight for each chain.
    """
    rows, worth = steady_rows(work), np.asarray(weights, np.float64)
    if worth.shape != (len(rows),) or not np.all(np.isfinite(worth) & (worth > 0)):
        raise ValueError(f"{len(rows)} chains need as many positive weights, got {weights}")
    if not rows.max(axis=1).all():
        raise ValueError("a chain without bytes and cycles has no limit to its throughput")
    # in units of the time that a query of each chain needs at the least, so that all is near 1
    unit = rows.max(axis=1)
    used, value = rows / unit[:, None], worth / unit
    most = value.max()
    # 40 MB and half a second: each worker of a study imports this module, and few solve anything
    from scipy.optimize import linprog

    found = linprog(-value / most, A_ub=used.T, b_ub=np.ones(used.shape[1]), method="highs-ds")
    if found.x is None:
        raise ValueError(f"the bound on throughput was not found: {found.message}")
    prices = np.maximum(-found.ineqlin.marginals * most, 0.0)
    # raised until every chain is paid for: then weak duality holds as it stands
    prices /= min(1.0, float((used @ prices / value).min()))
    rates = np.where(found.x > _NEGATIVE, found.x, 0.0) / unit
    return ThroughputBound(float(prices.sum()) * (1 + ROUNDING), rates, tuple(prices.tolist()))
