"""The repository as the tests of its structure see it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = ("space", "evaluators", "surrogates", "search", "studies")
"""Folders of the package; each may import from those before it, and from itself."""

AROUND = ("tests", "benchmarks", "examples")
"""Folders of code that uses the package from outside."""


def files(*folders: str) -> list[Path]:
    """Return every file in the folders but caches, sorted."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def modules(*folders: str) -> list[Path]:
    """Return every Python file in the folders."""
    return [path for path in files(*folders) if path.suffix == ".py"]


def module_name(path: Path) -> str:
    """Return the dotted name that a file of the five layers is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("archloom", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the absolute names that an import statement may load; nothing for other nodes.

    ``from a import b`` gives ``a.b``, whether or not b is a module.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parent = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*(parent if node.level else []), *filter(None, [node.module])])
        yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def is_type_checking(node: ast.AST) -> bool:
    """Whether the node is an ``if TYPE_CHECKING`` block."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(node: ast.AST, *, into_functions: bool, into_types: bool) -> Iterator[ast.AST]:
    """Yield the nodes below ``node`` that run on import, and on request what else there is.

    Args:
        node: where to start.
        into_functions: also what runs when a function is called.
        into_types: also what only a type checker sees.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not into_functions:
            continue
        if is_type_checking(child) and not into_types:
            continue
        yield child
        yield from statements(child, into_functions=into_functions, into_types=into_types)
