"""JSON schema of study files: of accelerators, or of kind stack."""

from typing import Any

from archloom.studies.config import StudyConfig
from archloom.studies.solve.stack import StackConfig

from .docstrings import described


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of a study file; names are those of all installed parts."""
    plain, stack = described(StudyConfig.form()), described(StackConfig.form())
    stack["properties"] = {"kind": {"const": "stack"}, **stack["properties"]}
    for form in (plain, stack):
        # the file's name, where it says none
        form["required"] = [key for key in form["required"] if key != "name"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Archloom study file",
        "type": "object",
        "if": {"required": ["kind"]},
        "then": {"$ref": "#/$defs/stack"},
        "else": {"$ref": "#/$defs/study"},
        "$defs": {"study": plain, "stack": stack},
    }
