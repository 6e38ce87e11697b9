"""What every command has: -h, logs, completion, suggestions, exit codes, colours, 80 columns."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest
from click import Context
from click.testing import CliRunner, Result

from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError

from ...cases.studies import COMMAND, TINY, run_here, tiny_config
from ...cases.sweeps import sweep

COMMANDS = app.list_commands(Context(app))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    run_here(tiny_config(folder), folder / "runs" / "tiny")
    run_here(tiny_config(folder, TINY.replace("seed: 5", "seed: 6")), folder / "runs" / "other")
    return folder


def run(*arguments: str, **settings: str) -> Result:
    return CliRunner(env=settings).invoke(app, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_short_help_is_the_long_one(command: str) -> None:
    short, long = run(command, "-h"), run(command, "--help")
    assert short.exit_code == 0
    assert short.output == long.output
    assert "--log-level" in short.output


def test_exit_codes_stand_in_the_help_and_on_the_page() -> None:
    told = run("-h").output.partition("Exit codes:\n")[2].partition("\n\n")[0]
    page = (Path(__file__).parents[3] / "docs/reference/command_line.md").read_text("utf-8")
    codes = ["0", "1", "2", "3", "4", "70", "130"]
    assert re.findall(r"^  (\d+) ", told, re.MULTILINE) == codes
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == codes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parreto", "x"], "No such command 'parreto'; did you mean pareto?"),
        (["pareto", "x", "--jso"], "--json"),
        (["pareto", "runs/tyny"], "runs/tyny: there is no such directory; did you mean runs/tiny?"),
        (["pareto", "tiny"], "did you mean runs/tiny?"),
        (["run", "quikstart"], "did you mean quickstart, which comes with archloom?"),
        (["completion", "bsh"], "SHELL 'bsh' is not known; did you mean bash or zsh?"),
        (["networks", "tiny_cnn", "--log-level", "inf"], "'inf' is not one of"),
    ],
)
def test_mistyped_words_have_suggestions(
    home: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(home)
    done = run(*arguments)
    code = done.exception.exit_code if isinstance(done.exception, UserError) else done.exit_code
    assert code == 2
    assert message in f"{done.output}{done.exception}"


def test_what_is_done_is_said_on_stderr(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    quiet = run("resume", "runs/tiny")
    assert "info:" not in quiet.stderr
    told = run("-v", "resume", "runs/tiny")
    assert told.exit_code == 0
    for text in ("took ", "info: seed 5; the journal has the results of ", "info: opened: "):
        assert text in told.stderr
    assert "debug:" not in told.stderr
    assert re.sub(r"\[.*\] ", "", told.stdout) == re.sub(r"\[.*\] ", "", quiet.stdout)
    debug = run("resume", "runs/tiny", "--trials", "12", "--log-level", "debug").stderr
    assert re.search(r"debug: trial 11, round 1: seed \d+, 2 plans at the most, on casco", debug)
    assert re.search(r"debug: searched casco.*: seed \d+, .* CPU-s; remembered so far: ", debug)
    assert "info: trial ended: trial=11 state=" in debug
    assert "info:" not in run("resume", "runs/tiny", "-v", "--log-level", "warnings").stderr
    told = run("networks", "tiny_cnn", "-v")
    assert told.exit_code == 0


def test_schedules_say_how_they_were_searched() -> None:
    words = "schedule tiny_cnn --hardware eyeriss --fusion none --mapping random"
    done = run(*words.split(), "--mapping-evaluations", "40", "--seed", "3", "--verbose")
    about = "planner none, mapping random, seed 3"
    assert f"info: tiny_cnn on eyeriss: {about}" in done.stderr
    assert re.search(r"info: 1 plans evaluated, 3 mapping problems solved", done.stderr)


def test_words_that_no_table_prices_are_a_mistake() -> None:
    done = run("schedule", "tiny_cnn", "--hardware", "eyeriss", "--word-bits", "64")
    assert isinstance(done.exception, UserError)
    assert "words of 64 bits are outside the table, which has 4 to 32 bits" in str(done.exception)


def completed(home: Path, words: str) -> set[str]:
    """Return what bash is given for the last of some words."""
    environment = os.environ | {
        "_ARCHLOOM_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    code = "import sys; sys.argv[0] = 'archloom'; " + COMMAND[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return {line.partition(",")[2] for line in done.stdout.splitlines() if line[:5] == "plain"}


def test_shells_complete_commands_and_names(home: Path) -> None:
    assert completed(home, "archloom par") == {"pareto"}
    assert completed(home, "archloom pareto r") == {"runs/other", "runs/tiny"}
    assert completed(home, "archloom pareto runs/tiny --pick k") == {"knee"}
    assert "--objectives" in completed(home, "archloom pareto runs/tiny --o")
    assert completed(home, "archloom networks resnet1") == {"resnet18", "resnet18_cifar10"}
    words = "archloom schedule tiny_cnn --hardware eye"
    assert completed(home, words) == {"eyeriss", "eyeriss_v2"}
    assert completed(home, "archloom technology n") == {"n16", "n7"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: str) -> None:
    done = run("completion", shell)
    assert done.exit_code == 0
    assert f"_ARCHLOOM_COMPLETE={shell}_complete" in done.output


def test_the_module_is_the_command_line(home: Path) -> None:
    command = [sys.executable, "-m", "archloom", "pareto", "runs/tiny", "--json"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["front"]


def on_a_terminal(home: Path, *arguments: str, **settings: str) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    environment |= {"TERM": "xterm-256color", **settings}
    with subprocess.Popen([*COMMAND, *arguments], cwd=home, stdout=theirs, env=environment) as done:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                break
            if not part:
                break
            text += part
    os.close(ours)
    assert done.returncode == 0
    return text.decode()


COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10\d)(?:;\d+)*m")


def test_no_color_is_heeded(home: Path) -> None:
    command = ("resume", "runs/tiny", "--executor", "inline")
    assert COLOUR.search(on_a_terminal(home, *command))
    assert COLOUR.search(on_a_terminal(home, *command, NO_COLOR="1")) is None


#: commands that print tables, the last ones take seconds
TABLES = (
    "pareto runs/tiny",
    "pareto runs/tiny --objectives latency,utilisation,perf_per_tdp",
    "show runs/tiny 4",
    "status runs/tiny",
    "networks",
    "networks tiny_cnn",
    "hardware eyeriss",
    "hardware casco_edge",
    "technology",
    "technology n7",
    "schedule tiny_cnn --hardware eyeriss --fusion none --mapping random --mapping-evaluations 40",
    "compare runs/tiny runs/other",
    "validate",
)


@pytest.mark.parametrize("command", sweep(TABLES, len(TABLES) - 2))
def test_tables_are_whole_on_80_columns(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True)
    done = run(*command.split(), COLUMNS="80", TERM="xterm", NO_COLOR="1")
    assert done.exit_code == 0, done.exception
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout)
    drawn = [line for line in text.splitlines() if re.search(r"[┃│─━]", line) or line[:1] == " "]
    assert drawn or "status" in command
    assert max(map(len, drawn), default=0) <= 80
    assert "…" not in text
