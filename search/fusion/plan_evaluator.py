"""Memoized evaluator of partitions and plans of one network on one hardware.

Groups are evaluated once per kind of group, wherever it stands in the network. A cost is a pure
function of (hardware, group, seed), so a memo never changes a result.
"""

from collections.abc import Hashable, Iterable, Iterator
from math import inf, log
from typing import Final, TypeAlias

from archloom.evaluators.fusion import (
    BufferUseOf,
    GroupCost,
    NetworkCost,
    ProblemMapper,
    buffer_use_of,
    group_cost,
    network_cost,
)
from archloom.evaluators.loopnest import LayerCost
from archloom.search.mapping import Recorder, short_key
from archloom.space import Infeasible
from archloom.space.fusion import (
    ALONE,
    FusionGroup,
    FusionPlan,
    Residents,
    group_order,
    plan_residents,
)
from archloom.space.hardware import Hardware, packed
from archloom.space.workload import Network

from .group_equivalence import (
    KindOf,
    cost_for_group,
    group_kind,
    resident_members,
    residents_kind,
    tiling_for_group,
)
from .nest import NestChoice, NestFacts, best_nests, shared_out
from .partition import Group, Partition, halves, normalise
from .protocol import PlanEvaluator
from .tiling import tile_group

#: cost of a group, and the costs of its layers by problem
_KindCost: TypeAlias = tuple[GroupCost | Infeasible, dict[str, LayerCost]]


#: costs of groups that are remembered: plans that pin other maps place the same groups anew. What
#: takes time to find is remembered by kind, of which there are few
_MOST_REMEMBERED: Final = 2**17


