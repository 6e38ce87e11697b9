"""The best plan of a small network, proven: every option of every step that may be better.

A step is a tiling, or a nest of up to two loops. Each has an energy and a latency that no mapping
is below, and so has a path of steps. Paths are taken in the order of these bounds, and their steps
priced, until no bound is below the best price.
"""

from collections.abc import Generator
from math import exp, inf
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, access_costs
from archloom.evaluators.fusion.nest import splittable
from archloom.search.fusion.nest import (
    MappedNests,
    NestFacts,
    NestLimit,
    nestable,
    nests_below,
    skips_words,
)
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan

from ...plan_evaluator import MemoizedPlanEvaluator
from ..nest_options import NestWay
from ..option_batch import GroupWay
from ..shortest_path import LeastProductPaths
from ..single_buffer_options import SingleBufferOptions
from .space_bound import listed_bounds
from .step_bounds import least_of_kinds, unbounded

#: layers, kinds of steps, options of all of them, and options that are priced, up to which a
#: network is small (ours)
_MOST_LAYERS: Final = 8
_MOST_KINDS: Final = 512
_MOST_OPTIONS: Final = 2**15
_MOST_PRICED: Final = 2**9

#: paths that are priced before tiles of nests are mapped (ours): most proofs end sooner
_FIRST_PRICED: Final = 2**5

#: relative difference of energy x latency that is none: the order of sums makes as much
_EQUAL: Final = 1e-9

#: share by which energies of tiles may be less than worked out, since they are rounded (ours):
#: tiles take some 20 pJ and more
_ROUNDED: Final = 1e-3


class _Step(NamedTuple):
    """An option of a kind of step."""

    kind: int
    way: GroupWay


def prove_best(
    evaluator: MemoizedPlanEvaluator, options: SingleBufferOptions, best: float
) -> Generator[FusionPlan, None, bool]:
    """Yield a better plan if there is one; return whether nothing in its space is better still.

    The space is that of all paths through the cuts of the network, each step in any tiling or in
    any nest of up to two loops. Networks that are not small, or have masks, are left alone.

    Args:
        evaluator, options: of the plans.
        best: ln EDP (J s) of the best plan that is known.
    """
    kinds, hardware = options.edges(), evaluator.hardware
    small = len(evaluator.network.layers) <= _MOST_LAYERS and len(kinds.members) <= _MOST_KINDS
    masked = any(layer.mask is not None for layer in evaluator.network.layers)
    # of a mask it is known how many tiles it leaves, not in which iterations
    bounded = unbounded(evaluator.network, hardware) is None and not hardware.levels[-2].optional
    if best == inf or not bounded or masked or not small or not kinds.complete:
        return False
    # energy is that of all images, but EDP that of one image x the latency of all
    product = exp(best) * 1e12 * hardware.frequency_mhz * 1e6 * evaluator.network.batch
    search = _EveryStep(evaluator, options, product * (1 - _EQUAL))
    if not search.list_tilings():
        return False
    complete = search.list_nests()
    proven = search.price() and complete
    better = search.best()
    if better is not None:
        yield better
    return proven


