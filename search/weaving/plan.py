"""Plan: queries in the proportion of the bound's rates, woven once, and repeated."""

from typing import Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.weaving import Order, Ticks, repeated, steady_rows

from .certify import begun
from .result import Stream, StreamLimits, streamed

#: most layers of a plan, unless one query of each chain has more
MOST_LAYERS: Final = 4000

#: a wider beam follows if the first one leaves a larger gap
_GAP: Final = 2e-4


def counts_in_proportion(work: Ticks, limits: StreamLimits) -> Ints:
    """Return int64[k], how many queries of each chain a plan has.

    Of all plans with rounded multiples of the bound's rates, the one whose queries are worth most
    for the time that the scarcest resource needs.
    """
    rates, needed = limits.bound.rates, steady_rows(work)
    layers = np.diff(work.first)
    per_tick = float((rates * layers).sum())
    best, counts = -1.0, np.zeros(len(rates), np.int64)
    for wanted in np.geomspace(1, MOST_LAYERS, 200):
        chosen = np.where(rates > 0, np.maximum(1, np.rint(rates * wanted / per_tick)), 0)
        tries = chosen.astype(np.int64)
        if best >= 0 and (tries * layers).sum() > MOST_LAYERS:
            break
        value = float((tries * limits.isolated_ticks).sum() / (tries @ needed).max())
        if value > best * (1 + 1e-9):
            best, counts = value, tries
    return counts


def planned(work: Ticks, limits: StreamLimits, widths: tuple[int, ...], seed: int) -> Stream:
    """Return the stream that repeats a plan, woven by beams of growing width."""
    counts = counts_in_proportion(work, limits)
    held = begun(repeated(work, counts.tolist()), seed)
    for width in widths:
        if held.best.gap <= _GAP and width > widths[0]:
            break
        if not held.best.proven:
            held.search(f"beam of {width}", width, 0, 2**62)
    chain = np.flatnonzero(counts)[held.best.order.chain]
    times = max(1, -(-limits.horizon_ticks // max(1, held.best.upper_ticks)))
    order = Order(np.tile(chain, times))
    queries = " + ".join(str(n) for n in counts.tolist())
    return streamed(f"plan of {queries} queries, {held.best.rule}", order, work, limits)
