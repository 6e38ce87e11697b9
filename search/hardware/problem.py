"""Design problem of the hardware optimizers: exact facts of a design, and feasible designs.

Area, TDP and lower bounds of what software decides are exact functions of the hardware, so they
are computed and never modelled. A design over a cap, or that no software brings within a limit,
is never proposed.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final, TypeVar

import numpy as np

from archloom.evaluators import hardware_cost
from archloom.evaluators.bounds import (
    EngineDemand,
    Plans,
    engine_demand,
    pass_bounds,
    tight_engine_demand,
    tight_pass_bounds,
)
from archloom.search.objectives import (
    METRICS,
    EngineTimes,
    ObjectiveSet,
    Tenant,
    design_costs,
    least_together,
    limit_reason,
)
from archloom.space import Infeasible
from archloom.space.design_space import HardwareSpace, Point, key_of
from archloom.space.design_space.compression import FormChoices
from archloom.space.hardware import Hardware, pass_batch, rooms_of
from archloom.space.workload import Network
from archloom.surrogates import domain_features

from ..seeds import derived_seed

#: EDP, area and TDP, without limits.
_DEFAULT_OBJECTIVES: Final = ObjectiveSet()

#: Rules of a study rather than of a template.
_STUDY_RULES: Final = {"area_cap", "tdp_cap", *map(limit_reason, METRICS)}

Found = TypeVar("Found")

#: Points of the largest space that is assessed as a whole, in about 6 CPU-seconds.
ENUMERATE_LIMIT: Final = 20_000

#: Assessments that are remembered, some kB each, and as many tight bounds: the latest ones.
_MOST_REMEMBERED: Final = 2**11

#: The same where the front is to be proven, which takes many times as long as that: about 2
#: CPU-minutes and a gigabyte.
PROOF_LIMIT: Final = 500_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A feasible design and what is known of it before any software search.

    Attributes:
        point, key: the design, and its canonical key.
        area_mm2, tdp_w: exact.
        values: cost of each objective (:mod:`archloom.search.objectives`): exact where the hardware
            alone determines it, else a lower bound.
        least_excess: lower bound of ln(cost / limit) for each limit.
        features: :func:`archloom.surrogates.features.domain_features` of the hardware.
    """

    point: Point
    key: str
    area_mm2: float
    tdp_w: float
    values: tuple[float, ...]
    features: tuple[float, ...]
    least_excess: tuple[float, ...] = ()


