"""What tests of wrong inputs share."""

from pathlib import Path
from shutil import copytree

import pytest

from ...cases.studies import run_here, tiny_config


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny study, which has ended."""
    folder = tmp_path_factory.mktemp("finished")
    run_here(tiny_config(folder), folder / "run")
    return folder


@pytest.fixture
def home(tmp_path: Path, finished: Path) -> Path:
    """A folder with a study file and its study, to be spoilt."""
    copytree(finished, tmp_path / "home")
    return tmp_path / "home"
