"""``archloom schema``: JSON schemas of the files that users write, for editors and other checks."""

from typing import Annotated, Any, Final

from archloom.space import did_you_mean
from archloom.studies.commands.options import Argument, echo

from ...errors import UserError

SCHEMA_EXAMPLES: Final = (
    "archloom schema study > study.schema.json",
    "archloom schema template > hardware.schema.json",
    "archloom schema chip > chip.schema.json",
)

KINDS: Final = ("study", "template", "chip")


def schema(
    kind: Annotated[
        str,
        Argument(
            "KIND",
            "Kind of file: study, template (hardware template), or chip (measured figures).",
        ),
    ],
) -> None:
    """Print the JSON schema of study files, hardware templates or chip files, for editors.

    The first line '# yaml-language-server: $schema=study.schema.json' of a file tells an editor
    which schema to use; archloom init writes the schemas and these lines. A schema cannot check
    files that are referred to, expressions, or whether a design is feasible; archloom run and
    archloom validate check these.
    """
    if kind not in KINDS:
        raise UserError(f"schema {kind!r} is unknown; {did_you_mean(kind, KINDS)}")
    echo(schema_text(kind))


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    if kind == "study":
        from .study_schema import study_schema

        return study_schema()
    if kind == "chip":
        from .chip_schema import chip_schema

        return chip_schema()
    from .template_schema import template_schema

    return template_schema()


def schema_text(kind: str) -> str:
    """Return the schema of a kind of file, as it is written."""
    import json

    return json.dumps(schema_of(kind), indent=1)
