"""Places for output that cannot be used: forbidden, read-only, too long, a file, a full disk.

Tests run as root, whom no permission stops: what stops root too is ``/proc``, a file where a folder
should be, a file system without room, and giving up what lets root write everywhere.
"""

import ctypes
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ...cases.hostile import MEMORY_MB
from ...cases.studies import COMMAND
from ...cases.wrong_inputs import answer, content, refuses

LONG = "x" * 300

#: what cannot be a folder, with what is said of it
FOLDERS = {
    "proc": ("/proc/x", "/proc/x: cannot be written: No such file"),
    "proc_deep": ("/proc/1/x/y", "cannot be written: No such file"),
    "null": ("/dev/null/x", "cannot be written: /dev/null is a file"),
    "under_a_file": ("run/study.yaml/x", "study.yaml is a file; choose another directory"),
    "long": (LONG, "File name too long; choose a shorter name"),
    "deep": ("y/" * 3000, "File name too long; choose a shorter name"),
    "loop": ("loop/x", "Too many levels of symbolic links"),
    "dangling": ("dangling/x", "cannot be written"),
}

COMMANDS = {
    "run": ("run", "tiny.yaml", "--out"),
    "report": ("report", "run", "--out"),
    "copy": ("copy", "run"),
}


@pytest.fixture
def place(home: Path) -> Path:
    (home / "loop").symlink_to("loop")
    (home / "dangling").symlink_to("/proc/nowhere")
    return home


@pytest.mark.parametrize("where", FOLDERS)
@pytest.mark.parametrize("command", COMMANDS)
def test_folders(place: Path, command: str, where: str) -> None:
    folder, says = FOLDERS[where]
    before = content(place)
    found = answer(*COMMANDS[command], folder, cwd=place)
    assert found.code == 2, found.err
    # a copy is drafted beside its place, and says of that what is wrong
    assert command == "copy" or says in found.err
    assert "Traceback" not in found.err
    assert found.err.count("error: ") == 1
    assert content(place) == before


#: pictures, before any work for them begins
PICTURES = {
    "networks": ("networks", "tiny_cnn", "--out"),
    "compare": ("compare", "run", "--out"),
    "schedule": ("schedule", "tiny_cnn", "--hardware", "eyeriss", "--plot"),
}
FILES = {
    "proc": ("/proc/x.png", "cannot be written: No such file"),
    "folder": ("folder.png", "cannot be written: Is a directory"),
    "long": (f"{LONG}.png", "File name too long; choose a shorter name"),
    "nearly_long": (f"{'x' * 250}.png", "File name too long; choose a shorter name"),
    "under_a_file": ("tiny.yaml/x.png", ""),
}


@pytest.mark.parametrize("where", FILES)
@pytest.mark.parametrize("command", PICTURES)
def test_pictures(place: Path, command: str, where: str) -> None:
    (place / "folder.png").mkdir()
    file, says = FILES[where]
    refuses(*PICTURES[command], file, cwd=place, says=says)


def test_a_study_file_of_ones_own_is_no_study(place: Path) -> None:
    own = place / "own"
    own.mkdir()
    (place / "tiny.yaml").rename(own / "study.yaml")
    says = "study.yaml is a study file, and a study keeps a file of that name itself; nothing was"
    refuses("run", "study.yaml", "--out", ".", cwd=own, says=says)
    refuses("pareto", ".", cwd=own, says=says)


def limited(*words: str, cwd: Path, by: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    """Run a command line as a process that has limited itself before it begins."""
    command = [*COMMAND, *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, preexec_fn=by
    )


#: of ``<linux/prctl.h>`` and ``<linux/capability.h>``
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def obey_permissions() -> None:
    """Give up what lets root read and write everything; the next program has it no more."""
    if os.getuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError("root cannot be made to obey permissions here")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "tiny.yaml", "--out", "new"), "--out new: cannot be written: Permission denied"),
        (("report", "run", "--out", "new"), "--out new: cannot be written: Permission denied"),
        (("networks", "tiny_cnn", "--out", "x.svg"), "--out x.svg: cannot be written: Permission"),
        (("run", "secret.yaml"), "secret.yaml: cannot be read: Permission denied"),
        (("hardware", "secret.yaml"), "secret.yaml: cannot be read: Permission denied"),
        (("pareto", "locked"), "Permission denied"),
        (("status", "locked"), "Permission denied"),
        (("validate", "secret.yaml"), "Path 'secret.yaml' is not readable"),
    ],
)
def test_what_is_forbidden(place: Path, words: tuple[str, ...], says: str) -> None:
    (place / "secret.yaml").write_text("x: 1\n")
    (place / "locked").mkdir()
    before = content(place)
    (place / "secret.yaml").chmod(0)
    (place / "locked").chmod(0)
    place.chmod(0o555)
    done = limited(*words, cwd=place, by=obey_permissions)
    place.chmod(0o755)
    (place / "locked").chmod(0o755)
    (place / "secret.yaml").chmod(0o644)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert content(place) == before


#: bytes that a file may have; a limit of this process, whoever it belongs to
LEAST = 4096


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LEAST, LEAST))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "tiny.yaml", "--out", "new"), "cannot be written: File too large"),
        (("report", "run"), "report.html cannot be written: File too large"),
        (("copy", "run", "new"), "cannot be written: File too large"),
        (("networks", "tiny_cnn", "--out", "x.html"), "x.html: cannot be written: File too large"),
        (("networks", "tiny_cnn", "--out", "x.png"), "x.png: cannot be written: File too large"),
    ],
)
def test_files_that_have_no_room(place: Path, words: tuple[str, ...], says: str) -> None:
    """What was there before stays, and no half of a file is left."""
    for name in ("x.html", "x.png", "run/report.html"):
        (place / name).write_text("from before")
    before = content(place)
    done = limited(*words, cwd=place, by=limit_files)
    assert done.returncode == 4, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    after = {name: data for name, data in content(place).items() if name.split("/")[0] != "new"}
    assert after == before


@pytest.mark.parametrize(
    "words",
    [
        *(("pareto", "run"), ("pareto", "run", "--json"), ("pareto", "run", "--csv")),
        *(("networks",), ("networks", "tiny_cnn"), ("status", "run"), ("show", "run", "1")),
        *(("technology", "n7"), ("hardware", "eyeriss", "--json"), ("--help",)),
    ],
)
def test_printing_onto_a_full_disk(place: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=place,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr == "error: No space left on device; make room\n"


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MB * 10**6, MEMORY_MB * 10**6))


def test_memory_that_is_limited_is_enough_to_refuse(place: Path) -> None:
    """Aliases of a file that would be a million values, with little memory to read them."""
    lines = ["x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]" for i in range(1, 7)]
    (place / "wrong.yaml").write_text((place / "tiny.yaml").read_text() + "\n".join(lines) + "\n")
    done = limited("run", "wrong.yaml", cwd=place, by=limit_memory)
    assert done.returncode == 2, done.stderr
    assert "has over 100000 values" in done.stderr
