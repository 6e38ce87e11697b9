"""Joint planner: groups, tiles, halos, resident weights and pinned maps chosen together.

A plan is a path through the cuts of the network (:mod:`.cut_graph`); energy and latency of its
edges add up, so the best plan is a path of least product (:mod:`.shortest_path`). Edges are first
estimated, then listed by tiling, then evaluated, each only once it lies on the best path (lazy
shortest paths: Dellin and Srinivasa, ICAPS 2016). Estimates grow more optimistic once the whole
best path is evaluated, until no other path seems better even if every layer cost the least that it
can.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping as Dict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import log
from typing import ClassVar, Final

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import any_plan_bound
from archloom.evaluators.fusion.buffer import buffer_words, streams
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, layer_by_layer
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import Network, bits

from ..plan_evaluator import MemoizedPlanEvaluator, ln_edp
from ..protocol import Abilities, FusionState
from .cut_graph import CutEdge, cut_graph
from .group_options import GroupOptions
from .multicore_options import MulticoreOptions
from .option_table import OptionTable
from .shortest_path import LeastProductPaths
from .single_buffer_options import SingleBufferOptions

#: how near to the least possible layers are taken to be, once the path before is evaluated
_OPTIMISM: Final = (0.0, 0.25, 0.5, 0.75, 1.0)

#: share of the energy of a usual option that a group or a pin is taken to cost, to tell equal plans
#: apart
_TIE: Final = 1e-12


class JointPlanner:
    """Fusion search over plans of all kinds, the best estimated one evaluated first.

    Args:
        evaluator: evaluates plans of the network that is fused.
    """

    # the first plan that is fused is nearly its last (docs/benchmarks.md, "Halving")
    abilities: ClassVar[Abilities] = Abilities(several_cores=True, first_budget=2)

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        self._evaluator = evaluator
        # where the last call stopped, and the plans that come then
        self._last: tuple[FusionState, Iterator[FusionPlan]] | None = None

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated; nothing is drawn at random."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate up to ``budget`` more plans; fewer if no other plan can be better.

        A state of another search is walked to again; the evaluator remembers its groups.
        """
        best, history = state.best, list(state.history)
        if self._last is None or self._last[0] != state:
            coming = candidate_plans(self._evaluator)
            deque(islice(coming, len(history)), maxlen=0)
        else:
            coming = self._last[1]
        for plan in islice(coming, budget):
            cost = ln_edp(self._evaluator, plan)
            if not history or cost < history[-1]:
                best = plan
            history.append(min(cost, history[-1]) if history else cost)
        bound = self._bound() if history else None
        now = FusionState(state.seed, best=best, history=tuple(history), bound=bound)
        self._last = now, coming
        return now

    def _bound(self) -> float:
        return log(any_plan_bound(self._evaluator.network, self._evaluator.hardware).edp_js)


def candidate_plans(evaluator: MemoizedPlanEvaluator) -> Iterator[FusionPlan]:
    """Yield layer by layer, then plans that may be better, those that seem the best first."""
    known = layer_by_layer(evaluator.network)
    yield known
    if isinstance(fusion_cores(evaluator.hardware), Infeasible):
        return
    search = _LazyPathSearch(evaluator)
    seen = {known}
    for optimism in _OPTIMISM:
        while (plan := search.next(optimism)) is not None and plan not in seen:
            seen.add(plan)
            yield plan


@dataclass(frozen=True, slots=True)
class _UnlistedOptions:
    """Edges of one kind of which no tiling is listed yet.

    Attributes:
        edge: the first of the kind.
        layers: its layers, in bits.
        words: of pinned maps.
    """

    edge: CutEdge
    layers: int
    words: int


