"""Study made ready: a config with every name in it resolved, which turns results into trials."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.evaluators import hardware_cost
from archloom.search import ACCURACY, EDP, Objective, derived_seed, design_costs
from archloom.space import Infeasible, InfeasibleError
from archloom.space.design_space import Point
from archloom.studies.config import (
    Location,
    StudyConfig,
    baseline_hardware,
    form_choices,
    parse_stored,
    space_text,
    without_forms,
)
from archloom.studies.storage import (
    NOTHING_FOUND,
    Crash,
    Header,
    TradeOff,
    Trial,
    TrialState,
    stored_networks,
    template_file,
)

from ..errors import UserError
from .proposals import Proposals
from .trial_task import TaskContext, TaskLimits

if TYPE_CHECKING:
    from archloom.search.budget import BudgetAllocator, Curve
    from archloom.search.hardware import DesignProblem, HardwareOptimizer
    from archloom.search.software import NetworkResult, SoftwareResult
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Network
    from archloom.studies.config import Workload

    from .start_from import WarmStart
    from .trial_task import Advance


@dataclass(frozen=True, slots=True)
class Study:
    """A config with every name in it resolved.

    Attributes:
        config: the resolved config.
        problem: the space with its networks and caps.
        context: what the workers need.
        allocator: shares software search out.
        baseline: the preset to compare with, if any.
        start: what it begins with; None for nothing.
    """

    config: StudyConfig
    problem: "DesignProblem"
    context: TaskContext
    allocator: "BudgetAllocator"
    baseline: "Hardware | None"
    start: "WarmStart | None" = None

    def optimizer(self) -> "HardwareOptimizer":
        """Return a new optimizer that has observed what the study begins with, nothing else.

        Raises:
            UserError: it refuses one of its options.
        """
        from archloom.search import HARDWARE_OPTIMIZERS

        choice = self.config.optimizer
        seed = derived_seed(self.config.seed, 0, "hardware")
        try:
            made = HARDWARE_OPTIMIZERS[choice.name](self.problem, seed, **choice.options)
        except ValueError as error:
            raise UserError(f"optimizer {choice.name}: {error}") from None
        if self.start is not None:
            made.tell(self.start.observations)
        return made

    @property
    def searches_again(self) -> bool:
        """Whether designs that were measured are searched again, with more effort."""
        return self.config.mode == "exact" and self.config.effort > 1

    @property
    def validation_budget(self) -> int:
        """Plans evaluated for each held-out network: by default as many as a winner gets."""
        given = self.config.validation.evaluations
        return given or sum(map(self.allocator.budget, range(self.allocator.rounds)))

    def proposals(self) -> Proposals:
        """Return where the study's designs come from, before any was proposed.

        Raises:
            UserError: as :meth:`optimizer`, or the front of too large a space is to be proven.
        """
        config = self.config
        return Proposals(self.problem, self.optimizer(), config.mode == "exact", config.effort)

    def hardware(self, point: Point) -> "Hardware":
        """Return the design at a point.

        Raises:
            InfeasibleError: an optimizer broke its promise to propose feasible designs only.
        """
        facts = self.problem.assess(point)
        built = self.problem.space.build(point)
        if isinstance(facts, Infeasible):
            raise InfeasibleError(facts)
        if isinstance(built, Infeasible):
            raise InfeasibleError(built)
        return built

    def costs(
        self, point: Point | None, hardware: "Hardware", result: "SoftwareResult"
    ) -> tuple[float, ...] | None:
        """Return the cost of each objective so far; None if nothing feasible is found yet."""
        edp = _best_edp(result.curve)
        if edp is None:
            return None
        values = self._values(point, hardware, result, edp)
        return tuple(
            objective.figure(values[objective.name])
            for objective in self.problem.objective_set.objectives
        )

    def trial(
        self,
        number: int,
        batch: int,
        point: Point | None,
        hardware: "Hardware",
        rounds: "Sequence[SoftwareResult | Crash]",
        effort: int = 1,
    ) -> Trial:
        """Return a trial that ended.

        Args:
            number, batch: from 0 on, or of the baseline.
            point: parameters of the design; None for a preset.
            hardware: the design.
            rounds: results of the rounds that it took part in, at least one; only the last one
                may be a crash.
            effort: times the software search of other trials.
        """
        last, results = rounds[-1], [r for r in rounds if not isinstance(r, Crash)]
        best = results[-1] if results else None
        curve = best.curve if best else NOTHING_FOUND
        edp = _best_edp(curve)
        state: TrialState = "complete" if len(rounds) == self.allocator.rounds else "stopped"
        if isinstance(last, Crash):
            state = last.state
        elif edp is None:
            state = "infeasible"
        cost = hardware_cost(hardware)
        return Trial(
            number=number,
            batch=batch,
            state=state,
            rounds=len(rounds),
            point=point,
            hardware=hardware.name,
            area_mm2=cost.area_mm2,
            tdp_w=cost.tdp_w,
            edp_js=edp,
            values=self._values(point, hardware, best, edp) if best and edp is not None else {},
            evaluations=curve.evaluations[-1] if curve.evaluations else 0,
            reason=best.infeasible if best and state == "infeasible" else None,
            crash=last if isinstance(last, Crash) else None,
            networks=best.networks if best else {},
            curve=curve,
            effort=effort,
            trade_offs=self._trade_offs(point, hardware, best) if best else (),
        )

    def _trade_offs(
        self, point: Point | None, hardware: "Hardware", result: "SoftwareResult"
    ) -> tuple[TradeOff, ...]:
        """Return the other software of a design with its figures."""
        found = []
        for networks in result.trade_offs:
            logs = [log(one.edp_js) for one in networks.values()]
            edp, other = exp(sum(logs) / len(logs)), replace(result, networks=networks)
            found.append(TradeOff(edp, self._values(point, hardware, other, edp), networks))
        return tuple(found)

    def _values(
        self, point: Point | None, hardware: "Hardware", result: "SoftwareResult", edp: float
    ) -> dict[str, float]:
        measured = self.problem.objective_set.measured
        networks = self.problem.networks_at(point)
        percent = self.problem.accuracy_percent(point, hardware)
        values = figures(measured, networks, hardware, result.networks, result.together, percent)
        accuracy = {} if percent is None else {ACCURACY.name: percent}
        # the software search has summed the EDP up already, and rounding may differ
        return values | accuracy | ({EDP.name: edp} if EDP in measured else {})


def figures(
    objectives: Iterable[Objective],
    networks: "Sequence[Network]",
    hardware: "Hardware",
    found: "Mapping[str, NetworkResult]",
    together: Mapping[str, float] | None = None,
    accuracy_percent: float | None = None,
) -> dict[str, float]:
    """Return a design's figure of each objective by name, with the best software.

    ``together`` are costs of all networks that share the chip, ``accuracy_percent`` is that of the
    forms that they run in.
    """
    best = [found[network.name] for network in networks]
    passes = [(one.energy_pj, one.latency_cycles) for one in best]
    cost = hardware_cost(hardware)
    costs = design_costs(networks, hardware, cost, passes, together, accuracy_percent)
    return {objective.name: objective.figure(objective.cost(costs)) for objective in objectives}


def _best_edp(curve: "Curve") -> float | None:
    """Return the best EDP of a trial; None before anything feasible is found."""
    return curve.edp[-1] if curve.edp and isfinite(curve.edp[-1]) else None


def prepare(config: StudyConfig, space: Path | str, advance: "Advance | None" = None) -> Study:
    """Resolve a config.

    Args:
        config: read from a study file or a study's directory.
        space: name or path of the hardware template.
        advance: the software search; None for archloom's own.

    Raises:
        UserError: no design of the space keeps its rules, the caps and the limits, or the
            optimizer refuses an option or the objectives.
    """
    from archloom.search import BUDGET_ALLOCATORS
    from archloom.search.software import Sharing, SoftwareSettings, advance as search_software

    problem = design_problem(config, space)
    obstacle = problem.obstacle(derived_seed(config.seed, 0, "obstacle"))
    if obstacle:
        raise UserError(
            f"space {config.space} has no feasible design; the closest one fails: {obstacle}"
        )
    settings = SoftwareSettings(**config.software.settings)
    halving = config.halving
    # the same requests for all designs
    seed = derived_seed(config.seed, "serving")
    loads = any(objective.metric == "stable_load" for objective in config.objective_set.measured)
    sharing = Sharing(config.tenants, seed, loads) if config.tenants else None
    study = Study(
        config,
        problem,
        TaskContext(
            problem.networks,
            settings,
            advance or search_software,
            _networks(config, config.validation.workloads),
            TaskLimits(**config.round_limits.to_dict(), stall_s=config.executor.stall_s),
            sharing,
        ),
        BUDGET_ALLOCATORS[halving.name](**halving.options),
        baseline_hardware(config.baseline, problem.space) if config.baseline else None,
    )
    study.proposals()  # refuses bad options now rather than after a directory was made
    return study


def design_problem(config: StudyConfig, space: Path | str) -> "DesignProblem":
    """Return the space of a config, given by name or path, with its networks and objectives.

    Raises:
        UserError: the template has names that parameters of compressed forms have, too, or nothing
            is known of these.
    """
    from archloom.search.hardware import ENUMERATE_LIMIT, PROOF_LIMIT, DesignProblem
    from archloom.search.software import plans_of
    from archloom.space.design_space import HardwareSpace, TemplateError

    if unknown := without_forms(config.workloads):
        raise UserError(
            f"workload {unknown[0].label}: the accuracy of its compressed forms is not known yet; "
            "archloom run determines it"
        )
    share, caps = config.density, config.constraints
    try:
        return DesignProblem(
            HardwareSpace.load(str(space)),
            form_choices(config.workloads, (share.weights, share.inputs))
            or _networks(config, config.workloads),
            caps.area_mm2,
            caps.tdp_w,
            config.enumerate or (PROOF_LIMIT if config.mode == "exact" else ENUMERATE_LIMIT),
            objective_set=config.objective_set,
            plans=plans_of(config.software.fusion),
            tenants=config.tenants,
        )
    except TemplateError as error:
        raise UserError(str(error)) from None


def _networks(config: StudyConfig, workloads: "Sequence[Workload]") -> "tuple[Network, ...]":
    share = config.density
    return tuple(w.network.with_density(share.weights, share.inputs) for w in workloads)


def stored_config(location: Location, header: Header) -> StudyConfig:
    """Return the config that a study keeps, whose space is the template that it keeps.

    Raises:
        ConfigError: this version of archloom does not take it.
    """
    stored = header.config | {"space": str(template_file(location, header))}
    halving = stored["halving"]
    if halving["name"] in ("msh", "sh") and "rank" not in halving:
        # a study that began before there was a choice goes on as it began
        stored["halving"] = halving | {"rank": "edp"}
    return parse_stored(stored, location, header.networks)


def header_of(config: StudyConfig) -> Header:
    """Return what the directory of a new study says of it."""
    networks = stored_networks([*config.workloads, *config.validation.workloads])
    return Header.new(config.to_dict(), space_text(config.space), networks)
