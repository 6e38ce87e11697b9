"""Groups, tiles, halos, resident weights and pinned maps chosen together.

A plan is a path through the cuts of the network (:mod:`.cuts`); energy and latency of its steps add
up, so the best plan is a shortest path (:mod:`.paths`). Steps are first estimated, then listed by
tiling, then priced, each only once it lies on the best path (lazy shortest paths: Dellin and
Srinivasa, ICAPS 2016). Estimates grow more optimistic when the best path is priced all over: other
plans get their chance until none seems better even if every layer cost the least that it can.
"""

from collections.abc import Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Final

import numpy as np

from ..evaluators.group_cost import buffer_words
from ..evaluators.hardware_cost import access_costs
from ..evaluators.network_bounds import any_plan_bound
from ..space.fusion import FusionPlan, layer_by_layer
from ..space.graph_facts import bits
from ..space.infeasible import Infeasible
from .cuts import Step, cut_graph
from .fusion_state import FusionState
from .option_table import OptionTable
from .paths import Floats, Ints, Paths
from .planned import ln_edp
from .pricing import PlanPricer
from .step_options import StepOptions

#: how near to the least possible layers are taken to be, once all is priced on the way before
OPTIMISM: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


class Joint:
    """Plans of all kinds, the best estimated one priced first.

    Args:
        price: prices plans of the network that is fused.
    """

    def __init__(self, price: PlanPricer) -> None:
        self._price = price

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was evaluated; nothing is drawn at random."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price up to ``budget`` more plans; fewer if no other plan can be better.

        What was priced before is priced again, from the pricer's memo where it has it.
        """
        best, history = FusionPlan(()), list[float]()
        for plan in plans(self._price):
            if len(history) == state.evaluations + budget:
                break
            cost = ln_edp(self._price, plan)
            if not history or cost < history[-1]:
                best = plan
            history.append(min(cost, history[-1]) if history else cost)
        return FusionState(state.seed, (), best, tuple(history), self._bound())

    def _bound(self) -> float:
        return log(any_plan_bound(self._price.network, self._price.hardware).edp_js)


def plans(price: PlanPricer) -> Iterator[FusionPlan]:
    """Yield layer by layer, then plans that may be better, those that seem the best first."""
    known = layer_by_layer(price.network)
    yield known
    search = _Search(price)
    seen = {known}
    for optimism in OPTIMISM:
        while (plan := search.next(optimism)) is not None and plan not in seen:
            seen.add(plan)
            yield plan


class _Search:
    """What is known of all steps."""

    def __init__(self, price: PlanPricer) -> None:
        network, hardware = price.network, price.hardware
        self._price = price
        words = buffer_words(hardware)
        graph = cut_graph(network, fuse=words > 0, pin_words=words)
        self._options = StepOptions(network, hardware)
        self._table = OptionTable(network, access_costs(hardware).leakage_pj_per_cycle)
        # rows that stand for all tilings of a step, until they are listed
        self._unlisted: dict[int, Step] = {}
        # of these that may fit, the layers in bits and the words of pinned maps
        self._size: dict[int, tuple[int, int]] = {}
        # rows of steps of which only some tilings are listed, with all rows of the step
        self._coarse: dict[int, tuple[Step, tuple[int, ...]]] = {}
        rows: dict[object, int] = {}
        for step in graph.steps:
            what = (step.layers, step.held, step.kept)
            if what not in rows:
                rows[what] = self._table.add(self._options.whole(step))
                self._unlisted[rows[what]] = step
                words = self._options.around(step).words
                self._size[rows[what]] = bits(step.layers), words
        ways = [rows[step.layers, step.held, step.kept] for step in graph.steps]
        ends = np.array([(step.start, step.end) for step in graph.steps], np.int64)
        self._ways = _Ways(graph.cuts, ends[:, 0], ends[:, 1], np.array(ways, np.int64))

    def next(self, optimism: float) -> FusionPlan | None:
        """Return the plan that is estimated best, all its steps priced; None if there is none.

        A plan comes as soon as it has a price, and again when no tiling of its groups seems better.
        """
        while True:
            energy, cycles = self._table.figures(optimism)
            found = self._ways.best(energy, cycles)
            if found is None:
                return None
            if self._list_options(found):
                continue
            fresh = [row for row in found if not self._table.priced[row]]
            priced = [self._settle(row) for row in fresh]
            if not all(priced):
                continue
            if fresh or not self._list_tilings(found):
                return FusionPlan(tuple(self._table.options[row].group for row in found))

    def _list_options(self, found: list[int]) -> bool:
        """Put some options in the place of what stands for all; whether there was such a row."""
        listed: dict[int, list[int]] = {}
        for row in [row for row in found if row in self._unlisted]:
            step = self._unlisted.pop(row)
            del self._size[row]
            listed[row] = [self._table.add(option) for option in self._options.few(step)]
            if not listed[row]:
                self._drop_larger(step)
            self._coarse |= dict.fromkeys(listed[row], (step, tuple(listed[row])))
        self._ways = self._ways.replaced(listed)
        return bool(listed)

    def _drop_larger(self, small: Step) -> None:
        """Leave out groups around one that fits nowhere: they hold its maps too, and more."""
        part, pinned = bits(small.layers), self._options.around(small).words
        larger = [
            row
            for row, (layers, words) in self._size.items()
            if layers & part == part and words >= pinned
        ]
        for row in larger:
            self._table.drop(row)
            del self._size[row]

    def _list_tilings(self, found: list[int]) -> bool:
        """Add the other tilings of steps of which some are known; whether there are any."""
        listed: dict[int, list[int]] = {}
        for row in found:
            if row not in self._coarse:
                continue
            step, rows = self._coarse[row]
            known = {self._table.options[r].group for r in rows}
            others = [o for o in self._options.all(step) if o.group not in known]
            listed[row] = [row, *(self._table.add(option) for option in others)]
            for other in rows:
                del self._coarse[other]
        self._ways = self._ways.replaced(listed)
        return any(len(rows) > 1 for rows in listed.values())

    def _settle(self, row: int) -> bool:
        """Price an option; whether it has a price."""
        option = self._table.options[row]
        cost = self._price.group(option.group, option.around)
        if isinstance(cost, Infeasible):
            self._table.drop(row)
            return False
        self._table.settle(row, cost)
        return True


@dataclass(frozen=True, eq=False)
class _Ways:
    """Steps between cuts, one for each way to take them.

    Attributes:
        cuts: how many there are.
        starts, ends, rows: int64[W], cuts of each way, and its row of the table.
    """

    cuts: int
    starts: Ints
    ends: Ints
    rows: Ints

    @cached_property
    def _paths(self) -> Paths:
        return Paths(self.cuts, self.starts, self.ends)

    def best(self, energy: Floats, cycles: Floats) -> list[int] | None:
        """Return the rows of the path with the least energy x latency, given those of rows."""
        found = self._paths.least_product(energy[self.rows], cycles[self.rows])
        return None if found is None else self.rows[list(found.steps)].tolist()

    def replaced(self, listed: Dict[int, list[int]]) -> "_Ways":
        """Return the ways with several rows in the place of some."""
        times = np.ones(len(self.rows), np.int64)
        for row, others in listed.items():
            times[self.rows == row] = len(others)
        rows = np.repeat(self.rows, times)
        for row, others in listed.items():
            where = rows == row
            # none are left of a row without options
            rows[where] = np.resize(np.array(others, np.int64), int(where.sum()))
        return _Ways(self.cuts, np.repeat(self.starts, times), np.repeat(self.ends, times), rows)
