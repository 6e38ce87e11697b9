"""Networks that a study runs: of the catalogue, of files, of directories of layers.

A workload is named by a text or by a mapping, as ``docs/reference/study_files.md`` has it. What
comes from a file is read once, when the study begins; from then on the study's own copy counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.space import Fault, Faults, Place
from archloom.space.networks import Option, network, options

from ..errors import UserError
from .errors import EntryError, collecting, entry_error
from .sections import Key, Reading
from .workload_reference import (
    KINDS,
    SUFFIXES,
    Reference,
    is_compressed,
    is_file,
    near_names,
    normal,
    options_text,
    path_of,
    reference_form,
    shown,
)

if TYPE_CHECKING:
    from archloom.space.design_space.compression import CompressedForms, FormChoices
    from archloom.space.workload import Network


@dataclass(frozen=True)
class Workload:
    """One network of a study.

    Attributes:
        reference: how the study names it.
        label: names the workload in tables, records and reports; unique in the study.
        made: what the reference means; None for a network of the catalogue without options, in
            which nothing can be wrong: it is built when it is first used.
        forms: of a workload that comes in compressed forms, these; None until their accuracies are
            known.
    """

    reference: Reference
    label: str
    made: "Network | None"
    forms: "CompressedForms | None" = None

    @cached_property
    def network(self) -> "Network":
        """The network, called by the workload's label."""
        return self.made or replace(_read(self.reference), name=self.label)

    @property
    def folded(self) -> bool:
        """Whether layers of the vector unit run with those of the MAC array beside them."""
        return self.made is not None and self.made.folded


def load_workload(reference: object, folder: Path) -> "Network":
    """Return the network that a study file's entry names.

    Args:
        reference: a name or a mapping.
        folder: where relative paths start.

    Raises:
        EntryError: everything that is wrong with the entry.
    """
    return _read(normal(reference, folder))


def load_workloads(
    entries: Sequence[object], folder: Path, stored: Mapping[int, str] | None = None
) -> tuple[Workload, ...]:
    """Return the workloads of a study file, or of a study's directory.

    Args:
        entries: as they stand in it.
        folder: where relative paths start.
        stored: by position, JSON of the networks that a study's directory keeps; the files that
            they came from are not read again.

    Raises:
        EntryError: everything that is wrong with them, each fault with its position first.
    """
    faults = Faults()
    references: dict[int, Reference] = {}
    for i, entry in enumerate(entries):
        with collecting(faults, i):
            reference = normal(entry, folder)
            if reference in references.values():
                raise entry_error(
                    f"{shown(reference)} occurs more than once; name each network once"
                )
            references[i] = reference
    labels = _labels(references)
    found = []
    for i, reference in references.items():
        with collecting(faults, i):
            if stored and i in stored:
                found.append(_stored(reference, stored[i]))
            else:
                named = isinstance(reference, str)
                made = None if named else replace(_read(reference), name=labels[i])
                found.append(Workload(reference, labels[i], made))
    if faults:
        raise EntryError(faults)
    return tuple(found)


def _labels(references: Mapping[int, Reference]) -> dict[int, str]:
    """Return a name for each workload; the catalogue's come first, for they never change."""
    labels: dict[int, str] = {}
    for i, reference in sorted(references.items(), key=lambda pair: (is_file(pair[1]), pair[0])):
        label = name = _label(reference)
        number = 2
        while name in labels.values():
            name, number = f"{label}-{number}", number + 1
        labels[i] = name
    return labels


def _label(reference: Reference) -> str:
    if not isinstance(reference, dict) or not is_file(reference):
        return shown(reference)
    path = path_of(reference)
    name = path.stem if path.suffix in SUFFIXES else path.name
    # a file's name may hold line breaks and bytes that are no text
    plain = "".join(sign if sign.isprintable() else "_" for sign in name or "network")
    return f"{plain}{options_text(reference)}"


def without_forms(workloads: Sequence[Workload]) -> list[Workload]:
    """Return workloads that come in compressed forms of which nothing is known yet."""
    return [one for one in workloads if is_compressed(one.reference) and one.forms is None]


