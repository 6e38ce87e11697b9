"""Joint planner: groups, tiles, halos, resident weights and pinned maps chosen together.

A plan is a path through the cuts of the network (:mod:`.cuts`); energy and latency of its
edges add up, so the best plan is a path of least product (:mod:`.shortest_path`). Edges are first
estimated, then listed by tiling, then evaluated, each only once it lies on the best path (lazy
shortest paths: Dellin and Srinivasa, ICAPS 2016). Estimates grow more optimistic once the whole
best path is evaluated, until no other path seems better even if every layer cost the least that it
can.
"""

from collections.abc import Callable, Generator, Iterator, Mapping as Dict
from itertools import islice
from math import log
from typing import ClassVar, Final

import numpy as np

from archloom.evaluators import access_costs
from archloom.evaluators.bounds import any_plan_bound
from archloom.evaluators.fusion.buffer import streams
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, layer_by_layer
from archloom.space.hardware import Cores, fusion_cores

from ..plan_evaluator import MemoizedPlanEvaluator, ln_edp
from ..protocol import Abilities, FusionState
from .group_options import GroupOptions
from .multicore_options import MulticoreOptions
from .neighbours import better_neighbours
from .option_table import OptionTable
from .proofs import PROVEN, bounded_state, prove_best
from .shortest_path import LeastProductPaths, Path
from .single_buffer_options import SingleBufferOptions
from .tilings import OptionColumns

#: how near to the least possible layers are taken to be, once the path before is evaluated
_OPTIMISM: Final = (0.0, 0.25, 0.5, 0.75, 1.0)

#: paths of up to so much more energy x latency, whose first options may be asked for soon (ours)
_NEAR: Final = 1e-4

#: relative difference of estimates that does not tell paths apart: the order of a sum makes as much
_EQUAL: Final = 1e-9

#: share that a plan must save to be handed out instead of that which came last (ours)
_WORTH: Final = 1e-4

#: kinds up to which others are worked out with them; and what share of those known they are (ours)
_FEW: Final = 4
_AHEAD: Final = 1 / 32

#: share of the energy of a usual option that a group or pin costs, to tell equal plans apart
_TIE: Final = 1e-12


