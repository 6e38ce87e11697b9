"""Parameters of a factory, read from its source: to import it may take a second.

Who has a typo in a study file should not wait for what the file's parts import. Only plain sources
are read: a function, a class with its own ``__init__`` or that of a base, a data class without a
base; defaults that are literals; types of Python's own, and ``Literal`` under a name. Of all others
the factory must be imported.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, resolve_name
from inspect import Parameter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

#: types that an annotation may be made of
_TYPES: Final[dict[str, Any]] = {"int": int, "float": float, "str": str, "bool": bool}

#: bases without parameters of their own
_BARE: Final = ("ABC", "Generic", "Protocol", "object")


@cache
def source_parameters(module: str, attribute: str, given: int = 0) -> tuple[Parameter, ...] | None:
    """Return the parameters of ``module:attribute`` but for the first, ``given``, ones; None if its
    source is not plain.

    Annotations are those of the source: a type where it is one of Python's own or a ``Literal``,
    else a text. Types of the first ones are not looked for: they stand in other modules.
    """
    try:
        where, found = _found(module, attribute)
        if isinstance(found, ast.FunctionDef):
            return tuple(one.parameter() for one in where.of_function(found)[given:])
        if isinstance(found, ast.ClassDef):
            return tuple(one.parameter() for one in where.of_class(found)[given:])
    except (ValueError, LookupError):
        pass  # a default that is no literal, or a name that is not where it was looked for
    return None


@cache
def _source(module: str) -> "_Source":
    """Raises LookupError: there is no such source."""
    spec = find_spec(module)
    if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
        raise LookupError(module)
    return _Source(module, ast.parse(Path(spec.origin).read_text("utf-8")))


def _found(module: str, name: str) -> "tuple[_Source, ast.stmt]":
    """Return what a name stands for at the top of a module, and the module that says so.

    Raises:
        LookupError: nothing that can be read.
    """
    source = _source(module)
    for node in source.tree.body:
        if name in _defined(node):
            return source, node
        if isinstance(node, ast.ImportFrom) and any(a.name == name for a in node.names):
            package = module.rpartition(".")[0]
            return _found(resolve_name("." * node.level + (node.module or ""), package), name)
    raise LookupError(name)


def _defined(node: ast.stmt) -> Iterator[str]:
    """Yield the name that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


class _Written(NamedTuple):
    """A parameter as it is written in a source."""

    where: "_Source"
    name: str
    annotation: ast.expr | None
    default: ast.expr | None

    def parameter(self) -> Parameter:
        """Raises ValueError: its default is no literal."""
        empty, default, annotation = Parameter.empty, self.default, self.annotation
        return Parameter(
            self.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=empty if default is None else ast.literal_eval(default),
            annotation=empty if annotation is None else self.where.type_of(annotation),
        )


@dataclass(frozen=True)
class _Source:
    """The source of a module."""

    module: str
    tree: ast.Module

    def of_class(self, node: ast.ClassDef) -> tuple[_Written, ...]:
        """Raises ValueError, LookupError: it is not plain."""
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                return self.of_function(inner)[1:]
        if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            return self._of_fields(node)
        for base in node.bases:
            name = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
            if name not in _BARE:
                where, found = _found(self.module, name)
                if not isinstance(found, ast.ClassDef):
                    raise LookupError(name)
                if parameters := where.of_class(found):
                    return parameters
        return ()

    def _of_fields(self, node: ast.ClassDef) -> tuple[_Written, ...]:
        fields = [inner for inner in node.body if isinstance(inner, ast.AnnAssign)]
        if node.bases or any("ClassVar" in ast.unparse(field.annotation) for field in fields):
            raise ValueError("not plain")
        return tuple(
            _Written(self, ast.unparse(field.target), field.annotation, field.value)
            for field in fields
        )

    def of_function(self, node: ast.FunctionDef) -> tuple[_Written, ...]:
        """Raises ValueError: it is not plain."""
        given = [*node.args.posonlyargs, *node.args.args]
        if node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            raise ValueError("not plain")
        defaults = [None] * (len(given) - len(node.args.defaults)) + list(node.args.defaults)
        pairs = zip(given, defaults, strict=True)
        return tuple(_Written(self, one.arg, one.annotation, default) for one, default in pairs)

    def type_of(self, annotation: ast.expr) -> Any:
        """Return a type, or the text of one that only the module itself knows."""
        text = ast.unparse(annotation)
        if text in _TYPES or not isinstance(annotation, ast.Name):
            return _TYPES.get(text, text)
        try:
            _, found = _found(self.module, text)
        except LookupError:
            return text
        value = found.value if isinstance(found, ast.Assign) else None
        if not isinstance(value, ast.Subscript) or ast.unparse(value.value) != "Literal":
            return text
        words = ast.literal_eval(value.slice)
        return Literal[words]
