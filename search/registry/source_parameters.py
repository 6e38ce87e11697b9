"""Parameters of a factory, read from its source: to import it may take a second.

Who has a typo in a study file should not wait for what the file's parts import. Only plain sources
are read: a function, a class with its own ``__init__``, a data class without a base; defaults that
are literals, and types without names of their own. Of all others the factory must be imported.
"""

import ast
from functools import cache
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from typing import Any, Final

#: types that an annotation may be made of
_TYPES: Final[dict[str, Any]] = {"int": int, "float": float, "str": str, "bool": bool}


@cache
def source_parameters(module: str, attribute: str) -> tuple[Parameter, ...] | None:
    """Return the parameters of ``module:attribute``; None if its source is not plain.

    Annotations are those of the source: a type where it is one of Python's own, else a text.
    """
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    found = next((node for node in tree.body if getattr(node, "name", None) == attribute), None)
    try:
        if isinstance(found, ast.FunctionDef):
            return _of_function(found)
        if isinstance(found, ast.ClassDef):
            return _of_class(found)
    except ValueError:
        pass  # a default that is no literal
    return None


def _of_class(node: ast.ClassDef) -> tuple[Parameter, ...] | None:
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return _of_function(inner)[1:]
    if node.bases or not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        return None
    fields = [inner for inner in node.body if isinstance(inner, ast.AnnAssign)]
    if any("ClassVar" in ast.unparse(field.annotation) for field in fields):
        return None
    return tuple(
        _parameter(ast.unparse(field.target), field.annotation, field.value) for field in fields
    )


def _of_function(node: ast.FunctionDef) -> tuple[Parameter, ...]:
    given = [*node.args.posonlyargs, *node.args.args]
    if node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
        raise ValueError("not plain")
    defaults = [None] * (len(given) - len(node.args.defaults)) + list(node.args.defaults)
    pairs = zip(given, defaults, strict=True)
    return tuple(_parameter(one.arg, one.annotation, default) for one, default in pairs)


def _parameter(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Parameter:
    text = Parameter.empty if annotation is None else ast.unparse(annotation)
    return Parameter(
        name,
        Parameter.POSITIONAL_OR_KEYWORD,
        default=Parameter.empty if default is None else ast.literal_eval(default),
        annotation=_TYPES.get(str(text), text),
    )
