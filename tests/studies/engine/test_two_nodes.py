"""A study on a cluster whose nodes come, go, and are not what they should be."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archloom.evaluators.jit import compile_ahead, missing
from archloom.evaluators.jit.signatures import kernel_at
from archloom.studies.commands.machine import default_kernels
from archloom.studies.storage.parts import BASELINE_FILE, JOURNAL, TRIALS

from ...cases.ray_cluster import RayCluster, unable, until
from ...cases.studies import COMMAND, TINY, archloom, write_study
from ...source_tree import LAYERS, ROOT

#: exact mapping, whose kernels compile once on each node
STUDY = TINY.replace("trials: 10", "trials: 40").replace(
    "mapping: random, mapping_evaluations: 40", "mapping: auto, mapping_evaluations: 40"
)

#: a kernel that compiles in a second
SMALL = "archloom.search.fusion.joint.shortest_path._least_product"


@pytest.fixture
def cluster() -> Iterator[RayCluster]:
    if why := unable():
        pytest.skip(why)
    try:
        made = RayCluster().__enter__()
    except subprocess.CalledProcessError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no namespaces: {error.stderr!r}")
    try:
        yield made
    finally:
        made.__exit__()


def kernels_without_one(folder: Path) -> Path:
    """Return a cache that has all default kernels but one, as this machine has them."""
    kernels = default_kernels()
    for _ in compile_ahead({name: kernels[name] for name in missing(kernels)}, 2):
        pass
    for name in kernels:
        there = Path(kernel_at(name)._cache.cache_path)
        shutil.copytree(there, folder / there.parent.name / there.name, dirs_exist_ok=True)
    for file in folder.rglob(f"*.{SMALL.rpartition('.')[2]}-*"):
        file.unlink()
    return folder


def other_sources(folder: Path) -> Path:
    """Return a path from which another archloom is imported: one file of it differs."""
    for layer in LAYERS:
        link = folder / "archloom" / layer
        if layer == "search":
            shutil.copytree(ROOT / layer, link, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            link.parent.mkdir(exist_ok=True, parents=True)
            link.symlink_to(ROOT / layer)
    with (folder / "archloom" / "search" / "seeds.py").open("a") as file:
        file.write("\n# not what it was\n")
    return folder


def events(log: Path, name: str) -> list[dict[str, Any]]:
    if not log.exists():
        return []
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return [event for event in found if event["event"] == name]


def joined(log: Path, host: str) -> int:
    return sum(host in event["node"] for event in events(log, "worker_joined"))


def test_nodes_differ_leave_and_join_and_the_head_dies(cluster: RayCluster, tmp_path: Path) -> None:
    study, log, journal = write_study(tmp_path, STUDY), tmp_path / "log", tmp_path / "run" / JOURNAL
    cache = kernels_without_one(tmp_path / "cache")
    assert archloom("run", study, "--out", "inline", cwd=tmp_path).returncode == 0

    cluster.start(1, cpus=0)
    cluster.start(2, cpus=1, PYTHONPATH=str(other_sources(tmp_path / "other")))
    run = ("run", study, "--out", "run", "--address", cluster.address, "--log", "log")
    refused = cluster.command(1, [*COMMAND, *run], tmp_path)
    output, _ = refused.communicate()
    assert refused.returncode == 4, output
    assert "no node of the cluster can be used: " in output
    assert f"({cluster.host(2)}): sources of archloom " in output
    assert "archloom resume run" in output
    assert "Traceback" not in output

    cluster.start(3, cpus=1, NUMBA_CACHE_DIR=str(cache))
    process = cluster.command(1, [*COMMAND, *run], tmp_path)
    begun = journal.stat().st_size
    until(lambda: journal.stat().st_size > begun + 8000 or process.poll() is not None, "work")
    assert process.poll() is None, process.communicate()[0]
    cluster.kill(3)
    until(lambda: events(log, "node_left"), "the node's death")
    cluster.start(4, cpus=2, compiled=True)
    until(lambda: joined(log, cluster.host(4)) == 2, "a worker for each core")
    begun = journal.stat().st_size
    until(lambda: journal.stat().st_size > begun + 8000 or process.poll() is not None, "work")
    assert process.poll() is None, process.communicate()[0]
    # those that docs/how_to/cluster.md names: a firewall lets no others through
    assert {port for n in (1, 4) for port in cluster.ports(n)} - {*range(10002, 11000)} == {
        *range(6379, 6384)
    }
    cluster.crash(1, "gcs_server")
    output, _ = process.communicate()
    assert process.returncode == 4, output
    assert f"no Ray cluster answers at '{cluster.address}'" in output
    assert "resume with: archloom resume run" in output
    assert "Traceback" not in output

    ready = events(log, "node_ready")
    assert [cluster.host(n) in event["node"] for n, event in zip((3, 4), ready, strict=True)]
    assert [event["kernels_compiled"] for event in ready] == [1, 0]
    assert {cluster.host(2) in event["node"] for event in events(log, "node_refused")} == {True}
    assert events(log, "worker_died")
    assert not events(log, "lost")

    done = archloom("resume", "run", "--executor", "inline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in (TRIALS, BASELINE_FILE):
        there, here = (tmp_path / folder / name for folder in ("inline", "run"))
        assert here.read_bytes() == there.read_bytes()
