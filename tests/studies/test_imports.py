"""No command imports what it does not need: the heavy packages take longer than most commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..cases.studies import TINY, run_here, tiny_config

#: packages that take a tenth of a second or more to import
HEAVY = ("numpy", "scipy", "numba", "torch", "botorch", "ray", "plotly", "matplotlib", "optuna")

PROBE = """\
import sys
from archloom.studies.commands.cli import main
try:
    main()
except SystemExit:
    pass
print(*(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports")
    run_here(tiny_config(folder), folder / "run")
    # an option of a part is checked against the part itself, which may need anything
    plain = TINY.replace("halving: {name: msh, rounds: 3, first_budget: 2}", "halving: {name: msh}")
    (folder / "wrong.yaml").write_text(plain.replace("tiny_cnn", "tiny_cn") + "sed: 1\n")
    mobo = TINY.replace("{name: random}", "{name: mobo}").replace("trials: 10", "trials: 4")
    (folder / "mobo.yaml").write_text(mobo.replace("mapping: random", "mapping: local"))
    return folder


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("--help", set()),
        ("--version", set()),
        ("run --help", set()),
        ("networks", set()),
        ("compress --help", set()),
        ("compress resnet81", {"numpy"}),
        ("run wrong.yaml", set()),
        ("run none.yaml", set()),
        ("pareto nowhere", set()),
        ("show run 99", set()),
        ("pareto run", {"numpy"}),
        ("pareto run --json", {"numpy"}),
        ("show run 1", {"numpy", "scipy", "numba"}),
        ("networks resnet18", {"numpy", "scipy", "numba"}),
        ("hardware eyeriss", {"numpy", "scipy", "numba"}),
        ("technology n7", {"numpy", "scipy", "numba"}),
        # the first batch of the optimizer are designs by their bounds: no model, no torch
        ("run mobo.yaml", {"numpy", "scipy", "numba"}),
    ],
)
def test_a_command_imports_only_what_it_needs(home: Path, command: str, needed: set[str]) -> None:
    probe = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *command.split()]
    ran = subprocess.run(probe, cwd=home, capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.splitlines()[-1].split()) if ran.stderr else set()
    assert loaded <= needed, ran.stderr
