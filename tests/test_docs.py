"""What the documentation points to exists: files, headings, modules and names."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from .source_tree import AROUND, LAYERS, ROOT, files

PAGES = [*ROOT.glob("*.md"), *(path for path in files("docs", *AROUND) if path.suffix == ".md")]
PAST = {ROOT / "CHANGELOG.md"}
"""Tells of earlier versions, whose files may be gone; its links must still work."""

FILES = [path.relative_to(ROOT) for path in files(*LAYERS, *AROUND, "docs")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join((*LAYERS, *AROUND, 'docs'))})/[\w./-]*\w")
PYTHON_FILE = re.compile(r"(?<![\w./-])\w+\.py\b")
DOTTED = re.compile(r'(?<!")\barchloom(?:\.\w+)+')
"""Not in double quotes, which the groups of entry points stand in."""

IMPORT = re.compile(r"^from (archloom[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def link_errors(page: Path, text: str) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    errors = []
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            errors.append(f"{link}: no such file")
        elif anchor and anchor not in headings(target.read_text()):
            errors.append(f"{link}: no such heading")
    return errors


def path_errors(text: str) -> list[str]:
    """Return the paths and names of Python files that are nowhere in the repository."""
    # and what a page tells its reader to write
    names = {path.name for path in FILES} | set(re.findall(r'^```\w+ title="(.+)"$', text, re.M))
    wrong = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    return wrong + [name for name in PYTHON_FILE.findall(text) if name not in names]


def name_errors(text: str) -> list[str]:
    """Return the dotted names of the package, and names imported from it, that it has not."""
    imported = [f"{m}.{n.strip()}" for m, ns in IMPORT.findall(text) for n in ns.split(",")]
    return [name for name in (*DOTTED.findall(text), *imported) if not resolves(name)]


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or what a chain of attributes of one leads to."""
    parts = name.split(".")
    known = len(parts)
    while known > 1 and not is_module(".".join(parts[:known])):
        known -= 1
    value: object = import_module(".".join(parts[:known])) if known < len(parts) else None
    for attribute in parts[known:]:
        # fields of dataclasses without a default are no attributes of their class
        if not hasattr(value, attribute) and attribute not in getattr(value, "__annotations__", ()):
            return False
        value = getattr(value, attribute, None)
    return True


def is_module(name: str) -> bool:
    """Whether there is a module of this name."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_to_exists(page: Path) -> None:
    text = page.read_text()
    assert link_errors(page, text) == []
    if page not in PAST:
        assert path_errors(text) == []
        assert name_errors(text) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("see [there](no_such.md)", "no_such.md: no such file"),
        ("see [there](../../README.md#no-such)", "../../README.md#no-such: no such heading"),
        ("see [here](#no-such)", "#no-such: no such heading"),
    ],
)
def test_the_check_of_links_finds(text: str, error: str) -> None:
    assert link_errors(ROOT / "docs" / "explanation" / "model.md", text) == [error]


def test_the_check_of_links_allows() -> None:
    text = "[a](../../README.md) [b](../../README.md#in-short) [c](https://example.org/x)"
    assert link_errors(ROOT / "docs" / "explanation" / "model.md", text) == []


@pytest.mark.parametrize("text", ["`space/no_such.py`", "in search/no/such", "`no_such_file.py`"])
def test_the_check_of_paths_finds(text: str) -> None:
    assert len(path_errors(text)) == 1


def test_the_check_of_paths_allows() -> None:
    text = "`space/workload/layer.py`, `layer.py`, `search/`, `docs/index.md`, research/x.py"
    assert path_errors(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "archloom.no_such",
        "archloom.space.workload.NoSuch",
        "archloom.space.workload.layer.Layer.no_such",
        "from archloom.space.workload import Layer, NoSuch",
    ],
)
def test_the_check_of_names_finds(text: str) -> None:
    assert len(name_errors(text)) == 1


def test_the_check_of_names_allows() -> None:
    text = '`archloom.space.workload.layer.Layer.macs`, ["archloom.budget_allocators"]'
    assert name_errors(f"{text}\nfrom archloom.space.workload import Layer, Network") == []
