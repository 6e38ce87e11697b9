"""Reading what simulators computed, where they were installed, from the files of the package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Recorded:
    """What a simulator answered.

    Attributes:
        source: the simulator with its version, and the day on which it was run.
        rows: requests, each with what was ``found``.
    """

    source: str
    rows: tuple[Mapping[str, Any], ...]


def recorded(name: str, title: str, package: str) -> Recorded:
    """Return what a simulator answered.

    Args:
        name: of the file.
        title: of the simulator.
        package: whose version is named.
    """
    found = json.loads((FOLDER / f"{name}.json").read_text())
    versions = found["versions"]
    source = (
        f"{title} {versions[package]}, recorded by us with Python {versions['python']} on "
        f"{found['date']}"
    )
    return Recorded(source, tuple(found["rows"]))
