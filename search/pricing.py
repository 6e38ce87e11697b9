"""Prices partitions of one network on one hardware, remembering every part of the work.

Groups are priced once per kind of group, wherever it stands in the network. A price is a pure
function of (hardware, group, seed), so a memo never changes a result.
"""

from collections.abc import Hashable, Iterable, Iterator
from math import inf, log
from typing import Final, TypeAlias

from ..evaluators.group_cost import GroupCost, RoomOf, group_cost, room_of
from ..evaluators.layer_cost import LayerCost
from ..evaluators.network_cost import NetworkCost, network_cost
from ..evaluators.tile_cost import Mapper as ProblemMapper
from ..space.fusion import FusionGroup, FusionPlan, components, group_order
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from ..space.surroundings import ALONE, Surroundings, surroundings
from .group_kinds import KindOf, around_kind, group_kind, places, priced_like, tiled_like
from .mapper import Recorder, short_key
from .partition import Group, Partition, normalise
from .tiling import tile_group

#: price of a group, and the costs of its layers by problem
_Priced: TypeAlias = tuple[GroupCost | Infeasible, dict[str, LayerCost]]


#: prices of groups that are at hand: plans that pin other maps place the same groups anew. What
#: takes time to find is remembered by kind, of which there are few
_MOST_GROUPS: Final = 2**17