class _EveryStep:
    """All options of all steps.

    Args:
        evaluator, options: of the plans.
        most: energy x latency (pJ and cycles) that plans must be below to matter.
    """

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, options: SingleBufferOptions, most: float
    ) -> None:
        self._evaluator, self._options, self._most = evaluator, options, most
        self._kinds = options.edges()
        self._leakage_pj = access_costs(evaluator.hardware).leakage_pj_per_cycle
        # that each kind of step takes at the least, however it runs
        self._whole = least_of_kinds(
            evaluator.network, evaluator.hardware, options.whole, options.tiled
        )
        self._steps: list[_Step] = []
        # energy and cycles that each kind of step takes at the least
        self._least = np.full((len(self._kinds.members), 2), np.inf)
        # energy with leakage and cycles of steps; whether they are what they cost
        self._figures, self._exact = np.zeros((0, 2)), np.zeros(0, np.bool_)

    def list_tilings(self) -> bool:
        """List the tilings of all steps; False if they are too many."""
        for kind in range(len(self._least)):
            figures = self._list_tilings(kind)
            if len(self._steps) > _MOST_OPTIONS:
                return False
            self._least[kind] = figures.min(axis=0, initial=np.inf)
        return True

    def list_nests(self) -> bool:
        """List the nests that a better plan may have; whether it is all of them."""
        facts = {
            kind: self._facts(kind) for kind in np.flatnonzero(self._options.nestable).tolist()
        }
        for kind, some in facts.items():
            for each in some:
                least = np.array(each.least) * (1 - _ROUNDED)
                self._least[kind] = np.minimum(self._least[kind], least)
        rest, complete = self._rest(), True
        for kind, some in facts.items():
            limit = NestLimit(self._most, *rest[kind].tolist())
            for each in some:
                complete &= self._list_nests(kind, each, limit)
        return complete

    def _facts(self, kind: int) -> list[NestFacts]:
        network, layers = self._evaluator.network, self._kinds.firsts.layers(kind)
        if nestable(network, layers) is None:
            return []
        parts = splittable(network, layers)
        splits = ((), parts) if parts else ((),)
        return [NestFacts(network, layers, self._evaluator.hardware, split) for split in splits]

    def _list_tilings(self, kind: int) -> Floats:
        found = listed_bounds(self._options, kind, self._whole[kind], self._leakage_pj)
        assert found is not None, "nothing has masks"
        batch, figures = found
        self._add(kind, list(batch.ways), figures)
        return figures

    def _list_nests(self, kind: int, facts: NestFacts, limit: NestLimit) -> bool:
        found = nests_below(facts, limit)
        if found is None or len(self._steps) + len(found.nests) > _MOST_OPTIONS:
            return False
        layers = self._kinds.firsts.layers(kind)
        complete = not skips_words(self._evaluator.network, layers)
        ways: list[GroupWay] = [NestWay(FusionGroup(layers, nest=nest)) for nest in found.nests]
        self._add(kind, ways, np.stack([found.energy_pj, found.cycles], axis=1))
        return complete

    def _add(self, kind: int, ways: list[GroupWay], figures: Floats) -> None:
        self._steps += [_Step(kind, way) for way in ways]
        self._figures = np.concatenate([self._figures, figures])

    def _rest(self) -> Floats:
        """float64[K, 2], what the rest of any plan takes at the least beside a kind of step."""
        least, kinds, cuts = self._least, self._kinds, self._kinds.cuts
        edges = list(zip(kinds.edges.starts, kinds.edges.ends, kinds.kinds, strict=True))
        there, back = np.full((cuts, 2), np.inf), np.full((cuts, 2), np.inf)
        there[0] = back[-1] = 0.0
        for start, end, kind in edges:
            there[end] = np.minimum(there[end], there[start] + least[kind])
        for start, end, kind in reversed(edges):
            back[start] = np.minimum(back[start], back[end] + least[kind])
        rest = np.full_like(least, np.inf)
        for start, end, kind in edges:
            rest[kind] = np.minimum(rest[kind], there[start] + back[end])
        return rest

    def price(self) -> bool:
        """Price steps on paths of the least bounds; whether none is left that may be better."""
        self._exact = np.zeros(len(self._steps), np.bool_)
        paths = self._paths()
        for count in range(_MOST_PRICED):
            if count == _FIRST_PRICED:
                self._map_nests()
            path = paths.least_product(self._figures)
            if path is None or path.product >= self._most:
                return True
            unknown = [row for row in path.rows if not self._exact[row]]
            if not unknown:
                self._most = path.product
                return True
            for row in unknown:
                self._price(row)
        return False

    def _price(self, row: int) -> None:
        way = self._steps[row].way
        cost = self._evaluator.group(way.group, way.residents)
        self._exact[row] = True
        self._figures[row] = np.inf
        if not isinstance(cost, Infeasible):
            cycles = cost.latency_cycles
            self._figures[row] = cost.dynamic_pj + self._leakage_pj * cycles, cycles

    def _map_nests(self) -> None:
        """Raise the bounds of nests to what they cost with mappings of their tiles."""
        alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for row in np.flatnonzero(~self._exact).tolist():
            nest = self._steps[row].way.group.nest
            if nest is not None:
                alike.setdefault((self._steps[row].kind, nest.split), []).append(row)
        for (kind, split), rows in alike.items():
            facts = next(some for some in self._facts(kind) if some.split == split)
            nests = [nest for row in rows if (nest := self._steps[row].way.group.nest)]
            figures = MappedNests(facts, self._evaluator.mapper).figures(nests)
            self._figures[rows] = np.maximum(self._figures[rows], figures.T)

    def _paths(self) -> LeastProductPaths:
        kinds = self._kinds
        starts, ends = kinds.edges.starts, kinds.edges.ends
        paths = LeastProductPaths(kinds.cuts, starts, ends, kinds.kinds, kinds.burdens)
        rows: list[list[int]] = [[] for _ in kinds.members]
        for row, step in enumerate(self._steps):
            rows[step.kind].append(row)
        for kind, some in enumerate(rows):
            paths.replace(kind, some)
        return paths

    def best(self) -> FusionPlan | None:
        """Return the best plan of steps that were priced, if it is better than the one known."""
        known = np.where(self._exact[:, None], self._figures, np.inf)
        path = self._paths().least_product(known)
        if path is None or path.product > self._most:
            return None
        ways = [self._steps[row].way for row in path.rows]
        return self._options.plan(ways, [self._kinds.edges[edge] for edge in path.edges])
