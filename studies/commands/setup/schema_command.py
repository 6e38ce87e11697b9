"""``archloom schema``: JSON schemas of the files that users write, for editors and other checks."""

import json
from typing import Annotated, Any, Final

from archloom.space import did_you_mean

from ...errors import UserError
from ..options import Argument, echo

SCHEMA_EXAMPLES: Final = (
    "Example: archloom schema study > study.schema.json; archloom schema template"
)

KINDS: Final = ("study", "template")


def schema(
    kind: Annotated[str, Argument("KIND", "study, or template (of hardware).")],
) -> None:
    """Print the JSON schema of study files or hardware templates: editors complete and check by it.

    A first line such as '# yaml-language-server: $schema=study.schema.json' tells an editor which
    schema a file has; archloom init writes both. What a schema cannot know (files, expressions,
    whether a design fits) archloom run checks.
    """
    if kind not in KINDS:
        raise UserError(f"schema {kind!r} is unknown; {did_you_mean(kind, KINDS)}")
    echo(schema_text(kind))


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    if kind == "study":
        from .study_schema import study_schema

        return study_schema()
    from .template_schema import template_schema

    return template_schema()


def schema_text(kind: str) -> str:
    """Return the schema of a kind of file, as it is written."""
    return json.dumps(schema_of(kind), indent=1)
