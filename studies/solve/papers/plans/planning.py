"""Plans of one network on one design with mappings of one effort, by several planners."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

from archloom.evaluators.fusion import NetworkCost, uneven_sub_batches
from archloom.search import MAPPING_SEARCHES, derived_seed
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.fusion.deepfrack import CostObjective, DeepFrackSearch
from archloom.search.mapping import Mapper
from archloom.search.software import fusion_search
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, computation_of, layer_by_layer
from archloom.space.hardware import Hardware
from archloom.space.workload import TENSORS, Network

from .plan_table import MappingEffort, Planner

#: of all that is random
_SEED: Final = 0


@dataclass(frozen=True)
class PassCost:
    """Cost of one pass of a network.

    Attributes:
        energy_pj, latency_cycles, edp_js: of the pass; EDP of an image.
        dram_bytes: that cross the pins.
        wait_cycles: in which the array waits for DRAM or for the buffer's ports.
        layers_fused: in groups of several.
        sub_batches: that run one after another.
    """

    energy_pj: float
    latency_cycles: int
    edp_js: float
    dram_bytes: float
    wait_cycles: int
    layers_fused: int
    sub_batches: int = 1

    @classmethod
    def of(cls, cost: NetworkCost) -> "PassCost":
        """Return the figures of a plan's cost."""
        return cls(
            cost.energy_pj,
            cost.latency_cycles,
            cost.edp_js,
            cost.dram_bytes,
            sum(group.wait_cycles for group in cost.groups),
            sum(
                len(g.layers)
                for g in cost.plan.groups
                if len(g.layers) > 1 and g.layers not in computation_of(cost.network)
            ),
            cost.plan.sub_batches,
        )


class Planning:
    """Plans of one network on one hardware; mappings are searched once for all planners.

    Args:
        network: with the batch of a pass.
        hardware: that it runs on.
        effort: of mappings.
    """

    def __init__(self, network: Network, hardware: Hardware, effort: MappingEffort) -> None:
        search = MAPPING_SEARCHES[effort.search]()
        seed = derived_seed(_SEED, "mapping")
        mapper = Mapper(search, effort.evaluations, seed, effort.factors)
        self._evaluator = MemoizedPlanEvaluator(network, hardware, mapper)
        self._deepfrack: DeepFrackSearch | None = None

    def unfused(self) -> PassCost | Infeasible:
        """Return the cost of layer by layer, or why it cannot run."""
        return self._cost(layer_by_layer(self._evaluator.network))

    def planned(self, planner: Planner) -> PassCost | Infeasible:
        """Return the cost of the plan that a planner chooses.

        It is layer by layer where a planner of EDP finds none with less. Where energy or latency
        is minimised, the plan is the one of least cost in DeepFrack's own model. Sub-batches that
        do not divide the batch are infeasible.
        """
        network, parts = self._evaluator.network, planner.sub_batches
        if isinstance(parts, int) and network.batch % parts:
            return uneven_sub_batches(network, parts)
        if planner.objective == "edp":
            return self._cost(self._of_least_edp(planner))
        if self._deepfrack is None:
            self._deepfrack = DeepFrackSearch(self._evaluator)
        objective: CostObjective = "energy" if planner.objective == "energy" else "latency"
        plan = self._deepfrack.plan(objective)
        return self._cost(layer_by_layer(self._evaluator.network) if plan is None else plan)

    def _of_least_edp(self, planner: Planner) -> FusionPlan:
        search = fusion_search(planner.fusion, self._evaluator, options=planner.options)
        seed = derived_seed(_SEED, "fusion", self._evaluator.network.name)
        state = search.advance(search.start(seed), planner.plans)
        assert isfinite(state.history[-1]), "layer by layer is feasible"
        return state.best

    def _cost(self, plan: FusionPlan) -> PassCost | Infeasible:
        cost = self._evaluator.plan(plan)
        return PassCost.of(cost) if isinstance(cost, NetworkCost) else cost


def with_weights_kept(hardware: Hardware) -> Hardware:
    """Return a design whose buffer beside DRAM keeps weights, too."""
    levels = list(hardware.levels)
    levels[-2] = replace(levels[-2], keeps=TENSORS)
    return replace(hardware, levels=tuple(levels))
