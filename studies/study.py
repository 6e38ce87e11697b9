"""A study made ready: a config with every name in it resolved."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..search.seeds import derived_seed
from ..space.infeasible import Infeasible, InfeasibleError
from .config import StudyConfig, parse_stored, space_text
from .errors import UserError
from .history import Point
from .proposals import Proposals
from .store import STUDY, Header
from .work import Context
from .workloads import stored_networks

if TYPE_CHECKING:
    from ..search.candidates import DesignProblem
    from ..search.protocols import BudgetAllocator, HardwareOptimizer
    from ..space.hardware import Hardware
    from ..space.hardware_space import HardwareSpace
    from ..space.network import Network
    from .warm_start import WarmStart
    from .work import Advance
    from .workloads import Workload


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
    context: Context
    allocator: "BudgetAllocator"
    baseline: "Hardware | None"
    start: "WarmStart | None" = None

    def optimizer(self) -> "HardwareOptimizer":
        """Return a new optimizer that was told what the study begins with, and nothing else.

        Raises:
            UserError: it refuses one of its options.
        """
        from ..search.registry import hardware_optimizer

        choice = self.config.optimizer
        seed = derived_seed(self.config.seed, 0, "hardware")
        try:
            made = hardware_optimizer(choice.name)(self.problem, seed, **choice.options)
        except ValueError as error:
            raise UserError(f"optimizer {choice.name}: {error}") from None
        if self.start is not None:
            made.tell(self.start.told)
        return made

    @property
    def validation_budget(self) -> int:
        """Plans priced for each held-out network: by default what a winner of all rounds gets."""
        given = self.config.validation.evaluations
        return given or sum(map(self.allocator.budget, range(self.allocator.rounds)))

    def proposals(self) -> Proposals:
        """Return where the study's designs come from, before any was proposed.

        Raises:
            UserError: as :meth:`optimizer`, or the front of too large a space is to be proven.
        """
        return Proposals(self.problem, self.optimizer(), self.config.mode == "exact")

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
    from ..search.registry import budget_allocator
    from ..search.software import SoftwareSettings
    from ..search.software import advance as search_software

    problem = design_problem(config, space)
    obstacle = problem.obstacle(derived_seed(config.seed, 0, "obstacle"))
    if obstacle:
        raise UserError(f"space {config.space} has no feasible design; the nearest: {obstacle}")
    settings = SoftwareSettings(**dict(config.software))
    halving = config.halving
    study = Study(
        config,
        problem,
        Context(
            problem.networks,
            settings,
            advance or search_software,
            _networks(config, config.validation.workloads),
        ),
        budget_allocator(halving.name)(**halving.options),
        baseline_hardware(config.baseline, problem.space) if config.baseline else None,
    )
    study.proposals()  # refuses bad options now rather than after a directory was made
    return study


def design_problem(config: StudyConfig, space: Path | str) -> "DesignProblem":
    """Return the space of a config, given by name or path, with its networks and goals."""
    from ..search.candidates import ENUMERATE_LIMIT, PROOF_LIMIT, DesignProblem
    from ..search.fusion_search import plans_of
    from ..space.hardware_space import HardwareSpace

    networks = _networks(config, config.workloads)
    caps = config.constraints
    return DesignProblem(
        HardwareSpace.load(str(space)),
        networks,
        caps.area_mm2,
        caps.tdp_w,
        config.enumerate or (PROOF_LIMIT if config.mode == "exact" else ENUMERATE_LIMIT),
        goals=config.goals,
        plans=plans_of(config.software.fusion),
    )


def _networks(config: StudyConfig, workloads: "Sequence[Workload]") -> "tuple[Network, ...]":
    share = config.density
    return tuple(w.network.with_density(share.weights, share.inputs) for w in workloads)


def stored_config(folder: Path, header: Header) -> StudyConfig:
    """Return the config of a study's directory, whose space is the template that it keeps.

    Raises:
        ConfigError: this version of archloom does not take it.
    """
    stored = header.config | {"space": str(folder.resolve() / header.space_file)}
    halving = stored["halving"]
    if halving["name"] in ("msh", "sh") and "rank" not in halving:
        # a study that began before there was a choice goes on as it began
        stored["halving"] = halving | {"rank": "edp"}
    return parse_stored(stored, folder / STUDY, header.networks)


def header_of(config: StudyConfig) -> Header:
    """Return what the directory of a new study says of it."""
    networks = stored_networks([*config.workloads, *config.validation.workloads])
    return Header.new(config.model_dump(mode="json"), space_text(config.space), networks)


def baseline_hardware(name: str, space: "HardwareSpace") -> "Hardware":
    """Return a preset in the technology and at the word width of a study's space.

    In its own it would compare processes and precisions rather than designs.

    Raises:
        UserError: words of that width do not fill the preset's memory accesses.
    """
    from ..space.presets import preset, with_technology, with_word_bits

    try:
        return with_word_bits(with_technology(preset(name), space.technology), space.word_bits)
    except ValueError as error:
        raise UserError(f"baseline {name}: {error}") from None
