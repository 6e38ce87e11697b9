"""Groups, tiles, halos, resident weights and pinned maps chosen together.

A plan is a path through the cuts of the network (:mod:`.cuts`); energy and latency of its steps add
up, so the best plan is a shortest path (:mod:`.paths`). Steps are first estimated, then listed by
tiling, then priced, each only once it lies on the best path (lazy shortest paths: Dellin and
Srinivasa, ICAPS 2016). Estimates grow more optimistic when the best path is priced all over: other
plans get their chance until none seems better even if every layer cost the least that it can.
"""

from collections import deque
from collections.abc import Hashable, Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import log
from typing import Final

import numpy as np

from ..evaluators.group_cost import buffer_words, streams
from ..evaluators.hardware_cost import access_costs
from ..evaluators.network_bounds import any_plan_bound
from ..space.cores import Cores, fusion_cores
from ..space.fusion import FusionPlan, layer_by_layer
from ..space.graph_facts import bits
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from .core_options import CoreOptions
from .cuts import Step, cut_graph
from .fusion_state import FusionState
from .option_table import OptionTable
from .paths import Floats, Ints, Paths
from .planned import ln_edp
from .pricing import PlanPricer
from .step_options import StepOptions

#: how near to the least possible layers are taken to be, once all is priced on the way before
OPTIMISM: Final = (0.0, 0.25, 0.5, 0.75, 1.0)

#: share of the energy of a usual option that a group or a pin is taken to cost, to tell equal plans
#: apart
_TIE: Final = 1e-12


