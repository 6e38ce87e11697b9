"""Technology tables that come with the package, by name."""

from functools import cache

from archloom.space import did_you_mean

from .reader import FOLDER, read_technology
from .table import Technology


def technology_names() -> list[str]:
    """Return the names of the tables that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def technology(name: str) -> Technology:
    """Return the technology table called ``name``.

    Raises:
        ValueError: an unknown name (the message names the nearest), or a faulty table.
    """
    known = technology_names()
    if name not in known:
        raise ValueError(f"technology {name!r} is not known; {did_you_mean(name, known)}")
    return read_technology(FOLDER / f"{name}.yaml")
