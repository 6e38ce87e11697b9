"""Optimality gaps of a plan's mappings, as far as the searches that found them could prove."""

from dataclasses import dataclass
from math import inf, sqrt

from archloom.evaluators.fusion import GroupCost, NetworkCost
from archloom.evaluators.fusion.buffer import streams
from archloom.evaluators.loopnest import LayerCost
from archloom.space import Infeasible
from archloom.space.fusion import folded_of
from archloom.space.hardware import Hardware, fusion_cores

from ..hardware import access_costs
from .compulsory import latency_bound_cycles
from .rounding import ROUNDING, evaluation_pj


@dataclass(frozen=True, slots=True)
class MappingGaps:
    """Summary of a plan's mappings.

    Attributes:
        mappings: one for each layer on MACs and each distinct tile of it.
        proven: of them, how many are proven to be the best.
        unknown: of them, of how many nothing is proven.
        worst_percent: the largest gap of the others; 0 if there are none.
        plan_percent: no other choice of mappings gives the plan less than its EDP divided by
            (1 + plan_percent / 100).
    """

    mappings: int
    proven: int
    unknown: int
    worst_percent: float
    plan_percent: float


def mapping_gaps(cost: NetworkCost, least: float = 0.0) -> MappingGaps:
    """Return what is known of a plan's mappings.

    Args:
        cost: of the plan.
        least: an EDP (pJ cycles) that the plan is known to have at least, of :func:`priced_bound`.
    """
    shares = [share for group in cost.groups for share in group.layers]
    found = [c for s in shares for _, c in s.evaluations if c.mapping is not None]
    gaps = [c.gap_percent for c in found]
    known = [gap for gap in gaps if gap < inf]
    edp = cost.energy_pj * cost.latency_cycles
    least = max(least, least_edp(cost))
    return MappingGaps(
        mappings=len(gaps),
        proven=gaps.count(0.0),
        unknown=len(gaps) - len(known),
        worst_percent=max(known, default=0.0),
        plan_percent=100.0 * max(0.0, edp / least - 1.0) if least else inf,
    )


