"""Common base of the ways to run one group: what moves over DRAM's pins, and shared helpers.

An option is a tiling of one group with an estimate of its cost. The estimate holds the least that
any mapping of each layer's tiles costs, and exactly what crosses DRAM's pins. How far layers exceed
that least is learned elsewhere (:mod:`.option_table`). A rough estimate stands for all tilings of a
group; those of all kinds of groups are worked out at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping as Dict, Sequence

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.search.fusion.tiling import SizeNumbers, TileEstimates, least_weights
from archloom.space.fusion import FusionGroup, FusionPlan
from archloom.space.hardware import Hardware

from ..plan_evaluator import MemoizedPlanEvaluator
from .cuts import CutEdge, EdgeKinds, WholeGroups
from .known_groups import known_groups
from .nest_options import NestOptions
from .option_batch import GroupWay, OptionBatch, RoughOptions
from .size_costs import SizeCosts
from .tilings import BoundedTilings, moved_prices


class GroupOptions(ABC):
    """Lists the options of the edges of a cut graph.

    Args:
        evaluator: of plans: what runs where.
        core: the hardware that runs one tile: one core of several, or the whole chip.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator, core: Hardware) -> None:
        network, hardware = evaluator.network, evaluator.hardware
        self._network, self._hardware, self._core = network, hardware, core
        self._known = known_groups(network)
        self._estimates = TileEstimates(network, core)
        self._costs = SizeCosts(self._estimates, self._known.numbers)
        layers = network.layers
        self._owners = [network.weight_owner(i) for i in range(len(layers))]
        self._weight_words = [layer.weight_words for layer in layers]
        # a word from DRAM is written to the buffer as well, if there is one
        prices = self._prices = moved_prices(hardware, core.fusion_level is not None)
        self._rate, self._fill_pj, self._fetch_pj = prices.rate, prices.fill_pj, prices.fetch_pj
        self._store_pj, self._weight_pj = prices.store_pj, prices.weight_pj

        self._nests = NestOptions(evaluator, self.edges(), self._known.columns)

    def edges(self) -> EdgeKinds:
        """Return the edges of the network's cut graph, whose kinds share options and costs."""
        return self._known.graph(buffer_words(self._hardware))[0]

    @property
    def whole(self) -> WholeGroups:
        """The groups of all kinds of edges in one piece."""
        return self._known.graph(buffer_words(self._hardware))[1]

    @property
    def nestable(self) -> NDArray[np.bool_]:
        """bool[K], kinds of edges whose groups may run in loops of which a part is no group."""
        return self._nests.maybe

    @property
    def tiled(self) -> NDArray[np.bool_]:
        """bool[K], kinds of edges with several layers, which run in tiles of maps in the buffer."""
        several: NDArray[np.bool_] = (self.edges().members > 1) & ~self.nestable
        return several

    @property
    def core(self) -> Hardware:
        """What runs one tile."""
        return self._core

    @property
    def numbers(self) -> SizeNumbers:
        """Of the sizes in which layers run."""
        return self._known.numbers

    @abstractmethod
    def group_for(self, way: GroupWay, edge: CutEdge, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it in a plan.

        ``turns`` says which group of the plan runs each layer: pins last to the last reader.
        """

    def plan(self, ways: Sequence[GroupWay], edges: Sequence[CutEdge]) -> FusionPlan:
        """Return the plan of a path: its edges, and an option of each."""
        turns = {i: turn for turn, edge in enumerate(edges) for i in edge.layers}
        pairs = zip(ways, edges, strict=True)
        return FusionPlan(tuple(self.group_for(way, edge, turns) for way, edge in pairs))

    @abstractmethod
    def rough(self) -> RoughOptions:
        """Return rough estimates for all tilings of every kind of :meth:`edges`.

        Only weights are fetched more than once; those of one layer are its cost alone.
        """

    @abstractmethod
    def moved(self, kinds: Sequence[int]) -> Floats:
        """Return float64[n, 2], nearer estimates of energy and cycles of what moves for kinds of
        edges, those of :meth:`rough` where it knows no better; infinite where nothing fits."""

    @abstractmethod
    def first_options(self, kinds: Sequence[int]) -> tuple[OptionBatch, list[int]]:
        """Return the few options to look at first, and how many each kind of edge has; those that
        fit nowhere have none."""

    @abstractmethod
    def all_options(self, kind: int) -> OptionBatch:
        """Return the options of a kind, those of the least estimated energy x latency first."""

    @abstractmethod
    def every_tiling(self, kind: int) -> BoundedTilings | None:
        """Return all tilings of a kind, with energy and latency that no mapping is below; None if
        no such bounds are known of its tilings."""

    def _owned_words(self, layers: Iterable[int]) -> int:
        """Words of the weights of some layers; what they share counts once."""
        return sum(self._weight_words[i] for i in {self._owners[i] for i in layers})

    def _banded_weights(self, whole: WholeGroups, images: int, share: int) -> Ints:
        """int64[K], words of weights that come in as many bands as serve a group best.

        Args:
            whole: the groups.
            images: that run one after another.
            share: into how many parts the maps of an image are cut for cores.
        """
        capacity = buffer_words(self._core) - whole.pinned
        return least_weights(whole.weights, capacity, whole.maps // share, images)

    def _whole_costs(self, whole: WholeGroups) -> tuple[Floats, Floats]:
        """float64[n], least energy and cycles of the members of groups in one piece.

        Of one layer, cycles are those of exact factors.
        """
        stay = np.ones_like(whole.sizes)
        energy, exact = self._costs.of(whole.sizes, stay)
        _, least = self._costs.of(whole.sizes, stay, cut=True)
        return energy, np.where(whole.members[whole.kinds] > 1, least, exact)
