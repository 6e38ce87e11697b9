"""Rules applied: orders of one query of each chain, and of endless queries."""

from collections.abc import Iterator
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators import Bools, Floats
from archloom.evaluators.weaving import Order, Ticks, demands

from .rules.ai_mt import Thresholds, ai_mt
from .rules.layerweaver import Greedy, layerweaver
from .rules.run import Run, endless, finite
from .rules.serial import serial, serial_orders
from .rules.strings import deficits, strings

#: shares of the buffer that targets of strings are swept over; the first is the usual one
TARGETS: Final = (0.5, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8)

#: shares of the buffer that thresholds of ``ai_mt`` are swept over, both (25 settings)
THRESHOLDS: Final = tuple(product((0.02, 0.05, 0.1, 0.2, 0.4), (0.02, 0.05, 0.1, 0.25, 0.5)))

Named: TypeAlias = Iterator[tuple[str, Order]]

_NEVER: Final = np.zeros(0, np.int64)


def _new(work: Ticks, horizon: int) -> Run:
    """Return a run of one query of each chain, or of endless ones if there is a horizon."""
    return endless(work, horizon) if horizon else finite(work, np.ones(work.chains, np.int64))


def by_strings(work: Ticks, horizon: int = 0, targets: tuple[float, ...] = TARGETS) -> Named:
    """Yield orders by strings, one for each target."""
    needs = deficits(work, horizon > 0)
    for share in targets:
        run = _new(work, horizon)
        steps = strings(run, needs, int(share * work.buffer))
        yield f"strings, target {share:g}", Order(run.chain[:steps], _NEVER)


def computes_longer(work: Ticks) -> Bools:
    """Return bool[k]: chains whose array works longer than their fetches take."""
    needed = demands(work)
    longer: Bools = needed[:, 0] > needed[:, 1]
    return longer


def by_greedy(
    work: Ticks, horizon: int = 0, *, additional: bool = False, pause: bool = False
) -> tuple[str, Order]:
    """Return an order by least idle time."""
    run = _new(work, horizon)
    rule = Greedy(computes_longer(work), additional, pause)
    release = np.zeros(len(run.chain) if pause else 0, np.int64)
    steps = layerweaver(run, rule, release)
    names = ["layerweaver"]
    if additional:
        names.append("additional idle time alone")
    if pause:
        names.append("with pauses")
    return ", ".join(names), Order(run.chain[:steps], release[:steps])


def by_ai_mt(
    work: Ticks, seed: int, horizon: int = 0, settings: tuple[tuple[float, float], ...] = THRESHOLDS
) -> Named:
    """Yield orders by thresholds, one for each setting."""
    for free, ahead in settings:
        rule = Thresholds(int(free * work.buffer), int(ahead * work.buffer), seed)
        run = _new(work, horizon)
        name = f"ai_mt, free {free:g}, lead {ahead:g}"
        yield name, Order(run.chain[: ai_mt(run, rule)], _NEVER)


def by_queries(work: Ticks, shares: Floats, horizon: int) -> Order:
    """Return an order of endless whole queries; see :func:`serial`."""
    run = _new(work, horizon)
    return Order(run.chain[: serial(run, shares)], _NEVER)


def one_after_another(work: Ticks) -> Named:
    """Yield orders of one chain after another."""
    for chain in serial_orders(work):
        yield "one chain after another", Order(chain, _NEVER)
