"""Faults of a study's files: a disk that is full, and files that are not what they were."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .run import COMMAND, STUDY, Run


def full(run: Run) -> None:
    """The disk is full, and is freed: later, or while the study still writes."""
    if not _small_disk(run):
        code = run.end(run.begin(most_bytes=run.rng.randrange(1500, 40000)))
        assert code in (0, 4), f"exit code {code}"
        return
    fill = run.folder / "filler"
    fill.write_bytes(b"\0" * (_DISK_BYTES - run.rng.randrange(10, 40) * 4096))
    process = run.begin()
    run.until(process, run.rng.randrange(1, 40000))
    if run.rng.random() < 0.5:
        # freed by somebody else, with the study under way
        time.sleep(run.rng.uniform(0, 0.3))
        fill.unlink()
    code = run.end(process)
    assert code in (0, 4), f"exit code {code}"
    fill.unlink(missing_ok=True)


_DISK_BYTES: Final = 2 * 2**20


def _small_disk(run: Run) -> bool:
    """Let the study have a small disk of its own; return whether that can be."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "none", str(run.folder)]
    if os.geteuid() or run.rng.random() < 0.3 or subprocess.run(mount, check=False).returncode:
        return False
    # lazily, for what an interrupted run may have left open
    unmount = ["umount", "--lazy", str(run.folder)]
    run.afterwards.callback(subprocess.run, unmount, check=True)
    run.write_study()
    return True


def torn(run: Run) -> None:
    """The journal ends in the middle of a line."""
    run.half()
    with run.journal.open("r+b") as file:
        file.truncate(run.rng.randrange(run.size + 1))


def zeros(run: Run) -> None:
    """The journal ends with zeros, as after a loss of power."""
    run.half()
    with run.journal.open("ab") as file:
        file.write(b"\0" * run.rng.randrange(1, 5000))


def flipped(run: Run) -> None:
    """A bit of the journal is another one."""
    run.half()

    def flip(data: bytes) -> bytes:
        at = run.rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << run.rng.randrange(8)]) + data[at + 1 :]

    _changed(run, flip)


def doubled(run: Run) -> None:
    """The journal holds everything twice, or some line of it."""
    run.half()
    lines = run.journal.read_bytes().splitlines(keepends=True)
    at = run.rng.randrange(len(lines))
    # the last line may be half of one
    twice = [*lines[:at], lines[at], *lines[at:]] if lines[at].endswith(b"\n") else lines * 2
    run.journal.write_bytes(b"".join(run.rng.choice([lines * 2, twice])))


def crlf(run: Run) -> None:
    """The journal was saved by an editor that ends lines in its own way."""
    run.half()
    _changed(run, lambda data: data.replace(b"\n", b"\r\n"))


def foreign(run: Run) -> None:
    """The journal is that of another study."""
    run.half()
    other = STUDY.format(seed=99, logical_workers=run.logical_workers).replace("24", "6")
    (run.folder / "other.yaml").write_text(other)
    words = [*COMMAND, "run", "other.yaml", "--out", "other"]
    subprocess.run(words, cwd=run.folder, check=True, capture_output=True)
    _changed(run, lambda _: (run.folder / "other" / "journal.jsonl").read_bytes())


def missing(run: Run) -> None:
    """The journal is gone, or empty."""
    run.end(run.begin())
    _changed(run, lambda _: run.rng.choice([None, b""]))


def other_trials(run: Run) -> None:
    """Lines of trials.jsonl were changed, doubled or invented."""
    run.end(run.begin())
    path = run.out / "trials.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = run.rng.randrange(len(lines))
    changed = lines[at].replace(b'"trial":', b'"trial":1')
    path.write_bytes(
        b"".join(run.rng.choice([[*lines, changed], [*lines[:at], changed], lines * 2]))
    )


def _changed(run: Run, change: Callable[[bytes], bytes | None]) -> None:
    """Change the journal; see that the study is refused or mends it; put it back if refused."""
    path: Path = run.journal
    before = path.read_bytes()
    changed = change(before)
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed)
    code = run.end(run.begin())
    assert code in (0, 2), f"exit code {code}"
    if code == 2:
        assert (path.read_bytes() if path.exists() else None) == changed, "it was changed"
        path.write_bytes(before)


FILES: Final[dict[str, Callable[[Run], None]]] = {
    one.__name__: one
    for one in (full, torn, zeros, flipped, doubled, crlf, foreign, missing, other_trials)
}
