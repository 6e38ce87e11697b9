"""Faults of studies in a PostgreSQL database, on a server that is started for them."""

import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .run import Run

if TYPE_CHECKING:
    from tests.cases.postgres import Server


def _server(run: Run) -> "Server":
    assert run.server is not None
    return run.server


def server(run: Run) -> None:
    """The server is killed, and starts again after a while."""
    process = run.somewhere()
    _server(run).kill()
    time.sleep(run.rng.uniform(0, 5))
    _server(run).start()
    code = run.end(process)
    assert code == 0, f"exit code {code}"


def still_server(run: Run) -> None:
    """The server stands still for a while, perhaps for longer than it has to answer."""
    process = run.somewhere()
    _server(run).pause()
    time.sleep(run.rng.choice([1, 5, 25]))
    _server(run).go_on()
    code = run.end(process)
    assert code == 0, f"exit code {code}"


def cut(run: Run) -> None:
    """The connections are cut, again and again."""
    process = run.begin()
    while process.poll() is None:
        _server(run).cut()
        time.sleep(run.rng.uniform(0, 0.5))
    code = run.end(process)
    assert code in (0, 4), f"exit code {code}"


def shared_driver(run: Run) -> None:
    """The process is killed."""
    for _ in range(run.rng.randrange(1, 4)):
        process = run.somewhere()
        process.kill()
        run.end(process)


def shared_two(run: Run) -> None:
    """Two processes want to run the study at once."""
    both = [run.begin(), run.begin()]
    codes = [run.end(process) for process in both]
    assert set(codes) <= {0, 2}, f"exit codes {codes}"


def lost_lease(run: Run) -> None:
    """The process stands still for so long that another one takes the study over."""
    first = run.somewhere()
    first.send_signal(signal.SIGSTOP)
    _server(run).sql(
        "UPDATE archloom_studies SET expires = clock_timestamp() WHERE name = %s", run.folder.name
    )
    second = run.somewhere()
    first.send_signal(signal.SIGCONT)
    codes = [run.end(first), run.end(second)]
    assert codes[0] in (0, 4), f"exit codes {codes}"
    assert codes[1] == 0, f"exit codes {codes}"


def damaged_rows(run: Run) -> None:
    """A line of the journal is gone from the tables, or another one."""
    process = run.somewhere()
    process.kill()
    run.end(process)
    before = _rows(run)
    if not before:
        return
    number, content = run.rng.choice(before)
    where = (number, run.folder.name)
    if run.rng.random() < 0.5:
        _server(run).sql(f"DELETE FROM archloom_parts {_WHERE}", *where)
    else:
        other = bytes(content).replace(b"0", b"1", 1)
        _server(run).sql(f"UPDATE archloom_parts SET content = %s {_WHERE}", other, *where)
    damaged = _rows(run)
    code = run.end(run.begin())
    assert code in (0, 2), f"exit code {code}"
    if code == 2:
        assert _rows(run) == damaged, "it was changed"
        _server(run).sql(f"DELETE FROM archloom_parts {_WHERE}", *where)
        _server(run).sql(_INSERT, number, content, run.folder.name)


_WHERE: Final = (
    "WHERE name = 'journal.jsonl' AND number = %s"
    " AND study = (SELECT id FROM archloom_studies WHERE name = %s)"
)
_INSERT: Final = (
    "INSERT INTO archloom_parts (study, name, number, content)"
    " SELECT id, 'journal.jsonl', %s, %s FROM archloom_studies WHERE name = %s"
)


def _rows(run: Run) -> list[tuple[int, bytes]]:
    """Return the lines of the journal and their numbers."""
    return _server(run).sql(
        "SELECT number, content FROM archloom_parts p JOIN archloom_studies s ON s.id = p.study"
        " WHERE p.name = 'journal.jsonl' AND s.name = %s ORDER BY number",
        run.folder.name,
    )


SHARED: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one
    for one in (server, still_server, cut, shared_driver, shared_two, lost_lease, damaged_rows)
}
