"""Software search of one trial: fusion and mapping of every workload on one hardware.

``advance(task, state, budget)`` is a pure function; the state is plain JSON, so that a trial
can go on in another process, on another machine, or after a crash.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from math import exp
from typing import Any, Final

from ..evaluators.bounds import pass_batch
from ..evaluators.network_cost import NetworkCost
from ..space.fusion import FusionPlan, layer_by_layer
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.mapping_constraints import UNCONSTRAINED, MappingConstraints
from ..space.network import Network
from .factors import FACTORS
from .fusion_search import FUSION_SEARCHES
from .fusion_state import FusionState
from .mapper import Mapper, RecordedMapper
from .mapping_search import MAPPING_SEARCHES
from .pricing import PlanPricer
from .protocols import Curve, FusionSearch
from .seeds import derived_seed
from .shared_budget import SharedSearch
from .shared_state import SharedState

#: what a unit of a trial's budget buys
BUDGETS: Final = ("plans", "shared")


@dataclass(frozen=True, slots=True)
class SoftwareSettings:
    """How the software of a trial is searched.

    Attributes:
        fusion: a name of :data:`.fusion_search.FUSION_SEARCHES`.
        population: individuals of the genetic search.
        mapping: ``exact`` (the best one, where ``mapping_evaluations`` are enough to prove it),
            ``auto`` (the same, and annealing beside it where they are not), ``local`` (annealing
            with restarts), ``genetic`` or ``random``.
        mapping_evaluations: mappings tried for each layer, tile and residency, at most.
        factors: ``exact`` (they multiply to the loop bounds), ``padded`` (to bounds that suit
            the meshes, and all of that runs) or ``clipped`` (either, and the true bounds run).
        constraints: that all mappings satisfy; levels that a hardware lacks are left out.
        budget: ``plans`` (it is plans, whatever the mappings are) or ``shared`` (each unit of it is
            a plan, or a better mapping of the best one: :mod:`archloom.search.shared_budget`).

    The defaults are what ``benchmarks/fusion_search.py`` found to pay.

    Raises:
        ValueError: a search or factors that are not known, or a number that is too small.
    """

    fusion: str = "joint"
    population: int = 8
    mapping: str = "auto"
    mapping_evaluations: int = 100_000
    factors: str = "exact"
    constraints: MappingConstraints = UNCONSTRAINED
    budget: str = "plans"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("fusion", self.fusion, tuple(FUSION_SEARCHES)),
            ("mapping", self.mapping, tuple(MAPPING_SEARCHES)),
            ("factors", self.factors, FACTORS),
            ("budget", self.budget, BUDGETS),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}, must be one of {', '.join(known)}")
        if self.population < 2 or self.mapping_evaluations < 1:
            raise ValueError(
                f"population is {self.population}, must be at least 2; mapping_evaluations is "
                f"{self.mapping_evaluations}, must be at least 1"
            )


@dataclass(frozen=True, slots=True)
class SoftwareTask:
    """One hardware, what it runs, and how its software is searched.

    Networks run over the batch that they come with, those of batch 1 over the hardware's native
    batch.
    """

    hardware: Hardware
    networks: tuple[Network, ...]
    settings: SoftwareSettings
    seed: int


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """The best software found for one network, and layer-by-layer beside it.

    ``baseline_*`` are the figures of the plan that fuses nothing, with mappings of the same
    effort. Energies are of one pass over ``batch`` images. ``mappings`` are all that price both
    plans: with them any machine takes the figures apart again without a search. ``gaps`` are the
    percents by which they may be above the best ones, 0 where that is proven to be found; a mapping
    of which nothing is known is not among them. ``spent`` says on what a shared budget went, see
    :meth:`archloom.search.shared_state.SharedState.shares`.
    """

    edp_js: float
    energy_pj: float
    latency_cycles: int
    latency_s: float
    dram_bytes: float
    baseline_edp_js: float
    baseline_energy_pj: float
    baseline_latency_cycles: int
    baseline_dram_bytes: float
    batch: int
    plan: list[dict[str, Any]]
    mappings: dict[str, str]
    gaps: dict[str, float] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if not self.spent:
            del values["spent"]
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "NetworkResult":
        """Build a result from :meth:`to_dict`."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class SoftwareResult:
    """What is known of a trial after some search.

    Attributes:
        state: give it back to :func:`advance` to go on.
        curve: best EDP (J s, geometric mean over networks) against plans priced for each
            network, over the whole life of the trial.
        networks: best result by network name; empty if infeasible.
        infeasible: why some layer cannot run at all, or None.
    """

    state: dict[str, Any]
    curve: Curve
    networks: dict[str, NetworkResult]
    infeasible: Infeasible | None


