"""When requests come: closed loops, Poisson, bursts, and given times.

Draws are made once from a seed, in units of the mean time between requests. Loads and designs
scale the same draws (common random numbers; Law, "Simulation Modeling and Analysis", section 11.2),
so that they are compared on the same requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archloom.evaluators import Floats, Ints

from ...seeds import derived_seed
from .requests import Requests

#: an arrival that is not known yet
_UNKNOWN = 2**62


@dataclass(frozen=True, eq=False)
class Draws:
    """Random numbers of open arrivals, before any rate.

    Attributes:
        times: float64[n], arrivals in units of the mean time between requests.
        points: float64[n], from 0 to 1: whose request each is, by the shares of the networks.
    """

    times: Floats
    points: Floats


def draws_of(count: int, seed: int, burst: int = 1) -> Draws:
    """Return draws of a Poisson process.

    Args:
        count: requests.
        seed: of a study.
        burst: requests that come at once, all for the same network.
    """
    events = -(-count // burst)
    gaps = np.random.default_rng(derived_seed(seed, "serving", "gaps")).exponential(burst, events)
    points = np.random.default_rng(derived_seed(seed, "serving", "networks")).random(events)
    return Draws(np.repeat(np.cumsum(gaps), burst)[:count], np.repeat(points, burst)[:count])


def open_requests(draws: Draws, rates: Floats, within: Ints) -> Requests:
    """Return requests that come whatever becomes of them.

    Args:
        draws: random numbers.
        rates: float64[k], requests of each network per tick.
        within: int64[k], ticks until their deadlines.
    """
    total = rates.sum()
    # the last network gets what rounding leaves
    bounds = np.cumsum(rates)[:-1] / total
    network = np.searchsorted(bounds, draws.points, side="right").astype(np.int64)
    arrival = (draws.times / total).astype(np.int64)
    # they are in order of time
    return _by_network(arrival, network, np.argsort(network, kind="stable"), within)


def given_requests(arrival: Ints, network: Ints, within: Ints) -> Requests:
    """Return requests that come at given ticks, each for a network."""
    return _by_network(arrival, network, np.lexsort((arrival, network)), within)


def _by_network(arrival: Ints, network: Ints, order: Ints, within: Ints) -> Requests:
    first = np.searchsorted(network[order], np.arange(len(within) + 1)).astype(np.int64)
    return Requests(first, arrival[order], within[network[order]], np.zeros(len(within), np.int64))


def networks_of(requests: Requests) -> Ints:
    """Return int64[n]: which network each request is for."""
    networks: Ints = np.repeat(np.arange(len(requests.batch)), np.diff(requests.first))
    return networks


def closed_requests(count: int, batches: Sequence[int], within: Ints) -> Requests:
    """Return requests of closed loops: a network's next batch comes when the last one has ended.

    Args:
        count: requests of all networks together.
        batches: of each network, requests that come at once; 1 is a single stream.
        within: int64[k], ticks until their deadlines.
    """
    networks = len(within)
    arrival = np.full((networks, count), _UNKNOWN, np.int64)
    for row, batch in zip(arrival, batches, strict=True):
        row[:batch] = 0
    first = np.arange(networks + 1, dtype=np.int64) * count
    return Requests(first, arrival.ravel(), np.repeat(within, count), np.asarray(batches, np.int64))