class MemoizedPlanEvaluator:
    """Evaluates partitions and plans of ``network`` on ``hardware``.

    Groups of one kind are tiled and evaluated once, for the first of them that comes along.

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
        self.network = packed(network, hardware)
        self.hardware = hardware
        self._mapper = mapper
        self._kind_of = kind_of
        # of groups, then of kinds
        self._groups: dict[tuple[FusionGroup, Residents], GroupCost | Infeasible] = {}
        self._tilings: dict[Group, FusionGroup | Infeasible] = {}
        self._cuts: dict[Group, tuple[Group, ...]] = {}
        self._kind_costs: dict[Hashable, _KindCost] = {}
        self._buffer_uses: dict[Hashable, BufferUseOf] = {}
        self._kind_tilings: dict[Hashable, FusionGroup | Infeasible] = {}
        self._kind_nests: dict[Hashable, list[NestChoice]] = {}

    @property
    def mapper(self) -> ProblemMapper:
        """What finds the mappings."""
        return self._mapper

    def kind(self, layers: Group) -> Hashable:
        """Return what groups have in common that are the same but for names and positions."""
        return self._kind_of(self.network, layers)

    def record(self, plans: Iterable[FusionPlan]) -> tuple[dict[str, str], dict[str, float]]:
        """Return the mappings that the costs of ``plans`` rest on, for a :class:`RecordedMapper`.

        The second part are the gaps (percent) of those of which anything is proven.
        """
        found: dict[str, LayerCost] = {}
        with_residents = (
            pair
            for plan in plans
            for pair in zip(plan.groups, plan_residents(self.network, plan), strict=True)
        )
        for group, residents in dict.fromkeys(with_residents):
            found.update(self._kind_cost(group, residents)[1])
        costs = sorted((short_key(key), cost) for key, cost in found.items())
        mappings = {key: cost.mapping.to_text() for key, cost in costs if cost.mapping}
        return mappings, {key: c.gap_percent for key, c in costs if c.gap_percent < inf}

    def mapped_problems(self, cost: NetworkCost) -> Iterator[tuple[str, int, int, LayerCost]]:
        """Yield the mapped problems of a plan that was evaluated here, each as often as it occurs:
        its key in a record, how often it runs, how often one after another, and its mapping's
        cost."""
        for group in cost.groups:
            _, found = self._kind_cost(group.group, group.residents)
            # what changes of a cost on its way into that of a group is never the mapping
            keys = {id(c.mapping): short_key(key) for key, c in found.items()}
            for times, tile in (tile for share in group.layers for tile in share.evaluations):
                if tile.mapping is not None:
                    # tiles that run side by side on cores take the cycles of one
                    yield keys[id(tile.mapping)], times, -(-times // group.cores), tile

    def with_mapper(self, mapper: ProblemMapper, key: str) -> "MemoizedPlanEvaluator":
        """Return an evaluator with a mapper that differs in one problem, given by its key in a
        record; costs without that problem stay."""
        other = MemoizedPlanEvaluator(self.network, self.hardware, mapper, self._kind_of)
        other._tilings, other._cuts = self._tilings, self._cuts
        other._buffer_uses, other._kind_tilings = self._buffer_uses, self._kind_tilings
        other._kind_nests = self._kind_nests
        other._kind_costs = {
            kind: known
            for kind, known in self._kind_costs.items()
            if all(short_key(problem) != key for problem in known[1])
        }
        return other

    def group(self, group: FusionGroup, residents: Residents = ALONE) -> GroupCost | Infeasible:
        """Return the cost of one group beside what its plan keeps in the buffer."""
        key = (group, residents)
        if key not in self._groups:
            like, _ = self._kind_cost(group, residents)
            if len(self._groups) >= _MOST_REMEMBERED:
                self._groups.clear()
            self._groups[key] = (
                # what is wrong is said with names
                group_cost(self.network, group, self.hardware, self._mapper, residents)
                if isinstance(like, Infeasible)
                else cost_for_group(like, group, residents)
            )
        return self._groups[key]

    def _kind_cost(self, group: FusionGroup, residents: Residents = ALONE) -> _KindCost:
        """The cost of the first group of the same kind, tiling and residents, and its layers'
        costs."""
        layers = self._kind_of(self.network, group.layers)
        beside = residents_kind(self.network, group, residents)
        tiling = (
            group.tile,
            group.halo,
            resident_members(group),
            group.faces,
            group.nest,
            group.sub_batches,
        )
        kind: Hashable = (layers, tiling, beside)
        if residents.words:
            # only as far as they matter: plans that pin other maps share costs
            kind = (kind, self._buffer_use(kind, group, residents))
        if kind not in self._kind_costs:
            recorder = Recorder(self._mapper)
            cost = group_cost(self.network, group, self.hardware, recorder, residents)
            self._kind_costs[kind] = (cost, recorder.costs)
        return self._kind_costs[kind]

    def _buffer_use(self, kind: Hashable, group: FusionGroup, residents: Residents) -> Hashable:
        """A key of how a group uses the words that its residents leave."""
        if kind not in self._buffer_uses:
            self._buffer_uses[kind] = buffer_use_of(self.network, group, self.hardware, residents)
        return self._buffer_uses[kind](residents.words)

    def plan(self, plan: FusionPlan) -> NetworkCost | Infeasible:
        """Return the cost of a plan."""
        return network_cost(self.network, plan, self.hardware, self.group)

    def tiling(self, layers: Group) -> FusionGroup | Infeasible:
        """Return the chosen tiling of a group."""
        if layers not in self._tilings:
            like = self._kind_tiling(layers)
            self._tilings[layers] = (
                tile_group(self.network, layers, self.hardware)
                if isinstance(like, Infeasible)
                else tiling_for_group(like, layers)
            )
        return self._tilings[layers]

    def _kind_tiling(self, layers: Group) -> FusionGroup | Infeasible:
        """The tiling of the first group of the same kind."""
        kind = self._kind_of(self.network, layers)
        if kind not in self._kind_tilings:
            self._kind_tilings[kind] = tile_group(self.network, layers, self.hardware)
        return self._kind_tilings[kind]

    def nests(self, layers: Group, split: tuple[int, ...] = ()) -> list[NestChoice]:
        """Return the nests around a group that are estimated best; ``split`` as of
        :class:`NestFacts`."""
        kind = self._kind_of(self.network, layers), split
        if kind not in self._kind_nests:
            facts = NestFacts(self.network, layers, self.hardware, split)
            self._kind_nests[kind] = [x for some in shared_out(facts) for x in best_nests(some)]
        return self._kind_nests[kind]

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
        like = self._kind_tiling(layers)
        if isinstance(like, Infeasible):
            return False
        return not isinstance(self._kind_cost(like)[0], Infeasible)

    def _halved(self, layers: Group) -> tuple[Group, ...]:
        return tuple(g for part in halves(self.network, layers) for g in self._fitted(part))


def ln_edp(evaluator: PlanEvaluator, plan: FusionPlan) -> float:
    """Return ln EDP (J s) of a plan; inf if it is infeasible."""
    cost = evaluator.plan(plan)
    return inf if isinstance(cost, Infeasible) else log(cost.edp_js)