def least_edp(cost: NetworkCost) -> float:
    """Return an EDP (pJ cycles) that the plan has at least, whatever the mappings.

    From the least EDP of each tile and from the energy and the cycles that no mapping changes
    (docs/explanation/bounds.md, "What proven mappings say of a plan").
    """
    leaking = _leaking(cost)
    fixed_pj, fixed_cycles, roots = 0.0, 0, 0.0
    shares = [(group, share) for group in cost.groups for share in group.layers]
    for group, share in shares:
        if folded_of(cost.network, group.group) is not None:
            # its mapping was proven with words over DRAM that folding saves: it says nothing here
            continue
        fixed_pj += float(share.energy_pj.sum()) + share.compute_pj
        # mappings of tiles on cores are proven for the leakage of one
        leaks = min(leaking, _core_leakage(cost, group, leaking))
        for times, tile in share.evaluations:
            # tiles that run side by side take the cycles of one
            turns = -(-times // group.cores)
            if tile.mapping is None:
                fixed_cycles += turns * tile.latency_cycles
            else:
                fixed_pj -= times * tile.dynamic_pj
                roots += turns * sqrt(_least_of(tile, leaks))
    fixed_pj = max(0.0, fixed_pj)
    steady = any(group.group.steady for group in cost.groups)
    longest = latency_bound_cycles(cost.network, cost.hardware, steady)
    together = (roots + sqrt((fixed_pj + leaking * fixed_cycles) * fixed_cycles)) ** 2
    return float(max(together, roots**2 + fixed_pj * longest))


def cycle_price(cost: NetworkCost, rate_pj: float, hardware: Hardware) -> float:
    """Return ``cycle_pj`` of mapping problems on some hardware, for :func:`priced_bound`.

    Args:
        cost: of the plan.
        rate_pj: energy that is worth a cycle of the plan.
        hardware: that the tiles run on: the whole, or one of its cores.
    """
    if hardware == cost.hardware:
        return rate_pj
    cores = fusion_cores(cost.hardware)
    count = 1 if isinstance(cores, Infeasible) else cores.count
    # each tile takes its share of the cycles of a turn, in which the whole chip leaks
    due = (_leaking(cost) + rate_pj) / count
    return max(0.0, due - access_costs(hardware).leakage_pj_per_cycle)


def priced_bound(cost: NetworkCost, rate_pj: float) -> float:
    """Return an EDP (pJ cycles) that a plan has at least, whatever the mappings.

    docs/explanation/bounds.md, "A plan's mappings together", has the proof.

    Args:
        cost: of the plan with mappings that were searched for the least energy, where a cycle
            costs :func:`cycle_price`. Their gaps are those of that objective.
        rate_pj: energy that is worth a cycle of the plan.
    """
    whole = _leaking(cost) + rate_pj
    least = 0.0
    for group in cost.groups:
        if folded_of(cost.network, group.group) is not None:
            # its mapping was searched with words over DRAM that folding saves: it says nothing
            continue
        one = _core(cost, group)
        cores = 1 if one is None else cost.hardware.levels[-2].instances
        for share in group.layers:
            fixed_pj = float(share.energy_pj.sum()) + share.compute_pj
            for times, tile in share.evaluations:
                turns = -(-times // group.cores)
                if tile.mapping is None:
                    least += whole * turns * tile.latency_cycles
                    continue
                fixed_pj -= times * tile.dynamic_pj
                # side by side on cores, each tile takes its share of the cycles of a turn
                number, due = (turns, whole) if one is None else (times, whole / cores)
                price = _searched_price(cost, rate_pj, one)
                value = tile.dynamic_pj + price * tile.latency_cycles
                least += number * value / (1 + tile.gap_percent / 100) * min(1.0, due / price)
            least += max(0.0, fixed_pj)
    return least * least / (4 * rate_pj)


def up_to_rounding(cost: NetworkCost, least: float) -> float:
    """Return the plan's EDP (pJ cycles) in place of a bound that only rounding keeps below it.

    Mappings are compared with exact energies, those of a plan are rounded (lemma 4).
    """
    shares = [share for group in cost.groups for share in group.layers]
    evaluations = sum(times for share in shares for times, _ in share.evaluations)
    rounded_pj = evaluations * evaluation_pj(len(cost.hardware.levels))
    edp = cost.energy_pj * cost.latency_cycles
    lowered = (cost.energy_pj * (1 - ROUNDING) - rounded_pj) * cost.latency_cycles
    return edp if least >= lowered else least


def _leaking(cost: NetworkCost) -> float:
    return cost.leakage_pj / cost.latency_cycles


def _searched_price(cost: NetworkCost, rate_pj: float, core: Hardware | None) -> float:
    """Energy of a cycle that mappings were searched with, leakage included."""
    if core is None:
        return _leaking(cost) + rate_pj
    return access_costs(core).leakage_pj_per_cycle + cycle_price(cost, rate_pj, core)


def _core(cost: NetworkCost, group: GroupCost) -> Hardware | None:
    """Return the core that a group's tiles run on; None if they run on the whole."""
    cores = fusion_cores(cost.hardware)
    if streams(group.group) or isinstance(cores, Infeasible) or cores.count == 1:
        return None
    return cores.one


def _core_leakage(cost: NetworkCost, group: GroupCost, whole: float) -> float:
    """Leakage per cycle that the mappings of a group were searched with; ``whole`` of the chip."""
    core = _core(cost, group)
    return whole if core is None else access_costs(core).leakage_pj_per_cycle


def _least_of(tile: LayerCost, leaking: float) -> float:
    cycles = tile.latency_cycles
    return (tile.dynamic_pj + leaking * cycles) * cycles / (1 + tile.gap_percent / 100)