class JointPlanner:
    """Fusion search over plans of all kinds, the best estimated one evaluated first.

    Args:
        evaluator: evaluates plans of the network that is fused.
    """

    # the first plan that is fused is nearly its last (docs/validation/benchmarks.md, "Halving")
    abilities: ClassVar[Abilities] = Abilities(several_cores=True, proves=True, first_budget=2)

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        self._evaluator = evaluator
        # where the last call stopped, the plans that come then, and ln EDP of those before
        self._last: tuple[FusionState, _Coming, dict[FusionPlan, float]] | None = None

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated; nothing is drawn at random."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Evaluate up to ``budget`` more plans; fewer if no other plan can be better.

        A state of another search is walked to again; the evaluator remembers its groups.
        """
        best, history = state.best, list(state.history)
        if self._last is None or self._last[0] != state:
            costs = dict[FusionPlan, float]()
            coming = _Coming(candidate_plans(self._evaluator, costs))
            for plan in islice(coming, len(history)):
                costs[plan] = ln_edp(self._evaluator, plan)
        else:
            _, coming, costs = self._last
        for plan in islice(coming, budget):
            cost = costs[plan] = ln_edp(self._evaluator, plan)
            if not history or cost < history[-1]:
                best = plan
            history.append(min(cost, history[-1]) if history else cost)
        bound = self._bound() if history else None
        now = FusionState(
            state.seed, best=best, history=tuple(history), bound=bound, notes=coming.notes
        )
        self._last = now, coming, costs
        return now

    def prove(
        self, state: FusionState, steps: int, tell: Callable[[int], None] = lambda _: None
    ) -> FusionState:
        """Return a state whose bounds hold for the plans of the cut graph, with the mappings that
        the evaluator finds and with any, and whose plan is the best of those that were priced for
        it.

        Args:
            state: of a search that has come to its end.
            steps: kinds of steps that are listed, and twice the sizes and tilings that are priced.
            tell: hears how many were looked at.
        """
        return bounded_state(
            self._evaluator, lambda: group_options(self._evaluator), state, steps, tell
        )

    def _bound(self) -> float:
        return log(any_plan_bound(self._evaluator.network, self._evaluator.hardware).edp_js)


class _Coming:
    """Plans that come, and what is known of the best of them when there are no more."""

    def __init__(self, plans: Generator[FusionPlan, None, bool]) -> None:
        self._plans = plans
        #: of the search
        self.notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[FusionPlan]:
        return self

    def __next__(self) -> FusionPlan:
        try:
            return next(self._plans)
        except StopIteration as end:
            if end.value:
                self.notes = (PROVEN,)
            raise


def candidate_plans(
    evaluator: MemoizedPlanEvaluator, costs: Dict[FusionPlan, float]
) -> Generator[FusionPlan, None, bool]:
    """Yield layer by layer, then plans that may be better, those that seem the best first; return
    whether the best of them is proven to be the best of its space.

    ``costs`` has the ln EDP of each plan before the next one is asked for.
    """
    known = layer_by_layer(evaluator.network)
    yield known
    if isinstance(fusion_cores(evaluator.hardware), Infeasible):
        return False
    search = _LazyPathSearch(evaluator)
    seen, told = {known}, {known}
    for optimism in _OPTIMISM:
        while (plan := search.next(optimism)) is not None and plan not in seen:
            seen.add(plan)
            best = search.best_known(plan)
            chosen = plan if best in told else best
            if chosen not in told:
                told.add(chosen)
                yield chosen
    yield from better_neighbours(evaluator, costs)
    if not isinstance(search.options, SingleBufferOptions):
        return False
    return (yield from prove_best(evaluator, search.options, min(costs.values())))


class _LazyPathSearch:
    """Lazy path search: what is known of all edges; those of one kind share rows of the table."""

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        network, hardware = evaluator.network, evaluator.hardware
        self._evaluator = evaluator
        #: of the steps
        self.options = group_options(evaluator)
        self._kinds = self.options.edges()
        leakage_pj = access_costs(hardware).leakage_pj_per_cycle
        self._table = OptionTable(OptionColumns(network), leakage_pj)
        # rows that stand for all tilings of a kind of edge, until they are listed, come first
        self._table.add_rough(self.options.rough())
        kinds = self._kinds
        self._unlisted = np.ones(len(kinds.firsts), np.bool_)
        # of groups of several layers what moves is estimated more nearly first
        self._rough = kinds.members > 1
        self._nearer = 0
        # rows of the first options of kinds, in the table before the search comes to them
        self._first_rows: dict[int, list[int]] = {}
        # rows of edges of which only some tilings are listed, with the kind and all its rows
        self._partly_listed: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._paths = LeastProductPaths(
            kinds.cuts, kinds.edges.starts, kinds.edges.ends, kinds.kinds, kinds.burdens
        )
        self._seen_changes, self._tie = -1, 0.0
        self._last_rows = list[int]()
        # layer by layer is evaluated, which tells how far layers that stream exceed their least
        plain = np.flatnonzero((kinds.members == 1) & (kinds.words == 0)).tolist()
        first = len(self._table.ways)
        self._list_first_options(plain)
        for row in range(first, len(self._table.ways)):
            if streams(self._table.way(row).group):
                self._evaluate(row)

    def next(self, optimism: float) -> FusionPlan | None:
        """Return the plan that is estimated best, all its edges evaluated; None if there is none.

        A plan comes as soon as it is evaluated, and again when no tiling of its groups seems
        better.
        """
        fresh = tied = False
        while True:
            found = self._best(optimism)
            if found is None:
                return None
            rows = list(dict.fromkeys(found.rows))
            if self._list_first_options(rows, found):
                continue
            unknown = [row for row in rows if not self._table.evaluated[row]]
            fresh |= bool(unknown)
            evaluated = [self._evaluate(row) for row in unknown]
            if not all(evaluated):
                continue
            if not fresh and self._list_all_options(rows):
                continue
            if tied or not self._evaluate_tied(found, optimism):
                self._last_rows = list(found.rows)
                return self._plan(found)
            tied = True

    def best_known(self, plan: FusionPlan) -> FusionPlan:
        """Return ``plan``, which came last, or one of evaluated edges that is clearly better."""
        figures = self._table.evaluated_figures()
        path = self._paths.least_of(figures, self._tie)
        assert path is not None, "a plan was evaluated"
        last = float(figures[self._last_rows].sum(axis=0).prod())
        return plan if path.product >= last * (1 - _WORTH) else self._plan(path)

    def _evaluate_tied(self, path: Path, optimism: float) -> bool:
        """Evaluate the options of all paths whose estimates equal those of one but for rounding, so
        that costs decide between them and not the order of sums; whether there were any."""
        figures, tied = self._table.figures(optimism), list[int]()
        for kind in self._paths.near(path, _EQUAL):
            rows = self._paths.rows(kind)
            row = rows[int((figures[rows] @ (path.latency, path.energy)).argmin())]
            # what stands for a whole kind of edge is no option yet
            if self._table.ways[row] is not None and not self._table.evaluated[row]:
                tied.append(row)
        for row in tied:
            self._evaluate(row)
        return bool(tied)

    def _best(self, optimism: float) -> Path | None:
        """Return the path that is estimated best."""
        figures, changes = self._table.figures(optimism), self._table.changes
        if changes != self._seen_changes:
            able = np.isfinite(figures[:, 0])
            self._tie = _TIE * float(np.median(figures[able, 0])) if able.any() else 0.0
            self._seen_changes = changes
            self._paths.reconsider()
        return self._paths.least_product(figures, self._tie)

    def _plan(self, path: Path) -> FusionPlan:
        """Return the plan of a path."""
        edges = [self._kinds.edges[e] for e in path.edges]
        return self.options.plan([self._table.way(row) for row in path.rows], edges)

    def _list_first_options(self, rows: list[int], path: Path | None = None) -> bool:
        """Put some options in the place of what stands for all; whether there was such a row.

        What other paths near ``path`` will ask for is worked out with it.
        """
        kinds = [row for row in rows if row < len(self._unlisted) and self._unlisted[row]]
        if not kinds:
            return False
        if self._rough[kinds].any():
            self._estimate_nearer(kinds, path)
            return True
        if any(kind not in self._first_rows for kind in kinds):
            self._add_first_rows(kinds)
        for kind in kinds:
            listed = self._first_rows[kind]
            if not self._unlisted[kind]:
                continue  # a part of it fits nowhere
            self._unlisted[kind] = False
            self._paths.replace(kind, listed)
            if not listed:
                self._drop_larger(kind)
            elif self._table.is_less(slice(listed[0], listed[-1] + 1), kind):
                self._paths.reconsider()
            if self._kinds.members[kind] > 1:
                self._partly_listed |= dict.fromkeys(listed, (kind, tuple(listed)))
        return True

    def _likely_next(self, kinds: list[int], path: Path | None) -> list[int]:
        """Return kinds that the search may come to when it has listed some of a path.

        Many at once take less time than one by one. Small groups first: of larger ones most will
        never be asked for once a part of them fits nowhere.
        """
        most = int(_AHEAD * (len(self._first_rows) + self._nearer))
        if path is None or len(kinds) > _FEW or most <= _FEW:
            return []
        near = [
            kind
            for kind in self._paths.near(path, _NEAR)
            if self._unlisted[kind] and self._rough[kind] and kind not in kinds
        ]
        return sorted(near, key=lambda kind: int(self._kinds.members[kind]))[:most]

    def _estimate_nearer(self, kinds: list[int], path: Path | None) -> None:
        """Estimate more nearly what moves for those of some kinds that are known roughly."""
        kinds = [kind for kind in kinds if self._rough[kind]]
        kinds += self._likely_next(kinds, path)
        self._rough[kinds] = False
        self._nearer += len(kinds)
        moved = self.options.moved(kinds)
        if self._table.set_moved(kinds, moved):
            self._paths.reconsider()
        for kind in np.array(kinds)[np.isinf(moved[:, 0])].tolist():
            if self._unlisted[kind]:
                self._unlisted[kind] = False
                self._paths.replace(kind, [])
                self._drop_larger(kind)

    def _add_first_rows(self, kinds: list[int]) -> None:
        """Add the first options of kinds to the table, where no path takes them yet."""
        unknown = [kind for kind in dict.fromkeys(kinds) if kind not in self._first_rows]
        options, counts = self.options.first_options(unknown)
        several = (self._kinds.members[unknown] > 1).tolist()
        rough = [s for s, count in zip(several, counts, strict=True) for _ in range(count)]
        new = iter(self._table.add(options, rough))
        for kind, count in zip(unknown, counts, strict=True):
            self._first_rows[kind] = list(islice(new, count))

    def _drop_larger(self, small: int) -> None:
        """Leave out groups that contain one that fits nowhere: they hold its maps too, and more."""
        larger = self._kinds.containing(small) & self._unlisted & ~self.options.nestable
        self._unlisted[larger] = False
        for row in np.flatnonzero(larger).tolist():
            self._table.drop(row)

    def _list_all_options(self, rows: list[int]) -> bool:
        """Add the other tilings of edges of which some are known; whether there were such edges."""
        some = False
        for row in rows:
            if row not in self._partly_listed:
                continue
            kind, others = self._partly_listed[row]
            known = {self._table.way(r).group for r in others}
            options = self.options.all_options(kind)
            unknown = [n for n, way in enumerate(options.ways) if way.group not in known]
            new = self._table.add(options.taken(unknown), [False] * len(unknown))
            self._paths.insert(row, new)
            for other in others:
                self._table.alone(other)
                del self._partly_listed[other]
            some = True
        return some

    def _evaluate(self, row: int) -> bool:
        """Evaluate an option; whether it can run."""
        way = self._table.way(row)
        cost = self._evaluator.group(way.group, way.residents)
        if isinstance(cost, Infeasible):
            self._table.drop(row)
            return False
        self._table.settle(row, cost)
        return True


def group_options(evaluator: MemoizedPlanEvaluator) -> GroupOptions:
    """Return the options of a network's edges, in one buffer or on several cores."""
    hardware = evaluator.hardware
    cores = fusion_cores(hardware)
    if isinstance(cores, Cores) and cores.count > 1:
        return MulticoreOptions(evaluator, cores)
    return SingleBufferOptions(evaluator)