def form_choices(
    workloads: Sequence[Workload], density: tuple[float, float] = (1.0, 1.0)
) -> "FormChoices | None":
    """Return all networks of workloads with the forms that some of them come in; None if none does.

    Args:
        workloads: whose accuracies are known.
        density: shares of nonzero weights and inputs that the study gives all layers.

    Raises:
        ValueError: two of them have groups of one name.
    """
    from archloom.space.design_space.compression import FormChoices

    forms = tuple(workload.forms for workload in workloads if workload.forms is not None)
    return FormChoices(tuple(w.network for w in workloads), forms, density) if forms else None


def _stored(reference: Reference, text: str) -> Workload:
    from archloom.space.design_space.compression import forms_from_text
    from archloom.space.workload import from_text

    try:
        forms = forms_from_text(text) if is_compressed(reference) else None
        made = from_text(text) if forms is None else forms.network
        return Workload(reference, made.name, made, forms)
    except ValueError as error:
        raise entry_error(f"the study's copy of the network cannot be read: {error}") from None


def _read(reference: Reference) -> "Network":
    """Return the network of a normal reference."""
    if isinstance(reference, str):
        return network(reference)
    from archloom.space.importers import ImportProblem
    from archloom.space.importers.timeloop import TimeloopError

    batch = reference.get("batch")
    try:
        if is_compressed(reference):
            found = _read_kept(path_of(reference))
        elif is_file(reference):
            found = _read_file(Path(reference["file"]), reference.get("dimensions"))
        else:
            name = reference["network"]
            unsaid = ("network", "batch", "fold")
            found = network(name, **{k: v for k, v in reference.items() if k not in unsaid})
        if reference.get("fold"):
            from archloom.space.fusion import fold

            found = fold(found)
        return found if batch is None else found.with_batch(batch)
    except ImportProblem as error:
        texts = (f"{error.source}: {text}" for text in error.problems)
        raise EntryError(Fault(Place(), text) for text in texts) from None
    except TimeloopError as error:
        raise EntryError(Fault(Place(), text) for text in error.faults) from None
    except ValueError as error:
        raise entry_error(str(error)) from None


def _read_kept(folder: Path) -> "Network":
    """Return the network, with all its weights, of a directory of ``archloom compress``.

    Raises:
        EntryError: there is none, or it cannot be read.
    """
    from archloom.space.workload import read_network

    path = folder / "seed0" / "dense.network.json"
    try:
        return read_network(path)
    except OSError as error:
        what = "is no directory" if not folder.is_dir() else f"has no {path.relative_to(folder)}"
        reason = "" if isinstance(error, FileNotFoundError | NotADirectoryError) else f" ({error})"
        raise entry_error(
            f"{folder} {what}{reason}; it must be what archloom compress keeps: its --out"
            f"{near_names(folder)}",
            "compressed",
        ) from None


def _read_file(path: Path, dimensions: Mapping[str, int] | None) -> "Network":
    """Return the network of a file or directory.

    Raises:
        EntryError: there is none, or it cannot be read.
        ValueError: what the file's reader says of it.
    """
    try:
        if not path.exists():
            raise entry_error(f"there is no file {path}{near_names(path)}")
        if path.is_dir():
            from archloom.space.importers.timeloop.problem import read_network as read_directory

            return read_directory(path)
        if path.suffix == ".onnx":
            from archloom.space.importers.onnx import read_onnx

            return read_onnx(path, dimensions)
        if path.suffix == ".json":
            from archloom.space.workload import read_network

            return read_network(path)
        if path.suffix in (".yaml", ".yml"):
            from archloom.space.importers.einsum import read_einsums

            return read_einsums(path, dimensions)
    except OSError as error:
        raise entry_error(f"{path} cannot be read: {error.strerror or error}") from None
    raise entry_error(f"{path} must be {KINDS}")


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """What a command line asks for.

    Attributes:
        settings: ``name=value`` for options of the network.
        batch: images, or sequences, of one pass; None for what the network has.
        word_bits: width of a word of every tensor.
        fold: whether layers of the vector unit run with those of the MAC array beside them.
        option: that gave the settings, for messages.
    """

    settings: Sequence[str] = ()
    batch: int | None = None
    word_bits: int = 16
    option: str = "--set"
    fold: bool = False


