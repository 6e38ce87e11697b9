"""A study on a cluster that was there before it, and goes on without it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from archloom.studies.storage.parts import JOURNAL, TRIALS

from ...cases.studies import archloom, begin, write_study

RAY = Path(sys.executable).with_name("ray")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What processes of this test show each other."""
    path = tmp_path / "token"
    path.write_text("0123456789abcdef" * 4)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    return path


@pytest.fixture
def cluster(token: Path) -> Iterator[str]:  # noqa: ARG001
    """A cluster of one machine with a token; the address of its head."""
    port = _free_port()
    options = ("--num-cpus=1", "--include-dashboard=false", "--disable-usage-stats", "--block")
    head = subprocess.Popen(
        [RAY, "start", "--head", f"--port={port}", *options],
        env=os.environ | {"RAY_AUTH_MODE": "token"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"127.0.0.1:{port}"
    while head.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            sleep(0.1)
        else:
            break
    assert head.poll() is None
    sleep(2)  # its node comes after its head
    yield address
    head.terminate()
    head.wait()


def test_a_study_runs_on_a_cluster_and_goes_on_here(
    cluster: str, token: Path, tmp_path: Path
) -> None:
    study = write_study(tmp_path)
    assert archloom("run", study, "--out", "inline", cwd=tmp_path).returncode == 0
    process = begin("run", study, "--out", "run", "--address", cluster, cwd=tmp_path)
    journal = tmp_path / "run" / JOURNAL
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 4000):
        sleep(0.01)
    process.terminate()
    output, _ = process.communicate()
    assert process.returncode == 130, output
    token.write_text("f" * 64)
    refused = archloom("resume", "run", "--address", cluster, cwd=tmp_path)
    assert refused.returncode == 4, refused.stderr
    assert f"the cluster at {cluster} refuses" in refused.stderr
    assert "archloom resume run" in refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
    gone = archloom("resume", "run", "--address", "127.0.0.1:1", cwd=tmp_path)
    assert gone.returncode == 4
    assert "no Ray cluster answers at '127.0.0.1:1'" in gone.stderr
    assert "archloom resume run" in gone.stderr
    done = archloom("resume", "run", "--executor", "inline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    there, here = (tmp_path / name / TRIALS for name in ("inline", "run"))
    assert here.read_bytes() == there.read_bytes()


def test_an_address_is_for_workers(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    said = archloom("run", study, "--address", "a:1", "--executor", "inline", cwd=tmp_path)
    assert said.returncode == 2
    assert "--address a:1: the inline executor uses no cluster" in said.stderr
