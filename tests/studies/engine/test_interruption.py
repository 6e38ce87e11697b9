"""A study that is killed or stopped at any moment ends as if it never had been."""

import os
import random
import signal
import subprocess
from pathlib import Path
from time import sleep

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.storage.directory.lock import LOCK
from archloom.studies.storage.parts import BASELINE_FILE, JOURNAL, TRIALS

from ...cases.studies import TINY, archloom, begin, write_study
from ...cases.sweeps import sweep

#: some 60 pieces of work, each of a few milliseconds, of batches that overlap
LONG = (
    TINY.replace("trials: 10", "trials: 24").replace("first_budget: 2", "first_budget: 4")
    + "logical_workers: 7\n"
)


Result = tuple[bytes, bytes, str]


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def kill_after(
    process: "subprocess.Popen[str]", journal: Path, new_bytes: int, delay: float
) -> bool:
    """Kill the process once its journal has grown; return whether it was still running."""
    target = size(journal) + new_bytes
    while process.poll() is None and size(journal) < target:
        sleep(0.004)
    sleep(delay)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What the study gives that nobody disturbs."""
    tmp_path = tmp_path_factory.mktemp("undisturbed")
    done = archloom("run", write_study(tmp_path, LONG), "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return result(tmp_path)


def result(tmp_path: Path) -> Result:
    """Return trials, baseline and front of the study in ``run``."""
    front = said("pareto", tmp_path / "run", "--json")
    trials, baseline = ((tmp_path / "run" / name).read_bytes() for name in (TRIALS, BASELINE_FILE))
    return trials, baseline, front


def said(*arguments: str | Path) -> str:
    """Run the command line in this process, which need not start for it, and return its output."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, f"{arguments}: {done.output} {done.exception!r}"
    return done.stdout


@pytest.mark.parametrize("often", sweep((4, 10), 1))
def test_kills_change_nothing(tmp_path: Path, undisturbed: Result, often: int) -> None:
    study, journal = write_study(tmp_path, LONG), tmp_path / "run" / JOURNAL
    rng = random.Random(0)
    process = begin("run", study, "--out", "run", cwd=tmp_path)
    while process.poll() is None and not (tmp_path / "run").exists():
        sleep(0.004)
    process.kill()  # while the directory is being made
    process.communicate()
    kills = 1
    for _ in range(often - 1):
        process = begin("run", study, "--out", "run", cwd=tmp_path)
        kills += kill_after(process, journal, rng.randrange(1, 6000), rng.uniform(0, 0.03))
    assert kills >= often // 2, "the study is too short for this test"
    said("resume", tmp_path / "run")
    assert result(tmp_path) == undisturbed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_study_says_how_to_go_on(
    tmp_path: Path, undisturbed: Result, number: signal.Signals
) -> None:
    process = begin("run", write_study(tmp_path, LONG), "--out", "run", cwd=tmp_path)
    while process.poll() is None and size(tmp_path / "run" / JOURNAL) < 4000:
        sleep(0.004)
    process.send_signal(number)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "stopped; resume with: archloom resume run" in output
    assert "Traceback" not in output
    said("resume", tmp_path / "run")
    assert result(tmp_path) == undisturbed


def child_called(name: str, parent: int) -> int | None:
    """Return the process of that name that another one started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):
            continue  # it has just ended
        if fields["Name"] == name and int(fields["PPid"]) == parent:
            return int(status.parent.name)
    return None


@pytest.mark.parametrize("victim", sweep(("the work", "raylet"), 1))
def test_ray_gives_the_same_after_whatever_ends_it(
    tmp_path: Path, undisturbed: Result, victim: str
) -> None:
    """One worker, until all is killed. Then two, whose driver something ends, as the kernel does
    for want of memory, or Ray when it has lost its node; and a terminal, by Ctrl-C, what goes on
    by itself after that. The rest is done here."""
    study, folder = write_study(tmp_path, LONG), tmp_path / "run"
    journal, ray = folder / JOURNAL, ("--executor", "ray", "--workers")
    process = begin("run", study, "--out", "run", *ray, "1", cwd=tmp_path)
    assert kill_after(process, journal, 4000, 0.01), "it ended before it was killed"
    assert size(journal) > 0

    process = begin("run", study, "--out", "run", *ray, "2", cwd=tmp_path, group=True)
    wait_for(process, journal, size(journal) + 4000)
    work = int((folder / LOCK).read_text())
    assert work != process.pid
    killed = work if victim == "the work" else child_called(victim, work)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    # Ray needs fifteen seconds to see that its node is gone, in which work goes on
    while process.poll() is None and Path(f"/proc/{work}/exe").exists():
        sleep(0.004)
    wait_for(process, journal, size(journal) + 2000)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    if victim == "the work":
        assert "the process that runs run was killed by signal 9; restarting it" in output
        assert "study run: resumed" in output
    assert "stopped; resume with: archloom resume run" in output
    assert "Traceback" not in output
    said("resume", folder, "--executor", "inline")
    assert result(tmp_path) == undisturbed


def wait_for(process: "subprocess.Popen[str]", journal: Path, bytes_: int) -> None:
    """Wait until a journal has some bytes; the study must not have ended by then."""
    while size(journal) < bytes_:
        assert process.poll() is None, process.communicate()
        sleep(0.004)
