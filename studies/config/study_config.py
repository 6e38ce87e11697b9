"""Study file: workloads, space, objectives, limits and budget of a search.

Every field that decides the result is part of the study's identity; the executor is not, for
it changes nothing but the time.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from archloom.search import (
    AREA,
    BUDGET_ALLOCATORS,
    EDP,
    FUSION_SEARCHES,
    HARDWARE_OPTIMIZERS,
    MAPPING_SEARCHES,
    TDP,
    Limit,
    ObjectiveSet,
)
from archloom.space import Fault, Faults, Place, bounded_text, did_you_mean
from archloom.space.mapping import UNCONSTRAINED, MappingConstraints

from ..errors import UserError
from .component_choice import Choice, choice_faults, complete, frozen_options, named_parts
from .errors import ConfigError, faults_of, read_document, refusal
from .location import STUDY_NAME, Database, Location, SharedStudy, given_database, location_of
from .mapping_constraints import Readable, unfit
from .objectives import LIMITED, Limits, Objectives
from .objectives_check import OF_KNOWN_LIMITS, OF_KNOWN_OBJECTIVES
from .quantities import AreaMm2, PowerW, RoundLimits, TimeS
from .selection import Pick
from .start_from import StartSource
from .workload_reference import absolute
from .workloads import HeldOut, Searched


def _known(what: str, names: Callable[[], Sequence[str]]) -> Callable[[str], str]:
    """Return a validator that accepts the given names only."""

    def check(value: str) -> str:
        if value not in (known := names()):
            raise ValueError(f"{what} {value!r} is unknown; {did_you_mean(value, known)}")
        return value

    return check


def _preset_names() -> list[str]:
    from archloom.space.design_space import PRESETS

    return sorted(PRESETS)


def _readable_space(value: str, info: ValidationInfo) -> str:
    """Load the template once, so that its errors are reported with the file's."""
    from archloom.space.design_space import HardwareSpace

    found = _space_location(value, (info.context or {}).get("folder", Path()))
    try:
        HardwareSpace.load(found)
    except OSError as error:
        raise ValueError(f"{value!r} cannot be read: {error.strerror or error}") from None
    return found


def _space_location(value: str, folder: Path) -> str:
    """Return a built-in template's name as it is, and a path made absolute from ``folder``."""
    if "/" not in value and not value.endswith((".yaml", ".yml")):
        return value
    return str(absolute(value, folder).resolve())


def space_text(location: str) -> str:
    """Return the text of a template, built-in or a file, that was found to be valid."""
    from archloom.space.design_space import hardware_space

    if location in hardware_space.TEMPLATES:
        folder = Path(hardware_space.__file__).with_name("templates")
        return (folder / f"{location}.yaml").read_text("utf-8")
    return Path(location).read_text("utf-8")


def _obeyable(software: "Software", info: ValidationInfo) -> "Software":
    """Compare constraints on mappings with the template, so that all errors come at once."""
    location = info.data.get("space")
    if location is None or software.constraints == UNCONSTRAINED:
        return software
    from archloom.space.design_space import HardwareSpace

    faults = unfit(software.constraints, HardwareSpace.load(location))
    if faults:
        below = Faults()
        below.include(faults, "constraints")
        raise refusal(below, software)
    return software


def _to_the_end(halving: Choice, info: ValidationInfo) -> Choice:
    """Refuse to stop trials early where their results have to prove something."""
    if info.data.get("mode") == "exact" and halving.name != "none":
        raise ValueError(
            f"mode exact runs every trial to its end, but {halving.name} stops some: "
            "choose none, or leave halving out"
        )
    return halving


