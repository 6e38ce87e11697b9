"""Rules applied: each makes an order of one query of each chain, or of endless queries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators import Bools
from archloom.evaluators.weaving import Order, Ticks, demands, repeated

from .mix_kernel import Mix, stream_order
from .rules import (
    Greedy,
    Run,
    Thresholds,
    ai_mt_steps,
    deficits,
    endless,
    finite,
    greedy_steps,
    serial_orders,
    strings_steps,
)

#: makes a named order of one query of each chain, or of endless ones up to a horizon other than 0
Rule: TypeAlias = Callable[[Ticks, int], tuple[str, Order]]

#: shares of the buffer that targets of strings are swept over; the first is the usual one
TARGETS: Final = (0.5, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8)

#: shares of the buffer that the thresholds of ``ai_mt`` are swept over: free buffer and lead
FREE: Final = (0.0, 0.02, 0.1, 0.2, 0.4)
LEAD: Final = (0.01, 0.05, 0.1, 0.3, 0.6)


#: queries that a chain may be ahead of its turn
_AHEAD: Final = 2


def _new(work: Ticks, horizon: int) -> Run:
    return endless(work, horizon) if horizon else finite(work, np.ones(work.chains, np.int64))


@dataclass(frozen=True)
class ByStrings:
    """Strings up to a lead, a share of the buffer."""

    target: float

    def __call__(self, work: Ticks, horizon: int) -> tuple[str, Order]:
        """Return the order and its name."""
        run, needs = _new(work, horizon), deficits(work, horizon > 0)
        steps = strings_steps(run, needs, int(self.target * work.buffer))
        return f"strings, target {self.target:g}", Order(run.chain[:steps])


@dataclass(frozen=True)
class ByIdleTime:
    """The greedy of Layerweaver; see :class:`archloom.search.weaving.rules.Greedy`."""

    additional: bool = False
    pause: bool = False

    def __call__(self, work: Ticks, horizon: int) -> tuple[str, Order]:
        """Return the order and its name."""
        run = _new(work, horizon)
        release = np.zeros(len(run.chain) if self.pause else 0, np.int64)
        rule = Greedy(computes_longer(work), self.additional, self.pause)
        steps = greedy_steps(run, rule, release)
        name = "layerweaver"
        name += ", additional idle time alone" if self.additional else ""
        name += ", with pauses" if self.pause else ""
        return name, Order(run.chain[:steps], release[:steps])


@dataclass(frozen=True)
class ByThresholds:
    """Thresholds after AI-MT, shares of the buffer."""

    free: float
    lead: float
    seed: int

    def __call__(self, work: Ticks, horizon: int) -> tuple[str, Order]:
        """Return the order and its name."""
        run = _new(work, horizon)
        rule = Thresholds(int(self.free * work.buffer), int(self.lead * work.buffer), self.seed)
        steps = ai_mt_steps(run, rule)
        name = f"ai_mt, free {self.free:g}, lead {self.lead:g}"
        return name, Order(run.chain[:steps])


@dataclass(frozen=True)
class OfSome:
    """A rule for some of the chains; the others are not served.

    Attributes:
        rule: who chooses among them.
        served: chains that are.
    """

    rule: Rule
    served: tuple[int, ...]

    def __call__(self, work: Ticks, horizon: int) -> tuple[str, Order]:
        """Return the order and its name."""
        queries = np.bincount(self.served, minlength=work.chains).tolist()
        name, order = self.rule(repeated(work, queries), horizon)
        chain = np.array(self.served, np.int64)[order.chain]
        return f"{name}, networks of the bound alone", Order(chain, order.release)


@dataclass(frozen=True)
class WithinMaps:
    """Strings where maps are a limit: no layer runs for which maps would have to be written out.

    Attributes:
        target: lead, a share of the buffer.
        rates: queries per tick of each chain, of endless queries.
    """

    target: float
    rates: tuple[float, ...]

    def __call__(self, work: Ticks, horizon: int) -> tuple[str, Order]:
        """Return the order and its name."""
        queries = np.ones(work.chains, np.int64)
        if horizon:
            rates = np.array(self.rates)
            queries = np.where(rates > 0, np.maximum(1, np.rint(rates * horizon)), 0).astype(
                np.int64
            )
        order = np.empty(int(queries @ np.diff(work.first)), np.int64)
        needs = deficits(work, horizon > 0)
        stream_order(work, Mix(queries, _AHEAD, needs, int(self.target * work.buffer)), order)
        return f"strings within maps, target {self.target:g}", Order(order)


def thresholds(seed: int) -> list[ByThresholds]:
    """Return all 25 settings of the thresholds."""
    return [ByThresholds(free, lead, seed) for free, lead in product(FREE, LEAD)]


def computes_longer(work: Ticks) -> Bools:
    """Return bool[k]: chains whose array works longer than their fetches take."""
    needed = demands(work)
    longer: Bools = needed[:, 0] > needed[:, 1]
    return longer


def one_after_another(work: Ticks) -> Iterator[tuple[str, Order]]:
    """Yield orders of one query of each chain, one chain after another."""
    for chain in serial_orders(work):
        yield "one chain after another", Order(chain)
