"""The example package of docs/how_to/extending.md, installed and used by a study like any other
part."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from archloom.search.budget.protocol import BudgetAllocator
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer
from archloom.search.mapping.protocol import MappingSearch
from archloom.studies.storage.records import read_trials

from ..cases.studies import COMMAND
from ..contracts.budget_allocator import BudgetAllocatorContract
from ..contracts.fusion_search import FusionSearchContract
from ..contracts.hardware_optimizer import HardwareOptimizerContract
from ..contracts.mapping_search import MappingSearchContract
from ..source_tree import ROOT

EXAMPLE = ROOT / "examples" / "plugin"
STUDY = """\
workloads: [tiny_cnn]
space: casco_edge
optimizer: {name: hill_climber, initial: 2}
halving: {name: keep_best, keep: 1}
trials: 4
batch_size: 2
software:
  fusion: {name: chains, longest: 3}
  mapping: {name: portfolio, other: random}
  mapping_evaluations: 60
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package is installed in, from a copy of its source."""
    folder = tmp_path_factory.mktemp("plugin")
    copytree(EXAMPLE, folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--target", str(folder / "target"), str(folder / "source")]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "target"


def archloom(installed: Path, *arguments: str | Path, cwd: Path) -> str:
    """Return what the command line prints with the package beside it."""
    paths = [str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_a_study_uses_all_parts_of_an_installed_package(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    said = archloom(installed, "run", "study.yaml", cwd=tmp_path)
    folder = tmp_path / "runs" / "study"
    states = [trial.state for trial in read_trials(folder)]
    assert sorted(states) == ["complete", "complete", "stopped", "stopped"], said
    config: dict[str, Any] = yaml.safe_load((folder / "study.yaml").read_text())["config"]
    assert config["optimizer"] == {"name": "hill_climber", "initial": 2}
    # what its planner has use for where the file says nothing
    assert config["halving"] == {"name": "keep_best", "first_budget": 4, "keep": 1}
    software = config["software"]
    assert (software["fusion"], software["fusion_options"]) == ("chains", {"longest": 3})
    assert (software["mapping"], software["mapping_options"]) == ("portfolio", {"other": "random"})
    before = (folder / "trials.jsonl").read_bytes()
    archloom(installed, "resume", folder, cwd=tmp_path)
    assert (folder / "trials.jsonl").read_bytes() == before


def test_mistakes_in_options_of_all_parts_are_told_at_once(installed: Path, tmp_path: Path) -> None:
    text = STUDY.replace("initial: 2", "initail: 2").replace("keep: 1", "keep: 0")
    text = text.replace("longest: 3", "longest: x").replace("other: random", "other: rndom")
    (tmp_path / "study.yaml").write_text(text)
    said = archloom(installed, "run", "study.yaml", cwd=tmp_path)
    for line, message in (
        (3, "optimizer.initail: is no option of 'hill_climber'; did you mean initial?"),
        (4, "halving: first_budget and keep must be at least 1"),
        (8, "software.fusion.longest: 'x' must be a valid integer"),
        (9, "software.mapping.other: 'rndom' must be 'genetic' or 'random'"),
    ):
        assert f"line {line}: {message}" in said
    text = STUDY.replace("chains", "chain").replace("portfolio", "portfolo")
    (tmp_path / "study.yaml").write_text(text)
    said = archloom(installed, "run", "study.yaml", cwd=tmp_path)
    assert "software.fusion: 'chain' is unknown" not in said
    assert "did you mean chains?" in said
    assert "did you mean portfolio?" in said


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the package, as its source has it."""
    monkeypatch.syspath_prepend(EXAMPLE)
    import archloom_example_plugin

    return archloom_example_plugin


class TestHillClimber(HardwareOptimizerContract):
    @pytest.fixture(autouse=True)
    def _module(self, module: Any) -> None:
        self.module = module

    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        made: HardwareOptimizer = self.module.HillClimber(problem, seed)
        return made


class TestKeepBest(BudgetAllocatorContract):
    @pytest.fixture(autouse=True)
    def _module(self, module: Any) -> None:
        self.module = module

    def make(self) -> BudgetAllocator:
        made: BudgetAllocator = self.module.KeepBest()
        return made


class TestChains(FusionSearchContract):
    @pytest.fixture(autouse=True)
    def _module(self, module: Any) -> None:
        self.module = module

    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        made: FusionSearch = self.module.Chains(price)
        return made


class TestPortfolio(MappingSearchContract):
    @pytest.fixture(autouse=True)
    def _module(self, module: Any) -> None:
        self.module = module

    def make(self) -> MappingSearch[Any]:
        made: MappingSearch[Any] = self.module.Portfolio()
        return made
