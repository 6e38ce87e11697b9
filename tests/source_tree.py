"""The repository as the tests of its structure see it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from archloom.space.exports import exported

ROOT = Path(__file__).parents[1]
LAYERS = ("space", "evaluators", "surrogates", "search", "studies")
"""Folders of the package; each may import from those before it, and from itself."""

AROUND = ("tests", "benchmarks", "examples")
"""Folders of code that uses the package from outside."""


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """Return every file in the folders but caches, sorted."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return tuple(sorted(path for path in found if "__pycache__" not in path.parts))


@cache
def modules(*folders: str) -> tuple[Path, ...]:
    """Return every Python file in the folders."""
    return tuple(path for path in files(*folders) if path.suffix == ".py")


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file; several tests look at each."""
    return ast.parse(path.read_text())


def packages() -> list[Path]:
    """Return the folder of every package of the five layers."""
    return sorted({path.parent for path in modules(*LAYERS)})


@cache
def module_name(path: Path) -> str:
    """Return the dotted name that a file of the five layers is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("archloom", *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def package_name(folder: Path) -> str:
    """Return the dotted name of the package in a folder."""
    return module_name(folder / "__init__.py")


def package_of(path: Path) -> str:
    """Return the dotted name of the package that a file is in, or that it makes."""
    return package_name(path.parent)


@cache
def exports(package: str) -> dict[str, str]:
    """Return the names that a package lists for others, each with the module it stands in."""
    folder = ROOT.joinpath(*package.split(".")[1:])
    return {
        name: f"{package}.{module}" if module else f"{package}.{name}"
        for name, module in exported(folder / "__init__.py").items()
    }


def imports(node: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Yield (absolute name of what is imported from, name) of an import statement."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parent = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*(parent if node.level else []), *filter(None, [node.module])])
        yield from ((base, alias.name) for alias in node.names)


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the absolute names that an import statement may load; nothing for other nodes.

    ``from a import b`` gives ``a.b``, whether or not b is a module.
    """
    for base, name in imports(node, package):
        yield ".".join(filter(None, (base, name)))


def is_type_checking(node: ast.AST) -> bool:
    """Whether the node is an ``if TYPE_CHECKING`` block."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(node: ast.AST, *, into_functions: bool, into_types: bool) -> Iterator[ast.AST]:
    """Yield the statements below ``node`` that run on import, and on request what else there is.

    Args:
        node: where to start.
        into_functions: also what runs when a function is called.
        into_types: also what only a type checker sees.
    """
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not into_functions:
            continue
        if is_type_checking(child) and not into_types:
            continue
        yield child
        yield from statements(child, into_functions=into_functions, into_types=into_types)


def all_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below ``node``."""
    return statements(node, into_functions=True, into_types=True)


@cache
def sources() -> tuple[Path, ...]:
    """Return the modules that are more than a list of names."""
    return tuple(path for path in modules(*LAYERS) if path.name != "__init__.py")


NAMES = {module_name(path) for path in modules(*LAYERS)}
PACKAGES = {package_name(folder) for folder in packages()}


def inside(name: str, package: str) -> bool:
    """Whether a dotted name is the package or lies in it."""
    return name == package or name.startswith(f"{package}.")


@cache
def targets(path: Path, into_types: bool) -> frozenset[str]:
    """Return the modules that a file imports from, wherever a package lists their names."""
    nodes = statements(tree(path), into_functions=True, into_types=into_types)
    package = package_of(path)
    return frozenset(target for node in nodes for target in resolved(node, package))


def resolved(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that an import statement in ``package`` takes names from."""
    for base, name in imports(node, package):
        if f"{base}.{name}" in NAMES:
            yield f"{base}.{name}"
        elif base in PACKAGES:
            yield exports(base).get(name, base)
        elif base in NAMES:
            yield base
