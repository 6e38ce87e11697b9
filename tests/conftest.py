"""Settings that hold for every test."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .cases.postgres import Server, programs

# a caller that ignores Ctrl-C, as nohup's do, must not make tests wait for one they have pressed
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests run side by side, and a pool of threads in each of them makes all of them slower. The
# libraries read these when they are first imported, which no import above does.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# The same examples on every machine, and no verdict that depends on how busy it is. Of a property
# that does not say how many, half of hypothesis' own run always, and all with `make test-all`.
settings.register_profile(
    "every case", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("sample", settings.get_profile("every case"), max_examples=50)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples of properties run, before any test is read."""
    settings.load_profile("sample" if config.option.markexpr else "every case")


#: files that take a minute and more, most of it in processes that they start
LONG = {
    "test_browser.py",
    "test_cluster.py",
    "test_executors.py",
    "test_identical_bytes.py",
    "test_interruption.py",
    "test_limits.py",
    "test_packaging.py",
    "test_running.py",
    "test_scripts.py",
    "test_shared_study.py",
    "test_stack.py",
    "test_telling.py",
    "test_tenants.py",
    "test_tutorial.py",
    "test_two_nodes.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long files: one that begins last keeps one worker busy and the others idle."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are read, nor later among what is read: it all stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """PyTorch's weights and inputs are the same in every run, whatever ran before a test."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


SMALL_STUDY = """\
name: small
seed: 5
workloads: [tiny_cnn]
space: casco_edge
constraints: {area_mm2: 20, tdp_w: 2}
optimizer: {name: random}
halving: {name: sh, rounds: 2, first_budget: 6}
trials: 6
batch_size: 3
software: {fusion: casco, population: 4, mapping: local, mapping_evaluations: 60}
executor: {name: inline}
baseline: eyeriss
"""


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a small finished study; tests must not write to it."""
    from rich.console import Console

    from archloom.studies.commands.study.run import start
    from archloom.studies.commands.study.study_file import Overrides, read_study

    folder = tmp_path_factory.mktemp("studies")
    (folder / "small.yaml").write_text(SMALL_STUDY)
    config = read_study(folder / "small.yaml", Overrides())
    with (folder / "log").open("w") as log:
        code = start(config, folder / "small", Console(file=log))
    assert code == 0
    return folder / "small"


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Server]:
    """A PostgreSQL server, which tests may kill as long as they start it again."""
    if programs() is None:
        why = "there is no PostgreSQL server; on Debian and Ubuntu: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def postgres(running_postgres: Server) -> Server:
    """That server with nothing of ours in it."""
    running_postgres.empty()
    return running_postgres
