"""A study file: what is searched, for which networks, within which limits, with which budget.

Every field that decides the result is part of the study's identity; the executor is not, for
it changes nothing but the time.
"""

from collections.abc import Callable, Mapping
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
)

from ..search.goals import AREA, EDP, TDP, Goals, Limit
from ..space.mapping_constraints import UNCONSTRAINED, MappingConstraints
from ..space.suggest import did_you_mean
from .choices import Choice, complete, option_problems
from .config_errors import ConfigError, Document, Problem, dotted, problems_of, read_document
from .errors import UserError
from .goal_rules import LIMITED, Limits, Objectives
from .goal_workloads import OF_KNOWN_LIMITS, OF_KNOWN_OBJECTIVES
from .mapping_rules import Readable, refused, unfit
from .pick_rules import Pick
from .quantities import plain_number
from .start_rules import StartSource
from .workload_fields import HeldOut, Searched
from .workload_reference import absolute


def _known(what: str, names: Callable[[], list[str]]) -> Callable[[str], str]:
    """Return a validator that accepts the given names only."""

    def check(value: str) -> str:
        if value not in (known := names()):
            raise ValueError(f"{what} {value!r} is unknown; {did_you_mean(value, known)}")
        return value

    return check


def _preset_names() -> list[str]:
    from ..space.presets import PRESETS

    return sorted(PRESETS)


def _mapping_search_names() -> list[str]:
    from ..search.mapping_search import MAPPING_SEARCHES

    return list(MAPPING_SEARCHES)


def _fusion_search_names() -> list[str]:
    from ..search.fusion_search import FUSION_SEARCHES

    return list(FUSION_SEARCHES)


def _readable_space(value: str, info: ValidationInfo) -> str:
    """Load the template once, so that its errors are reported with the file's."""
    from ..space.hardware_space import HardwareSpace

    found = space_location(value, (info.context or {}).get("folder", Path()))
    try:
        HardwareSpace.load(found)
    except OSError as error:
        raise ValueError(f"{value!r} cannot be read: {error.strerror or error}") from None
    return found


def space_location(value: str, folder: Path) -> str:
    """Return a built-in template's name as it is, and a path made absolute from ``folder``."""
    if "/" not in value and not value.endswith((".yaml", ".yml")):
        return value
    return str(absolute(value, folder).resolve())


def space_text(location: str) -> str:
    """Return the text of a template, built-in or a file, that was found to be valid."""
    from ..space import hardware_space

    if location in hardware_space.TEMPLATES:
        folder = Path(hardware_space.__file__).with_name("templates")
        return (folder / f"{location}.yaml").read_text("utf-8")
    return Path(location).read_text("utf-8")


def _obeyable(software: "Software", info: ValidationInfo) -> "Software":
    """Compare constraints on mappings with the template, so that all errors come at once."""
    location = info.data.get("space")
    if location is None or software.constraints == UNCONSTRAINED:
        return software
    from ..space.hardware_space import HardwareSpace

    faults = unfit(software.constraints, HardwareSpace.load(location))
    if faults:
        below = [(("constraints", *keys), message) for keys, message in faults]
        raise refused(below, software)
    return software


def _to_the_end(halving: Choice, info: ValidationInfo) -> Choice:
    """Refuse to stop trials early where their results have to prove something."""
    if info.data.get("mode") == "exact" and halving.name != "none":
        raise ValueError(
            f"mode exact runs every trial to its end, but {halving.name} stops some: "
            "choose none, or leave halving out"
        )
    return halving


