"""Software search of one trial: fusion and mapping of every workload on one hardware.

``advance(task, state, budget)`` is a pure function; the state is plain JSON, so that a trial
can go on in another process, on another machine, or after a crash.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, log
from typing import Any, Final, TypeAlias

from archloom.evaluators.fusion import NetworkCost
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search.budget import Curve
from archloom.search.fusion import FusionSearch, FusionState, MemoizedPlanEvaluator
from archloom.search.mapping import FACTORS, Mapper, RecordedMapper
from archloom.search.mapping.imperfect import NEARBY, best_nearby
from archloom.search.registry import FUSION_SEARCHES, MAPPING_SEARCHES, RENAMED, renamed
from archloom.space import Infeasible
from archloom.space.fusion import FusionPlan, layer_by_layer
from archloom.space.hardware import Hardware, pass_batch
from archloom.space.mapping import UNCONSTRAINED, MappingConstraints
from archloom.space.workload import Network

from ..seeds import derived_seed
from .breakdown import breakdown_of
from .packing import pack
from .plan_bound import least_edp_of
from .plan_tiles import cost_of
from .planners import fusion_search
from .prove_mappings import ProvenPlan, proven_plan
from .result import NetworkResult, SoftwareResult
from .serving import Sharing, together_costs
from .shared_budget import SharedSearch, SharedState
from .trade_offs import trade_offs

#: what a unit of a trial's budget buys
BUDGETS: Final = ("plans", "shared")

#: searches that a process remembers, some 2 to 8 MB each: those of two networks on eight designs of
#: a batch and on the preset beside it. One that it has forgotten is walked to again.
_REMEMBERED: Final = 18

#: designs of which a process remembers all mappings, some 3 KB each
_REMEMBERED_DESIGNS: Final = 64

#: name and value of each option of a search; values can be hashed
Options: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class SoftwareSettings:
    """How the software of a trial is searched.

    Attributes:
        fusion: a name of :data:`archloom.search.registry.FUSION_SEARCHES`.
        population: individuals of the searches that breed plans.
        mapping: ``exact`` (the best one, where ``mapping_evaluations`` are enough to prove it),
            ``auto`` (the same, and annealing beside it where they are not), ``local`` (annealing
            with restarts), ``genetic`` or ``random``.
        mapping_evaluations: mappings tried for each layer, tile and residency, at most.
        factors: ``exact`` (they multiply to the loop bounds), ``padded`` (to bounds that suit
            the meshes, and all of that runs) or ``imperfect`` (either, and the true bounds run).
        constraints: that all mappings satisfy; levels that a hardware lacks are left out.
        budget: ``plans`` (it is plans, whatever the mappings are) or ``shared`` (each unit of it is
            a plan, or a better mapping of the best one:
            :mod:`archloom.search.software.shared_budget`).
        prove_mappings: mappings tried for each layer, tile and residency of the best plan, to lower
            the EDP of the plan as a whole and to prove it; 0 for none.
        trade_offs: whether mappings of the best plan are searched, too, that take less energy or
            fewer cycles (:mod:`archloom.search.software.trade_offs`).
        fusion_options, mapping_options: other options of both searches, by name.

    Old names (:data:`archloom.search.registry.RENAMED`) become today's. The defaults are what
    ``benchmarks/fusion/fusion_search.py`` found to pay.

    Raises:
        ValueError: a search or factors that are not known, or a number that is too small.
    """

    fusion: str = "joint"
    population: int = 8
    mapping: str = "auto"
    mapping_evaluations: int = 100_000
    factors: str = "imperfect"
    constraints: MappingConstraints = UNCONSTRAINED
    budget: str = "plans"
    prove_mappings: int = 0
    trade_offs: bool = False
    fusion_options: Options = ()
    mapping_options: Options = ()

    def __post_init__(self) -> None:
        for key in RENAMED:
            object.__setattr__(self, key, renamed(key, getattr(self, key)))
        for name, value, known in (
            ("fusion", self.fusion, FUSION_SEARCHES),
            ("mapping", self.mapping, MAPPING_SEARCHES),
            ("factors", self.factors, FACTORS),
            ("budget", self.budget, BUDGETS),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}, must be one of {', '.join(known)}")
        if self.population < 2 or self.mapping_evaluations < 1 or self.prove_mappings < 0:
            raise ValueError(
                f"population is {self.population}, must be at least 2; mapping_evaluations is "
                f"{self.mapping_evaluations}, must be at least 1; prove_mappings is "
                f"{self.prove_mappings}, must be at least 0"
            )

    def deeper(self, effort: int) -> "SoftwareSettings":
        """Return settings with ``effort`` times as many mappings tried, and those of the best plan
        proven as a whole; the same for an effort of 1.
        """
        if effort == 1:
            return self
        most = effort * self.mapping_evaluations
        proving = max(effort * self.prove_mappings, most)
        return replace(self, mapping_evaluations=most, prove_mappings=proving)


@dataclass(frozen=True, slots=True)
class SoftwareTask:
    """One hardware, what it runs, and how its software is searched.

    Networks run over the batch that they come with, those of batch 1 over the hardware's native
    batch. Where some of them share the chip, ``sharing`` says in which shares.
    """

    hardware: Hardware
    networks: tuple[Network, ...]
    settings: SoftwareSettings
    seed: int
    sharing: Sharing | None = None


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
    plans: dict[str, NetworkCost] = {}
    searched: dict[str, ProvenPlan] = {}
    histories = []
    for network in task.networks:
        before = state["networks"][network.name] if state else None
        after = _advanced(task, network, before, budget)
        states[network.name] = after.state
        proven = _proven(task, after)
        history = after.history
        if task.settings.prove_mappings:
            history = (*history[:-1], log(proven.cost.edp_js))
        histories.append(history)
        results[network.name] = _result(proven, after.spent)
        plans[network.name] = proven.cost
        searched[network.name] = proven
    together = together_costs(task.sharing, task.hardware, plans) if task.sharing else {}
    others = _trade_offs(task, searched) if task.settings.trade_offs else ()
    curve = _mean_curve(histories)
    return SoftwareResult({"networks": states}, curve, results, None, together, others)


def _trade_offs(
    task: SoftwareTask, searched: dict[str, ProvenPlan]
) -> tuple[dict[str, NetworkResult], ...]:
    """Return other software of a design: the same plans with less energy or fewer cycles."""
    evaluations = task.settings.mapping_evaluations
    mapper = _mapper(task.settings, task.seed, evaluations)

    def nearby(problem: MappingProblem, cost: LayerCost) -> LayerCost:
        if task.settings.factors != "imperfect" or task.settings.constraints != UNCONSTRAINED:
            return cost
        return best_nearby(problem, cost, evaluations // NEARBY)

    others = trade_offs([*searched.values()], mapper, nearby)
    return tuple(
        {name: _result(plan, {}) for name, plan in zip(searched, plans, strict=True)}
        for plans in others
    )


@dataclass(frozen=True, slots=True)
class _Advanced:
    """What a budget has brought for one network: a state, and the figures in it."""

    state: dict[str, Any]
    history: tuple[float, ...]
    best: FusionPlan
    evaluator: MemoizedPlanEvaluator
    spent: dict[str, int]


def _advanced(
    task: SoftwareTask, network: Network, state: dict[str, Any] | None, budget: int
) -> _Advanced:
    settings, seed = task.settings, derived_seed(task.seed, "fusion", network.name)
    if settings.budget == "shared":
        both = _shared(task.hardware, network, settings, task.seed)
        spent = SharedState.from_dict(state) if state else both.start(seed)
        spent = both.advance(spent, budget)
        evaluator = both.evaluator(spent)
        return _Advanced(spent.to_dict(), spent.history, spent.best, evaluator, spent.shares())
    search, evaluator = _search(task.hardware, network, settings, task.seed)
    now = search.advance(FusionState.from_dict(state) if state else search.start(seed), budget)
    return _Advanced(now.to_dict(), now.history, now.best, evaluator, {})


def _mean_curve(histories: list[tuple[float, ...]]) -> Curve:
    """Return the geometric mean of best EDPs after each plan, from ln EDPs of each network.

    A planner may have no plans left for one network and some for another: what it found for the
    first one stays.
    """
    longest = max(map(len, histories))
    full = [history + history[-1:] * (longest - len(history)) for history in histories]
    means = tuple(exp(sum(h) / len(h)) for h in zip(*full, strict=True))
    return Curve(tuple(range(1, longest + 1)), means)


@lru_cache(maxsize=_REMEMBERED)
def _evaluator(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> MemoizedPlanEvaluator:
    """Return the evaluator of one network; a trial that goes on in this process keeps its memo."""
    mapper = _remembered_mapper(hardware, settings, seed)
    return MemoizedPlanEvaluator(
        network.with_batch(pass_batch(network, hardware)), hardware, mapper
    )


@lru_cache(maxsize=_REMEMBERED_DESIGNS)
def _remembered_mapper(
    hardware: Hardware,  # noqa: ARG001
    settings: SoftwareSettings,
    seed: int,
) -> Mapper:
    """Return what finds mappings for all networks of a trial on a hardware: what one of them has
    mapped is known of the others."""
    return _mapper(settings, seed, settings.mapping_evaluations)


@lru_cache(maxsize=_REMEMBERED)
def _search(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> tuple[FusionSearch, MemoizedPlanEvaluator]:
    """Return the search of one network, kept: some searches know more than their state."""
    evaluator = _evaluator(hardware, network, settings, seed)
    return _planner(settings, evaluator), evaluator


def remembered() -> dict[str, tuple[int, int]]:
    """Return what this process remembered rather than made anew: how often, and of how many."""
    kept = {"evaluators": _evaluator, "mappers": _remembered_mapper, "searches": _search}
    found = {name: function.cache_info() for name, function in kept.items()}
    return {name: (one.hits, one.hits + one.misses) for name, one in found.items()}


def _planner(settings: SoftwareSettings, evaluator: MemoizedPlanEvaluator) -> FusionSearch:
    options = dict(settings.fusion_options)
    return fusion_search(settings.fusion, evaluator, settings.population, options)


@lru_cache(maxsize=_REMEMBERED)
def _shared(
    hardware: Hardware, network: Network, settings: SoftwareSettings, seed: int
) -> SharedSearch:
    """Return the search of one network with one budget; its memo is kept like an evaluator's."""
    return SharedSearch(
        network.with_batch(pass_batch(network, hardware)),
        hardware,
        lambda evaluator: _planner(settings, evaluator),
        lambda evaluations: _mapper(settings, seed, evaluations),
        settings.mapping_evaluations,
        settings.factors,
    )


