"""Imports point left only: space <- evaluators <- surrogates <- search <- studies."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from .source_tree import AROUND, LAYERS, imported, module_name, modules, statements

HEAVY = ("torch", "botorch", "gpytorch", "optuna", "ray", "plotly", "matplotlib")
"""Packages that take seconds to import: functions that need them import them."""

SLOW_START = (*HEAVY, "numba", "scipy", "deap", "moocore")
"""What `archloom --help` must not load."""


def package_of(path: Path) -> str:
    name = module_name(path)
    return name if path.stem == "__init__" else name.rpartition(".")[0]


def layering_errors(source: str, package: str) -> list[str]:
    """Return the imports of a module in ``package`` that point right or out of the package."""
    layer = package.split(".")[1]
    errors = []
    for node in ast.walk(ast.parse(source)):
        for name in imported(node, package):
            root, *rest = name.split(".")
            if root in LAYERS:
                errors.append(f"line {node.lineno}: bare import of {name}")
            elif root == "archloom" and isinstance(node, ast.Import | ast.ImportFrom):
                if not isinstance(node, ast.ImportFrom) or not node.level:
                    errors.append(f"line {node.lineno}: {name} must be imported relatively")
                elif rest[0] not in LAYERS or LAYERS.index(rest[0]) > LAYERS.index(layer):
                    errors.append(f"line {node.lineno}: {layer} imports {name}")
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


@pytest.mark.parametrize("path", modules(*LAYERS), ids=module_name)
def test_imports_point_left_and_are_light(path: Path) -> None:
    source = path.read_text()
    assert layering_errors(source, package_of(path)) + heavy_errors(source) == []


@pytest.mark.parametrize("path", modules(*AROUND), ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_code_around_the_package_imports_it_by_its_name(path: Path) -> None:
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in imported(node, f"around.{path.parent.name}")
    }
    assert names & set(LAYERS) == set()


def test_no_module_imports_itself_through_others() -> None:
    paths = {module_name(path): path for path in modules(*LAYERS)}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        nodes = statements(ast.parse(path.read_text()), into_functions=True, into_types=False)
        targets = {target for node in nodes for target in imported(node, package_of(path))}
        graph[name] = {n for t in targets for n in (t, t.rpartition(".")[0]) if n in paths}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))


def test_the_command_line_starts_without_slow_packages() -> None:
    code = "import archloom.studies.cli, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "archloom.studies.cli" in loaded
    assert [name for name in SLOW_START if name in loaded] == []


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("from ..search import pareto", "evaluators imports archloom.search.pareto"),
        ("def f():\n    from ..studies.store import Store", "line 2: evaluators imports"),
        ("from .. import search", "evaluators imports archloom.search"),
        ("from archloom.space.dims import DIMS", "must be imported relatively"),
        ("import archloom.space", "must be imported relatively"),
        ("from space.dims import DIMS", "bare import of space.dims"),
        ("import space", "bare import of space"),
    ],
)
def test_the_check_of_layers_finds(source: str, error: str) -> None:
    assert error in "; ".join(layering_errors(source, "archloom.evaluators"))


@pytest.mark.parametrize(
    "source", ["from ..space.dims import DIMS", "from .kernel import price", "import numpy as np"]
)
def test_the_check_of_layers_allows(source: str) -> None:
    assert layering_errors(source, "archloom.evaluators") == []


def test_the_check_of_heavy_imports_knows_what_runs_on_import() -> None:
    assert heavy_errors("try:\n    import torch.nn\nexcept ImportError: ...")
    assert heavy_errors("class A:\n    from botorch.models import SingleTaskGP")
    assert heavy_errors("def f():\n    import torch") == []
    assert heavy_errors("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ray") == []
