"""Optimus' fusion planner: the groups with the least DRAM traffic under its own cost model.

Optimus (Cai et al., ACM TECS 22(1), 2022) counts words between DRAM and one buffer, of groups in
bands of rows (:mod:`archloom.evaluators.fusion.optimus.fused`) and of layers that run alone
(:mod:`archloom.evaluators.fusion.optimus.unfused`), and takes the plan with the fewest. What it
hands over is evaluated as all plans are: bands of rows whose halos are kept, weights of a group
resident or not. That cost model knows more of the buffer (halos of the first band, transfers in
flight, capacity for the mapping), so a group may not fit there. Then its bands get smaller, then
its weights stream, then it is cut (ours); the plan says how often.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked
from archloom.evaluators.fusion.optimus import BandCost, LineBuffers, inputs_read, layer_words
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Hardware
from archloom.space.workload import Network, remembered

from ..counted_work import CountedWork
from ..group_equivalence import layer_kinds
from ..one_shot import OneShotPlanner
from ..partition import Group, halves
from ..protocol import PlanEvaluator
from .known_lines import known_lines
from .partition_dp import MOST_WORK, GroupWordCosts, LeastPartition, least_partition


@dataclass(frozen=True, slots=True)
class OptimusPlan:
    """Plan of Optimus' planner.

    Attributes:
        plan: as it is handed over.
        least: as its own cost has it.
        smaller, streamed, cut: groups that the common cost model made it give smaller bands, whose
            weights it made it stream, and that it made it cut.
    """

    plan: FusionPlan
    least: LeastPartition
    smaller: int = 0
    streamed: int = 0
    cut: int = 0

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the plan should know, a sentence each."""
        longest = self.least.longest_run
        said = (
            (longest, f"too many groups: only runs of at most {longest} layers were compared"),
            (self.smaller, f"{self.smaller} groups have smaller tiles than Optimus would choose"),
            (
                self.streamed,
                f"{self.streamed} groups stream weights that Optimus would keep resident",
            ),
            (self.cut, f"{self.cut} groups were split because they do not fit"),
        )
        return tuple(sentence for number, sentence in said if number)


class OptimusPlanner(OneShotPlanner):
    """Evaluates layer by layer, then Optimus' plan; the better one stays.

    Args:
        evaluator: evaluates plans, and names network and hardware.
        work_limit: most layers of groups that may be looked at; None for no limit.

    Raises:
        ValueError: a limit below 1.
        WorkLimitError: from ``advance``, where a network has more.
    """

    def __init__(self, evaluator: PlanEvaluator, work_limit: int | None = None) -> None:
        self._work = CountedWork("optimus", "layers of groups", work_limit)
        super().__init__(
            evaluator,
            lambda _: self.found.plan if self.found else None,
            lambda _: self.found.notes() if self.found else (),
        )

    @cached_property
    def found(self) -> OptimusPlan | None:
        """Optimus' plan, and what it took to hand it over; None if it has none."""
        return optimus_plan(self._evaluator, spend=self._work.spend)


def optimus_plan(
    evaluator: PlanEvaluator,
    most_work: int = MOST_WORK,
    spend: Callable[[int], None] = lambda _: None,
) -> OptimusPlan | None:
    """Return Optimus' plan, or None if under its cost the network cannot run at all.

    Args:
        evaluator: evaluates what is handed over; names the network and the hardware.
        most_work, spend: as of :func:`.partition_dp.least_partition`.
    """
    costs = OptimusCosts(evaluator.network, evaluator.hardware)
    least = least_partition(evaluator.network, costs.group_costs(), most_work, spend)
    if not least.groups:
        return None
    fitting = _GroupFitter(evaluator, costs)
    groups = tuple(g for layers in least.groups for g in fitting.fitted(layers))
    return OptimusPlan(FusionPlan(groups), least, fitting.smaller, fitting.streamed, fitting.cut)


