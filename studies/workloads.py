"""The networks that a study runs: of the catalogue, of files, of directories of layers.

A workload is named by a text or by a mapping, as ``docs/study_files.md`` has it. What comes from
a file is read once, when the study begins; from then on the study's own copy counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import core_schema

from .errors import UserError
from .workload_reference import (
    KINDS,
    SUFFIXES,
    Fault,
    Reference,
    WorkloadError,
    fault,
    is_file,
    near_names,
    normal,
    options_text,
    shown,
)

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

    from ..space.network import Network
    from .store import Header


@dataclass(frozen=True, slots=True)
class Workload:
    """One network of a study.

    Attributes:
        reference: how the study names it.
        network: what that is; its name is the workload's label, unique in the study.
    """

    reference: Reference
    network: "Network"

    @property
    def label(self) -> str:
        """Names the workload in tables, records and reports."""
        return self.network.name

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: type, _handler: "GetCoreSchemaHandler"
    ) -> core_schema.CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(lambda value: value.reference)
        return core_schema.is_instance_schema(cls, serialization=dump)


def load_workload(reference: object, folder: Path) -> "Network":
    """Return the network that a study file's entry names.

    Args:
        reference: a name or a mapping.
        folder: where relative paths start.

    Raises:
        WorkloadError: everything that is wrong with the entry.
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
        WorkloadError: everything that is wrong with them, each fault with its position first.
    """
    faults: list[Fault] = []
    references: dict[int, Reference] = {}
    for i, entry in enumerate(entries):
        with _noting(faults, i):
            reference = normal(entry, folder)
            if reference in references.values():
                raise fault(f"{shown(reference)} stands more than once; each network counts once")
            references[i] = reference
    labels = _labels(references)
    found = []
    for i, reference in references.items():
        with _noting(faults, i):
            if stored and i in stored:
                network = _stored(stored[i])
            else:
                network = replace(_read(reference), name=labels[i])
            found.append(Workload(reference, network))
    if faults:
        raise WorkloadError(faults)
    return tuple(found)


def kept_workloads(folder: Path, header: "Header") -> tuple[Workload, ...]:
    """Return the workloads of a study's directory, whatever became of the files they came from.

    Raises:
        UserError: this version of archloom no longer has a network, or option, of that name.
    """
    try:
        return load_workloads(header.config["workloads"], folder, header.networks)
    except WorkloadError as error:
        faults = "; ".join(str(error).splitlines())
        raise UserError(
            f"{folder}: {faults}; use the version that began the study: {header.archloom}"
        ) from None


def stored_networks(workloads: Sequence[Workload]) -> dict[int, str]:
    """Return JSON of those networks that a study's directory must keep, by position."""
    from ..space.network_json import to_text

    kept = ((i, w) for i, w in enumerate(workloads) if is_file(w.reference))
    return {i: to_text(workload.network) for i, workload in kept}


@contextmanager
def _noting(faults: list[Fault], position: int) -> Iterator[None]:
    """Note what is wrong with the workload at a position, and go on."""
    try:
        yield
    except WorkloadError as error:
        faults += [((position, *where), message) for where, message in error.faults]


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
    path = Path(reference["file"])
    name = path.stem if path.suffix in SUFFIXES else path.name
    # a file's name may hold line breaks and bytes that are no text
    plain = "".join(sign if sign.isprintable() else "_" for sign in name or "network")
    return f"{plain}{options_text(reference)}"


def _stored(text: str) -> "Network":
    from ..space.network_json import from_text

    try:
        return from_text(text)
    except ValueError as error:
        raise fault(f"the study's copy of the network cannot be read: {error}") from None


def _read(reference: Reference) -> "Network":
    """Return the network of a normal reference."""
    from ..space.importers.errors import ImportProblem
    from ..space.networks import network
    from ..space.timeloop_yaml import TimeloopError

    if isinstance(reference, str):
        return network(reference)
    batch = reference.get("batch")
    try:
        if is_file(reference):
            found = _read_file(Path(reference["file"]), reference.get("dimensions"))
        else:
            name = reference["network"]
            found = network(
                name, **{k: v for k, v in reference.items() if k not in ("network", "batch")}
            )
        return found if batch is None else found.with_batch(batch)
    except ImportProblem as error:
        raise WorkloadError(((), f"{error.source}: {text}") for text in error.problems) from None
    except TimeloopError as error:
        raise WorkloadError(((), text) for text in error.faults) from None
    except ValueError as error:
        raise fault(str(error)) from None


def _read_file(path: Path, dimensions: Mapping[str, int] | None) -> "Network":
    """Return the network of a file or directory.

    Raises:
        WorkloadError: there is none, or it cannot be read.
        ValueError: what the file's reader says of it.
    """
    try:
        if not path.exists():
            raise fault(f"there is no file {path}{near_names(path)}")
        if path.is_dir():
            from ..space.timeloop_network import read_network as read_directory

            return read_directory(path)
        if path.suffix == ".onnx":
            from ..space.importers.onnx_reader import read_onnx

            return read_onnx(path, dimensions)
        if path.suffix == ".json":
            from ..space.network_json import read_network

            return read_network(path)
    except OSError as error:
        raise fault(f"{path} cannot be read: {error.strerror or error}") from None
    raise fault(f"{path} must be {KINDS}")