class _LazyPathSearch:
    """Lazy path search: what is known of all edges; those of one kind share rows of the table."""

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        network, hardware = evaluator.network, evaluator.hardware
        self._evaluator = evaluator
        words = buffer_words(hardware)
        graph = cut_graph(network, words)
        self._edges = graph.edges
        self._options = group_options(network, hardware)
        self._table = OptionTable(network, access_costs(hardware).leakage_pj_per_cycle)
        # rows that stand for all tilings of their edges, until they are listed
        self._unlisted: dict[int, _UnlistedOptions] = {}
        # rows of edges of which only some tilings are listed, with all rows of the kind
        self._partly_listed: dict[int, tuple[CutEdge, tuple[int, ...]]] = {}
        known: dict[Hashable, int] = {}
        rows = []
        for edge in graph.edges:
            kind = self._options.kind(edge)
            if kind not in known:
                known[kind] = self._table.add(self._options.relaxation(edge), rough=True)
                words = self._options.residents(edge).words
                self._unlisted[known[kind]] = _UnlistedOptions(edge, bits(edge.layers), words)
            rows.append(known[kind])
        ends = np.array([(edge.start, edge.end) for edge in graph.edges], np.int64)
        numbers = np.arange(len(rows))
        self._parallel = _ParallelEdges(
            graph.cuts, ends[:, 0], ends[:, 1], numbers, np.array(rows, np.int64)
        )
        self._groups_and_pins = np.array([1.0 + len(edge.kept) for edge in graph.edges])
        # layer by layer is evaluated, which tells how far layers that stream exceed their least
        plain = dict.fromkeys(
            row
            for row, edge in zip(rows, graph.edges, strict=True)
            if len(edge.layers) == 1 and not edge.held and not edge.kept
        )
        first = len(self._table.options)
        self._list_first_options(list(plain))
        for row in range(first, len(self._table.options)):
            if streams(self._table.options[row].group):
                self._evaluate(row)

    def next(self, optimism: float) -> FusionPlan | None:
        """Return the plan that is estimated best, all its edges evaluated; None if there is none.

        A plan comes as soon as it is evaluated, and again when no tiling of its groups seems
        better.
        """
        while True:
            energy, cycles = self._table.figures(optimism)
            found = self._parallel.best(energy, cycles, self._groups_and_pins)
            if found is None:
                return None
            rows = list(dict.fromkeys(row for _, row in found))
            if self._list_first_options(rows):
                continue
            fresh = [row for row in rows if not self._table.evaluated[row]]
            evaluated = [self._evaluate(row) for row in fresh]
            if all(evaluated) and (fresh or not self._list_all_options(rows)):
                return self._plan(found)

    def _plan(self, path: list[tuple[int, int]]) -> FusionPlan:
        """Return the plan of a path of edges with their rows."""
        options, table = self._options, self._table.options
        turns = {i: turn for turn, (s, _) in enumerate(path) for i in self._edges[s].layers}
        groups = (options.group_for(table[row], self._edges[s], turns) for s, row in path)
        return FusionPlan(tuple(groups))

    def _list_first_options(self, rows: list[int]) -> bool:
        """Put some options in the place of what stands for all; whether there was such a row."""
        listed: dict[int, list[int]] = {}
        for row in rows:
            what = self._unlisted.pop(row, None)
            if what is None:
                continue
            edge = what.edge
            several = len(edge.layers) > 1
            listed[row] = [self._table.add(o, several) for o in self._options.first_options(edge)]
            if not listed[row]:
                self._drop_larger(row, what)
            if several:
                self._partly_listed |= dict.fromkeys(listed[row], (edge, tuple(listed[row])))
        self._parallel = self._parallel.replaced(listed)
        return bool(listed)

    def _drop_larger(self, row: int, small: _UnlistedOptions) -> None:
        """Leave out groups that contain one that fits nowhere: they hold its maps too, and more."""
        same = self._parallel.edges[self._parallel.rows == row].tolist()
        for part in {bits(self._edges[s].layers) for s in same}:
            larger = [
                other
                for other, what in self._unlisted.items()
                if what.layers & part == part and what.words >= small.words
            ]
            for other in larger:
                self._table.drop(other)
                del self._unlisted[other]

    def _list_all_options(self, rows: list[int]) -> bool:
        """Add the other tilings of edges of which some are known; whether there were such edges."""
        listed: dict[int, list[int]] = {}
        for row in rows:
            if row not in self._partly_listed:
                continue
            edge, others = self._partly_listed[row]
            known = {self._table.options[r].group for r in others}
            new = [
                option for option in self._options.all_options(edge) if option.group not in known
            ]
            listed[row] = [row, *(self._table.add(option, False) for option in new)]
            for other in others:
                self._table.alone(other)
                del self._partly_listed[other]
        self._parallel = self._parallel.replaced(listed)
        return bool(listed)

    def _evaluate(self, row: int) -> bool:
        """Evaluate an option; whether it can run."""
        option = self._table.options[row]
        cost = self._evaluator.group(option.group, option.residents)
        if isinstance(cost, Infeasible):
            self._table.drop(row)
            return False
        self._table.settle(row, cost)
        return True


def group_options(network: Network, hardware: Hardware) -> GroupOptions:
    """Return the options of a network's edges, in one buffer or on several cores."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Cores) and cores.count > 1:
        return MulticoreOptions(network, hardware, cores)
    return SingleBufferOptions(network, hardware)


@dataclass(frozen=True, eq=False)
class _ParallelEdges:
    """Parallel edges between cuts, one for each option of an edge.

    Attributes:
        cuts: how many there are.
        starts, ends, edges, rows: int64[W], cuts of each, its edge, and its row of the table.
    """

    cuts: int
    starts: Ints
    ends: Ints
    edges: Ints
    rows: Ints

    @cached_property
    def _paths(self) -> LeastProductPaths:
        return LeastProductPaths(self.cuts, self.starts, self.ends)

    def best(self, energy: Floats, cycles: Floats, burdens: Floats) -> list[tuple[int, int]] | None:
        """Return (edge, row) along the path of least energy x latency, given those of rows.

        Of equal paths the one whose edges have the least ``burdens``, float64 by edge.
        """
        able = energy[np.isfinite(energy)]
        tie = _TIE * float(np.median(able)) if len(able) else 0.0
        burdened = energy[self.rows] + tie * burdens[self.edges]
        found = self._paths.least_product(burdened, cycles[self.rows])
        if found is None:
            return None
        return [(int(self.edges[way]), int(self.rows[way])) for way in found.edges]

    def replaced(self, listed: Dict[int, list[int]]) -> "_ParallelEdges":
        """Return the edges with several rows, or none, in the place of some."""
        times = np.ones(len(self.rows), np.int64)
        for row, others in listed.items():
            times[self.rows == row] = len(others)
        starts, ends, edges, rows = (
            np.repeat(figure, times) for figure in (self.starts, self.ends, self.edges, self.rows)
        )
        for row, others in listed.items():
            where = rows == row
            rows[where] = np.resize(np.array(others, np.int64), int(where.sum()))
        return _ParallelEdges(self.cuts, starts, ends, edges, rows)
