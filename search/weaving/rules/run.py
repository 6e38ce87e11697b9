"""A run of an online rule: what is left to do, and what was chosen."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.weaving import DONE, Engines, Ticks, demands, run_layer

#: queries of an endless stream
ENDLESS: Final = 2**62

#: steps after which an endless stream ends, however short its layers are
MOST_STEPS: Final = 4_000_000


class Run(NamedTuple):
    """Chains to serve, and the choices so far.

    Attributes:
        work: the chains.
        queries: int64[k], how many of each are left.
        position: int64[k], the next part of each.
        horizon: tick after which nothing more is scheduled.
        chain: int64[most steps], the choices.
    """

    work: Ticks
    queries: Ints
    position: Ints
    horizon: int
    chain: Ints


def finite(work: Ticks, queries: Ints) -> Run:
    """Return a run of so many queries of each chain."""
    steps = int((np.diff(work.first) * queries).sum())
    left = np.where(np.diff(work.first) > 0, queries, 0)
    return Run(work, left, work.first[:-1].copy(), ENDLESS, np.empty(steps, np.int64))


def endless(work: Ticks, horizon: int) -> Run:
    """Return a run of endless queries up to a tick."""
    longest = np.maximum(demands(work).max(axis=1), 1)
    # both engines are busy for no longer than the horizon, and the buffer is full at its end
    steps = 2 * (horizon + work.buffer) * float((np.diff(work.first) / longest).max())
    most = int(min(MOST_STEPS, steps + 2 * work.first[-1]))
    left = np.full(work.chains, ENDLESS, np.int64)
    return Run(work, left, work.first[:-1].copy(), horizon, np.empty(most, np.int64))


@helper
def goes_on(run: Run, engines: Engines, step: int) -> bool:
    """Whether another layer is scheduled after so many."""
    return step < len(run.chain) and engines.state[DONE] < run.horizon


@helper
def take(run: Run, engines: Engines, step: int, m: int) -> None:
    """Run the next layer of a chain."""
    work, part = run.work, run.position[m]
    run_layer(engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer)
    advance(run, step, m)


@helper
def advance(run: Run, step: int, m: int) -> None:
    """Write a choice down, and let the chain stand before its next layer."""
    work, part = run.work, run.position[m]
    run.chain[step] = m
    run.position[m] = part + 1
    if part + 1 == work.first[m + 1]:
        run.position[m] = work.first[m]
        run.queries[m] -= 1
