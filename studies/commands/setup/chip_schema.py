"""JSON schema of chip files."""

from typing import Any

from archloom.studies.analysis.published_chips import ChipFile

from .docstrings import described


def chip_schema() -> dict[str, Any]:
    """Return the JSON schema of a chip file; names are those of all installed parts."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Archloom chip file",
        **described(ChipFile.form()),
    }
