"""What decides results on a machine: versions of packages, and a digest of archloom's sources.

It runs on nodes that may have another archloom, or none. So it travels as code, and imports
nothing but the standard library.
"""

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

#: packages that decide what figures a worker finds, or whether it runs at all
_PACKAGES: Final = ("archloom", "ray", "numpy", "numba", "llvmlite", "scipy")

#: what of archloom a worker runs: folders by their package, all of it where none is named
_SOURCES: Final = {
    "archloom.space": ("",),
    "archloom.evaluators": ("",),
    "archloom.surrogates": ("",),
    "archloom.search": ("",),
    "archloom.studies": ("engine", "solve", "storage"),
}

#: files that are code, or that code reads
_KINDS: Final = (".py", ".yaml", ".csv")


def node_facts() -> dict[str, str]:
    """Return what must be equal on two machines for the same results, by name, as people say it."""
    facts = {"architecture": platform.machine(), "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    facts["sources of archloom"] = _digest()
    return facts


def _digest() -> str:
    """Return a digest of the sources that a worker runs; ``not found`` if some are not there."""
    found = hashlib.blake2b(digest_size=6)
    for package, parts in _SOURCES.items():
        try:
            spec = find_spec(package)
        except ImportError:
            spec = None
        if spec is None or spec.origin is None:
            return "not found"
        home = Path(spec.origin).parent
        for path in sorted(path for part in parts for path in (home / part).rglob("*")):
            if path.suffix in _KINDS and path.is_file():
                found.update(f"{package}/{path.relative_to(home)}\n".encode())
                found.update(path.read_bytes())
    return found.hexdigest()


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Return how another machine differs from this one, for people; empty if it does not."""
    return ", ".join(
        f"{name} {there.get(name, 'unknown')} instead of {wanted}"
        for name, wanted in here.items()
        if there.get(name) != wanted
    )
