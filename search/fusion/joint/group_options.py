"""Common base of the ways to run one group: what moves over DRAM's pins, and shared helpers.

An option is a tiling of one group with an estimate of its cost. The estimate holds the least that
any mapping of each layer's tiles costs, and exactly what crosses DRAM's pins. How far layers exceed
that least is learned elsewhere (:mod:`.option_table`).
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping as Dict

from archloom.evaluators import access_costs
from archloom.evaluators.fusion import GroupShape
from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked, shape_of
from archloom.search.fusion.tiling import GroupTilings, TileEstimates, least_weights
from archloom.space.fusion import FusionGroup, Residents
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network

from ..partition import Group
from .cut_graph import CutEdge
from .option_table import GroupOption


class GroupOptions(ABC):
    """Lists the options of the edges of a cut graph.

    Args:
        network, hardware: what runs where.
        core: the hardware that runs one tile: one core of several, or the whole chip.
    """

    def __init__(self, network: Network, hardware: Hardware, core: Hardware) -> None:
        self._network, self._hardware, self._core = network, hardware, core
        self._estimates = TileEstimates(network, core)
        layers = network.layers
        self._owners = [network.weight_owner(i) for i in range(len(layers))]
        self._weight_words = [layer.weight_words for layer in layers]
        self._map_words = [(layer.input_words + layer.output_words) // layer.n for layer in layers]
        costs, dram = access_costs(hardware), hardware.levels[-1]
        self._rate = dram.bandwidth_words
        self._store_pj = float(costs.write_pj[-1, OUTPUTS]) / dram.width_words
        self._weight_pj = float(costs.read_pj[-1, WEIGHTS]) / dram.width_words
        # a word from DRAM is written to the buffer as well, if there is one
        self._fill_pj = 0.0
        if core.fusion_level is not None:
            self._fill_pj = float(costs.write_pj[-2, INPUTS]) / hardware.levels[-2].width_words
        self._fetch_pj = float(costs.read_pj[-1, INPUTS]) / dram.width_words + self._fill_pj

    @abstractmethod
    def residents(self, edge: CutEdge) -> Residents:
        """Return what the plan keeps in the buffer while the group of an edge runs."""

    @abstractmethod
    def kind(self, edge: CutEdge) -> Hashable:
        """Return a key that is equal for edges with the same options at the same cost."""

    @abstractmethod
    def group_for(self, option: GroupOption, edge: CutEdge, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it in a plan.

        ``turns`` says which group of the plan runs each layer: pins last to the last reader.
        """

    @abstractmethod
    def relaxation(self, edge: CutEdge) -> GroupOption:
        """Return a rough estimate for all tilings of an edge; of one layer, its cost alone."""

    @abstractmethod
    def first_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return the few options to look at first; none if nothing fits."""

    @abstractmethod
    def all_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return the options of an edge, those of the least estimated energy x latency first."""

    def _shape(self, edge: CutEdge) -> GroupShape:
        """Return the maps of the group of an edge."""
        return shape_of(self._network, edge.layers)

    def _tilings(self, edge: CutEdge) -> GroupTilings | None:
        """Ways to cut a group in tiles, if the hardware can hold its maps."""
        group = FusionGroup(edge.layers, (1, 1))
        if fusion_blocked(self._network, group, self._core) is not None:
            return None
        members = tuple(self._network.layers[i] for i in edge.layers)
        return GroupTilings(self._shape(edge), members)

    def _owned_words(self, layers: Iterable[int]) -> int:
        """Words of the weights of some layers; what they share counts once."""
        return sum(self._weight_words[i] for i in {self._owners[i] for i in layers})

    def _banded_weights(self, layers: Group, images: int, resident_words: int, share: int) -> int:
        """Words of weights that come in as many bands as serve a group best.

        Args:
            layers: of the group.
            images: that run one after another.
            resident_words: of the buffer that are taken.
            share: into how many parts the maps of an image are cut for cores.
        """
        capacity = buffer_words(self._core) - resident_words
        maps = max(self._map_words[i] for i in layers) // share
        return least_weights(self._owned_words(layers), capacity, maps, images)
