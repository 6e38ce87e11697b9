"""Faults of studies in a PostgreSQL database, on a server that is started for them."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.cases.postgres import Server

    from .torture import Run


def _server(run: "Run") -> "Server":
    assert run.server is not None
    return run.server


def _begun(run: "Run", *options: str) -> "subprocess.Popen[str]":
    """Return the study's process at some point of it."""
    process = run.begin(*options)
    run.until(process, run.size + run.rng.randrange(1, 30000))
    return process


def server(run: "Run") -> None:
    """The server is killed, and starts again after a while."""
    process = _begun(run)
    _server(run).kill()
    time.sleep(run.rng.uniform(0, 5))
    _server(run).start()
    code = run.end(process)
    assert code == 0, f"exit code {code}"


def still_server(run: "Run") -> None:
    """The server stands still for a while, perhaps for longer than it has to answer."""
    process = _begun(run)
    _server(run).pause()
    time.sleep(run.rng.choice([1, 5, 25]))
    _server(run).go_on()
    code = run.end(process)
    assert code == 0, f"exit code {code}"


def cut(run: "Run") -> None:
    """The connections are cut, again and again."""
    process = run.begin()
    while process.poll() is None:
        _server(run).cut()
        time.sleep(run.rng.uniform(0, 0.5))
    code = run.end(process)
    assert code in (0, 4), f"exit code {code}"


def shared_driver(run: "Run") -> None:
    """The process is killed."""
    for _ in range(run.rng.randrange(1, 4)):
        process = _begun(run)
        process.kill()
        run.end(process)


def shared_two(run: "Run") -> None:
    """Two processes want to run the study at once."""
    both = [run.begin(), run.begin()]
    codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2}, f"exit codes {codes}"


def lost_lease(run: "Run") -> None:
    """The process stands still for so long that another one takes the study over."""
    first = _begun(run)
    first.send_signal(signal.SIGSTOP)
    _server(run).sql(
        "UPDATE archloom_studies SET expires = clock_timestamp() WHERE name = %s", run.folder.name
    )
    second = _begun(run)
    first.send_signal(signal.SIGCONT)
    codes = [run.end(first), run.end(second)]
    assert codes[0] in (0, 4), f"exit codes {codes}"
    assert codes[1] == 0, f"exit codes {codes}"


SERVER_KINDS: Final[dict[str, Callable[["Run"], None]]] = {
    one.__name__: one for one in (server, still_server, cut, shared_driver, shared_two, lost_lease)
}
