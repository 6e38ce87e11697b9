"""Weavers that decide layer by layer, from what is at the head of each chain."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from archloom.evaluators import Bools, Floats
from archloom.evaluators.weaving import Order, Ticks, demands, makespan

from .applied import (
    FREE,
    LEAD,
    TARGETS,
    ByIdleTime,
    ByStrings,
    ByThresholds,
    OfSome,
    Rule,
    WithinMaps,
    computes_longer,
    one_after_another,
)
from .plan import planned
from .result import Stream, StreamLimits, Woven, stream_limits, streamed, woven
from .rules import endless, serial_steps

#: share of the bound below which a stream by strings tries other rules
LEAST_SHARE: Final = 0.99


def _shortest(work: Ticks, orders: Iterable[tuple[str, Order]]) -> Woven:
    """Return the order of least makespan, the first of equal ones."""
    rule, order = min(orders, key=lambda named: makespan(work, named[1]))
    return woven(rule, order, work)


def _fastest(work: Ticks, rules: Sequence[Rule], limits: StreamLimits) -> Stream:
    """Return the stream of most STP, the first of equal ones.

    Where there are several they are told apart by a tenth of the time.
    """
    best = 0
    if len(rules) > 1:
        tries = (streamed(*rule(work, limits.horizon_ticks // 10), work, limits) for rule in rules)
        best = int(np.argmax([stream.metrics.stp for stream in tries]))
    return streamed(*rules[best](work, limits.horizon_ticks), work, limits)


class Strings:
    """Strings up to a lead, and other rules where they do better.

    Args:
        target: lead as a share of the buffer.
        fallback: whether one query each is woven with other targets and by the greedy too, and a
            stream that gets less than 99% of its bound tries the networks alone that the bound
            serves, other targets, the greedy, and a plan. Where maps are a limit, orders that write
            none out are tried too. The result says which rule it is by.

    Raises:
        ValueError: a target that is no share.
    """

    def __init__(self, *, target: float = TARGETS[0], fallback: bool = True) -> None:
        if not 0 <= target <= 1:
            raise ValueError(f"target must be a fraction of the buffer, from 0 to 1, got {target}")
        self._rule: Rule = ByStrings(target)
        self._others: list[Rule] = []
        if fallback:
            self._others += [ByStrings(t) for t in TARGETS if t != target]
            self._others += [ByIdleTime(), ByIdleTime(additional=True)]

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the shortest schedule of the targets and the greedy, or that of one target."""
        del seed
        rules = [self._rule, *self._others]
        if self._others and work.maps_bounded:
            rules += _within_maps(())
        found = [rule(work, 0) for rule in rules]
        if self._others and work.maps_bounded:
            found += one_after_another(work)
        return _shortest(work, found)

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return a stream by one target, or if that falls short by the best of the other rules."""
        limits = stream_limits(work)
        best = _fastest(work, [self._rule], limits)
        if self._others and best.metrics.spilled_bytes:
            rates = tuple(limits.bound.rates.tolist())
            best = _better(best, _fastest(work, _within_maps(rates), limits))
        served = tuple(np.flatnonzero(limits.bound.rates).tolist())
        if self._others and best.share < LEAST_SHARE and len(served) < work.chains:
            some: list[Rule] = [OfSome(rule, served) for rule in (self._rule, *self._others)]
            best = _better(best, _fastest(work, some[:1], limits))
            if best.share < LEAST_SHARE:
                best = _better(best, _fastest(work, some[1:], limits))
        if self._others and best.share < LEAST_SHARE:
            best = _better(best, _fastest(work, self._others, limits))
        if self._others and best.share < LEAST_SHARE:
            best = _better(best, planned(work, limits, (4, 32), seed))
        return best


def _within_maps(rates: tuple[float, ...]) -> list[Rule]:
    return [WithinMaps(target, rates) for target in TARGETS]


def _better(one: Stream, other: Stream) -> Stream:
    return other if other.metrics.stp > one.metrics.stp else one


class Layerweaver:
    """The greedy scheduler of Layerweaver, with its rules against starvation and its failsafe.

    Args:
        additional: count only idle time of the fetch engine that a layer adds; as printed, all
            that might be fetched until the array is free counts.
        pause: rest at each end of a query until it is done, as ``CheckEnd`` of the paper does.
    """

    def __init__(self, *, additional: bool = False, pause: bool = False) -> None:
        self._rule = ByIdleTime(additional, pause)

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the schedule of the greedy."""
        del seed
        if _one_sided(work):
            serial = _shortest(work, one_after_another(work))
            return woven(_disabled(serial.rule), serial.order, work, serial.bounds)
        return woven(*self._rule(work, 0), work)

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream of the greedy."""
        del seed
        limits = stream_limits(work)
        if not _one_sided(work):
            return _fastest(work, [self._rule], limits)
        order = _whole_queries(work, limits.isolated_ticks, limits)
        return streamed(_disabled("one query after another"), order, work, limits)


def _one_sided(work: Ticks) -> bool:
    """Whether all chains compute longer than they fetch, or none does (Section III-E)."""
    return len(np.unique(computes_longer(work))) == 1


def _disabled(rule: str) -> str:
    return f"{rule}: all networks wait for the same engine, so layerweaver is disabled"


def _whole_queries(work: Ticks, shares: Floats, limits: StreamLimits) -> Order:
    run = endless(work, limits.horizon_ticks)
    return Order(run.chain[: serial_steps(run, shares)])


class AiMt:
    """Thresholds on free buffer and lead, swept unless they are given.

    Args:
        free: share of the buffer below whose free rest layers of little compute time go first;
            negative: swept.
        lead: share of the buffer, in ticks, below which layers that add lead go first; negative:
            swept.

    Raises:
        ValueError: a share above 1.
    """

    def __init__(self, *, free: float = -1.0, lead: float = -1.0) -> None:
        for name, share in (("free", free), ("lead", lead)):
            if share > 1:
                raise ValueError(f"{name} must be a fraction of the buffer, at most 1, got {share}")
        self._free = (free,) if free >= 0 else FREE
        self._lead = (lead,) if lead >= 0 else LEAD

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the shortest schedule of the settings."""
        return _shortest(work, (rule(work, 0) for rule in self._rules(seed)))

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream of most STP of the settings."""
        return _fastest(work, self._rules(seed), stream_limits(work))

    def _rules(self, seed: int) -> list[Rule]:
        return [ByThresholds(free, lead, seed) for free in self._free for lead in self._lead]


class Fair:
    """One network at a time, each for the same share of the time, in one piece."""

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the shortest schedule of one chain after another."""
        del seed
        return _shortest(work, one_after_another(work))

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream that serves one chain after another, each for the same time."""
        del seed
        limits = stream_limits(work)
        share = limits.horizon_ticks / work.chains
        queries = np.maximum(1, np.rint(share / limits.isolated_ticks)).astype(np.int64)
        chain = np.repeat(np.arange(work.chains), queries * np.diff(work.first))
        order = Order(chain)
        return streamed("fair, one chain after another", order, work, limits)


class OneSide:
    """Networks that wait for one engine alone, one at a time; one query each: those first.

    Args:
        computes: whether those are served that compute longer than they fetch, or the others. If
            there are none, the one that comes nearest is.
    """

    def __init__(self, computes: bool) -> None:
        self._computes = computes
        self._name = "compute-bound networks" if computes else "memory-bound networks"

    def weave(self, work: Ticks, seed: int = 0) -> Woven:
        """Return the schedule of one chain after another, those first."""
        del seed
        served = self._served(work)
        chains = np.concatenate([np.flatnonzero(served), np.flatnonzero(~served)])
        order = Order(np.repeat(chains, np.diff(work.first)[chains]))
        return woven(f"{self._name} first", order, work)

    def stream(self, work: Ticks, seed: int = 0) -> Stream:
        """Return the stream of whole queries of those chains alone."""
        del seed
        limits = stream_limits(work)
        shares = np.where(self._served(work), limits.isolated_ticks, -1.0)
        return streamed(f"{self._name} alone", _whole_queries(work, shares, limits), work, limits)

    def _served(self, work: Ticks) -> Bools:
        longer = computes_longer(work)
        served: Bools = longer if self._computes else ~longer
        if served.any():
            return served
        needed = demands(work)
        with np.errstate(divide="ignore"):
            ratio = needed[:, 0] / needed[:, 1]
        most = ratio.argmax() if self._computes else ratio.argmin()
        nearest: Bools = np.arange(len(ratio)) == most
        return nearest


def compute_only() -> OneSide:
    """Return the weaver that serves compute-bound networks alone."""
    return OneSide(True)


def memory_only() -> OneSide:
    """Return the weaver that serves memory-bound networks alone."""
    return OneSide(False)
