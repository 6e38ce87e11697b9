"""Lazy names of packages: each is imported from its module when it is first asked for.

An ``__init__.py`` lists the names that other packages may use as imports under
``if TYPE_CHECKING``. Type checkers and readers see ordinary imports; at run time a package loads
a module when one of its names is used, so that nobody pays for what is not needed.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

#: an import under a condition, of names or of modules, in one line or in brackets
_IMPORT: Final = re.compile(r"^    from \.([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME: Final = re.compile(r"(\w+) as \w+")


def exported(path: Path) -> dict[str, str]:
    """Return the names that an ``__init__.py`` lists, each with the module that defines it.

    A module that is listed itself has an empty one. The file is read as text: some thirty are read
    before a command begins, and to parse them takes longer than to import most.
    """
    return {
        name: module
        for module, names in _IMPORT.findall(path.read_text("utf-8"))
        for name in _NAME.findall(names)
    }


def lazy_exports(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package: ``__name__`` of the package.
        file: ``__file__`` of the package.
    """
    names = exported(Path(file))

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object
        if names[name]:
            found = getattr(import_module(f"{package}.{names[name]}"), name)
        else:
            found = import_module(f"{package}.{name}")
        # functions that import when they are called ask thousands of times
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted(names), sorted(names)