def find_network(reference: Reference, asked: WorkloadOptions) -> "Network":
    """Return the network that a command line means.

    Args:
        reference: a network of the catalogue, or a file, as a study's ``workloads`` name them.
        asked: settings are options of the catalogue's network, or sizes of the named dimensions
            of an ONNX file, or of the ranks of a file of einsums.

    Raises:
        UserError: no such network, or wrong settings, all of them at once.
    """
    texts, faults = _read_options(asked)
    keys: dict[str, object]
    if isinstance(reference, str):
        known = options(reference)
        keys = {"network": reference}
        keys |= {key: _value(text, known.get(key)) for key, text in texts.items()}
    else:
        keys = dict(reference)
        if texts:
            keys["dimensions"] = {key: _value(text, 1) for key, text in texts.items()}
    if asked.batch is not None:
        keys["batch"] = asked.batch
    if asked.fold:
        keys["fold"] = True
    try:
        net = load_workload(keys, Path.cwd())
    except EntryError as error:
        faults += [_in_options(fault, texts, asked.option) for fault in error.faults]
    if faults:
        raise UserError("\n".join(_of(reference, fault) for fault in faults))
    return net


def _of(reference: Reference, fault: str) -> str:
    """Say of what network a fault is; readers of files name the file, by its whole path."""
    path = "" if isinstance(reference, str) else str(reference.get("file", ""))
    return f"{shown(reference)}: {fault.removeprefix(f'{path}: ')}"


def _read_options(asked: WorkloadOptions) -> tuple[dict[str, str], list[str]]:
    """Split ``key=value`` texts; also return what is wrong with them."""
    texts: dict[str, str] = {}
    faults = []
    for setting in asked.settings:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if not (key and equals and text):
            faults.append(f"{asked.option} {setting}: must be name=value")
        elif key in texts:
            faults.append(f"{asked.option} {setting}: {key} is set twice")
        else:
            texts[key] = text
    return texts, faults


def _value(text: str, default: Option | None) -> Option | list[int]:
    """Return what a text means where there could be ``default``; the text if it means nothing."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        if isinstance(default, int):
            return int(text)
        if isinstance(default, tuple):
            return [int(part) for part in text.strip("[]").split(",")]
    except ValueError:
        return text
    return text


def _in_options(fault: Fault, texts: Mapping[str, str], option: str) -> str:
    """Return a fault of a workload in the words of the command line."""
    keys = fault.place.keys
    key = str(keys[-1]) if keys else ""
    if key in texts:
        return f"{option} {key}={texts[key]}: {fault.message}"
    what = {"batch": "--batch: ", "dimensions": f"{option}: dimensions "}.get(key, "")
    return f"{what}{fault.message}"


def _searched(entries: Any, beside: Reading) -> tuple[Workload, ...]:
    """Read the networks, so that what is wrong with them is reported with the file's errors."""
    found = load_workloads(_listed(entries), beside.folder, beside.networks)
    if not found:
        raise ValueError("names no network; a study needs at least one")
    return found


def _listed(entries: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{entries!r} must be a list")
    return entries


def _references(workloads: Sequence[Workload]) -> list[Reference]:
    return [workload.reference for workload in workloads]


#: networks that designs are found for, one at least; and those that they are validated on
SEARCHED: Final = Key(
    _searched,
    _references,
    form=lambda: {"type": "array", "items": reference_form(), "minItems": 1},
    examples=(["resnet18", {"network": "bert_base", "sequence_length": 128}, "model.onnx"],),
)
HELD_OUT: Final = Key(
    lambda entries, beside: load_workloads(_listed(entries), beside.folder, beside.held_out),
    _references,
    form=lambda: {"type": "array", "items": reference_form()},
    examples=(["mobilenetv2"],),
)


def _one(entry: Any, beside: Reading) -> Workload:
    reference = normal(entry, beside.folder)
    made = _read(reference)
    return Workload(reference, made.name, made)


#: one network
NETWORK: Final = Key(_one, lambda one: one.reference, form=reference_form).like(
    "resnet18", {"network": "alexnet_original", "batch": 4}
)
