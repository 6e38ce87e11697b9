"""Groups in loop nests as options beside their tilings."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints
from archloom.evaluators.fusion.nest import nest_group, splittable, windowless
from archloom.search.fusion.nest import MOST_MEMBERS, NestChoice, nestable
from archloom.space import Infeasible
from archloom.space.fusion import ALONE, FusionGroup, Residents
from archloom.space.hardware import fusion_cores

from ..plan_evaluator import MemoizedPlanEvaluator
from .cuts import EdgeKinds
from .option_batch import GroupOption, OptionBatch, listed
from .tilings import OptionColumns

#: nests of a group, with the same layers in parts, that are looked at before others (ours)
_FIRST: Final = 8

#: members of groups with depthwise windows around which loops run (ours): larger ones lower EDP by
#: 1% in one of six cases of MobileNetV2 and EfficientNet-B0 and by 0.1% at the most in others, and
#: their search takes most of the time
_MOST_AROUND: Final = 5


@dataclass(frozen=True, slots=True)
class NestWay:
    """A group in a nest; its plan keeps nothing else in the buffer."""

    group: FusionGroup
    residents: Residents = ALONE


class NestOptions:
    """Lists nests around the groups of edges, where nothing is pinned beside them.

    Args:
        evaluator: of plans, which knows the nests of kinds of groups.
        kinds: of edges.
        columns: of the table of options.
    """

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, kinds: EdgeKinds, columns: OptionColumns
    ) -> None:
        self._evaluator, self._kinds = evaluator, kinds
        self._network = evaluator.network
        self._columns = columns
        self._found: dict[int, OptionBatch] = {}

    @cached_property
    def maybe(self) -> NDArray[np.bool_]:
        """bool[K], kinds of edges that may have nests: several products, one result that all others
        lead to, and a shared buffer or one for each core. Windows are those of depthwise layers
        alone, around which loops run over channels, in small groups."""
        layers = self._network.layers
        if isinstance(fusion_cores(self._evaluator.hardware), Infeasible):
            return np.zeros(len(self._kinds.members), np.bool_)
        windows = np.array([not windowless(layer) for layer in layers])
        depthwise = windows & np.array([layer.g > 1 for layer in layers])
        products = np.array([layer.uses_macs for layer in layers])
        running = self._kinds.running
        several = (self._kinds.members <= MOST_MEMBERS) & (self._kinds.words == 0)
        many = running[products].sum(axis=0) > 1
        several &= (self._kinds.members <= _MOST_AROUND) | ~running[depthwise].any(axis=0)
        found: NDArray[np.bool_] = several & many & ~running[windows & ~depthwise].any(axis=0)
        # members that no other member reads
        ends = np.zeros(len(found), np.int64)
        for i, readers in enumerate(self._network.consumers):
            ends += running[i] & ~running[list(readers)].any(axis=0)
        found &= ends == 1
        return found

    def of(self, kind: int) -> OptionBatch:
        """Return the nests of a kind that are estimated best; none for kinds that have none."""
        if kind not in self._found:
            self._found[kind] = listed(self._options(kind))
        return self._found[kind]

    def first(self, kind: int) -> OptionBatch:
        """Return the few of :meth:`of` to look at first."""
        every, few = self.of(kind), list[int]()
        nests = [way.group.nest for way in every.ways if way.group.nest is not None]
        sorts = [(nest.split, nest.loops[0].rank if nest.dealt else -1) for nest in nests]
        for sort in dict.fromkeys(sorts):
            few += [n for n, other in enumerate(sorts) if other == sort][:_FIRST]
        return every.taken(few)

    def _options(self, kind: int) -> list[GroupOption]:
        layers = self._kinds.firsts.layers(kind)
        if not self.maybe[kind] or nestable(self._network, layers) is None:
            return []
        parts = splittable(self._network, layers)
        found = []
        for split in ((), parts) if parts else ((),):
            group = nest_group(self._network, layers, frozenset(), split)
            assert group is not None, "whole or in parts, it has ranks"
            columns = self._columns.at(np.array(group.positions, np.int64), np.int64(1))
            found += [_option(layers, columns, x) for x in self._evaluator.nests(layers, split)]
        return found


def _option(layers: tuple[int, ...], of_members: Ints, choice: NestChoice) -> GroupOption:
    columns, of = np.unique(of_members, return_inverse=True)
    way = NestWay(FusionGroup(layers, nest=choice.nest))
    ahead = choice.moved_cycles - choice.late_cycles
    busy = max(float(choice.layer_cycles.sum()), ahead)
    return GroupOption(
        way.group,
        way.residents,
        columns,
        np.bincount(of.ravel(), choice.layer_pj).astype(np.float64),
        np.bincount(of.ravel(), choice.layer_cycles).astype(np.float64),
        choice.moved_pj,
        ahead,
        choice.latency_cycles - busy,
    )