class DesignProblem:
    """A space, networks, objectives and limits: maps a point to a candidate or to the reason.

    Bounds of a design are those of the networks in the forms that it runs.

    Assessments are remembered by point key for a while; the memory changes no answer.

    Args:
        space: where designs come from.
        networks: what they run, at least one; or networks of which some come in compressed forms,
            whose levels become parameters of the space.
        area_cap_mm2, tdp_cap_w: caps, or None.
        enumerate_limit: spaces of up to this many points are assessed as a whole; larger ones
            are sampled.
        objective_set: what is minimised and what is limited.
        plans: that the software search may choose from; lower bounds hold for all of them.
        tenants: networks that share the chip, if any do.

    Raises:
        ValueError: no network, a cap that is not positive, tenants that are none of the networks,
            or objectives of other networks.
        TemplateError: parameters of forms that are called like what the template has.
    """

    def __init__(
        self,
        space: HardwareSpace,
        networks: Sequence[Network] | FormChoices,
        area_cap_mm2: float | None = None,
        tdp_cap_w: float | None = None,
        enumerate_limit: int = ENUMERATE_LIMIT,
        objective_set: ObjectiveSet = _DEFAULT_OBJECTIVES,
        plans: Plans = "any",
        tenants: Sequence[Tenant] = (),
    ) -> None:
        forms = networks if isinstance(networks, FormChoices) else None
        networks = networks.networks if isinstance(networks, FormChoices) else networks
        if not networks:
            raise ValueError("a design problem needs at least one network")
        for name, cap in (("area_cap_mm2", area_cap_mm2), ("tdp_cap_w", tdp_cap_w)):
            if cap is not None and not (isfinite(cap) and cap > 0):
                raise ValueError(f"{name} is {cap}, must be positive; leave it out for no cap")
        names = [network.name for network in networks]
        if absent := [t.workload for t in tenants if t.workload not in names]:
            raise ValueError(f"tenant {absent[0]} must be one of the networks {', '.join(names)}")
        if tenants and plans == "steady":
            raise ValueError(
                "tenants share the chip, so weights of one network cannot stay there permanently"
            )
        if faults := objective_set.faults(networks, tenants):
            raise ValueError("; ".join(faults))
        if forms is None and any(o.facts.of_forms for o in objective_set.measured):
            raise ValueError("accuracy needs compressed workloads, but there are none")
        self.forms = forms
        self.space = space if forms is None else space.with_parameters(forms.parameters)
        self.networks = tuple(networks)
        self.area_cap_mm2 = area_cap_mm2
        self.tdp_cap_w = tdp_cap_w
        self.enumerate_limit = enumerate_limit
        self.objective_set = objective_set
        self.plans = plans
        self.tenants = tuple(tenants)
        #: networks of the tenants
        self.sharing = self.sharing_of(networks)
        self._known: dict[str, Candidate | Infeasible] = {}
        self._tightened: dict[str, Candidate] = {}
        self._all: list[Candidate] | None = None

    def networks_at(self, point: Point | None) -> tuple[Network, ...]:
        """Return what a design runs, each network in its form; always the same objects.

        Args:
            point: of the design; None for a preset, which runs the forms that lose least.
        """
        return self.networks if self.forms is None else self.forms.networks_at(point)

    def accuracy_percent(self, point: Point | None, hardware: Hardware) -> float | None:
        """Return the accuracy of a design; None where no network has forms."""
        return None if self.forms is None else self.forms.accuracy_percent(point, hardware)

    def sharing_of(self, networks: Sequence[Network]) -> list[Network]:
        """Return those of the networks, whatever their form, that share the chip."""
        shared = {tenant.workload for tenant in self.tenants}
        return [network for network in networks if network.name in shared]

    @property
    def enumerable(self) -> bool:
        """Whether the space is small enough to be assessed as a whole."""
        return self.space.cardinality <= self.enumerate_limit

    def assess(self, point: Point) -> Candidate | Infeasible:
        """Return the candidate at ``point``, or which rule it breaks and by how much.

        Raises:
            ValueError: a parameter that the space does not have, or outside its values.
        """
        point = self.space.canonical(point)
        key = key_of(point)
        if (found := self._known.get(key)) is None:
            found = _remember(self._known, key, self._assess(point, key))
        return found

    def _assess(self, point: Point, key: str) -> Candidate | Infeasible:
        hardware = self.space.build_canonical(point)
        if isinstance(hardware, Infeasible):
            return hardware
        cost = hardware_cost(hardware)
        for reason, name, value, cap, unit, hint in (
            ("area_cap", "area", cost.area_mm2, self.area_cap_mm2, "mm2", "fewer PEs or bytes"),
            ("tdp_cap", "TDP", cost.tdp_w, self.tdp_cap_w, "W", "fewer PEs or a lower clock"),
        ):
            if cap is not None and value > cap:
                return Infeasible(reason, name, value, cap, unit, f"raise the cap, or use {hint}")
        if broken := self.inaccurate(point, hardware):
            return broken
        if self.tenants and isinstance(rooms := rooms_of(hardware), Infeasible):
            return rooms
        networks, steady = self.networks_at(point), self.plans == "steady"
        passes = [pass_bounds(n, hardware, steady) for n in networks]
        sharing = self.sharing_of(networks)
        together = self.together(hardware, [engine_demand(n, hardware) for n in sharing])
        percent = self.accuracy_percent(point, hardware)
        least = design_costs(networks, hardware, cost, passes, together, percent)
        for limit in self.objective_set.limits:
            if broken := limit.broken(limit.objective.cost(least)):
                return broken
        return Candidate(
            point=point,
            key=key,
            area_mm2=cost.area_mm2,
            tdp_w=cost.tdp_w,
            values=self.objective_set.values(least),
            features=domain_features(hardware),
            least_excess=self.objective_set.excess(least),
        )

    def inaccurate(self, point: Point, hardware: Hardware) -> Infeasible | None:
        """Return which floor of accuracy a design breaks, or None.

        Args:
            point: of the design.
            hardware: of it, or what stands for all designs of a box.
        """
        percent = self.accuracy_percent(point, hardware)
        if self.forms is None or percent is None:
            return None
        for limit in self.objective_set.known_limits:
            # without a single right answer there is no cost
            if percent < limit.value:
                facts, shown = limit.objective.facts, self.forms.shown(point, hardware)
                reason, hint = (
                    limit_reason(limit.objective.metric),
                    f"relax the limit, or {facts.hint}",
                )
                where = f"{limit.objective.name} of {shown}"
                return Infeasible(reason, where, limit.value, percent, facts.unit, hint)
        return None

    def together(self, hardware: Hardware, demands: Sequence[EngineDemand]) -> dict[str, float]:
        """Return lower bounds of what all tenants together cost; nothing without tenants.

        Args:
            hardware: the design, or what stands for all designs of a box.
            demands: of each of :attr:`sharing`.
        """
        if not self.tenants:
            return {}
        hz = hardware.frequency_mhz * 1e6
        times = {
            network.name: EngineTimes(
                least.compute_cycles / hz, least.pin_cycles / hz, pass_batch(network, hardware)
            )
            for network, least in zip(self.sharing, demands, strict=True)
        }
        return least_together(self.tenants, times)

    def tightened(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the tightest lower bounds that there are.

        Where nothing is fused they are nearly twice as high as those of :meth:`assess`, and take
        ten times as long (docs/explanation/bounds.md).
        """
        if (found := self._tightened.get(candidate.key)) is None:
            found = _remember(self._tightened, candidate.key, self._tighten(candidate))
        return found

    def _tighten(self, candidate: Candidate) -> Candidate:
        hardware = self.space.build_canonical(candidate.point)
        assert not isinstance(hardware, Infeasible)
        networks = self.networks_at(candidate.point)
        passes = [tight_pass_bounds(n, hardware, self.plans) for n in networks]
        sharing = self.sharing_of(networks)
        together = self.together(
            hardware, [tight_engine_demand(n, hardware, self.plans) for n in sharing]
        )
        cost, percent = hardware_cost(hardware), self.accuracy_percent(candidate.point, hardware)
        least = design_costs(networks, hardware, cost, passes, together, percent)
        return replace(
            candidate,
            values=tuple(map(max, candidate.values, self.objective_set.values(least))),
            least_excess=tuple(map(max, candidate.least_excess, self.objective_set.excess(least))),
        )

    def feasible(self) -> list[Candidate]:
        """Return every feasible design of an enumerable space, in the space's order.

        Raises:
            ValueError: the space has more points than ``enumerate_limit``.
        """
        if not self.enumerable:
            raise ValueError(
                f"the space has {self.space.cardinality} points, enumerate_limit is "
                f"{self.enumerate_limit}"
            )
        if self._all is None:
            found = {c.key: c for p in self.space.enumerate() if (c := self._candidate(p))}
            self._all = list(found.values())
        return self._all

    def sample(
        self, rng: np.random.Generator, n: int, exclude: Collection[str], tries: int
    ) -> list[Candidate]:
        """Return up to ``n`` distinct feasible designs, as the space draws them.

        Args:
            rng: source of the draws.
            n: how many.
            exclude: keys of designs that are not wanted.
            tries: draws that may be spent, for a space of which little is feasible or new.
        """
        taken = set(exclude)
        found: list[Candidate] = []
        for _ in range(tries):
            if len(found) >= n:
                break
            candidate = self._candidate(self.space.sample(rng))
            if candidate and candidate.key not in taken:
                taken.add(candidate.key)
                found.append(candidate)
        return found

    def descend(
        self, rng: np.random.Generator, start: Point | None = None
    ) -> Candidate | Infeasible:
        """Walk from a point, or a random one, to a feasible one, one parameter at a time.

        Each step goes to the neighbour that misses the rules by least. This finds the feasible
        corner of a space where random draws miss it.

        Returns:
            The first feasible candidate, or the least miss where no neighbour is better.
        """
        point = self.space.sample(rng) if start is None else self.space.canonical(start)
        here = self.assess(point)
        while isinstance(here, Infeasible):
            near = [(p, self.assess(p)) for p in self.space.neighbours(point)]
            if not near:
                return here
            best, found = min(near, key=lambda pair: infeasibility(pair[1]))
            if infeasibility(found) >= infeasibility(here):
                return here
            point, here = best, found
        return here

    def neighbours(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the feasible designs one step away from ``candidate``."""
        for point in self.space.neighbours(candidate.point):
            found = self._candidate(point)
            if found:
                yield found

    def obstacle(self, seed: int, tries: int = 512, walks: int = 8) -> Infeasible | None:
        """Return why the space has no feasible design, or None if it has one.

        A small space is looked at as a whole. In a large one ``tries`` random designs and
        ``walks`` descents have to fail; then the answer is the least miss that they met.
        """
        if self.enumerable:
            if self.feasible():
                return None
            return min(
                (f for p in self.space.enumerate() if isinstance(f := self.assess(p), Infeasible)),
                key=infeasibility,
            )
        rng = np.random.default_rng(derived_seed(seed, "obstacle"))
        if self.sample(rng, 1, (), tries):
            return None
        misses = []
        for _ in range(walks):
            found = self.descend(rng)
            if isinstance(found, Candidate):
                return None
            misses.append(found)
        return min(misses, key=infeasibility)

    def _candidate(self, point: Point) -> Candidate | None:
        found = self.assess(point)
        return found if isinstance(found, Candidate) else None


def _remember(known: dict[str, Found], key: str, value: Found) -> Found:
    """Add a value to what is known, and return it; the oldest is forgotten when it is too much."""
    if len(known) >= _MOST_REMEMBERED:
        del known[next(iter(known))]
    known[key] = value
    return value


def infeasibility(found: Candidate | Infeasible) -> tuple[int, float]:
    """Return how far a design is from feasible; (0, 0) if it is.

    Caps and limits come before rules of the template: a design that cannot be built has no area.
    Within a kind the ratio of what is needed to what is available decides.
    """
    if isinstance(found, Candidate):
        return (0, 0.0)
    kind = 1 if found.reason in _STUDY_RULES else 2
    return (kind, found.needed / max(found.available, 1e-9))
