"""Templates and presets that come with archloom, by name.

What reads their files takes longer to import than most mistakes take to be told, and the names
alone are enough for many of these.
"""

from pathlib import Path
from typing import Final

from ..errors import did_you_mean

_TEMPLATES: Final = Path(__file__).with_name("templates")
# not called "presets": a type checker would take that folder for the module
_PRESETS: Final = Path(__file__).with_name("accelerators")

TEMPLATES: Final = tuple(sorted(path.stem for path in _TEMPLATES.glob("*.yaml")))
"""Names of the built-in templates."""

PRESETS: Final = tuple(sorted(path.stem for path in _PRESETS.glob("*.yaml")))
"""Names of the accelerators."""


def shipped_file(name: str) -> Path | None:
    """Return the file of a template or a preset; None if there is none of that name."""
    if name in TEMPLATES:
        return _TEMPLATES / f"{name}.yaml"
    return _PRESETS / f"{name}.yaml" if name in PRESETS else None


def preset_file(name: str) -> Path:
    """Return the file that has a preset's numbers and their sources.

    Raises:
        ValueError: there is none of that name; names the nearest that there are.
    """
    if name not in PRESETS:
        raise ValueError(f"preset {name!r} is not known; {did_you_mean(name, PRESETS)}")
    return _PRESETS / f"{name}.yaml"
