"""Lower bounds of every objective over all designs of a box of the space."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, HardwareCost, edp_js
from archloom.evaluators.bounds import (
    EngineDemand,
    Relaxation,
    Relaxed,
    closest_pass_bounds,
    compute_cycles,
    engine_demand,
    pass_bounds,
    tight_engine_demand,
    tight_pass_bounds,
)
from archloom.search.objectives import DesignCosts, design_costs
from archloom.space import Infeasible
from archloom.space.design_space import Box, BoxStructure, Point, size
from archloom.space.hardware import Hardware, pass_batch

from ..problem import Candidate, DesignProblem
from .open_boxes import OpenBox

if TYPE_CHECKING:
    from archloom.search.fusion.joint import PlanSpaces

#: Relaxations of boxes that are remembered, some 3 kB each.
_MOST_RELAXED: Final = 512


@dataclass(frozen=True, eq=False)
class BoundedBox:
    """A box of designs, in slices by their number of MACs.

    Each design of the box that keeps rules, caps and limits, and is not excluded by a front that
    the box was held against, is in one of the slices and costs no less than its bounds.

    Attributes:
        box: its runs of values.
        slices: int64[k], which slices, ascending.
        bounds: float64[k, m], cost of each objective.
        tight: whether they are the tightest bounds that there are.
        relaxed: what the bounds were worked out from, as long as there are tighter ones; None if
            it has to be worked out again.
        design: the only design of the box, if it has but one; then k is 1.
    """

    box: Box
    slices: NDArray[np.int64]
    bounds: Floats
    tight: bool = False
    design: Candidate | None = None
    relaxed: Relaxed | None = None

    def only(self, wanted: NDArray[np.bool_]) -> "BoundedBox":
        """Return some of the slices."""
        return self if wanted.all() else self._with(self.slices[wanted], self.bounds[wanted])

    def raised(self, parent: "BoundedBox") -> "BoundedBox":
        """Return the box with what is known of its parent: bounds, and slices that are left."""
        places = np.searchsorted(parent.slices, self.slices).clip(max=len(parent.slices) - 1)
        left = parent.slices[places] == self.slices
        bounds = np.maximum(self.bounds, parent.bounds[places])
        return self._with(self.slices, bounds).only(left)

    def _with(self, slices: NDArray[np.int64], bounds: Floats) -> "BoundedBox":
        return BoundedBox(self.box, slices, bounds, self.tight, self.design, self.relaxed)

    @cached_property
    def logs(self) -> Floats:
        """float64[k, m], logarithms of the bounds."""
        return np.asarray(np.log(self.bounds))


class BoxBounds:
    """Bounds boxes of a problem's space, in which the structure is decided.

    Args:
        problem: the space, the objectives, the networks and the caps.
        structure: of the space.
    """

    def __init__(self, problem: DesignProblem, structure: BoxStructure) -> None:
        self._problem = problem
        self._structure, self._boxed = structure, structure.boxed
        self._relaxation = Relaxation(structure)
        measured = problem.objective_set.measured
        #: relaxations of boxes whose tight bounds may be asked for next, the oldest first
        self._relaxed: dict[Box, Relaxed] = {}
        self._counts_macs = any(objective.metric == "utilisation" for objective in measured)

    def first(self, box: Box) -> BoundedBox | None:
        """Return a box with its bounds; None if no design in it keeps rules, caps and limits."""
        if size(box) == 1:
            return self._design(box)
        if self._relaxation.broken(box):
            return None
        relaxed, point = self._within_caps(self._relaxation.of(box)), self._boxed.point(box)
        if self._problem.inaccurate(point, relaxed.hardware):
            return None
        steady = self._problem.plans == "steady"
        networks = self._problem.networks_at(point) if len(relaxed.slices) else ()
        passes = [pass_bounds(network, relaxed.hardware, steady) for network in networks]
        if len(self._relaxed) >= _MOST_RELAXED:
            del self._relaxed[next(iter(self._relaxed))]
        self._relaxed[box] = relaxed
        sharing = self._problem.sharing_of(networks)
        demands = [engine_demand(network, relaxed.hardware) for network in sharing]
        return self._bounded(box, relaxed, passes, demands)

    def tightened(self, found: BoundedBox) -> BoundedBox | None:
        """Return a box with the tightest bounds; None if no design in it keeps the limits."""
        if found.design is not None:
            design = self._problem.tightened(found.design)
            if any(excess > 0 for excess in design.least_excess):
                return None
            return replace(found, bounds=np.array([design.values]), tight=True)
        relaxed = found.relaxed or self._within_caps(self._relaxation.of(found.box))
        left_out = len(found.slices) < len(relaxed.slices)
        if left_out and not self._problem.objective_set.limits:
            # nothing is asked of these slices, and none could be beyond a limit
            relaxed = relaxed.only(np.isin(relaxed.slices, found.slices))
        plans = self._problem.plans
        networks = self._problem.networks_at(self._boxed.point(found.box))
        passes = [tight_pass_bounds(network, relaxed.hardware, plans) for network in networks]
        demands = [
            tight_engine_demand(network, relaxed.hardware, plans)
            for network in self._problem.sharing_of(networks)
        ]
        tight = self._bounded(found.box, relaxed, passes, demands)
        return None if tight is None else replace(tight.raised(found), tight=True, relaxed=None)

    def closest(self, found: BoundedBox) -> BoundedBox | None:
        """Return a box with the closest bounds, which take longest; None if no design in it keeps
        the limits.

        They are those of :func:`archloom.evaluators.bounds.closest_pass_bounds`.
        """
        known = found.tight or found.design is None
        tight = found if known else self.tightened(found)
        if tight is None:
            return None
        relaxed = found.relaxed or self._within_caps(self._relaxation.of(found.box))
        if not self._problem.objective_set.limits:
            relaxed = relaxed.only(np.isin(relaxed.slices, tight.slices))
        point = self._boxed.point(found.box)
        networks, plans = self._problem.networks_at(point), self._problem.plans
        hardware, relaxed = self._runs_on(point, found.box, relaxed)
        passes = [closest_pass_bounds(network, hardware, plans) for network in networks]
        demands = [
            tight_engine_demand(network, hardware, plans)
            for network in self._problem.sharing_of(networks)
        ]
        close = self._bounded(found.box, relaxed, passes, demands)
        if close is None:
            return None
        close = close.raised(tight)
        return replace(close, tight=True, design=tight.design, relaxed=None)

    def positions(self, point: Point) -> tuple[int, ...]:
        """Return where a design stands: which value each parameter has."""
        return self._boxed.positions(self._boxed.space.canonical(point))

    def deciding(self, box: Box) -> list[int]:
        """Return the parameters with several values in a box on which depends which tilings there
        are; none of a single design."""
        every = self._relaxation.tiling_parameters(box)
        return [i for i in every if box[i][1] - box[i][0] > 1]

    def decided(self, box: Box) -> bool:
        """Whether the structure is decided in a box, so that it has bounds."""
        return self._structure.decided(box)

    def rates(self, box: Box) -> list[int]:
        """Return the parameters on which depend the clock and the rate of DRAM, and no mapping
        besides: bounds of plans with other values of them take little time."""
        return self._relaxation.rate_parameters(box)

    def planned(self, found: BoundedBox, spaces: "PlanSpaces", steps: bool) -> BoundedBox | None:
        """Return a box with the closest bounds, none below what all plans of the planner's space
        take at the least; None if no design in it keeps the limits.

        With ``steps`` energy and cycles of the steps of the best plan count together, which takes
        several times as long.

        With the closest bounds alone where the first design of the box keeps not all rules of the
        template, so that it is not known which tilings there are.

        Raises:
            ValueError: a box of designs with unlike tilings, see :meth:`deciding`.
        """
        if self.deciding(found.box):
            raise ValueError("only a box of designs with the same tilings has bounds of plans")
        close, point = self.closest(found), self._boxed.point(found.box)
        design = self._problem.space.build(point)
        if close is None or isinstance(design, Infeasible):
            return close
        relaxed = self._within_caps(self._relaxation.of(found.box))
        relaxed = relaxed.only(np.isin(relaxed.slices, close.slices))
        networks = self._problem.networks_at(point)
        hardware, relaxed = self._runs_on(point, found.box, relaxed)
        leakage_pj = float(relaxed.leakage_pj.min())
        plans = [spaces.least(n, design, hardware, leakage_pj, steps) for n in networks]
        # leakage is counted
        free = replace(relaxed, leakage_pj=0.0 * relaxed.leakage_pj)
        demands = [EngineDemand(0.0, 0.0) for _ in self._problem.sharing]
        least = self._bounded(found.box, free, [one[:2] for one in plans], demands)
        if least is None:
            return None
        edps = {
            network.name: edp_js(one.product, 1.0, design, pass_batch(network, design))
            for network, one in zip(networks, plans, strict=True)
        }
        raised = least.raised(close)
        bounds = np.maximum(raised.bounds, self._problem.objective_set.least(edps))
        return replace(raised, bounds=bounds, tight=True, design=close.design, relaxed=None)

    def known(self, found: OpenBox) -> BoundedBox:
        """Return a box of a table, with what was left out of that."""
        design = (
            self._problem.assess(self._boxed.point(found.box)) if size(found.box) == 1 else None
        )
        assert not isinstance(design, Infeasible), "no box of one infeasible design is open"
        relaxed = None if found.tight else self._relaxed.pop(found.box, None)
        return BoundedBox(found.box, found.slices, found.bounds, found.tight, design, relaxed)

    def _runs_on(self, point: Point, box: Box, relaxed: Relaxed) -> tuple[Hardware, Relaxed]:
        """Return what stands for the designs of a box, and what it leaks beside: a single design
        stands for itself, and its bounds count what it leaks."""
        design = self._problem.space.build(point) if size(box) == 1 else None
        if not isinstance(design, Hardware):
            return relaxed.hardware, relaxed
        return design, replace(relaxed, leakage_pj=0.0 * relaxed.leakage_pj)

    def _design(self, box: Box) -> BoundedBox | None:
        found = self._problem.assess(self._boxed.point(box))
        if not isinstance(found, Candidate):
            return None
        slices, _ = self._relaxation.slices(box)
        return BoundedBox(box, slices, np.array([found.values]), design=found)

    def _within_caps(self, relaxed: Relaxed) -> Relaxed:
        kept = np.ones(len(relaxed.slices), np.bool_)
        if self._problem.area_cap_mm2 is not None:
            kept &= relaxed.area_mm2 <= self._problem.area_cap_mm2
        if self._problem.tdp_cap_w is not None:
            kept &= relaxed.tdp_w <= self._problem.tdp_cap_w
        return relaxed.only(kept)

    def _bounded(
        self,
        box: Box,
        relaxed: Relaxed,
        passes: Sequence[tuple[float, float]],
        demands: Sequence[EngineDemand],
    ) -> BoundedBox | None:
        """Return a box with costs of bounds of energy and cycles without leakage."""
        objective_set, point = self._problem.objective_set, self._boxed.point(box)
        networks = self._problem.networks_at(point)
        percent = self._problem.accuracy_percent(point, relaxed.hardware)
        compute = [
            compute_cycles(network, relaxed.hardware, relaxed.macs[:, 1]).tolist()
            for network in networks
        ]
        slices = zip(
            relaxed.area_mm2.tolist(),
            relaxed.tdp_w.tolist(),
            relaxed.leakage_pj.tolist(),
            relaxed.macs[:, 0].tolist(),
            *compute,
            strict=True,
        )
        rows, kept = [], []
        for area_mm2, tdp_w, leakage_pj, macs, *own in slices:
            cycles = [max(c, more) for (_, c), more in zip(passes, own, strict=True)]
            leaking = [(pj + c * leakage_pj, c) for (pj, _), c in zip(passes, cycles, strict=True)]
            cost = HardwareCost(area_mm2, tdp_w, {}, {})
            together = self._together(relaxed, demands, own)
            least = design_costs(networks, relaxed.hardware, cost, leaking, together, percent)
            if self._counts_macs:
                least = _used(least, macs / relaxed.hardware.macs)
            kept.append(all(excess <= 0 for excess in objective_set.excess(least)))
            rows.append(objective_set.values(least))
        if not any(kept):
            return None
        found = BoundedBox(box, relaxed.slices, np.array(rows), relaxed=relaxed)
        return found.only(np.array(kept))

    def _together(
        self, relaxed: Relaxed, demands: Sequence[EngineDemand], own: Sequence[float]
    ) -> dict[str, float]:
        """Return costs of all tenants in a slice in which networks take ``own`` cycles or more."""
        own_of = dict(zip((n.name for n in self._problem.networks), own, strict=True))
        least = [
            one._replace(compute_cycles=max(one.compute_cycles, own_of[network.name]))
            for network, one in zip(self._problem.sharing, demands, strict=True)
        ]
        return self._problem.together(relaxed.hardware, least)


def _used(least: DesignCosts, share: float) -> DesignCosts:
    """Count the MACs of the design, not those of the relaxed hardware: so many of them."""
    networks = []
    for name, costs in least.networks:
        used = {"utilisation": costs["utilisation"] * share} if "utilisation" in costs else {}
        networks.append((name, {**costs, **used}))
    return DesignCosts(least.known, tuple(networks), least.together)