def _mapper(settings: SoftwareSettings, seed: int, evaluations: int) -> Mapper:
    search = MAPPING_SEARCHES[settings.mapping](**dict(settings.mapping_options))
    seed = derived_seed(seed, "mapping")
    return Mapper(search, evaluations, seed, settings.factors, settings.constraints)


def recorded_evaluator(
    hardware: Hardware,
    network: Network,
    mappings: dict[str, str],
    factors: str = "imperfect",
    gaps: dict[str, float] | None = None,
) -> MemoizedPlanEvaluator:
    """Return an evaluator for the plans of a :class:`NetworkResult`, from its mappings and gaps.

    ``factors`` is the setting that they were searched with.
    """
    mapper = RecordedMapper(mappings, factors, gaps)
    return MemoizedPlanEvaluator(
        network.with_batch(pass_batch(network, hardware)), hardware, mapper
    )


def _unmappable(task: SoftwareTask, network: Network) -> Infeasible | None:
    arguments = (task.hardware, network, task.settings, task.seed)
    shared = task.settings.budget == "shared"
    evaluator = _shared(*arguments).first_evaluator if shared else _evaluator(*arguments)
    cost = evaluator.plan(layer_by_layer(evaluator.network))
    return cost if isinstance(cost, Infeasible) else None


def _proven(task: SoftwareTask, after: _Advanced) -> ProvenPlan:
    """Return the best plan, with a bound; where that is asked for with the best mappings of it as a
    whole."""
    settings = task.settings
    if not settings.prove_mappings:
        least = least_edp_of(after.evaluator, after.best)
        return ProvenPlan(after.evaluator, cost_of(after.evaluator, after.best), least)
    mapper = _mapper(settings, task.seed, settings.prove_mappings)
    return proven_plan(after.evaluator, after.best, mapper)


def _result(proven: ProvenPlan, spent: dict[str, int]) -> NetworkResult:
    evaluator, best = proven.evaluator, proven.cost
    unfused = layer_by_layer(evaluator.network)
    base = cost_of(evaluator, unfused)
    mappings, gaps = evaluator.record((best.plan, unfused))
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
        batch=evaluator.network.batch,
        plan=best.plan.to_list(),
        mappings=mappings,
        gaps=gaps,
        spent=spent,
        breakdown=pack(breakdown_of(best, base, mappings.values(), proven.least)),
    )
