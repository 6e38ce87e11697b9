"""Subproblems where words take hops: what a choice of factors leaves open beside steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.search.mapping.exact.subproblem import ANY, BOUNDED, Subproblem

from .mesh_layouts import Layout, Layouts, Sharing, sharings

#: more ways to wire one choice of factors than this are not looked at
MOST_WIRINGS: Final = 2**10


@dataclass(frozen=True)
class NocLayout:
    """How children share inputs at each level, and where they stand at those with a network."""

    shared: tuple[Sharing, ...]
    layouts: dict[int, Layout]

    @property
    def hops(self) -> float:
        """All hops that serve each child with a word of each tensor."""
        return sum(sum(hops) for one in self.layouts.values() for _, hops in one.served)

    def across(self, plain: Ints) -> Ints:
        """Return the orders of unrolled loops: int64[L, 2, 8]."""
        orders = plain.copy()
        for level, layout in self.layouts.items():
            orders[level] = layout.across
        return orders


#: no words take hops
UNWIRED: Final = NocLayout((), {})


def find_noc_layouts(layouts: Layouts, keep: Flags, spread: Ints) -> tuple[list[NocLayout], bool]:
    """Return the noc_layouts of one choice that may be best, and whether there are no more."""
    complete = True

    def every() -> Iterator[NocLayout]:
        nonlocal complete
        for shared in sharings(layouts.setup, keep, spread):
            some = [layouts.of(i, spread[i], shared[i].steps) for i in layouts.levels]
            complete &= all(whole for _, whole in some)
            for ones in product(*(listed for listed, _ in some)):
                yield NocLayout(shared, dict(zip(layouts.levels, ones, strict=True)))

    found = list(islice(every(), MOST_WIRINGS + 1))
    complete &= len(found) <= MOST_WIRINGS
    return sorted(found[:MOST_WIRINGS], key=lambda wiring: wiring.hops), complete


def wired(subproblem: Subproblem, wiring: NocLayout) -> Subproblem:
    """Write a wiring into a subproblem; return it, with more room if that was too small."""
    for level, shared in enumerate(wiring.shared):
        subproblem.guess[level], subproblem.codes[level] = shared.guess, shared.codes
    subproblem = _with_room(subproblem, [wiring])
    for level, layout in wiring.layouts.items():
        for t, (groups, hops) in enumerate(layout.served):
            count = len(groups)
            subproblem.sizes[level, t] = count
            subproblem.groups[level, t, :count], subproblem.hops[level, t, :count] = groups, hops
    return subproblem


def wired_least(subproblem: Subproblem, found: list[NocLayout]) -> Subproblem:
    """Write what no wiring is below into a subproblem, and leave open how inputs are shared where
    they differ in it.
    """
    same = all(wiring.shared == found[0].shared for wiring in found)
    for level, shared in enumerate(found[0].shared):
        subproblem.guess[level] = shared.guess if same else 0
        subproblem.codes[level] = shared.codes if same else ANY
    for level in found[0].layouts:
        for t in range(3):
            served = [wiring.layouts[level].served[t] for wiring in found]
            even = len({groups for groups, _ in served}) == 1 and len(served[0][0]) == 1
            subproblem.sizes[level, t] = 1 if even else BOUNDED
            subproblem.groups[level, t, 0] = min(sum(groups) for groups, _ in served)
            subproblem.hops[level, t, 0] = min(sum(hops) for _, hops in served)
    return subproblem


def parts_of(found: list[NocLayout]) -> list[list[NocLayout]]:
    """Split noc_layouts by how inputs are shared, or else in halves by the hops that differ
    most."""
    by_sharing: dict[tuple[Sharing, ...], list[NocLayout]] = {}
    for wiring in found:
        by_sharing.setdefault(wiring.shared, []).append(wiring)
    if len(by_sharing) > 1:
        return sorted(by_sharing.values(), key=lambda some: min(one.hops for one in some))
    costs = np.array(
        [[sum(hops) for one in w.layouts.values() for _, hops in one.served] for w in found]
    )
    column = costs[:, np.argmax(np.ptp(costs, axis=0))]
    order = np.argsort(column, kind="stable").tolist()
    middle = len(order) // 2
    return [[found[i] for i in order[:middle]], [found[i] for i in order[middle:]]]


def _with_room(subproblem: Subproblem, found: list[NocLayout]) -> Subproblem:
    room = max(
        len(groups)
        for wiring in found
        for one in wiring.layouts.values()
        for groups, _ in one.served
    )
    if room <= subproblem.groups.shape[2]:
        return subproblem
    shape = (*subproblem.groups.shape[:2], 2 * room)
    return subproblem._replace(groups=np.zeros(shape), hops=np.zeros(shape))