AreaMm2 = Annotated[float, BeforeValidator(plain_number("mm2")), Field(gt=0, allow_inf_nan=False)]
PowerW = Annotated[float, BeforeValidator(plain_number("W")), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
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
    """How the software of one design is searched; see ``archloom.search.software``."""

    fusion: Annotated[str, AfterValidator(_known("fusion search", _fusion_search_names))] = "joint"
    population: Annotated[int, Field(ge=2)] = 8
    mapping: Annotated[str, AfterValidator(_known("mapping search", _mapping_search_names))] = (
        "auto"
    )
    mapping_evaluations: Count = 100_000
    factors: Literal["exact", "padded", "clipped"] = "exact"
    constraints: Annotated[MappingConstraints, Readable] = UNCONSTRAINED
    # left out of the identity of studies that do without, which are older than the choice
    budget: Annotated[Literal["plans", "shared"], Field(exclude_if=lambda b: b == "plans")] = (
        "plans"
    )


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
    """

    name: Literal["ray", "inline"] = "ray"
    workers: Count | None = None
    address: str | None = None


class StudyConfig(_Section):
    """A whole study file; the defaults are resolved when it is read.

    Attributes:
        name: names the study's directory.
        seed: all randomness derives from it.
        workloads: networks, see ``archloom.studies.workloads``.
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
        software: how the software of a design is searched.
        executor: where the work is done; no part of the study's identity.
        baseline: preset that is evaluated like a trial that wins every round, for comparison.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
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
    batch_size: Count = 8
    software: Annotated[Software, AfterValidator(_obeyable)] = Software()
    executor: ExecutorChoice = ExecutorChoice()
    baseline: Annotated[str, AfterValidator(_known("preset", _preset_names))] | None = None

    @property
    def goals(self) -> Goals:
        """Objectives and limits."""
        return Goals(self.objectives, self.constraints.limits)


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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such study file{_nearby(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text: {error}") from None
    document = read_document(path, text)
    data = {"name": path.stem, **document.data}
    if data.get("mode") == "exact":
        data.setdefault("halving", {"name": "none"})
    problems = document.problems + _choice_problems(document)
    try:
        config = StudyConfig.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        problems += problems_of(error.errors(), document, StudyConfig)
    if problems:
        raise ConfigError(path, problems)
    return _complete(change(config))


def parse_stored(
    data: dict[str, Any], path: Path, networks: Mapping[int, str] | None = None
) -> StudyConfig:
    """Build the config that a study's directory holds.

    Args:
        data: the config.
        path: of the file that holds it.
        networks: JSON of the networks that the directory holds, by position among workloads.

    Raises:
        ConfigError: this version of archloom does not take it.
    """
    try:
        networks, searched = networks or {}, len(data.get("workloads", ()))
        held_out = {i - searched: text for i, text in networks.items() if i >= searched}
        context = {"folder": path.parent, "networks": networks, "held_out": held_out}
        return StudyConfig.model_validate(data, context=context)
    except ValidationError as error:
        wrong = [Problem(None, dotted(e["loc"]), e["msg"]) for e in error.errors()]
        raise ConfigError(path, wrong) from None


def _factories(key: str) -> tuple[list[str], Callable[[str], Callable[..., Any]]]:
    """Return the names that a section may choose, and what finds a name's factory."""
    from ..search import registry

    if key == "optimizer":
        return registry.hardware_optimizer_names(), registry.hardware_optimizer
    return registry.budget_allocator_names(), registry.budget_allocator


def _choice_problems(document: Document) -> list[Problem]:
    """Check the sections whose keys depend on the part that they name."""
    found = []
    for key in ("optimizer", "halving"):
        section = document.data.get(key)
        if not isinstance(section, dict) or not isinstance(section.get("name"), str):
            continue  # absent, or pydantic says what is wrong
        names, find = _factories(key)
        if section["name"] not in names:
            message = f"{section['name']!r} is unknown; {did_you_mean(section['name'], names)}"
            found.append(Problem(document.line((key, "name")), f"{key}.name", message))
            continue
        choice = Choice(**{str(k): v for k, v in section.items()})
        wrong = [
            Problem(document.line((key, option)), dotted((key, option)), message)
            for option, message in option_problems(choice, find(choice.name))
        ]
        found += wrong
        if key == "halving" and not wrong:
            found += _range_problems(choice, find(choice.name), document)
    return found


def _range_problems(
    choice: Choice, factory: Callable[..., Any], document: Document
) -> list[Problem]:
    """Build the allocator to hear what it says of its numbers; an optimizer needs a space first."""
    try:
        factory(**choice.options)
    except ValueError as error:
        return [Problem(document.line(("halving",)), "halving", str(error))]
    return []


def _complete(config: StudyConfig) -> StudyConfig:
    optimizer = complete(config.optimizer, _factories("optimizer")[1](config.optimizer.name))
    software = config.software
    halving = with_budgets(config.halving, software.fusion, software.budget)
    return config.model_copy(update={"optimizer": optimizer, "halving": halving})


def with_budgets(halving: Choice, fusion: str, budget: str) -> Choice:
    """Return the choice with every default written out; budgets suit the planner, and what a unit
    of them buys.
    """
    from ..search.fusion_search import suited_budgets
    from ..search.registry import option_names

    factory = _factories("halving")[1](halving.name)
    suited = suited_budgets(fusion, budget).items()
    taken = {k: n for k, n in suited if k in option_names(factory)}
    return complete(Choice(name=halving.name, **(taken | halving.options)), factory)


def _nearby(path: Path) -> str:
    files = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
    near = get_close_matches(path.name, files)
    return f"; did you mean {' or '.join(near)}?" if near else ""
