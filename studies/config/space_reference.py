"""Hardware spaces that study files name: built-in templates, presets, template files, or this
machine."""

from pathlib import Path

from archloom.space import Infeasible

from .hardware_reference import HOST, host_file
from .sections import Reading
from .workload_reference import absolute


def readable_space(value: str, beside: Reading) -> str:
    """Return the location of a hardware space, which is loaded once, so that its errors are
    reported with the file's."""
    from archloom.space.design_space import HardwareSpace

    found = _space_location(value, beside.folder)
    try:
        space = HardwareSpace.load(found)
    except OSError as error:
        raise ValueError(f"{value!r} cannot be read: {error.strerror or error}") from None
    if Path(found).is_absolute():
        from archloom.evaluators import hardware_cost
        from archloom.evaluators.technology import technology

        # these raise if the template names a technology, a memory or a unit that cannot be priced
        technology(space.technology).dram(space.template.dram)
        first = space.build({p.name: p.values[0] for p in space.parameters})
        if not isinstance(first, Infeasible):
            hardware_cost(first)
    return found


def _space_location(value: str, folder: Path) -> str:
    """Return a built-in name as it is, and a path made absolute from ``folder``.

    This machine is the file of its template, which the study keeps like any other.
    """
    if value == HOST:
        return str(host_file())
    if "/" not in value and not value.endswith((".yaml", ".yml")):
        return value
    return str(absolute(value, folder).resolve())


def space_text(location: str) -> str:
    """Return the text of a template, built-in or a file, that was found to be valid."""
    from archloom.space.design_space import PRESETS, hardware_space, preset_file

    if location in hardware_space.TEMPLATES:
        folder = Path(hardware_space.__file__).with_name("templates")
        return (folder / f"{location}.yaml").read_text("utf-8")
    file = preset_file(location) if location in PRESETS else Path(location)
    return file.read_text("utf-8")
