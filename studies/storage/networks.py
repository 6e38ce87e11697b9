"""Workloads that a study keeps, and the template of its designs as a file."""

import atexit
import os
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import yaml

from archloom.space import Faults, parse_yaml
from archloom.studies.config import EntryError, Location, Workload, is_file, load_workloads

from ..errors import UserError

if TYPE_CHECKING:
    from .header import Header


def kept_workloads(location: Location, header: "Header") -> tuple[Workload, ...]:
    """Return the workloads that a study keeps, whatever became of the files they came from.

    Raises:
        UserError: this version of archloom no longer has a network, or option, of that name.
    """
    try:
        folder = location if isinstance(location, Path) else Path()
        return load_workloads(header.config["workloads"], folder, header.networks)
    except EntryError as error:
        faults = "; ".join(str(error).splitlines())
        raise UserError(
            f"{location}: {faults}; use the version that started the study: {header.archloom}"
        ) from None


def stored_networks(workloads: Sequence[Workload]) -> dict[int, str]:
    """Return JSON of those networks that a study must keep, by position: with all their forms."""
    from archloom.space.design_space.compression import forms_to_text
    from archloom.space.workload import to_text

    return {
        i: to_text(one.network) if one.forms is None else forms_to_text(one.forms)
        for i, one in enumerate(workloads)
        if is_file(one.reference)
    }


#: Keys that templates need today, and what designs had where studies began without.
_LATER_KEYS: Final = {"vector_lanes": 1}


def template_file(location: Location, header: "Header") -> Path:
    """Return a file with the template that a study keeps: its own, or one made for this process.

    One that began when a key could be left out goes on with what that key then was.
    """
    text = _completed(header.space_text)
    if isinstance(location, Path) and text is header.space_text:
        return location.resolve() / header.space_file
    digest = sha256(text.encode()).hexdigest()
    path = _scratch(os.getpid()) / digest / header.space_file.name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def _completed(text: str) -> str:
    """Return a template with all keys that it needs today; the same text if it has them."""
    if all(re.search(rf"(?m)^{key}:", text) for key in _LATER_KEYS):
        return text
    data = parse_yaml(text, "", Faults()).data
    if not isinstance(data, dict) or data.keys() >= _LATER_KEYS.keys():
        return text
    return yaml.safe_dump(_LATER_KEYS | data, sort_keys=False)


@cache
def _scratch(process: int) -> Path:
    """Return a folder that is gone when this process ends; one that it forks leaves it alone."""
    folder = Path(mkdtemp(prefix="archloom-"))

    def end() -> None:
        if os.getpid() == process:
            rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return folder
