"""Study file: workloads, space, objectives, limits and budget of a search.

Every field that decides the result is part of the study's identity; the executor is not, for
it changes nothing but the time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from archloom.search import (
    AREA,
    BUDGET_ALLOCATORS,
    EDP,
    HARDWARE_OPTIMIZERS,
    TDP,
    Objective,
    ObjectiveSet,
    Tenant,
)
from archloom.space import Document, Faults

from .errors import (
    ConfigError,
    EntryError,
    collecting,
    given_document,
    refuse_kind,
    study_document,
)
from .location import (
    NAME_FORM,
    STUDY_NAME,
    Database,
    Location,
    SharedStudy,
    given_database,
    location_of,
)
from .objectives import (
    OBJECTIVES,
    TENANTS,
    Constraints,
    with_deadlines,
    with_sound_limits,
)
from .quantities import TIME_S, RoundLimits
from .sections import (
    Key,
    Reading,
    Section,
    each,
    named_one,
    number,
    section,
    text,
    whole,
    word,
)
from .selection import PICK
from .software import (
    CHOICE,
    SOFTWARE,
    Choice,
    Software,
    choice_faults,
    choice_form,
    complete,
    complete_software,
    of_plans,
    of_proofs,
    to_the_end,
    tradable,
)
from .space_reference import readable_space
from .start_from import StartSource, preset_names
from .workloads import HELD_OUT, SEARCHED, Workload

_COUNT: Final = whole(1, most=10**9)
_SHARE: Final = number(above=0, most=1)
_CUTS: Final = whole(0, most=10**6).silent_if(lambda n: n == 0).like(2000)
_STORAGE: Final = (
    Key(lambda url, _: given_database(url), form=lambda: {"type": ["string", "null"]})
    .silent_if(lambda _: True)
    .like("postgresql://me@host:5432/studies")
)

#: defaults of sections that stand elsewhere
_MOBO: Final = Choice("mobo")
_MSH: Final = Choice("msh")
_LIMITS: Final = RoundLimits()
_CONSTRAINTS: Final = Constraints()
_SEARCHES: Final = Software()

#: what messages call a study that comes from no file
_GIVEN: Final = "the study"


def _for_tenants(software: Software, beside: Reading) -> Software:
    """Refuse plans that fill the buffer with weights of one network for ever, or fold no layers."""
    held_out = beside.before.get("validation") or Validation()
    workloads = (*(beside.before.get("workloads") or ()), *held_out.workloads)
    folded = next((one.label for one in workloads if one.folded), None)
    parts = software.fusion_options.get("sub_batches")
    if folded is None and parts is None and not beside.before.get("tenants"):
        return software
    # what plans, which mistakes in other files do without
    from archloom.search.software import plans_of, unable_to_fold, undivided

    networks = [workload.network for workload in workloads]
    if why := unable_to_fold(software.fusion, networks):
        raise ValueError(why)
    # those of one image get the batch of the hardware
    if why := undivided(software.fusion_options, [net for net in networks if net.batch > 1]):
        raise ValueError(why)
    if not beside.before.get("tenants"):
        return software
    if folded is not None:
        raise ValueError(f"tenants run layer after layer; leave out fold: true of {folded}")
    if parts not in (None, 1):
        raise ValueError("tenants run layer after layer, each once; leave out sub_batches")
    if plans_of(software.fusion) == "steady":
        raise ValueError(
            f"fusion {software.fusion!r} keeps the weights of one network on chip permanently, but "
            "tenants share the chip; choose joint, fast or another planner"
        )
    return software


@dataclass(frozen=True, kw_only=True)
class Density(Section):
    """Densities (fractions of nonzero values), for hardware that gates or skips zeros.

    Attributes:
        weights: density of the weights of every layer.
        inputs: density of the inputs of every layer.
    """

    weights: Annotated[float, _SHARE] = 1.0
    inputs: Annotated[float, _SHARE] = 1.0


@dataclass(frozen=True, kw_only=True)
class Validation(Section):
    """Held-out networks: evaluated on the designs of the final front; the search never uses them.

    Attributes:
        workloads: the held-out networks.
        evaluations: fusion plans evaluated for each network and design (default: as many as a trial
            evaluates for each network if it passes every round of halving).
    """

    workloads: Annotated[tuple[Workload, ...], HELD_OUT] = ()
    evaluations: Annotated[int | None, _COUNT.or_none().like(64)] = None


def _with_key(value: Any) -> Any:
    return {"workloads": value} if isinstance(value, list) else value


@dataclass(frozen=True, kw_only=True)
class ExecutorChoice(Section):
    """Where trials run. It changes the run time, not the result.

    Attributes:
        name: ``ray`` (parallel workers) or ``inline`` (one after another in this process).
        workers: number of trials run in parallel (default: all cores available to the process).
        address: address of a running Ray cluster (default: start Ray on this machine).
        stall_s: time without a heartbeat after which a worker is replaced.
        start_s: maximum time for Ray to start, or for joining a cluster.
    """

    name: Annotated[str, word("ray", "inline")] = "ray"
    workers: Annotated[int | None, _COUNT.or_none().like(4)] = None
    address: Annotated[str | None, text().or_none().like("10.0.0.1:6379")] = None
    stall_s: Annotated[float, TIME_S] = 120.0
    start_s: Annotated[float, TIME_S] = 120.0


_SOFTWARE: Final = SOFTWARE.checked(_for_tenants).checked(tradable)


_LARGEST: Final = _COUNT.or_none().silent_if(lambda n: n is None).like(50_000)
_PRESET: Final = named_one("preset", preset_names).or_none().like("eyeriss")
_SOURCES: Final = each(StartSource).like([{"preset": "eyeriss"}])
_OPTIMIZER: Final = CHOICE.formed(lambda: choice_form(HARDWARE_OPTIMIZERS)).like(
    {"name": "mobo", "initial": 8}
)
_HALVING: Final = (
    CHOICE.checked(to_the_end)
    .formed(lambda: choice_form(BUDGET_ALLOCATORS))
    .like({"name": "msh", "rounds": 3})
)
_VALIDATION: Final = (
    section(Validation)
    .prepared(_with_key)
    .formed(lambda: {"anyOf": [HELD_OUT.form(), Validation.form()]})
    .like(["mobilenetv2", "resnet50"])
)


@dataclass(frozen=True, kw_only=True)
class StudyConfig(Section):
    """A study file: a search over hardware, with the best software for each design.

    Attributes:
        name: name of the study, and of its directory below ``runs`` (default: the name of the study
            file).
        seed: seed of the random number generators.
        workloads: networks to optimise for: names of built-in networks, paths of files, or mappings
            with options.
        tenants: networks that share one accelerator at run time, with their shares of the requests
            and their deadlines (default: each network runs alone).
        density: fractions of nonzero weights and inputs, for hardware that gates or skips zeros.
        space: hardware space: name of a built-in template, name of a preset (a space of one
            design), or path of a template file relative to the study file.
        objectives: metrics to optimise: minimised, or maximised where more is better.
        pick: rule that selects one design of the Pareto front for comparisons and reports. It may
            be changed without starting a new study.
        constraints: caps on area and TDP, and limits on metrics.
        start_from: designs that are tried before the optimizer proposes any, and earlier results
            that it learns from.
        enumerate: largest number of points of a hardware space that is enumerated as a whole
            (default: 20,000; in mode ``exact`` 500,000).
        mode: ``search`` runs ``trials`` designs; ``exact`` runs at most so many, until lower bounds
            prove that the front is complete.
        effort: with mode ``exact``: once the front is proven at this budget, designs whose measured
            costs decide whether it is proven for any budget are searched again with 10, 100 ...
            times the plans and mapping evaluations, this many times at most; 1: none is.
        optimizer: hardware optimizer that proposes designs: its name, and its options beside it.
        halving: budget allocator that divides the software search budget among the trials of a
            batch: its name, and its options beside it.
        certificate_cuts: boxes of designs that are cut once more at the end, to certify more.
        validation: held-out networks: evaluated on the designs of the final front.
        trials: maximum number of designs.
        batch_size: number of designs that are proposed and halved together.
        logical_workers: rounds that may be open at the same time; with 1, each batch waits for the
            one before it.
        software: how fusion plans and mappings of a design are searched.
        certificate_plans: boxes of which all plans of ``joint`` are bounded at the end.
        executor: where trials run. Like ``round_limits``, it may be changed without starting a new
            study.
        storage: URL of a database that stores the study (default: a directory below ``runs``).
        baseline: preset that is evaluated with the full budget, for comparison.
    """

    name: Annotated[str, text(STUDY_NAME, 255, NAME_FORM).like("my_study")]
    seed: Annotated[int, whole(0, most=2**63 - 1)] = 0
    workloads: Annotated[tuple[Workload, ...], SEARCHED]
    tenants: Annotated[tuple[Tenant, ...], TENANTS] = ()
    validation: Annotated[Validation, _VALIDATION] = Validation()
    density: Annotated[Density, section(Density)] = Density()
    space: Annotated[str, text().checked(readable_space).like("casco_edge", "hardware.yaml")]
    objectives: Annotated[tuple[Objective, ...], OBJECTIVES] = (EDP, AREA, TDP)
    pick: Annotated[dict[str, Any], PICK] = field(default_factory=lambda: {"name": "ideal"})
    constraints: Annotated[Constraints, with_sound_limits(section(Constraints))] = _CONSTRAINTS
    start_from: Annotated[tuple[StartSource, ...], _SOURCES] = ()
    # left out of the identity of studies that do without, which are older than the choice
    enumerate: Annotated[
        int | None, _COUNT.or_none().silent_if(lambda n: n is None).like(50_000)
    ] = None
    mode: Annotated[str, word("search", "exact")] = "search"
    effort: Annotated[
        int, whole(1, most=10**6).silent_if(lambda n: n == 1).checked(of_proofs).like(100)
    ] = 1
    certificate_cuts: Annotated[int, _CUTS] = 0
    optimizer: Annotated[Choice, _OPTIMIZER] = _MOBO
    halving: Annotated[Choice, _HALVING] = _MSH
    trials: Annotated[int, _COUNT.like(24)]
    batch_size: Annotated[int, whole(1, most=10_000)] = 8
    logical_workers: Annotated[int, _COUNT] = 1
    software: Annotated[Software, _SOFTWARE] = _SEARCHES
    certificate_plans: Annotated[int, _CUTS.checked(of_plans)] = 0
    executor: Annotated[ExecutorChoice, section(ExecutorChoice)] = ExecutorChoice()
    round_limits: Annotated[RoundLimits, section(RoundLimits)] = _LIMITS
    storage: Annotated[Database | None, _STORAGE] = None
    baseline: Annotated[str | None, _PRESET] = None

    @property
    def objective_set(self) -> ObjectiveSet:
        """Objectives and limits."""
        deadlines = any(tenant.deadline_ms is not None for tenant in self.tenants)
        return ObjectiveSet.of(self.objectives, with_deadlines(self.constraints.limits, deadlines))

    def location(self, out: str | None = None) -> Location:
        """Return where the study is kept: ``out`` if it is given, else what the file says of it.

        Raises:
            UserError: ``out`` is no location.
        """
        if out is not None:
            return location_of(out, self.name)
        if self.storage is not None:
            return SharedStudy(self.storage, self.name)
        return Path("runs") / self.name


def load_config(
    path: Path, change: Callable[["StudyConfig"], "StudyConfig"] = lambda config: config
) -> StudyConfig:
    """Read a study file.

    Args:
        path: the file.
        change: of what the file says, before defaults are written out.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read.
    """
    faults = Faults()
    return _read(study_document(path, faults), path, path.parent, path.stem, faults, change)


def config_of(
    data: Mapping[str, Any],
    name: str | None = None,
    folder: Path | None = None,
    change: Callable[["StudyConfig"], "StudyConfig"] = lambda config: config,
) -> StudyConfig:
    """Return the config that a study file with these keys and values would give.

    Args:
        data: of the file.
        name: of the study, unless ``data`` says one.
        folder: where paths in it start; None for the one where the process is.
        change: of what the file says, before defaults are written out.

    Raises:
        ConfigError: everything that is wrong in it.
    """
    faults = Faults()
    return _read(given_document(data), _GIVEN, folder or Path.cwd(), name, faults, change)


def _read(
    document: Document,
    source: Path | str,
    folder: Path,
    name: str | None,
    faults: Faults,
    change: Callable[["StudyConfig"], "StudyConfig"],
) -> StudyConfig:
    refuse_kind(document, source, faults)
    data = ({} if name is None else {"name": name}) | document.data
    if data.get("mode") == "exact":
        data.setdefault("halving", {"name": "none"})
    faults.include(choice_faults(document))
    config, wrong = None, Faults()
    with collecting(wrong):
        config = StudyConfig.read(data, Reading(folder))
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    if faults or config is None:
        raise ConfigError(source, faults)
    return _complete(change(config))


def parse_stored(
    data: dict[str, Any], location: Location, networks: Mapping[int, str] | None = None
) -> StudyConfig:
    """Build the config that a study keeps.

    Args:
        data: the config.
        location: of the study.
        networks: JSON of the networks that it keeps, by position among workloads.

    Raises:
        ConfigError: this version of archloom does not take it.
    """
    networks, searched = networks or {}, len(data.get("workloads", ()))
    held_out = {i - searched: text for i, text in networks.items() if i >= searched}
    folder = location if isinstance(location, Path) else Path()
    try:
        return StudyConfig.read(data, Reading(folder, networks, held_out))
    except EntryError as error:
        raise ConfigError(location, error.faults) from None


def _complete(config: StudyConfig) -> StudyConfig:
    software = config.software
    return replace(
        config,
        optimizer=complete(config.optimizer, HARDWARE_OPTIMIZERS),
        halving=with_budgets(config.halving, software.fusion, software.budget),
        software=complete_software(software),
    )


def with_budgets(halving: Choice, fusion: str, budget: str) -> Choice:
    """Return the choice with every default written out; budgets suit the planner, and what a unit
    of them buys.
    """
    from archloom.search.software import suited_budgets

    options = BUDGET_ALLOCATORS.options(halving.name)
    suited = {k: n for k, n in suited_budgets(fusion, budget).items() if k in options}
    return complete(Choice(halving.name, suited | halving.options), BUDGET_ALLOCATORS)