Count = Annotated[int, Field(ge=1, le=10**9)]
Share = Annotated[float, Field(gt=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Constraints(_Section):
    """Caps of a design, and limits of what its software reaches.

    A design above a cap, or whose bound is beyond a limit, is never proposed; one that breaks a
    limit in spite of its bound is no member of the front.
    """

    area_mm2: AreaMm2 | None = None
    tdp_w: PowerW | None = None
    edp_js: Limits = ()
    energy_j: Limits = ()
    latency_s: Limits = ()
    throughput_per_s: Limits = ()
    perf_per_tdp_per_s_w: Limits = ()
    utilisation: Limits = ()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits, in the order of the fields."""
        return tuple(limit for key in LIMITED for limit in getattr(self, key))

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the limits that there are none of."""
        dumped: dict[str, Any] = handler(self)
        return {key: value for key, value in dumped.items() if key not in LIMITED or value != []}


class Software(_Section):
    """How the software of one design is searched; see ``archloom.search.software.search``."""

    fusion: Annotated[str, AfterValidator(_known("fusion search", lambda: [*FUSION_SEARCHES]))] = (
        "joint"
    )
    population: Annotated[int, Field(ge=2, le=100_000)] = 8
    mapping: Annotated[
        str, AfterValidator(_known("mapping search", lambda: [*MAPPING_SEARCHES]))
    ] = "auto"
    mapping_evaluations: Count = 100_000
    factors: Literal["exact", "padded", "imperfect"] = "exact"
    constraints: Annotated[MappingConstraints, Readable] = UNCONSTRAINED
    # left out of the identity of studies that do without, which are older than the choice
    budget: Annotated[Literal["plans", "shared"], Field(exclude_if=lambda b: b == "plans")] = (
        "plans"
    )
    fusion_options: Annotated[dict[str, Any], Field(exclude_if=lambda o: not o)] = {}
    mapping_options: Annotated[dict[str, Any], Field(exclude_if=lambda o: not o)] = {}

    _named_parts = model_validator(mode="before")(named_parts)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of :class:`archloom.search.software.search.SoftwareSettings`."""
        return dict(self) | {
            "fusion_options": frozen_options(self.fusion_options),
            "mapping_options": frozen_options(self.mapping_options),
        }


class Density(_Section):
    """Shares of values that are not zero, for hardware that gates or skips zeros."""

    weights: Share = 1.0
    inputs: Share = 1.0


class Validation(_Section):
    """Networks that designs of the front are tried on, and that nothing is learned from.

    Attributes:
        workloads: the networks.
        evaluations: plans priced for each of them on each design; None for as many as a trial
            gets for each network that wins every round.
    """

    workloads: HeldOut = ()
    evaluations: Count | None = None


def _with_key(value: Any) -> Any:
    return {"workloads": value} if isinstance(value, list) else value


class ExecutorChoice(_Section):
    """Where the work is done.

    Attributes:
        workers: trials at a time; None for all cores that the process may use.
        address: of a running Ray cluster; None starts Ray on this machine.
        stall_s: seconds without a sign of life after which a worker is replaced.
    """

    name: Literal["ray", "inline"] = "ray"
    workers: Count | None = None
    address: str | None = None
    stall_s: TimeS = 120.0


class StudyConfig(_Section):
    """A whole study file; the defaults are resolved when it is read.

    Attributes:
        name: names the study's directory.
        seed: all randomness derives from it.
        workloads: networks, see ``archloom.studies.config.workloads``.
        density: of the networks' weights and inputs.
        space: a built-in template's name, or the path of a template (from the study file).
        objectives: what is minimised, or maximised where more is better.
        pick: which design of the front is picked; no part of the study's identity.
        constraints: caps of area and TDP, limits of what software decides.
        start_from: what is tried before the optimizer proposes, and what it learns from.
        enumerate: points of the largest space that is assessed as a whole; None for
            ``ENUMERATE_LIMIT`` or, to prove the front, ``PROOF_LIMIT``.
        mode: ``search`` runs ``trials`` designs; ``exact`` goes on, up to as many, until lower
            bounds prove the front.
        optimizer: proposes designs; its name, and beside it its options.
        halving: shares software search out among the trials of a batch; name and options.
        validation: held-out networks.
        trials: designs in all.
        batch_size: designs that are proposed and halved together.
        logical_workers: rounds that are open at a time, see
            :mod:`archloom.studies.engine.logical_order`.
        software: how the software of a design is searched.
        executor: where the work is done; like ``round_limits`` no part of the study's identity.
        storage: database that the study is kept in, under its name; None for a directory. It is
            not written down with the study: whoever finds the study there knows it.
        baseline: preset that is evaluated like a trial that wins every round, for comparison.
    """

    name: Annotated[str, Field(pattern=STUDY_NAME, max_length=255)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    workloads: Searched
    validation: Annotated[Validation, BeforeValidator(_with_key)] = Validation()
    density: Density = Density()
    space: Annotated[str, AfterValidator(_readable_space)]
    objectives: Annotated[Objectives, OF_KNOWN_OBJECTIVES] = (EDP, AREA, TDP)
    pick: Pick = {"name": "ideal"}
    constraints: Annotated[Constraints, OF_KNOWN_LIMITS] = Constraints()
    start_from: Annotated[tuple[StartSource, ...], Field(strict=False)] = ()
    # left out of the identity of studies that do without, which are older than the choice
    enumerate: Annotated[Count | None, Field(exclude_if=lambda n: n is None)] = None
    mode: Literal["search", "exact"] = "search"
    optimizer: Choice = Choice(name="mobo")
    halving: Annotated[Choice, AfterValidator(_to_the_end)] = Choice(name="msh")
    trials: Count
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 8
    logical_workers: Count = 1
    software: Annotated[Software, AfterValidator(_obeyable)] = Software()
    executor: ExecutorChoice = ExecutorChoice()
    round_limits: RoundLimits = RoundLimits()
    storage: Annotated[Database | None, BeforeValidator(given_database), Field(exclude=True)] = None
    baseline: Annotated[str, AfterValidator(_known("preset", _preset_names))] | None = None

    @property
    def objective_set(self) -> ObjectiveSet:
        """Objectives and limits."""
        return ObjectiveSet(self.objectives, self.constraints.limits)

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
    try:
        text = bounded_text(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such study file{_nearby(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text: {error}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}; no study file is that long") from None
    faults = Faults()
    document = read_document(path, text, faults)
    data = {"name": path.stem, **document.data}
    if data.get("mode") == "exact":
        data.setdefault("halving", {"name": "none"})
    faults.include(choice_faults(document))
    try:
        config = StudyConfig.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        faults.include(faults_of(error.errors(), document, StudyConfig))
    if faults:
        raise ConfigError(path, faults)
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
    try:
        networks, searched = networks or {}, len(data.get("workloads", ()))
        held_out = {i - searched: text for i, text in networks.items() if i >= searched}
        folder = location if isinstance(location, Path) else Path()
        context = {"folder": folder, "networks": networks, "held_out": held_out}
        return StudyConfig.model_validate(data, context=context)
    except ValidationError as error:
        wrong = [Fault(Place(keys=e["loc"]), e["msg"]) for e in error.errors()]
        raise ConfigError(location, wrong) from None


def _complete(config: StudyConfig) -> StudyConfig:
    software = config.software
    return config.model_copy(
        update={
            "optimizer": complete(config.optimizer, HARDWARE_OPTIMIZERS),
            "halving": with_budgets(config.halving, software.fusion, software.budget),
            "software": _complete_software(software),
        }
    )


def _complete_software(software: Software) -> Software:
    fusion = complete(Choice(name=software.fusion, **software.fusion_options), FUSION_SEARCHES)
    mapping = complete(Choice(name=software.mapping, **software.mapping_options), MAPPING_SEARCHES)
    # a key of the section itself
    of_fusion = {k: v for k, v in fusion.options.items() if k != "population"}
    changes = {"fusion_options": of_fusion, "mapping_options": mapping.options}
    return software.model_copy(update=changes)


def with_budgets(halving: Choice, fusion: str, budget: str) -> Choice:
    """Return the choice with every default written out; budgets suit the planner, and what a unit
    of them buys.
    """
    from archloom.search.software import suited_budgets

    options = BUDGET_ALLOCATORS.options(halving.name)
    suited = {k: n for k, n in suited_budgets(fusion, budget).items() if k in options}
    return complete(Choice(name=halving.name, **(suited | halving.options)), BUDGET_ALLOCATORS)


def _nearby(path: Path) -> str:
    files = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
    near = get_close_matches(path.name, files)
    return f"; did you mean {' or '.join(near)}?" if near else ""
