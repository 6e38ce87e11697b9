"""Habits that keep the code readable, checked on every file."""

import ast
import re
from pathlib import Path
from tomllib import loads

import pytest

from .source_tree import AROUND, LAYERS, ROOT, files, modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
"""Without signature and docstring: what fits on a screen."""

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
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))
    ]


@pytest.mark.parametrize("path", modules(*LAYERS, *AROUND), ids=relative)
def test_files_and_functions_are_short(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= MAX_FILE_LINES
    long = {
        f"{node.name} at line {node.lineno}": body_lines(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_lines(node) > MAX_FUNCTION_LINES
    }
    assert long == {}


@pytest.mark.parametrize("path", TEXT, ids=relative)
def test_nothing_is_unfinished_or_bound_to_one_machine(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        assert not UNFINISHED.search(line), f"line {number} is unfinished: {line}"
        assert not PRIVATE_PATH.search(line), f"line {number} has a private path: {line}"


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
    assert set(listed["packages"]) == set(listed["package-dir"]) == names


def test_the_checks_find_what_they_look_for() -> None:
    assert UNFINISHED.search("# TO" + "DO: later")
    assert PRIVATE_PATH.search("open('/ho" + "me/me/x')")
    assert not PRIVATE_PATH.search("see docs/home/page")
    assert broad_handlers("try: ...\nexcept Exception: ...") == [2]
    assert broad_handlers("try: ...\nexcept (ValueError, BaseException): ...") == [2]
    assert broad_handlers("try: ...\nexcept: ...") == [2]
    assert broad_handlers("try: ...\nexcept ValueError: ...") == []
    function = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == 1
