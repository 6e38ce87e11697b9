"""Upper bound on the throughput of endless queries, and what the engines are worth.

With rates r_m (queries of a chain per tick) and weights v_m, every schedule's long-run value obeys

    max  sum r_m v_m   s.t.  sum r_m C_m <= 1            array
                             sum r_m (W_m + A_m) <= 1    pins: weights and maps
                             sum r_m (W_m + I_m) <= 1    weights and inherent idle time

With v_m = T_m, the time of a query where nothing else runs, it bounds STP (Eyerman and Eeckhout,
IEEE Micro 28(3), 2008). The optimum of the dual is returned, so that the bound holds by weak
duality whatever rounding does to the rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from archloom.evaluators.jit import compiled

from ..arrays import Floats
from .bounds import inherent_idle
from .engines import DONE, new_engines, queue_room, run_layer
from .ticks import Ticks

#: relative; the value is raised by it, and bases whose determinant is below it are skipped
ROUNDING: Final = 1e-12

#: relative; rates below it are zero
_NEGATIVE: Final = 1e-10


@dataclass(frozen=True, eq=False)
class ThroughputBound:
    """Optimum of the linear program.

    Attributes:
        value: no schedule's sum of rates times weights is above it.
        rates: float64[k], queries per tick that attain it if nothing but the rows above binds.
        prices: what one more tick of the array, of the pins, and of room to fetch weights would
            add, each as a share of all ticks; they add up to the value.
    """

    value: float
    rates: Floats
    prices: tuple[float, float, float]

    @property
    def compute_price(self) -> float:
        """What an idle tick of the array costs."""
        return self.prices[0]

    @property
    def memory_price(self) -> float:
        """What an idle tick of the fetch engine costs."""
        return self.prices[1] + self.prices[2]


@compiled
def _demands(work: Ticks) -> Floats:
    chains = len(work.first) - 1
    rows = np.zeros((chains, 3))
    for m in range(chains):
        compute, pins, room = 0, 0, 0
        for part in range(work.first[m], work.first[m + 1]):
            compute += work.compute[part]
            pins += work.fetch[part] + work.maps[part]
            room += work.fetch[part] + inherent_idle(work, part)
        rows[m, 0], rows[m, 1], rows[m, 2] = compute, pins, room
    return rows


def demands(work: Ticks) -> Floats:
    """Return float64[k, 3]: ticks of a query of each chain in each row."""
    rows: Floats = _demands(work)
    return rows


@compiled
def _periods(work: Ticks, buffers: int, queries: int, most_steps: int) -> Floats:
    first = work.first
    periods = np.zeros(len(first) - 1)
    for m in range(len(first) - 1):
        length, weights = first[m + 1] - first[m], work.fetch[first[m] : first[m + 1]].sum()
        count = max(queries, buffers * work.buffer // max(1, weights))
        count = 2 * max(1, min(count, most_steps // length) // 2)
        engines = new_engines(queue_room(work))
        half = 0
        for query in range(count):
            if query == count // 2:
                half = engines.state[DONE]
            for part in range(first[m], first[m + 1]):
                run_layer(
                    engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer
                )
        periods[m] = (engines.state[DONE] - half) / (count - count // 2)
    return periods


def isolated_ticks(work: Ticks) -> Floats:
    """Return float64[k]: ticks between queries of each chain where nothing else runs.

    Layers of the next query are fetched while the last ones of a query run, as everywhere. The
    period is measured over half of at least 64 buffers of weights and 16 queries.
    """
    periods: Floats = _periods(work, 64, 16, 2_000_000)
    # no measured period is below what the busier engine needs
    return np.maximum(np.maximum(periods, demands(work).max(axis=1)), 1.0)


def throughput_bound(work: Ticks, weights: Sequence[float] | Floats) -> ThroughputBound:
    """Return the optimum of the linear program.

    Args:
        work: chains.
        weights: what a query of each is worth.

    Raises:
        ValueError: not one positive weight for each chain.
    """
    rows, worth = demands(work), np.asarray(weights, np.float64)
    if worth.shape != (len(rows),) or not np.all(np.isfinite(worth) & (worth > 0)):
        raise ValueError(f"{len(rows)} chains need as many positive weights, got {weights}")
    if not rows.max(axis=1).all():
        raise ValueError("a chain without bytes and cycles has no limit to its throughput")
    # rows of the dual: prices are not negative, and pay for each chain's worth
    left = np.vstack([np.eye(3), rows / worth[:, None]])
    right = np.concatenate([np.zeros(3), np.ones(len(rows))])
    best: tuple[float, Floats, Floats] | None = None
    attained = False
    for basis in combinations(range(len(left)), 3):
        chosen = left[list(basis)]
        if abs(np.linalg.det(chosen / np.abs(chosen).max(axis=1)[:, None])) < ROUNDING:
            continue
        vertex = np.linalg.solve(chosen, right[list(basis)])
        prices = np.maximum(vertex, 0.0)
        paid = (left[3:] @ prices).min()
        if paid <= 0.0:
            continue
        # raised until every chain is paid for: then weak duality holds as it stands
        prices /= min(paid, 1.0)
        value = float(prices.sum())
        shares = np.linalg.solve(chosen.T, np.ones(3))
        # of several bases of the optimum, one that neither prices nor rates violate attains it
        whole = min(vertex.min() / prices.max(), shares.min()) > -_NEGATIVE
        attains = bool(whole and paid > 1 - _NEGATIVE)
        better = best is None or value < best[0] * (1 - _NEGATIVE)
        if better or (best and value <= best[0] * (1 + _NEGATIVE) and attains > attained):
            rates = np.zeros(len(rows))
            for row, share in zip(basis, shares, strict=True):
                if row >= 3 and share > _NEGATIVE:
                    rates[row - 3] = share / worth[row - 3]
            best, attained = (value, prices, rates), attains
    assert best is not None  # the price of the scarcest row alone pays for all chains
    value, prices, rates = best
    return ThroughputBound(
        value * (1 + ROUNDING), rates, (float(prices[0]), float(prices[1]), float(prices[2]))
    )
