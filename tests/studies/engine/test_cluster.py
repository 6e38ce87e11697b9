"""A study on a cluster that was there before it, and goes on without it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from textwrap import dedent
from time import sleep

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.engine.executors.cluster import Refusals, refusal
from archloom.studies.errors import TroubleError
from archloom.studies.storage.parts import JOURNAL, TRIALS

from ...cases.ray_cluster import LEAN, free_port, until
from ...cases.studies import TINY, archloom, begin, write_study

RAY = Path(sys.executable).with_name("ray")


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
    port = free_port()
    options = ("--num-cpus=1", "--include-dashboard=false", "--disable-usage-stats", "--block")
    head = subprocess.Popen(
        [RAY, "start", "--head", f"--port={port}", "--no-monitor", *LEAN, *options],
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


#: the command line, which says after a second what it waits for, and again every second
IMPATIENT = """
    from archloom.studies.engine.executors import crew
    from archloom.studies.engine.progress import view
    from archloom.studies.commands.program import main
    crew._STARTING_S = view.EVERY_S = 1.0
    main()
"""


def test_a_study_runs_on_a_cluster_and_goes_on_here(
    cluster: str, token: Path, tmp_path: Path
) -> None:
    study = write_study(tmp_path)
    assert archloom("run", study, "--out", "inline", cwd=tmp_path).returncode == 0
    process = begin("run", study, "--out", "run", "--address", cluster, cwd=tmp_path)
    journal = tmp_path / "run" / JOURNAL
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 4000):
        sleep(0.01)
    process.send_signal(signal.SIGTSTP)  # it keeps the only core
    options = ("--out", "second", "--address", cluster, "--workers", "8")
    second = subprocess.Popen(
        [sys.executable, "-c", dedent(IMPATIENT), "run", study, *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    waits = "waiting for free resources in the cluster: 0 of 8 workers"
    until(lambda: waits in said(tmp_path / "second") or second.poll() is not None, waits)
    # the core is kept until a line of the log says it too
    log = [""]
    assert second.stdout is not None
    while waits not in log[-1] and (line := second.stdout.readline()):
        log.append(line)
    process.send_signal(signal.SIGCONT)
    process.terminate()
    output, _ = process.communicate()
    assert process.returncode == 130, output
    output, _ = second.communicate()
    assert second.returncode == 0, output
    assert waits in "".join(log) + output
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
    there, *others = (tmp_path / name / TRIALS for name in ("inline", "run", "second"))
    assert [here.read_bytes() for here in others] == [there.read_bytes()] * 2


def said(folder: Path) -> str:
    """Return what ``archloom status`` says; nothing of a study that has not begun."""
    return str(CliRunner().invoke(app, ["status", str(folder)]).output)


def test_ray_that_archloom_starts_listens_on_this_machine_alone(tmp_path: Path) -> None:
    study = write_study(tmp_path, TINY.replace("trials: 10", "trials: 200"))
    options = ("--executor", "ray", "--workers", "2")
    process = begin("run", study, "--out", "run", *options, cwd=tmp_path)
    until(lambda: "workers: 2 on" in said(tmp_path / "run") or process.poll() is not None, "work")
    found = [listens_at(one) for one in (process.pid, *descendants(process.pid))]
    started = "".join(Path(f"/proc/{one}/cmdline").read_text() for one in descendants(process.pid))
    process.terminate()
    output, _ = process.communicate()
    assert process.returncode == 130, output
    # head, node, workers and the study itself, all for each other
    assert sum(map(len, found)) >= 5
    assert {address for some in found for address in some} == {"127.0.0.1"}
    # nor does it start what no study uses
    assert "raylet" in started
    assert not [name for name in ("monitor.py", "dashboard.py") if name in started]


def descendants(process: int) -> list[int]:
    """Return the processes that one has started, and those that these have."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def listens_at(process: int) -> list[str]:
    """Return the addresses at which a process accepts connections."""
    try:
        files = [str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir()]
        tables = [Path(f"/proc/{process}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    except OSError:
        return []  # it has just ended
    found = []
    for row in (line.split() for table in tables for line in table.splitlines()[1:]):
        words = row[1].partition(":")[0]
        if row[3] == "0A" and f"socket:[{row[9]}]" in files:
            # words of four bytes, each in this machine's order
            data = b"".join(bytes.fromhex(words[i : i + 8])[::-1] for i in range(0, len(words), 8))
            address = ip_address(data)
            found.append(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def test_a_cluster_of_other_versions_is_told_in_one_line() -> None:
    from ray._private.utils import check_version_info

    others = {"ray_version": "2.49.1", "python_version": "3.12.3"}
    with pytest.raises(RuntimeError) as raised:
        check_version_info(others, "10.0.0.1:6379")
    text = refusal("head:6379", " ".join(str(raised.value).split()))
    assert "the cluster at head:6379 runs Ray 2.49.1 on Python 3.12.3, and this is Ray " in text
    assert "token" not in text
    assert "token" in refusal("head:6379", "no")


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """What accepts connections and never says a word, as a head that stands still does."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        listening.settimeout(60)
        yield listening


def address_of(listening: socket.socket) -> str:
    return "{}:{}".format(*listening.getsockname())


def test_a_cluster_that_never_answers_is_told_after_a_while(
    silent: socket.socket, tmp_path: Path
) -> None:
    study = write_study(tmp_path, TINY.replace("{name: inline}", "{name: ray, start_s: 1}"))
    options = ("--address", address_of(silent), "--log", "log")
    done = archloom("run", study, "--out", "run", *options, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    what = f"the cluster at {address_of(silent)} accepts connections, but did not let this machine"
    assert done.stderr.count(what) == 1
    assert "within 1 s" in done.stderr
    assert "raise executor.start_s in the study file" in done.stderr
    assert "resume with: archloom resume run" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert what in (tmp_path / "log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_study_that_waits_for_a_cluster_is_stopped_at_once(
    silent: socket.socket, tmp_path: Path, number: signal.Signals
) -> None:
    study = write_study(tmp_path, TINY.replace("{name: inline}", "{name: ray}"))
    options = ("--out", "run", "--address", address_of(silent))
    process = begin("run", study, *options, cwd=tmp_path)
    until(lambda: any(map(ends_by_ctrl_c, descendants(process.pid))), "Ray's start")
    sleep(0.2)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "stopped; resume with: archloom resume run" in output
    assert "Traceback" not in output


def ends_by_ctrl_c(process: int) -> bool:
    """Whether no handler of SIGINT is there, as there is in Python by itself."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    caught = int(dict(line.split(":\t", 1) for line in lines)["SigCgt"], 16)
    return not caught >> (signal.SIGINT - 1) & 1


def test_ray_that_never_starts_is_given_up(tmp_path: Path) -> None:
    """Its head stands still as soon as it is there, and again when it is tried once more."""
    study = write_study(tmp_path, TINY.replace("{name: inline}", "{name: ray, start_s: 3}"))
    process = begin("run", study, "--out", "run", "--workers", "1", cwd=tmp_path)
    stopped: set[int] = set()
    while process.poll() is None:
        for one in {*descendants(process.pid)} - stopped:
            with suppress(OSError):
                if Path(f"/proc/{one}/comm").read_text() == "gcs_server\n":
                    os.kill(one, signal.SIGSTOP)
                    stopped.add(one)
        sleep(0.02)
    output, _ = process.communicate()
    assert process.returncode == 4, output
    assert len(stopped) == 2
    what = "Ray did not start on this machine within 3 s"
    assert [line.endswith("; restarting it") for line in output.splitlines() if what in line] == [
        True,
        False,
    ]
    assert "resume with: archloom resume run" in output
    assert "Traceback" not in output
    until(lambda: not any(Path(f"/proc/{one}").exists() for one in stopped), "no head is left")


def test_workers_that_never_start_are_given_up_like_ray() -> None:
    """There is no core for them here; elsewhere Ray lost them, as the wall clock jumped."""
    code = """
        import ray
        from archloom.studies.engine.executors.crew import Crew
        from archloom.studies.engine.executors.limited_process import ProcessLimits
        from archloom.studies.engine.progress import SILENT
        ray.init("local", num_cpus=0, include_dashboard=False, log_to_driver=False)
        limits = ProcessLimits(1.0, None, 120.0)
        Crew(ray.put(b""), limits, 1, None, SILENT, lambda: None, 0.5).tend(wait=True)
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGALRM, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("address", "raised", "said"),
    [
        (None, Exception("it timed  out"), "Ray does not start on this machine: it timed out"),
        (None, TimeoutError("no node"), "Ray does not start on this machine: no node"),
        ("a:1", ArithmeticError("no"), r"the cluster at a:1 refuses: no; .*token"),
    ],
)
def test_what_ray_raises_is_told(address: str | None, raised: Exception, said: str) -> None:
    with pytest.raises(TroubleError, match=said), Refusals(address, ArithmeticError):
        raise raised


def test_what_is_not_of_ray_stays() -> None:
    with pytest.raises(ValueError, match="ours"), Refusals(None, ArithmeticError):
        raise ValueError("ours")


def test_an_address_is_for_workers(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    said = archloom("run", study, "--address", "a:1", "--executor", "inline", cwd=tmp_path)
    assert said.returncode == 2
    assert "--address a:1: the inline executor uses no cluster" in said.stderr
