"""Work that ends before its time is begun again, and what a user says reaches it."""

import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

HEAD = """\
import os, signal, sys, time
from pathlib import Path
from archloom.studies.commands.study.supervised import supervised
journal = Path("run/journal.jsonl")
supervised(journal.parent, (0, 0))
journal.parent.mkdir(exist_ok=True)
"""


def begin(tmp_path: Path, work: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + work],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("work", "code"), [("", 0), ("sys.exit(3)", 3), ("raise SystemExit('no')", 1), ("1 / 0", 1)]
)
def test_work_that_ends_by_itself_is_done(tmp_path: Path, work: str, code: int) -> None:
    process = begin(tmp_path, f"print('works')\n{work}")
    output, error = process.communicate()
    assert process.returncode == code
    assert output == "works\n"
    assert ("ZeroDivisionError" in error) == (work == "1 / 0")


def test_work_is_begun_again_while_it_gets_on(tmp_path: Path) -> None:
    grow = """
with journal.open("a") as file:
    file.write("x")
if journal.stat().st_size < 9:
    os.kill(os.getpid(), signal.SIGKILL)
print("done")
"""
    process = begin(tmp_path, grow)
    output, error = process.communicate()
    assert process.returncode == 0
    assert output == "done\n"
    assert error.count("the process that runs run was killed by signal 9; restarting it") == 8


@pytest.mark.parametrize(
    ("work", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9"),
        ("os._exit(1)", "was ended by Ray"),
    ],
)
def test_work_that_never_gets_on_is_given_up(tmp_path: Path, work: str, how: str) -> None:
    process = begin(tmp_path, work)
    _, error = process.communicate()
    assert process.returncode != 0
    assert f"run {how}, 3 times in a row; no finished work is lost; resume with: " in error
    assert "archloom resume run" in error
    assert error.count("; restarting it\n") == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_user_sends_reaches_the_work(tmp_path: Path, number: signal.Signals) -> None:
    work = f"""
def hear(*_):
    print("heard")
    sys.exit(130)
signal.signal({number}, hear)
journal.touch()
time.sleep(60)
"""
    process = begin(tmp_path, work)
    while not (tmp_path / "run" / "journal.jsonl").exists():
        sleep(0.01)
    process.send_signal(number)
    output, error = process.communicate()
    assert process.returncode == 130, error
    assert output == "heard\n"


def test_work_that_a_user_ends_is_not_begun_again(tmp_path: Path) -> None:
    process = begin(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)")
    _, error = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert error == ""


def test_work_ends_with_the_process_that_watches_it(tmp_path: Path) -> None:
    process = begin(tmp_path, "journal.write_text(str(os.getpid()))\ntime.sleep(60)")
    journal = tmp_path / "run" / "journal.jsonl"
    while not (journal.exists() and journal.read_text()):
        sleep(0.01)
    process.kill()
    process.communicate()
    work = Path("/proc", journal.read_text(), "stat")
    while work.exists() and work.read_text().split()[2] != "Z":
        sleep(0.01)


def test_work_pauses_and_goes_on_with_the_process_that_watches_it(tmp_path: Path) -> None:
    process = begin(tmp_path, "journal.write_text(str(os.getpid()))\ntime.sleep(4)\nprint('on')")
    journal = tmp_path / "run" / "journal.jsonl"
    while not (journal.exists() and journal.read_text()):
        sleep(0.01)
    work = Path("/proc", journal.read_text(), "stat")
    process.send_signal(signal.SIGTSTP)
    while work.read_text().split()[2] != "T":
        sleep(0.01)
    process.send_signal(signal.SIGCONT)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert output == "on\n"
