"""``archloom init``: a directory with a study, and the hardware that it chooses from."""

import re
from pathlib import Path
from typing import Annotated, Final

from archloom.space import did_you_mean
from archloom.studies.commands.options import Argument, Option, echo

from ...errors import UserError, writing
from .schema_command import schema_text

INIT_EXAMPLES: Final = ("archloom init my_study", "archloom init my_study --template npu")

_STARTERS: Final = Path(__file__).with_name("starters")

#: name that stands in the starters for that of the directory
_PLACEHOLDER: Final = "my_study"

#: what the files of a directory are for
_FILES: Final = {
    "study.yaml": "networks, objectives and search budget",
    "hardware.yaml": "hardware template with the parameters to search",
}

#: for editors: by file, its schema's file and kind
_SCHEMAS: Final = {
    "study.yaml": ("study.schema.json", "study"),
    "hardware.yaml": ("hardware.schema.json", "template"),
}


def templates() -> list[str]:
    """Return the names of the starters."""
    return sorted(path.name for path in _STARTERS.iterdir())


def init(
    directory: Annotated[
        Path, Argument("[DIR]", "Directory to write the files to (default: my_study).")
    ] = Path(_PLACEHOLDER),
    template: Annotated[
        str,
        Option(
            "--template",
            metavar="NAME",
            help="Kind of hardware to start from: edge (scalar PEs with scratchpads, like "
            "Eyeriss), npu (cores of output-stationary PEs), gpu_like (many small cores with "
            "register files and shared memory) or systolic (a systolic array with accumulators).",
        ),
    ] = "edge",
) -> None:
    """Write a study file and a hardware template to edit; they run without changes.

    The study file names networks, objectives and the search budget. The template defines the
    hardware and the parameters that the search may change. Existing files are never overwritten.
    """
    write_starter(directory, template)


def write_starter(directory: Path, template: str) -> None:
    """Write a starter into a directory, and say what to do next.

    Raises:
        UserError: there is no such starter, or one of its files is there already.
        TroubleError: something cannot be written.
    """
    if template not in (known := templates()):
        raise UserError(f"--template {template!r} is unknown; {did_you_mean(template, known)}")
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; choose another directory")
    files = {directory / name: about for name, about in _FILES.items()}
    schemas = {directory / file: kind for file, kind in _SCHEMAS.values()}
    if there := [str(path) for path in (*files, *schemas) if path.exists()]:
        raise UserError(
            f"{' and '.join(there)} would be overwritten; choose another directory, or move "
            f"{'it' if len(there) == 1 else 'them'} away"
        )
    name = _study_name(directory)
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for path, kind in schemas.items():
        _write(path, schema_text(kind) + "\n")
    for path, about in files.items():
        text = (_STARTERS / template / path.name).read_text("utf-8")
        text = text.replace(f"name: {_PLACEHOLDER}", f"name: {name}")
        text = text.replace(f"{_PLACEHOLDER}/study.yaml", str(directory / "study.yaml"))
        _write(path, f"# yaml-language-server: $schema={_SCHEMAS[path.name][0]}\n{text}")
        echo(f"wrote {path}: {about}")
    echo(f"wrote {' and '.join(map(str, schemas))}: JSON schemas for editors")
    study = directory / "study.yaml"
    echo("Next:")
    echo(f"  archloom hardware {directory / 'hardware.yaml'}")
    echo(f"  archloom run {study}")
    echo(f"  archloom report runs/{name}")


def _write(path: Path, text: str) -> None:
    # "x": nobody may have written it meanwhile
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(text)


def _study_name(directory: Path) -> str:
    """Return the name of a directory, as a study may be called."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", directory.resolve().name).lstrip("_.-")
    return name or _PLACEHOLDER
