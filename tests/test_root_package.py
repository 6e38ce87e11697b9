"""``import archloom``: its names, and that it loads nothing that it does not need."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import archloom as al
from archloom.studies.commands.cli import app

from .source_tree import ROOT, exports
from .test_layering import SLOW_START

SOURCE = ROOT / "archloom" / "__init__.py"


def python(code: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_names_are_those_of_the_api_and_its_types_too() -> None:
    """Type checkers see the imports, Python the list."""
    (block,) = (node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)
                and ast.unparse(node.test) == "TYPE_CHECKING")  # fmt: skip
    imported = [
        alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    offered = exports("archloom.studies.api")
    assert sorted(al.__all__) == sorted([*imported, "__version__"]) == sorted(
        [*offered, "__version__"]
    )  # fmt: skip
    assert dir(al) == al.__all__


def test_every_name_is_there_and_no_other() -> None:
    for name in al.__all__:
        assert getattr(al, name) is getattr(al, name)
        assert getattr(al, name).__doc__ or name == "__version__"
    with pytest.raises(AttributeError, match="module 'archloom' has no attribute 'no_such'"):
        _ = al.no_such  # type: ignore[attr-defined]


def test_the_import_loads_nothing_besides(tmp_path: Path) -> None:
    code = "import sys; before = {*sys.modules}; import archloom; print(*{*sys.modules} - before)"
    assert python(code, cwd=tmp_path).split() == ["archloom"]


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("al.load_network('resnet18')", ()),
        ("al.load_hardware('eyeriss').area_mm2", ("scipy",)),
        ("al.load_study", ()),
        ("al.ArchloomError, al.Infeasible", ()),
    ],
)
def test_a_name_loads_what_it_needs(code: str, needed: tuple[str, ...], tmp_path: Path) -> None:
    loaded = python(f"import archloom as al, sys; {code}; print(*sys.modules)", cwd=tmp_path)
    slow = {name for name in (*SLOW_START, "pandas", "IPython") if name in loaded.split()}
    assert slow <= set(needed)


def test_a_search_loads_neither_torch_nor_ray_nor_plotly(tmp_path: Path) -> None:
    code = (
        "import archloom as al, sys; al.evaluate('tiny_cnn', 'eyeriss', mapping='random', "
        "mapping_evaluations=20); al.map_layer(al.load_network('tiny_cnn')[0], 'eyeriss', "
        "evaluations=20, search='random', factors='exact'); print(*sys.modules)"
    )
    loaded = python(code, cwd=tmp_path).split()
    assert [name for name in ("torch", "ray", "plotly", "matplotlib") if name in loaded] == []


def test_python_m_archloom_is_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "archloom"]
    done = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert all(name in done.stdout for name in app.list_commands(None))  # type: ignore[arg-type]
    done = subprocess.run(
        [*command, "run", "no.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "error: no.yaml: there is no such study file\n"