def advance(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
    """Price ``budget`` more fusion plans for each network of the task.

    ``state`` is None for a fresh trial. Advancing by a and then by b gives what advancing by
    a + b gives. A hardware that cannot run some layer at all is infeasible.

    Raises:
        ValueError: the budget is below 1: a trial without a single plan has no price.
    """
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    impossible = [why for why in (_unmappable(task, n) for n in task.networks) if why is not None]
    if impossible:
        return SoftwareResult({"networks": {}}, Curve((), ()), {}, impossible[0])
    states: dict[str, Any] = {}
    results: dict[str, NetworkResult] = {}
    histories = []
    for network in task.networks:
        before = state["networks"][network.name] if state else None
        after = _advanced(task, network, before, budget)
        states[network.name] = after.state
        histories.append(after.history)
        results[network.name] = _result(after.pricer, after.best, after.spent)
    return SoftwareResult({"networks": states}, _mean_curve(histories), results, None)


@dataclass(frozen=True, slots=True)
class _Advanced:
    """What a budget has brought for one network: a state, and the figures in it."""

    state: dict[str, Any]
    history: tuple[float, ...]
    best: FusionPlan
    pricer: PlanPricer
    spent: dict[str, int]


def _advanced(
    task: SoftwareTask, network: Network, state: dict[str, Any] | None, budget: int
) -> _Advanced:
    settings, seed = task.settings, derived_seed(task.seed, "fusion", network.name)
    if settings.budget == "shared":
        both = _shared(task.hardware, network, settings, task.seed)
        spent = SharedState.from_dict(state) if state else both.start(seed)
        spent = both.advance(spent, budget)
        pricer = both.pricer(spent)
        return _Advanced(spent.to_dict(), spent.history, spent.best, pricer, spent.shares())
    search, pricer = _search(task.hardware, network, settings, task.seed)
    now = search.advance(FusionState.from_dict(state) if state else search.start(seed), budget)
    return _Advanced(now.to_dict(), now.history, now.best, pricer, {})


def _mean_curve(histories: list[tuple[float, ...]]) -> Curve:
    """Return the geometric mean of best EDPs after each plan, from ln EDPs of each network.

    A planner may have no plans left for one network and some for another: what it found for the
    first one stays.
    """
    longest = max(map(len, histories))
    full = [history + history[-1:] * (longest - len(history)) for history in histories]
    means = tuple(exp(sum(h) / len(h)) for h in zip(*full, strict=True))
    return Curve(tuple(range(1, longest + 1)), means)


@lru_cache(maxsize=32)
def _pricer(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> PlanPricer:
    """Return the pricer of one network; a trial that goes on in this process keeps its memo."""
    mapper = _mapper(settings, seed, settings.mapping_evaluations)
    return PlanPricer(network.with_batch(pass_batch(network, hardware)), hardware, mapper)


@lru_cache(maxsize=32)
def _search(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> tuple[FusionSearch, PlanPricer]:
    """Return the search of one network, kept as its pricer is: some know more than their state."""
    pricer = _pricer(hardware, network, settings, seed)
    return FUSION_SEARCHES[settings.fusion](pricer, settings.population), pricer


@lru_cache(maxsize=32)
def _shared(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> SharedSearch:
    """Return the search of one network with one budget; its memo is kept like a pricer's."""
    return SharedSearch(
        network.with_batch(pass_batch(network, hardware)),
        hardware,
        lambda pricer: FUSION_SEARCHES[settings.fusion](pricer, settings.population),
        lambda evaluations: _mapper(settings, seed, evaluations),
        settings.mapping_evaluations,
        settings.factors,
    )


def _mapper(settings: SoftwareSettings, seed: int, evaluations: int) -> Mapper:
    search = MAPPING_SEARCHES[settings.mapping]()
    seed = derived_seed(seed, "mapping")
    return Mapper(search, evaluations, seed, settings.factors, settings.constraints)


def recorded_pricer(
    hardware: Hardware,
    network: Network,
    mappings: dict[str, str],
    factors: str = "exact",
    gaps: dict[str, float] | None = None,
) -> PlanPricer:
    """Return a pricer for the plans of a :class:`NetworkResult`, from its mappings and gaps.

    ``factors`` is the setting that they were searched with.
    """
    mapper = RecordedMapper(mappings, factors, gaps)
    return PlanPricer(network.with_batch(pass_batch(network, hardware)), hardware, mapper)


def _unmappable(task: SoftwareTask, network: Network) -> Infeasible | None:
    arguments = (task.hardware, network, task.settings, task.seed)
    shared = task.settings.budget == "shared"
    pricer = _shared(*arguments).price if shared else _pricer(*arguments)
    cost = pricer.plan(layer_by_layer(pricer.network))
    return cost if isinstance(cost, Infeasible) else None


def _priced(pricer: PlanPricer, plan: FusionPlan) -> NetworkCost:
    cost = pricer.plan(plan)
    if isinstance(cost, Infeasible):
        raise ValueError(f"the best plan cannot be priced: {cost}")
    return cost


def _result(pricer: PlanPricer, plan: FusionPlan, spent: dict[str, int]) -> NetworkResult:
    unfused = layer_by_layer(pricer.network)
    best, base = _priced(pricer, plan), _priced(pricer, unfused)
    mappings, gaps = pricer.record((plan, unfused))
    return NetworkResult(
        edp_js=best.edp_js,
        energy_pj=best.energy_pj,
        latency_cycles=best.latency_cycles,
        latency_s=best.latency_s,
        dram_bytes=best.dram_bytes,
        baseline_edp_js=base.edp_js,
        baseline_energy_pj=base.energy_pj,
        baseline_latency_cycles=base.latency_cycles,
        baseline_dram_bytes=base.dram_bytes,
        batch=pricer.network.batch,
        plan=best.plan.to_list(),
        mappings=mappings,
        gaps=gaps,
        spent=spent,
    )
