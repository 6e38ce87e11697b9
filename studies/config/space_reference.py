"""Hardware spaces that study files name: built-in templates, presets, template files, or this
machine."""

import sys
from pathlib import Path
from typing import Final

from archloom.space import Infeasible

from ..errors import UserError
from .sections import Reading
from .workload_reference import absolute

#: name of the machine that this runs on
HOST: Final = "host"


def readable_space(value: str, beside: Reading) -> str:
    """Return the location of a hardware space, which is loaded once, so that its errors are
    reported with the file's; what comes with archloom has none."""
    from archloom.space.design_space import shipped_file

    found = _space_location(value, beside.folder)
    if shipped_file(found) is None:
        _load(found, value)
    return found


def _load(location: str, value: str) -> None:
    """Load a hardware space of a user; raises ValueError if that or its price fails."""
    from archloom.space.design_space import HardwareSpace

    try:
        space = HardwareSpace.load(location)
    except OSError as error:
        raise ValueError(f"{value!r} cannot be read: {error.strerror or error}") from None
    from archloom.evaluators import hardware_cost
    from archloom.evaluators.technology import technology

    # these raise if the template names a technology, a memory or a unit that cannot be priced
    technology(space.technology).dram(space.template.dram)
    first = space.build({p.name: p.values[0] for p in space.parameters})
    if not isinstance(first, Infeasible):
        hardware_cost(first)


def _space_location(value: str, folder: Path) -> str:
    """Return a built-in name as it is, and a path made absolute from ``folder``.

    This machine is the file of its template, which the study keeps like any other.
    """
    if value == HOST:
        return str(host_file())
    if "/" not in value and not value.endswith((".yaml", ".yml")):
        return value
    return str(absolute(value, folder).resolve())


def host_file() -> Path:
    """Return the template of this machine, which is measured where there is none yet.

    Raises:
        UserError: it cannot be measured or kept.
    """
    from archloom.evaluators.host.machine import HostError, kept_template

    try:
        return kept_template(lambda message: print(message, file=sys.stderr))
    except HostError as error:
        raise UserError(f"{HOST}: {error}") from None


def space_text(location: str) -> str:
    """Return the text of a template, built-in or a file, that was found to be valid."""
    from archloom.space.design_space import shipped_file

    return (shipped_file(location) or Path(location)).read_text("utf-8")