class PlanPricer:
    """Prices partitions and plans of ``network`` on ``hardware``.

    Groups of one kind are tiled and priced once, for the first of them that comes along.

    Args:
        network, hardware: what runs where.
        mapper: finds the mappings.
        kind_of: says which groups are the same but for names and positions.
    """

    def __init__(
        self,
        network: Network,
        hardware: Hardware,
        mapper: ProblemMapper,
        kind_of: KindOf = group_kind,
    ) -> None:
        self.network = network
        self.hardware = hardware
        self._mapper = mapper
        self._kind_of = kind_of
        # of groups, then of kinds
        self._groups: dict[tuple[FusionGroup, Surroundings], GroupCost | Infeasible] = {}
        self._tilings: dict[Group, FusionGroup | Infeasible] = {}
        self._cuts: dict[Group, tuple[Group, ...]] = {}
        self._priced: dict[Hashable, _Priced] = {}
        self._rooms: dict[Hashable, RoomOf] = {}
        self._tiled: dict[Hashable, FusionGroup | Infeasible] = {}

    @property
    def mapper(self) -> ProblemMapper:
        """What finds the mappings."""
        return self._mapper

    def record(self, plans: Iterable[FusionPlan]) -> tuple[dict[str, str], dict[str, float]]:
        """Return the mappings that price ``plans``, for a :class:`RecordedMapper`.

        The second part are the gaps (percent) of those of which anything is proven.
        """
        found: dict[str, LayerCost] = {}
        placed = (
            pair
            for plan in plans
            for pair in zip(plan.groups, surroundings(self.network, plan), strict=True)
        )
        for group, around in dict.fromkeys(placed):
            found.update(self._like_priced(group, around)[1])
        costs = sorted((short_key(key), cost) for key, cost in found.items())
        mappings = {key: cost.mapping.to_text() for key, cost in costs if cost.mapping}
        return mappings, {key: c.gap_percent for key, c in costs if c.gap_percent < inf}

    def mapped(self, cost: NetworkCost) -> Iterator[tuple[str, int, int, LayerCost]]:
        """Yield the mapped problems of a plan that was priced here, each as often as it occurs: its
        key in a record, how often it runs, how often one after another, and its mapping's cost."""
        for group in cost.groups:
            _, found = self._like_priced(group.group, group.around)
            # what changes of a cost on its way into a price is never the mapping
            keys = {id(c.mapping): short_key(key) for key, c in found.items()}
            for times, tile in (tile for share in group.layers for tile in share.evaluations):
                if tile.mapping is not None:
                    # tiles that run side by side on cores take the cycles of one
                    yield keys[id(tile.mapping)], times, -(-times // group.cores), tile

    def changed(self, mapper: ProblemMapper, key: str) -> "PlanPricer":
        """Return a pricer with a mapper that differs in one problem, given by its key in a
        record; prices without that problem stay."""
        other = PlanPricer(self.network, self.hardware, mapper, self._kind_of)
        other._tilings, other._cuts = self._tilings, self._cuts
        other._rooms, other._tiled = self._rooms, self._tiled
        other._priced = {
            kind: priced
            for kind, priced in self._priced.items()
            if all(short_key(problem) != key for problem in priced[1])
        }
        return other

    def group(self, group: FusionGroup, around: Surroundings = ALONE) -> GroupCost | Infeasible:
        """Return the price of one group, among what its plan keeps in the buffer."""
        key = (group, around)
        if key not in self._groups:
            like, _ = self._like_priced(group, around)
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            self._groups[key] = (
                # what is wrong is said with names
                group_cost(self.network, group, self.hardware, self._mapper, around)
                if isinstance(like, Infeasible)
                else priced_like(like, group, around)
            )
        return self._groups[key]

    def _like_priced(self, group: FusionGroup, around: Surroundings = ALONE) -> _Priced:
        """The price of the first group of the same kind, tiling and surroundings, and its layers'
        costs."""
        layers = self._kind_of(self.network, group.layers)
        beside = around_kind(self.network, group, around)
        tiling = (group.tile, group.halo, places(group), group.faces)
        kind: Hashable = (layers, tiling, beside)
        if around.words:
            # only as far as they matter: plans that pin other maps share prices
            kind = (kind, self._room(kind, group, around))
        if kind not in self._priced:
            recorder = Recorder(self._mapper)
            cost = group_cost(self.network, group, self.hardware, recorder, around)
            self._priced[kind] = (cost, recorder.costs)
        return self._priced[kind]

    def _room(self, kind: Hashable, group: FusionGroup, around: Surroundings) -> Hashable:
        """What a group makes of the words that its surroundings leave."""
        if kind not in self._rooms:
            self._rooms[kind] = room_of(self.network, group, self.hardware, around)
        return self._rooms[kind](around.words)

    def plan(self, plan: FusionPlan) -> NetworkCost | Infeasible:
        """Return the price of a plan."""
        return network_cost(self.network, plan, self.hardware, self.group)

    def tiling(self, layers: Group) -> FusionGroup | Infeasible:
        """Return the chosen tiling of a group."""
        if layers not in self._tilings:
            like = self._like_tiled(layers)
            self._tilings[layers] = (
                tile_group(self.network, layers, self.hardware)
                if isinstance(like, Infeasible)
                else tiled_like(like, layers)
            )
        return self._tilings[layers]

    def _like_tiled(self, layers: Group) -> FusionGroup | Infeasible:
        """The tiling of the first group of the same kind."""
        kind = self._kind_of(self.network, layers)
        if kind not in self._tiled:
            self._tiled[kind] = tile_group(self.network, layers, self.hardware)
        return self._tiled[kind]

    def __call__(self, partition: Partition) -> tuple[Partition, float]:
        """Return the partition with groups that do not fit cut, and ln EDP (J s); inf if none."""
        valid = self.fitted(partition)
        cost = self.plan(self.plan_of(valid))
        return valid, inf if isinstance(cost, Infeasible) else log(cost.edp_js)

    def fitted(self, partition: Partition) -> Partition:
        """Return the partition with groups that do not fit cut."""
        return normalise(g for part in partition for g in self._fitted(part))

    def plan_of(self, partition: Partition) -> FusionPlan:
        """Return the plan of a valid partition: tilings chosen, groups in running order.

        Raises:
            ValueError: a group that fits no tiling, or groups that wait for each other.
        """
        order = group_order(self.network, partition)
        if order is None:
            raise ValueError("the groups wait for each other's results")
        groups = []
        for g in order:
            tiled = self.tiling(partition[g])
            if isinstance(tiled, Infeasible):
                raise ValueError(str(tiled))
            groups.append(tiled)
        return FusionPlan(tuple(groups))

    def _fitted(self, layers: Group) -> tuple[Group, ...]:
        """Cut a group in halves until every part can be tiled and mapped."""
        if layers not in self._cuts:
            self._cuts[layers] = (layers,) if self._fits(layers) else self._halved(layers)
        return self._cuts[layers]

    def _fits(self, layers: Group) -> bool:
        """Whether a group can be tiled and mapped, or has but one layer."""
        if len(layers) == 1:
            return True
        like = self._like_tiled(layers)
        if isinstance(like, Infeasible):
            return False
        return not isinstance(self._like_priced(like)[0], Infeasible)

    def _halved(self, layers: Group) -> tuple[Group, ...]:
        middle = len(layers) // 2
        parts = [
            c for half in (layers[:middle], layers[middle:]) for c in components(self.network, half)
        ]
        return tuple(g for part in parts for g in self._fitted(part))
