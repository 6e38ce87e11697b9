"""One study, wherever its rounds are searched, wherever it is kept: the same bytes.

Every executor with every store in every order, each compared with the study that one process
searched into a directory.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from archloom.studies.config.location import location_of
from archloom.studies.storage.parts import BASELINE_FILE, CERTIFICATE, TRIALS, VALIDATION
from archloom.studies.storage.reading import read_part

from ...cases.postgres import Server
from ...cases.ray_cluster import LEAN, clean_environment, free_port, until
from ...cases.studies import TINY, archloom, write_study
from ...cases.sweeps import sweep

#: designs that a model of the results proposes, and a network that is held out
STUDY: Final = (
    TINY.replace("{name: random}", "{name: mobo, initial: 4}").replace(
        "batch_size: 6", "batch_size: 4"
    )
    + "validation: {workloads: [tiny_mlp], evaluations: 3}\n"
)

#: rounds that are open at a time: each batch waits for the one before, or none does
ORDERS: Final = {"synchronous": 1, "asynchronous": 12}
STORES: Final = ("directory", "database")
#: workers, and nodes of a cluster that they are on; 0 nodes for this machine alone
PLACES: Final = {
    "inline": (0, 0),
    "one worker": (1, 0),
    "two workers": (2, 0),
    "four workers": (4, 0),
    "one node": (2, 1),
    "two nodes": (2, 2),
}

#: what is compared in every run of the tests: each kind of place, each store and each order
SAMPLE: Final = (
    ("two nodes", "database", "asynchronous"),
    ("two workers", "directory", "synchronous"),
    ("inline", "database", "synchronous"),
)
Node: TypeAlias = "subprocess.Popen[bytes]"

RESULTS: Final = (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION)


def table() -> list[tuple[str, str, str]]:
    """Every cell but the references, those of the sample first."""
    cells = [
        cell for cell in product(PLACES, STORES, ORDERS) if cell[:2] != ("inline", "directory")
    ]
    return [*SAMPLE, *(cell for cell in cells if cell not in SAMPLE)]


def study_of(folder: Path, order: str) -> Path:
    return write_study(folder, f"{STUDY}logical_workers: {ORDERS[order]}\n")


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes | None]]:
    """What one process makes of the study in each order."""
    found = {}
    for order in ORDERS:
        folder = tmp_path_factory.mktemp(order)
        done = archloom("run", study_of(folder, order), "--out", "run", cwd=folder)
        assert done.returncode == 0, done.stderr
        found[order] = {name: read_part(folder / "run", name) for name in RESULTS}
        assert None not in found[order].values()
    return found


@contextmanager
def nodes(count: int, folder: Path) -> Iterator[str]:
    """A cluster of so many nodes, all on this machine; yields its address."""
    token = folder / "token"
    token.write_text("0123456789abcdef" * 4)
    environment = clean_environment() | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
    }
    port = free_port()
    address = f"127.0.0.1:{port}"
    # no worker finds room on a node that has another one
    cpus = 2 // count
    options = [f"--num-cpus={cpus}", "--disable-usage-stats", "--block", *LEAN]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        patch.delenv("RAY_AUTH_MODE", raising=False)
        for number in range(count):
            head = ["--head", f"--port={port}", "--include-dashboard=false", "--no-monitor"]
            role = [f"--address={address}"] if number else head
            stack.callback(stop, start_node([*role, *options], environment, folder / f"{number}"))
        yield address


def start_node(options: list[str], environment: dict[str, str], log: Path) -> Node:
    """Start a node and wait until it runs.

    Raises:
        RuntimeError: it ends; says what it printed.
        TimeoutError: it takes too long.
    """
    with log.open("wb") as file:
        node = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", *options],
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )

    def started() -> bool:
        if node.poll() is not None:
            raise RuntimeError(f"a node ends as it starts: {log.read_text()}")
        return "Ray runtime started" in log.read_text()

    try:
        until(started, f"{log} does not start")
    except BaseException:
        stop(node)
        raise
    return node


def stop(node: Node) -> None:
    """End a node, and whatever of it does not end when asked."""
    node.terminate()
    with suppress(subprocess.TimeoutExpired):
        node.wait(timeout=30)
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


@pytest.mark.parametrize(("place", "store", "order"), sweep(table(), len(SAMPLE)))
def test_results_are_the_same_bytes(
    tmp_path: Path,
    references: dict[str, dict[str, bytes | None]],
    postgres: Server,
    place: str,
    store: str,
    order: str,
) -> None:
    workers, count = PLACES[place]
    out = f"{postgres.url}#tiny" if store == "database" else "run"
    options = ["--out", out, "--executor", "ray" if workers else "inline"]
    with ExitStack() as stack:
        if workers:
            options += ["--workers", str(workers)]
        if count:
            options += ["--address", stack.enter_context(nodes(count, tmp_path))]
        done = archloom("run", study_of(tmp_path, order), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    kept = location_of(out) if store == "database" else tmp_path / "run"
    assert {name: read_part(kept, name) for name in RESULTS} == references[order]


def test_the_sample_has_every_place_store_and_order_of_a_cluster() -> None:
    places, stores, orders = (set(values) for values in zip(*SAMPLE, strict=True))
    assert places >= {"inline", "two workers", "two nodes"}
    assert (stores, orders) == (set(STORES), set(ORDERS))
    assert len(table()) == len(set(table())) == len(PLACES) * 4 - 2
