"""Habits that keep the code readable, checked on every file."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tomllib import loads

from .source_tree import AROUND, LAYERS, ROOT, all_statements, files, modules, tree

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
"""Without signature and docstring: what fits on a screen."""
MAX_PARAMETERS = 8
"""Of functions where kernels stand; ``self`` does not count."""

TEXT = [
    *(path for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".txt"}),
    *(ROOT / name for name in ("Makefile", ".ci/run")),
    *(p for p in files(*LAYERS, *AROUND, "docs") if p.suffix in {".md", ".py", ".yaml"}),
]

UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b|raise NotImplemented" + "Error")
PRIVATE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")
IGNORE = re.compile(r"#\s*type:\s*ignore(\[[\w-]+\])?")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    assert body[-1].end_lineno is not None
    return body[-1].end_lineno - body[0].lineno + 1


def broad_handlers(source: str) -> list[int]:
    """Return the lines of ``except`` clauses that catch every exception."""
    return [
        node.lineno
        for node in all_statements(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))
    ]


def too_long(source: str) -> Iterator[str]:
    """Yield what is longer than a file or a function may be."""
    if (count := len(source.splitlines())) > MAX_FILE_LINES:
        yield f"{count} lines"
    for node in all_statements(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = body_lines(node)
            if count > MAX_FUNCTION_LINES:
                yield f"{node.name} at line {node.lineno}: {count} lines"


def wide(source: str) -> Iterator[str]:
    """Yield the functions that take too many parameters."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [
                a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            ]
            count = len(names) - (names[:1] in (["self"], ["cls"]))
            if count > MAX_PARAMETERS:
                yield f"{node.name} at line {node.lineno}: {count} parameters"


def unfit(text: str) -> Iterator[str]:
    """Yield the lines that are unfinished or work on one machine only."""
    for number, line in enumerate(text.splitlines(), start=1):
        if UNFINISHED.search(line):
            yield f"line {number} is unfinished: {line}"
        if PRIVATE_PATH.search(line):
            yield f"line {number} has a private path: {line}"


def faults(paths: Iterable[Path], found_in: Callable[[str], Iterable[str]]) -> list[str]:
    """Return what is found in all the files, each with the name of its file."""
    return [f"{relative(path)}: {what}" for path in paths for what in found_in(path.read_text())]


def test_files_and_functions_are_short() -> None:
    assert faults(modules("archloom", *LAYERS, *AROUND), too_long) == []


def test_functions_take_records_instead_of_many_parameters() -> None:
    assert faults(modules("evaluators", "surrogates", "search"), wide) == []


def test_nothing_is_unfinished_or_bound_to_one_machine() -> None:
    assert faults(TEXT, unfit) == []


def test_every_oracle_says_what_it_is_independent_of() -> None:
    """Otherwise nobody knows which fault it cannot share with the code under test."""
    oracles = [path for path in modules("tests/oracles") if path.name != "__init__.py"]
    docstrings = {path.name: ast.get_docstring(tree(path)) or "" for path in oracles}
    assert docstrings
    assert [name for name, text in docstrings.items() if "\nIndependent of: " not in text] == []


def test_one_place_turns_a_crash_into_data() -> None:
    found = [
        f"{relative(path)}:{line}"
        for path in modules(*LAYERS)
        for line in broad_handlers(path.read_text())
    ]
    assert len(found) <= 1, f"more than one except catches everything: {found}"


def test_type_checks_are_hardly_ever_switched_off() -> None:
    lines = [line for path in modules(*LAYERS) for line in path.read_text().splitlines()]
    ignores = [match for line in lines if (match := IGNORE.search(line))]
    assert all(match[1] for match in ignores), "a type: ignore must name the error it hides"
    assert len(ignores) <= 1 + len(lines) // 1000


def test_every_folder_of_modules_is_packaged() -> None:
    """A sub-package that pyproject.toml does not list would be missing from the wheel."""
    listed = loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    names = {f"archloom.{'.'.join(p.parent.relative_to(ROOT).parts)}" for p in modules(*LAYERS)}
    assert set(listed["packages"]) == names | {"archloom"}
    folders = {f"archloom.{layer}": layer for layer in LAYERS}
    assert listed["package-dir"] == folders | {"archloom": "archloom"}


def test_the_checks_find_what_they_look_for() -> None:
    assert UNFINISHED.search("# TO" + "DO: later")
    assert PRIVATE_PATH.search("open('/ho" + "me/me/x')")
    assert not PRIVATE_PATH.search("see docs/home/page")
    assert list(unfit("one\n# TO" + "DO: later")) == ["line 2 is unfinished: # TO" + "DO: later"]
    assert list(too_long("x = 1\n" * 401)) == ["401 lines"]
    assert list(too_long("def f():\n" + "    x = 1\n" * 61)) == ["f at line 1: 61 lines"]
    assert list(too_long("def f():\n" + "    x = 1\n" * 60)) == []
    assert broad_handlers("try: ...\nexcept Exception: ...") == [2]
    assert broad_handlers("try: ...\nexcept (ValueError, BaseException): ...") == [2]
    assert broad_handlers("try: ...\nexcept: ...") == [2]
    assert broad_handlers("try: ...\nexcept ValueError: ...") == []
    function = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == 1