class OptimusCosts:
    """Optimus' cost of the groups of one network on one hardware.

    The buffer is the fusion level; if that keeps no weights, none stay. Layers on the vector unit
    run alone with each word once.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        self.network = network
        self.hardware = hardware
        self.capacity = buffer_words(hardware)
        self._holds_weights = "weights" in hardware.levels[-2].keeps
        self._alone: dict[int, float] = {}
        self._lines = known_lines(network)
        # of groups that were asked for, then by kind of group
        self._kinds: dict[Group, LineBuffers] = {}
        self._bands: dict[LineBuffers, BandCost | None] = {}

    def group_costs(self) -> GroupWordCosts:
        """Return what the search for the least partition needs."""
        return GroupWordCosts(self.words, self.never_fits, _least(self.network))

    def words(self, layers: Group) -> float:
        """Return the words of a group; infinite if it does not fit."""
        if len(layers) == 1:
            return self._layer(layers[0])
        band = self.band(layers)
        return inf if band is None else float(band.words)

    def never_fits(self, layers: Group) -> bool:
        """Return whether the maps never fit, whatever layers come on top."""
        return self._of(layers).floor >= self.capacity

    def band(self, layers: Group) -> BandCost | None:
        """Return how a group of several layers runs; None if it cannot."""
        lines = self._of(layers)
        if lines not in self._bands:
            blocked = fusion_blocked(self.network, FusionGroup(layers), self.hardware)
            fits = blocked is None
            self._bands[lines] = lines.band(self.capacity, self._holds_weights) if fits else None
        return self._bands[lines]

    def streamed_rows(self, layers: Group) -> int:
        """Return the rows of a band, of a group that fits, if weights do not stay."""
        return self._of(layers).cost(self.capacity - 1, stay=False).rows

    def columns(self, layers: Group) -> int:
        """Return the columns of the map that bands are cut on."""
        shape = self._of(layers).shape
        return shape.sizes[shape.anchor][1]

    def _of(self, layers: Group) -> LineBuffers:
        if layers not in self._kinds:
            self._kinds[layers] = self._lines.of(layers)
        return self._kinds[layers]

    def _layer(self, i: int) -> float:
        kind = layer_kinds(self.network)[i]
        if kind not in self._alone:
            layer = self.network.layers[i]
            self._alone[kind] = (
                layer_words(layer, self.capacity, self._holds_weights)[1]
                if layer.uses_macs
                else float(layer.read_words + layer.weight_words + layer.output_words)
            )
        return self._alone[kind]


@remembered
def _least(network: Network) -> tuple[float, ...]:
    """For each layer words that any plan moves, none of them twice.

    They are its weights if they are its own, its result if that leaves the network, and what it
    reads of inputs of the network.
    """
    words = []
    for i, (layer, read) in enumerate(zip(network.layers, inputs_read(network), strict=True)):
        own = layer.weight_words if network.weight_owner(i) == i else 0
        leaves = layer.output_words if layer.name in network.leaving else 0
        words.append(float(own + leaves + read))
    return tuple(words)


class _GroupFitter:
    """Turns groups into ones that fit under the common cost model, and counts what it took."""

    def __init__(self, evaluator: PlanEvaluator, costs: OptimusCosts) -> None:
        self._evaluator = evaluator
        self._costs = costs
        self.smaller = self.streamed = self.cut = 0

    def fitted(self, layers: Group) -> list[FusionGroup]:
        """Return the group, or the groups that it was cut into."""
        if len(layers) == 1:
            return [FusionGroup(layers)]
        band = self._costs.band(layers)
        if band is not None:
            found = self._banded(layers, band.rows, band.stay)
            if found is None and band.stay and band.weights:
                found = self._banded(layers, self._costs.streamed_rows(layers), stay=False)
                self.streamed += found is not None
            if found is not None:
                return [found]
        self.cut += 1
        parts = halves(self._evaluator.network, layers)
        return [group for part in parts for group in self.fitted(part)]

    def _banded(self, layers: Group, rows: int, stay: bool) -> FusionGroup | None:
        """The group in the largest bands, of halving heights, that fit."""
        network = self._evaluator.network
        columns = self._costs.columns(layers)
        weighted = tuple(i for i in layers if network.layers[i].weight_words) if stay else ()
        first = rows
        while True:
            group = FusionGroup(layers, (rows, columns), "keep_all", weighted)
            if not isinstance(self._evaluator.group(group), Infeasible):
                self.smaller += rows < first
                return group
            if rows == 1:
                return None
            rows = -(-rows // 2)
