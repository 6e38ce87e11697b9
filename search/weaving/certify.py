"""Certify: rules, beams and relaxed diagrams in turn, until bound and schedule meet."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.weaving import (
    MOST_CELLS,
    Order,
    Ticks,
    cells,
    makespan,
    makespan_bounds,
    suffix_bounds,
)

from .applied import TARGETS, ByIdleTime, ByStrings, one_after_another, thresholds
from .diagrams import Limits, Outcome, Problem, diagram, problem_of
from .result import Woven, woven

#: states and comparisons after which a proof is given up: 2 to 4 CPU-seconds
EFFORT: Final = 100_000_000

#: how much wider the next diagram is
_WIDER: Final = 4


def rules(work: Ticks, seed: int) -> Iterator[tuple[str, Order]]:
    """Yield orders of one query of each chain by all rules, the most promising first."""
    for target in TARGETS:
        yield ByStrings(target)(work, 0)
    yield ByIdleTime()(work, 0)
    yield ByIdleTime(additional=True)(work, 0)
    yield from one_after_another(work)
    for rule in thresholds(seed):
        yield rule(work, 0)


@dataclass(eq=False)
class Certificate:
    """The best schedule and the best bound so far.

    Attributes:
        work: the chains.
        problem: the same, for diagrams.
        best: schedule and bound.
    """

    work: Ticks
    problem: Problem
    best: Woven

    def offer(self, rule: str, order: Order) -> None:
        """Take a schedule if it is better."""
        ticks = makespan(self.work, order)
        if ticks < self.best.upper_ticks:
            self.best = replace(self.best, rule=rule, order=order, upper_ticks=ticks)

    def search(self, rule: str, width: int, merge: int, effort: int) -> Outcome:
        """Go through a diagram, and take what it finds and proves."""
        order: Ints = np.empty(self.work.first[-1], np.int64)
        limits = Limits(self.best.upper_ticks, width, merge, effort)
        found: Outcome = diagram(self.problem, limits, order)
        if found.reached:
            self.offer(rule, Order(order))
        self.best = replace(
            self.best,
            lower_ticks=max(self.best.lower_ticks, min(found.lower, self.best.upper_ticks)),
            effort=self.best.effort + found.effort,
        )
        return found


def begun(work: Ticks, seed: int) -> Certificate:
    """Return a certificate by rules alone."""
    table: Ints = np.zeros(0, np.int64)
    if cells(work) <= MOST_CELLS:
        table = suffix_bounds(work)
    bounds = makespan_bounds(work, table if len(table) else None)
    offers = rules(work, seed)
    rule, order = next(offers)
    held = Certificate(work, problem_of(work, table), woven(rule, order, work, bounds))
    for rule, order in offers:
        if held.best.proven:
            break
        held.offer(rule, order)
    return held


def certified(work: Ticks, seed: int = 0, effort: int = EFFORT) -> Woven:
    """Return the best schedule of one query of each chain that is found, and its bound.

    Beams of growing width and relaxed diagrams of growing size take turns until the bound meets the
    schedule; a diagram in which nothing had to be merged is exact. The result depends on
    ``effort``, not on time.
    """
    held = begun(work, seed)
    width, merge = 1, 1
    while not held.best.proven and held.best.effort < effort:
        left = effort - held.best.effort
        beam = held.search(f"beam of {width}", width, 0, left)
        width *= _WIDER
        if beam.exact or held.best.proven or held.best.effort >= effort:
            break
        left = effort - held.best.effort
        # what is exact and yet above its bound spills maps, which diagrams do not see
        if held.search(f"diagram of {merge} states a cell", 0, merge, left).exact:
            break
        merge *= _WIDER
    return held.best


def narrow_beam(work: Ticks, width: int, seed: int = 0, effort: int = EFFORT) -> Woven:
    """Return the best schedule of the rules and of one beam."""
    held = begun(work, seed)
    if not held.best.proven:
        held.search(f"beam of {width}", width, 0, effort)
    return held.best