class Joint:
    """Plans of all kinds, the best estimated one priced first.

    Args:
        price: prices plans of the network that is fused.
    """

    def __init__(self, price: PlanPricer) -> None:
        self._price = price
        # where the last call stopped, and the plans that come then
        self._last: tuple[FusionState, Iterator[FusionPlan]] | None = None

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated; nothing is drawn at random."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price up to ``budget`` more plans; fewer if no other plan can be better.

        A state of another search is walked to again; the pricer's memo has its groups.
        """
        best, history = state.best, list(state.history)
        if self._last is None or self._last[0] != state:
            coming = plans(self._price)
            deque(islice(coming, len(history)), maxlen=0)
        else:
            coming = self._last[1]
        for plan in islice(coming, budget):
            cost = ln_edp(self._price, plan)
            if not history or cost < history[-1]:
                best = plan
            history.append(min(cost, history[-1]) if history else cost)
        bound = self._bound() if history else None
        now = FusionState(state.seed, best=best, history=tuple(history), bound=bound)
        self._last = now, coming
        return now

    def _bound(self) -> float:
        return log(any_plan_bound(self._price.network, self._price.hardware).edp_js)


def plans(price: PlanPricer) -> Iterator[FusionPlan]:
    """Yield layer by layer, then plans that may be better, those that seem the best first."""
    known = layer_by_layer(price.network)
    yield known
    if isinstance(fusion_cores(price.hardware), Infeasible):
        return
    search = _Search(price)
    seen = {known}
    for optimism in OPTIMISM:
        while (plan := search.next(optimism)) is not None and plan not in seen:
            seen.add(plan)
            yield plan


@dataclass(frozen=True, slots=True)
class _Unlisted:
    """Steps of which no tiling is listed yet.

    Attributes:
        step: the first of the kind.
        layers: its layers, in bits.
        words: of pinned maps.
    """

    step: Step
    layers: int
    words: int


class _Search:
    """What is known of all steps; those of one kind share their rows of the table."""

    def __init__(self, price: PlanPricer) -> None:
        network, hardware = price.network, price.hardware
        self._price = price
        words = buffer_words(hardware)
        graph = cut_graph(network, words)
        self._steps = graph.steps
        self._options = options_of(network, hardware)
        self._table = OptionTable(network, access_costs(hardware).leakage_pj_per_cycle)
        # rows that stand for all tilings of their steps, until they are listed
        self._unlisted: dict[int, _Unlisted] = {}
        # rows of steps of which only some tilings are listed, with all rows of the kind
        self._coarse: dict[int, tuple[Step, tuple[int, ...]]] = {}
        known: dict[Hashable, int] = {}
        rows = []
        for step in graph.steps:
            kind = self._options.kind(step)
            if kind not in known:
                known[kind] = self._table.add(self._options.whole(step), rough=True)
                words = self._options.around(step).words
                self._unlisted[known[kind]] = _Unlisted(step, bits(step.layers), words)
            rows.append(known[kind])
        ends = np.array([(step.start, step.end) for step in graph.steps], np.int64)
        numbers = np.arange(len(rows))
        self._ways = _Ways(graph.cuts, ends[:, 0], ends[:, 1], numbers, np.array(rows, np.int64))
        self._groups_and_pins = np.array([1.0 + len(step.kept) for step in graph.steps])
        # layer by layer has its price, and tells how far layers that stream miss their least
        plain = dict.fromkeys(
            row
            for row, step in zip(rows, graph.steps, strict=True)
            if len(step.layers) == 1 and not step.held and not step.kept
        )
        first = len(self._table.options)
        self._list_options(list(plain))
        for row in range(first, len(self._table.options)):
            if streams(self._table.options[row].group):
                self._settle(row)

    def next(self, optimism: float) -> FusionPlan | None:
        """Return the plan that is estimated best, all its steps priced; None if there is none.

        A plan comes as soon as it has a price, and again when no tiling of its groups seems better.
        """
        while True:
            energy, cycles = self._table.figures(optimism)
            found = self._ways.best(energy, cycles, self._groups_and_pins)
            if found is None:
                return None
            rows = list(dict.fromkeys(row for _, row in found))
            if self._list_options(rows):
                continue
            fresh = [row for row in rows if not self._table.priced[row]]
            priced = [self._settle(row) for row in fresh]
            if all(priced) and (fresh or not self._list_tilings(rows)):
                return self._plan(found)

    def _plan(self, path: list[tuple[int, int]]) -> FusionPlan:
        """Return the plan of steps with their rows."""
        options, table = self._options, self._table.options
        turns = {i: turn for turn, (s, _) in enumerate(path) for i in self._steps[s].layers}
        groups = (options.like(table[row], self._steps[s], turns) for s, row in path)
        return FusionPlan(tuple(groups))

    def _list_options(self, rows: list[int]) -> bool:
        """Put some options in the place of what stands for all; whether there was such a row."""
        listed: dict[int, list[int]] = {}
        for row in rows:
            what = self._unlisted.pop(row, None)
            if what is None:
                continue
            step = what.step
            several = len(step.layers) > 1
            listed[row] = [self._table.add(o, several) for o in self._options.few(step)]
            if not listed[row]:
                self._drop_larger(row, what)
            if several:
                self._coarse |= dict.fromkeys(listed[row], (step, tuple(listed[row])))
        self._ways = self._ways.replaced(listed)
        return bool(listed)

    def _drop_larger(self, row: int, small: _Unlisted) -> None:
        """Leave out groups around one that fits nowhere: they hold its maps too, and more."""
        same = self._ways.steps[self._ways.rows == row].tolist()
        for part in {bits(self._steps[s].layers) for s in same}:
            larger = [
                other
                for other, what in self._unlisted.items()
                if what.layers & part == part and what.words >= small.words
            ]
            for other in larger:
                self._table.drop(other)
                del self._unlisted[other]

    def _list_tilings(self, rows: list[int]) -> bool:
        """Add the other tilings of steps of which some are known; whether there were such steps."""
        listed: dict[int, list[int]] = {}
        for row in rows:
            if row not in self._coarse:
                continue
            step, others = self._coarse[row]
            known = {self._table.options[r].group for r in others}
            new = [option for option in self._options.all(step) if option.group not in known]
            listed[row] = [row, *(self._table.add(option, False) for option in new)]
            for other in others:
                self._table.alone(other)
                del self._coarse[other]
        self._ways = self._ways.replaced(listed)
        return bool(listed)

    def _settle(self, row: int) -> bool:
        """Price an option; whether it has a price."""
        option = self._table.options[row]
        cost = self._price.group(option.group, option.around)
        if isinstance(cost, Infeasible):
            self._table.drop(row)
            return False
        self._table.settle(row, cost)
        return True


def options_of(network: Network, hardware: Hardware) -> StepOptions | CoreOptions:
    """Return what lists the options of steps, in one buffer or on several cores."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Cores) and cores.count > 1:
        return CoreOptions(network, hardware, cores)
    return StepOptions(network, hardware)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Steps between cuts, one for each way to take them.

    Attributes:
        cuts: how many there are.
        starts, ends, steps, rows: int64[W], cuts of each way, its step, and its row of the table.
    """

    cuts: int
    starts: Ints
    ends: Ints
    steps: Ints
    rows: Ints

    @cached_property
    def _paths(self) -> Paths:
        return Paths(self.cuts, self.starts, self.ends)

    def best(self, energy: Floats, cycles: Floats, burdens: Floats) -> list[tuple[int, int]] | None:
        """Return (step, row) along the path of least energy x latency, given those of rows.

        Of equal paths the one whose steps have the least ``burdens``, float64 by step.
        """
        able = energy[np.isfinite(energy)]
        tie = _TIE * float(np.median(able)) if len(able) else 0.0
        burdened = energy[self.rows] + tie * burdens[self.steps]
        found = self._paths.least_product(burdened, cycles[self.rows])
        if found is None:
            return None
        return [(int(self.steps[way]), int(self.rows[way])) for way in found.steps]

    def replaced(self, listed: Dict[int, list[int]]) -> "_Ways":
        """Return the ways with several rows, or none, in the place of some."""
        times = np.ones(len(self.rows), np.int64)
        for row, others in listed.items():
            times[self.rows == row] = len(others)
        starts, ends, steps, rows = (
            np.repeat(figure, times) for figure in (self.starts, self.ends, self.steps, self.rows)
        )
        for row, others in listed.items():
            where = rows == row
            rows[where] = np.resize(np.array(others, np.int64), int(where.sum()))
        return _Ways(self.cuts, starts, ends, steps, rows)
