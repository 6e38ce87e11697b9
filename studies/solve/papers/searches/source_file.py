"""The study file that a table of searches changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from archloom.space import Faults, did_you_mean
from archloom.studies.config import Key, Reading, study_document

from ..heading import TABLES

_OWN: Final = TABLES / "studies"


@dataclass(frozen=True)
class StudySource:
    """Keys of a study file.

    Attributes:
        file: as the table names it.
        keys: of the file, with their values.
        folder: where its relative paths start; unknown, and of no account, in results.
    """

    file: str
    keys: Mapping[str, Any]
    folder: Path = field(default=Path(), compare=False)


def own_studies() -> dict[str, Path]:
    """Return the study files that come with archloom's tables, by name."""
    return {path.stem: path for path in sorted(_OWN.glob("*.yaml"))}


def study_source() -> Key:
    """Return a key that holds a study file beside the table, or the name of one of archloom's."""

    def read(entry: Any, beside: Reading) -> StudySource:
        if isinstance(entry, dict) and entry.keys() == {"file", "keys"}:
            return StudySource(entry["file"], entry["keys"])
        if not isinstance(entry, str):
            raise ValueError(f"{entry!r} must be a study file")
        own = own_studies()
        path = own.get(entry, beside.folder / entry)
        if not path.is_file():
            raise ValueError(
                f"{entry!r} is no study file beside the table; {did_you_mean(entry, own)}"
            )
        faults = Faults()
        keys = study_document(path, faults).data
        if faults:
            raise ValueError(f"{path}: {'; '.join(map(str, faults))}")
        return StudySource(entry, keys, path.parent)

    return Key(read, lambda source: {"file": source.file, "keys": source.keys})


def origin(keys: tuple[Any, ...], origins: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the path in a table to an entry of its study: that of a change, or the study file.

    Args:
        keys: that lead to the entry in the study.
        origins: changes of the study, with the path to each; the last to be applied first.
    """
    return next((at for at, those in origins if keys[:1] and keys[0] in those), "study.")
