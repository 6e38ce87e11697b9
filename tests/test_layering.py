"""Imports go one way: between the five layers, between packages, and between modules."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from archloom.space.exports import exported

from .source_tree import (
    AROUND,
    LAYERS,
    PACKAGES,
    ROOT,
    all_statements,
    exports,
    imported,
    imports,
    inside,
    module_name,
    modules,
    package_name,
    package_of,
    packages,
    sources,
    statements,
    targets,
    tree,
)

HEAVY = ("torch", "botorch", "gpytorch", "optuna", "ray", "plotly", "matplotlib")
"""Packages that take seconds to import: functions that need them import them."""

SLOW_START = (*HEAVY, "numba", "scipy", "deap", "moocore", "jinja2")
"""What `archloom --help` must not load."""

MOST_AT_THE_TOP, MOST_INSIDE = 12, 15
"""Entries of a folder that can be taken in at a glance."""


def import_errors(source: str, package: str) -> list[str]:
    """Return the imports of a module in ``package`` that it should not make.

    A module may use the modules of its own package and of those around it, and of all others
    what their ``__init__.py`` names. It says the former relatively, and other packages by name.
    """
    layer = package.split(".")[1]
    errors = []
    for node in all_statements(ast.parse(source)):
        for base, name in imports(node, package):
            root, *rest = base.split(".")
            if root in LAYERS:
                errors.append(f"line {node.lineno}: bare import of {base}")
            if root != "archloom" or not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            top = rest[0] if rest else name
            if top not in LAYERS or LAYERS.index(top) > LAYERS.index(layer):
                errors.append(f"line {node.lineno}: {layer} imports {base}")
                continue
            where = base if base in PACKAGES else base.rpartition(".")[0]
            near = inside(package, where)
            if isinstance(node, ast.Import) or bool(node.level) != near | inside(where, package):
                how = "relatively" if near else "by its name"
                errors.append(f"line {node.lineno}: {base} must be imported {how}")
            elif not near and (base != where or name not in exports(where)):
                errors.append(f"line {node.lineno}: {where} does not offer {base}.{name}")
    return errors


def heavy_errors(source: str) -> list[str]:
    """Return the slow imports that a module makes when it is imported itself."""
    found = statements(ast.parse(source), into_functions=False, into_types=False)
    return [
        f"line {node.lineno}: {name} at module level"
        for node in found
        for name in imported(node, "archloom.any")
        if name.split(".")[0] in HEAVY
    ]


def cycle(graph: dict[str, set[str]]) -> str | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return None


def test_imports_point_left_are_light_and_keep_to_what_packages_offer() -> None:
    errors = {
        module_name(path): found
        for path in sources()
        if (
            found := import_errors(path.read_text(), package_of(path))
            + heavy_errors(path.read_text())
        )
    }
    assert errors == {}


def test_code_around_the_package_imports_it_by_its_name() -> None:
    errors = {
        str(path.relative_to(ROOT)): bare
        for path in modules(*AROUND)
        if (
            bare := {
                name
                for node in all_statements(tree(path))
                for name in imported(node, f"around.{path.parent.name}")
                if name.split(".")[0] in LAYERS
            }
        )
    }
    assert errors == {}


def test_the_root_package_imports_the_api_and_the_command_line_alone() -> None:
    found = {
        module
        for path in modules("archloom")
        for node in all_statements(tree(path))
        for module, _ in imports(node, "archloom")
        if inside(module, "archloom")
    }
    assert found == {"archloom.studies.api", "archloom.studies.commands.cli"}
    assert [heavy_errors(path.read_text()) for path in modules("archloom")] == [[], []]


def test_no_module_imports_itself_through_others() -> None:
    assert cycle({module_name(path): set(targets(path, False)) for path in sources()}) is None


@pytest.mark.parametrize("folder", packages(), ids=package_name)
def test_entries_of_a_package_import_one_way(folder: Path) -> None:
    """Sub-packages never import each other, not even for types; modules only for types."""
    package = package_name(folder)
    entries: dict[str, set[str]] = {}
    typed: dict[str, set[str]] = {}
    for path in sources():
        name = module_name(path)
        if inside(name, package):
            entry = entry_of(name, package)
            for graph, types in ((entries, False), (typed, True)):
                found = {entry_of(t, package) for t in targets(path, types) if inside(t, package)}
                graph.setdefault(entry, set()).update(found - {entry, package})
    folders = {name for name in typed if name in PACKAGES}
    between = {name: typed[name] & folders for name in folders}
    assert [cycle(entries), cycle(between)] == [None, None]


def entry_of(name: str, package: str) -> str:
    depth = package.count(".") + 2
    return ".".join(name.split(".")[:depth])


@pytest.mark.parametrize("folder", packages(), ids=package_name)
def test_a_package_says_what_it_is_and_offers_what_it_has(folder: Path) -> None:
    package = package_name(folder)
    source = (folder / "__init__.py").read_text()
    parsed = ast.parse(source)
    doc = ast.get_docstring(parsed)
    assert doc is not None
    assert len(doc) > 40
    entries = [path for path in folder.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= (MOST_AT_THE_TOP if folder.parent == ROOT else MOST_INSIDE)
    module = import_module(package)
    offered = exports(package)
    # they are read as text, which must not miss what is written in another way
    listed = {
        alias.name: node.module or ""
        for block in parsed.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert exported(folder / "__init__.py") == listed
    for name, home in offered.items():
        whole = getattr(module, name)
        assert home == f"{package}.{name}" or getattr(import_module(home), name) is whole
        # else importing the module would hide the name
        assert home == f"{package}.{name}" or not (folder / f"{name}.py").exists()
        assert home == f"{package}.{name}" or not (folder / name).exists()
        assert not name.startswith("_")


def test_what_a_package_offers_is_used_by_others() -> None:
    used = {
        (base, name)
        for path in [*modules(*LAYERS, *AROUND, "docs")]
        if path.name != "__init__.py"
        for node in all_statements(tree(path))
        for base, name in imports(
            node, package_of(path) if path.parts[len(ROOT.parts)] in LAYERS else "x"
        )
    }
    root = tree(ROOT / "archloom" / "__init__.py")
    used |= {pair for node in all_statements(root) for pair in imports(node, "archloom")}
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    examples = ast.parse("".join(re.findall(r"^from archloom.* import \w.*\n", pages, re.M)))
    used |= {pair for node in examples.body for pair in imports(node, "x")}
    listed = {(package, name) for package in PACKAGES for name in exports(package)}
    assert listed - used == set()


def test_the_command_line_starts_without_slow_packages() -> None:
    assert [name for name in SLOW_START if name in loaded_by("archloom.studies.commands.cli")] == []


def test_a_search_loads_no_other_family() -> None:
    """Random search of hardware needs neither the exact mapper nor a Gaussian process."""
    loaded = loaded_by("archloom.search.hardware.random_search")
    others = ("archloom.search.mapping", "archloom.search.fusion", "archloom.surrogates")
    assert [name for name in loaded if inside(name, others[0]) or inside(name, others[1])] == []
    assert [name for name in loaded if inside(name, f"{others[2]}.gp")] == []


def loaded_by(module: str) -> list[str]:
    code = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert module in done.stdout.split()
    return done.stdout.split()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("from archloom.search import Objective", "evaluators imports archloom.search"),
        ("def f():\n    from archloom.studies.storage import Store", "line 2: evaluators imports"),
        ("from archloom import search", "evaluators imports archloom"),
        ("from archloom.space.workload.dims import DIMS", "does not offer"),
        ("from archloom.space.workload import no_such", "does not offer"),
        ("from archloom.evaluators.fusion.group import GroupCost", "must be imported relatively"),
        ("from ...space.workload import DIMS", "must be imported by its name"),
        ("import archloom.space", "must be imported"),
        ("from space.dims import DIMS", "bare import of space.dims"),
        ("import space", "bare import of space"),
    ],
)
def test_the_check_of_imports_finds(source: str, error: str) -> None:
    assert error in "; ".join(import_errors(source, "archloom.evaluators.fusion"))


@pytest.mark.parametrize(
    "source",
    [
        "from archloom.space.workload import DIMS",
        "from .group import group_cost",
        "from ..arrays import Ints",
        "from .buffer import streams",
        "import numpy as np",
    ],
)
def test_the_check_of_imports_allows(source: str) -> None:
    assert import_errors(source, "archloom.evaluators.fusion") == []


def test_the_check_of_heavy_imports_knows_what_runs_on_import() -> None:
    assert heavy_errors("try:\n    import torch.nn\nexcept ImportError: ...")
    assert heavy_errors("class A:\n    from botorch.models import SingleTaskGP")
    assert heavy_errors("def f():\n    import torch") == []
    assert heavy_errors("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ray") == []


def test_the_check_of_cycles_finds_one() -> None:
    assert cycle({"a": {"b"}, "b": {"a"}}) is not None
    assert cycle({"a": {"b"}, "b": set()}) is None
