"""``archloom init``: a directory with a study, and the hardware that it chooses from."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from archloom.space import did_you_mean
from archloom.studies.commands.options import Argument, Option, echo

from ...errors import UserError, writing
from .schema_command import schema_text

INIT_EXAMPLES: Final = (
    "archloom init my_study",
    "archloom init my_study --template npu",
    "archloom init my_chip --template chip",
)

_STARTERS: Final = Path(__file__).with_name("starters")

#: name that stands in the starters for that of the directory
_PLACEHOLDER: Final = "my_study"


@dataclass(frozen=True)
class _File:
    """A file of a starter.

    Attributes:
        about: what it is for.
        schema: name of its JSON schema's file, for editors.
        kind: of that schema.
    """

    about: str
    schema: str
    kind: str


_CHIP: Final = "chip"
_STUDY_FILES: Final = {
    "study.yaml": _File("networks, objectives and search budget", "study.schema.json", "study"),
    "hardware.yaml": _File(
        "hardware template with the parameters to search", "hardware.schema.json", "template"
    ),
}
_CHIP_FILES: Final = {
    "chip.yaml": _File("measured figures of a chip and its layers", "chip.schema.json", "chip"),
    "hardware.yaml": _File("hardware template of the chip", "hardware.schema.json", "template"),
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
            "register files and shared memory) or systolic (a systolic array with accumulators); "
            "or chip, for a file that archloom validate compares with the model.",
        ),
    ] = "edge",
) -> None:
    """Write a study file and a hardware template to edit; they run without changes.

    The study file names networks, objectives and the search budget. The template defines the
    hardware and the parameters that the search may change. With --template chip, a file of measured
    figures takes the place of the study file. Existing files are never overwritten.
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
    of = _CHIP_FILES if template == _CHIP else _STUDY_FILES
    files = {directory / name: file for name, file in of.items()}
    schemas = {directory / file.schema: file.kind for file in of.values()}
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
    for path, file in files.items():
        text = (_STARTERS / template / path.name).read_text("utf-8")
        text = text.replace(f"name: {_PLACEHOLDER}", f"name: {name}")
        text = re.sub(rf"{_PLACEHOLDER}/(\w+\.yaml)", rf"{re.escape(str(directory))}/\1", text)
        _write(path, f"# yaml-language-server: $schema={file.schema}\n{text}")
        echo(f"wrote {path}: {file.about}")
    echo(f"wrote {' and '.join(map(str, schemas))}: JSON schemas for editors")
    echo("Next:")
    for line in _next(directory, template, name):
        echo(f"  {line}")


def _next(directory: Path, template: str, name: str) -> list[str]:
    """Return the commands that come next."""
    look = f"archloom hardware {directory / 'hardware.yaml'}"
    if template == _CHIP:
        chip = directory / "chip.yaml"
        return [look, f"archloom validate {chip}", f"archloom validate {chip} --plot {name}.png"]
    return [look, f"archloom run {directory / 'study.yaml'}", f"archloom report runs/{name}"]


def _write(path: Path, text: str) -> None:
    # "x": nobody may have written it meanwhile
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(text)


def _study_name(directory: Path) -> str:
    """Return the name of a directory, as a study may be called."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", directory.resolve().name).lstrip("_.-")
    return name or _PLACEHOLDER
