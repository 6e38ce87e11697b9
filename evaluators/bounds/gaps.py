"""Optimality gaps of a plan's mappings, as far as the searches that found them could prove."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

from archloom.evaluators.fusion import GroupCost, NetworkCost
from archloom.evaluators.fusion.buffer import streams
from archloom.evaluators.loopnest import LayerCost
from archloom.space import Infeasible
from archloom.space.fusion import folded_of
from archloom.space.hardware import fusion_cores

from ..hardware import access_costs
from .compulsory import energy_bound_pj, latency_bound_cycles
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


@dataclass(frozen=True, slots=True)
class TileRuns:
    """A mapped layer or tile of a plan.

    Attributes:
        times: how often it runs.
        turns: how often one after another: tiles side by side on cores take the cycles of one.
        cost: with its mapping.
    """

    times: int
    turns: int
    cost: LayerCost


@dataclass(frozen=True, slots=True)
class PlanParts:
    """What a plan's energy and latency are the sums of, at the least: waiting is left out.

    Attributes:
        fixed_pj: energy that no mapping changes, without leakage.
        fixed_cycles: cycles that no mapping changes.
        leakage_pj_per_cycle: of the whole chip.
        least_pj, least_cycles: below which no mappings of any plan bring the energy (leakage
            included) and the latency.
        tiles: those with mappings. Folded layers are left out: their mappings were searched with
            words over DRAM that folding saves.
    """

    fixed_pj: float
    fixed_cycles: int
    leakage_pj_per_cycle: float
    least_pj: float
    least_cycles: float
    tiles: tuple[TileRuns, ...]


class _Share(NamedTuple):
    """A layer's share of a group: what no mapping changes of it, and its mapped tiles."""

    group: GroupCost
    fixed_pj: float
    fixed_cycles: int
    tiles: list[TileRuns]


def _shares(cost: NetworkCost) -> Iterator[_Share]:
    """Yield the share of each layer of a plan that is not folded."""
    for group in cost.groups:
        if folded_of(cost.network, group.group) is not None:
            # its mapping was proven with words over DRAM that folding saves: it says nothing here
            continue
        for share in group.layers:
            fixed_pj, fixed_cycles = float(share.energy_pj.sum()) + share.compute_pj, 0
            tiles = []
            for times, tile in share.evaluations:
                # tiles that run side by side take the cycles of one
                turns = -(-times // group.cores)
                if tile.mapping is None:
                    fixed_cycles += turns * tile.latency_cycles
                else:
                    fixed_pj -= times * tile.dynamic_pj
                    tiles.append(TileRuns(times, turns, tile))
            yield _Share(group, fixed_pj, fixed_cycles, tiles)


def plan_parts(cost: NetworkCost) -> PlanParts:
    """Take the cost of a plan apart into what mappings change, and the rest."""
    fixed_pj, fixed_cycles, tiles = 0.0, 0, list[TileRuns]()
    for share in _shares(cost):
        fixed_pj += max(0.0, share.fixed_pj)
        fixed_cycles += share.fixed_cycles
        tiles += share.tiles
    steady = any(group.group.steady for group in cost.groups)
    about = (cost.network, cost.hardware, steady)
    least = energy_bound_pj(*about), latency_bound_cycles(*about)
    leakage_pj = cost.leakage_pj / cost.latency_cycles
    return PlanParts(fixed_pj, fixed_cycles, leakage_pj, *least, tuple(tiles))


def up_to_rounding(cost: NetworkCost, least: float) -> float:
    """Return the plan's EDP (pJ cycles) in place of a bound that only rounding keeps below it.

    Mappings are compared with exact energies, those of a plan are rounded (lemma 4).
    """
    shares = [share for group in cost.groups for share in group.layers]
    evaluations = sum(times for share in shares for times, _ in share.evaluations)
    rounded_pj = evaluations * evaluation_pj(len(cost.hardware.levels))
    lowered = (cost.energy_pj * (1 - ROUNDING) - rounded_pj) * cost.latency_cycles
    return cost.energy_pj * cost.latency_cycles if least >= lowered else least


def mapping_gaps(cost: NetworkCost, least: float = 0.0) -> MappingGaps:
    """Return what is known of a plan's mappings.

    Args:
        cost: of the plan.
        least: an EDP (pJ cycles) that the plan is known to have at least with any mappings.
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
    leaking = cost.leakage_pj / cost.latency_cycles
    fixed_pj, fixed_cycles, roots = 0.0, 0, 0.0
    for share in _shares(cost):
        fixed_pj += share.fixed_pj
        fixed_cycles += share.fixed_cycles
        # mappings of tiles on cores are proven for the leakage of one
        leaks = min(leaking, _core_leakage(cost, share.group, leaking))
        roots += sum(run.turns * sqrt(_least_of(run.cost, leaks)) for run in share.tiles)
    fixed_pj = max(0.0, fixed_pj)
    steady = any(group.group.steady for group in cost.groups)
    longest = latency_bound_cycles(cost.network, cost.hardware, steady)
    together = (roots + sqrt((fixed_pj + leaking * fixed_cycles) * fixed_cycles)) ** 2
    return float(max(together, roots**2 + fixed_pj * longest))


def _core_leakage(cost: NetworkCost, group: GroupCost, whole: float) -> float:
    """Leakage per cycle that the mappings of a group were searched with; ``whole`` of the chip."""
    cores = fusion_cores(cost.hardware)
    if streams(group.group) or isinstance(cores, Infeasible) or cores.count == 1:
        return whole
    return access_costs(cores.one).leakage_pj_per_cycle


def _least_of(tile: LayerCost, leaking: float) -> float:
    cycles = tile.latency_cycles
    return (tile.dynamic_pj + leaking * cycles) * cycles / (1 + tile.gap_percent / 100)
