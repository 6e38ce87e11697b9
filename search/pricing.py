"""Prices partitions of one network on one hardware, remembering every part of the work.

Layers are mapped once per distinct problem and groups priced once per kind of group, wherever it
stands in the network; both are pure functions of (hardware, problem, seed), so a memo never
changes a result.
"""

from collections.abc import Hashable, Iterable
from collections.abc import Mapping as Dict
from math import inf, log

from ..evaluators.group_cost import GroupCost, group_cost
from ..evaluators.layer_cost import LayerCost, mapped_cost
from ..evaluators.network_cost import NetworkCost, network_cost
from ..evaluators.problem import MappingProblem
from ..evaluators.tile_cost import Mapper as ProblemMapper
from ..space.fusion import FusionGroup, FusionPlan, components, group_order
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.mapping import Mapping
from ..space.network import Network
from .factors import nest_of, nests, objective, shares
from .group_kinds import KindOf, group_kind, places, priced_like, tiled_like
from .mapping_search import AnySearch
from .partition import Group, Partition, normalise
from .seeds import derived_seed
from .tiling import tile_group


class Mapper:
    """Finds mappings with a fixed effort each, and remembers them.

    Args:
        search: the mapping search.
        evaluations: mappings tried for each problem.
        seed: together with the problem it seeds the search, so that the result depends
            neither on the order of problems nor on what was mapped before.
        factors: one of :data:`archloom.search.factors.FACTORS`; where two nests are searched,
            each gets half of the evaluations.
    """

    def __init__(
        self,
        search: AnySearch,
        evaluations: int,
        seed: int,
        factors: str = "exact",
    ) -> None:
        self._search = search
        self._evaluations = evaluations
        self._seed = seed
        self._factors = factors
        self._memo: dict[str, LayerCost | Infeasible] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the cost of the best mapping found, or why there is none."""
        if problem.key not in self._memo:
            self._memo[problem.key] = self._map(problem)
        return self._memo[problem.key]

    def _map(self, problem: MappingProblem) -> LayerCost | Infeasible:
        impossible = problem.impossible()
        if impossible is not None:
            return impossible
        problems = nests(problem, self._factors)
        budgets = shares(self._evaluations, len(problems))
        pairs = zip(problems, budgets, strict=True)
        costs = [self._found(nest, budget) for nest, budget in pairs if budget]
        return min(costs, key=lambda cost: objective(problem, cost))

    def _found(self, problem: MappingProblem, evaluations: int) -> LayerCost:
        start = self._search.start(problem, derived_seed(self._seed, problem.key))
        state = self._search.advance(problem, start, evaluations)
        found = self._search.best(problem, state)
        if found.infeasible is not None or found.mapping is None:
            raise AssertionError(f"no mapping for {problem.key}, though one must exist")
        return mapped_cost(problem, found.mapping)


class Recorder:
    """Passes problems on to a mapper and keeps the mappings that came back, by problem."""

    def __init__(self, mapper: ProblemMapper) -> None:
        self._mapper = mapper
        self.mappings: dict[str, Mapping] = {}

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return what the mapper returns."""
        cost = self._mapper(problem)
        if isinstance(cost, LayerCost) and cost.mapping is not None:
            self.mappings[problem.key] = cost.mapping
        return cost


class RecordedMapper:
    """Gives back mappings of :meth:`PlanPricer.record`, priced anew.

    Args:
        mappings: as recorded.
        factors: as they were searched.

    Raises:
        ValueError: when asked for a problem that was not recorded.
    """

    def __init__(self, mappings: Dict[str, str], factors: str = "exact") -> None:
        self._mappings = mappings
        self._factors = factors

    def __call__(self, problem: MappingProblem) -> LayerCost:
        """Return the cost of the recorded mapping."""
        text = self._mappings.get(_short(problem.key))
        if text is None:
            raise ValueError(f"no mapping was recorded for {problem.key}")
        mapping = Mapping.from_text(text)
        return mapped_cost(nest_of(problem, mapping.factors, self._factors), mapping)


def _short(key: str) -> str:
    return f"{derived_seed(key):016x}"


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
        self._groups: dict[FusionGroup, GroupCost | Infeasible] = {}
        self._tilings: dict[Group, FusionGroup | Infeasible] = {}
        self._cuts: dict[Group, tuple[Group, ...]] = {}
        self._priced: dict[Hashable, tuple[GroupCost | Infeasible, dict[str, Mapping]]] = {}
        self._tiled: dict[Hashable, FusionGroup | Infeasible] = {}

    def record(self, plans: Iterable[FusionPlan]) -> dict[str, str]:
        """Return the mappings that price ``plans``, for a :class:`RecordedMapper`."""
        found: dict[str, Mapping] = {}
        for group in dict.fromkeys(g for plan in plans for g in plan.groups):
            found.update(self._like_priced(group)[1])
        return dict(sorted((_short(key), mapping.to_text()) for key, mapping in found.items()))

    def group(self, group: FusionGroup) -> GroupCost | Infeasible:
        """Return the price of one group."""
        if group not in self._groups:
            like, _ = self._like_priced(group)
            self._groups[group] = (
                # what is wrong is said with names
                group_cost(self.network, group, self.hardware, self._mapper)
                if isinstance(like, Infeasible)
                else priced_like(like, group)
            )
        return self._groups[group]

    def _like_priced(self, group: FusionGroup) -> tuple[GroupCost | Infeasible, dict[str, Mapping]]:
        """The price of the first group of the same kind and tiling, and its mappings."""
        layers = self._kind_of(self.network, group.layers)
        kind = (layers, group.tile, group.halo, places(group))
        if kind not in self._priced:
            recorder = Recorder(self._mapper)
            cost = group_cost(self.network, group, self.hardware, recorder)
            self._priced[kind] = (cost, recorder.mappings)
        return self._priced[kind]

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
        valid = normalise(g for part in partition for g in self._fitted(part))
        cost = self.plan(self.plan_of(valid))
        return valid, inf if isinstance(cost, Infeasible) else log(cost.edp_js)

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
