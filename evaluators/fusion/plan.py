"""Cost of a fusion plan over a whole network."""

from collections.abc import Callable
from dataclasses import dataclass

from archloom.evaluators.loopnest import whole_pj
from archloom.space import Infeasible
from archloom.space.fusion import (
    FusionGroup,
    FusionPlan,
    Residents,
    divisors,
    plan_residents,
    sub_batch,
)
from archloom.space.hardware import Hardware, packed
from archloom.space.workload import Network

from ..hardware import access_costs, edp_js
from .group_share import GroupCost

#: evaluates a group beside what its plan keeps in the buffer
GroupEvaluator = Callable[[FusionGroup, Residents], GroupCost | Infeasible]


@dataclass(frozen=True)
class NetworkCost:
    """Cost of one pass of a network (``batch`` images) under a plan.

    Groups run one after another, so latencies add. Energies are multiples of 2**-8 pJ, so
    that levels sum to layers and layers to the network in any order of summation.

    Attributes:
        network, hardware: what was evaluated.
        groups: cost of each group, in the order in which they run.
        leakage_pj: of the whole chip over the whole latency.
    """

    network: Network
    hardware: Hardware
    groups: tuple[GroupCost, ...]
    leakage_pj: float

    @property
    def plan(self) -> FusionPlan:
        """The plan that was evaluated."""
        return FusionPlan(tuple(g.group for g in self.groups))

    @property
    def running(self) -> Network:
        """What runs at a time: the network with the images of one sub-batch."""
        return sub_batch(self.network, self.plan.sub_batches)

    @property
    def one_part(self) -> "NetworkCost":
        """Cost of one sub-batch that finds all weights that stay in the buffer."""
        parts = tuple(group.part or group for group in self.groups)
        return _pass_cost(self.running, self.hardware, parts)

    @property
    def latency_cycles(self) -> int:
        """Cycles of one pass."""
        return sum(g.latency_cycles for g in self.groups)

    @property
    def latency_s(self) -> float:
        """Seconds of one pass."""
        return self.latency_cycles / (self.hardware.frequency_mhz * 1e6)

    @property
    def energy_pj(self) -> float:
        """Energy of one pass, leakage and DRAM included."""
        return sum(g.dynamic_pj for g in self.groups) + self.leakage_pj

    @property
    def dram_reads(self) -> int:
        """Words read from DRAM."""
        return sum(g.dram_reads for g in self.groups)

    @property
    def dram_writes(self) -> int:
        """Words written to DRAM."""
        return sum(g.dram_writes for g in self.groups)

    @property
    def dram_bytes(self) -> float:
        """Bytes moved between DRAM and the chip."""
        return (self.dram_reads + self.dram_writes) * self.hardware.word_bits / 8

    @property
    def edp_js(self) -> float:
        """Energy per image times latency of the pass, in J s."""
        return edp_js(self.energy_pj, self.latency_cycles, self.hardware, self.network.batch)


def uneven_sub_batches(network: Network, parts: int) -> Infeasible:
    """Return why a batch cannot be cut into so many parts."""
    known = ", ".join(map(str, divisors(network.batch)))
    hint = f"sub_batches must divide the batch: {known}"
    return Infeasible("uneven_sub_batches", network.name, parts, network.batch, "images", hint)


def network_cost(
    network: Network, plan: FusionPlan, hardware: Hardware, evaluate: GroupEvaluator
) -> NetworkCost | Infeasible:
    """Evaluate every group of ``plan``; the first infeasible one makes the plan infeasible."""
    network, groups = packed(network, hardware), list[GroupCost]()
    if network.batch % plan.sub_batches:
        return uneven_sub_batches(network, plan.sub_batches)
    for group, residents in zip(plan.groups, plan_residents(network, plan), strict=True):
        cost = evaluate(group, residents)
        if isinstance(cost, Infeasible):
            return cost
        groups.append(cost)
    return _pass_cost(network, hardware, tuple(groups))


def _pass_cost(network: Network, hardware: Hardware, groups: tuple[GroupCost, ...]) -> NetworkCost:
    latency = sum(group.latency_cycles for group in groups)
    leakage = whole_pj(access_costs(hardware).leakage_pj_per_cycle * latency)
    return NetworkCost(network, hardware, groups, leakage)
